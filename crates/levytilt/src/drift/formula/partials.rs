//! Evaluate one instruction at numbers: its value and its first and second derivatives in the operands.

use super::parse::{Binary, Function};

/// An instruction; operands are places of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// A number, by its bits.
    Constant(u64),
    State(usize),
    Parameter(usize),
    Input(usize),
    Time,
    Negate(usize),
    /// An integer power.
    Integer(usize, i32),
    Call(Function, usize),
    Pair(Binary, usize, usize),
}

impl Op {
    /// The places of the operands.
    pub fn operands(self) -> [Option<usize>; 2] {
        match self {
            Self::Constant(_) | Self::State(_) | Self::Parameter(_) | Self::Input(_) | Self::Time => [None, None],
            Self::Negate(a) | Self::Integer(a, _) | Self::Call(_, a) => [Some(a), None],
            Self::Pair(_, a, b) => [Some(a), Some(b)],
        }
    }
}

/// Value and derivatives of an instruction; `b` is the second operand.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Second {
    pub value: f64,
    pub by_a: f64,
    pub by_b: f64,
    pub by_aa: f64,
    pub by_ab: f64,
    pub by_bb: f64,
}

impl Second {
    fn unary(value: f64, by_a: f64, by_aa: f64) -> Self {
        Self { value, by_a, by_aa, ..Self::default() }
    }

    fn linear(value: f64, by_a: f64, by_b: f64) -> Self {
        Self { value, by_a, by_b, ..Self::default() }
    }
}

/// xⁿ by repeated squaring, the same bits on every machine; 1/x^|n| for n < 0.
pub(super) fn integer_power(x: f64, n: i32) -> f64 {
    let (mut rest, mut square, mut product) = (n.unsigned_abs(), x, 1.0);
    while rest > 0 {
        if rest & 1 == 1 {
            product *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if n < 0 { 1.0 / product } else { product }
}

/// n·x^{n−1}; 0 for n = 0.
pub(super) fn integer_slope(x: f64, n: i32) -> f64 {
    if n == 0 { 0.0 } else { f64::from(n) * integer_power(x, n - 1) }
}

/// 0 below 0, 1 from 0 on; NaN stays NaN.
pub(super) fn step(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x >= 0.0 {
        1.0
    } else {
        0.0
    }
}

/// The smaller one; NaN if one of them is.
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

/// The larger one; NaN if one of them is.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Value of an instruction with operands `a` and, if it has two, `b`.
pub(super) fn scalar(op: Op, a: f64, b: f64) -> f64 {
    second(op, a, b).value
}

/// Value and derivatives of an instruction that has operands.
pub(super) fn second(op: Op, a: f64, b: f64) -> Second {
    match op {
        Op::Negate(_) => Second::unary(-a, -1.0, 0.0),
        Op::Integer(_, n) => {
            let bend = if n == 0 { 0.0 } else { f64::from(n) * integer_slope(a, n - 1) };
            Second::unary(integer_power(a, n), integer_slope(a, n), bend)
        }
        Op::Call(function, _) => call(function, a),
        Op::Pair(operator, ..) => pair(operator, a, b),
        Op::Constant(bits) => Second::linear(f64::from_bits(bits), 0.0, 0.0),
        Op::State(_) | Op::Parameter(_) | Op::Input(_) | Op::Time => unreachable!("{op:?} has no operands"),
    }
}

fn call(function: Function, a: f64) -> Second {
    match function {
        Function::Sin => Second::unary(a.sin(), a.cos(), -a.sin()),
        Function::Cos => Second::unary(a.cos(), -a.sin(), -a.cos()),
        Function::Tan => {
            let tan = a.tan();
            Second::unary(tan, 1.0 + tan * tan, 2.0 * tan * (1.0 + tan * tan))
        }
        Function::Exp => Second::unary(a.exp(), a.exp(), a.exp()),
        Function::Log => Second::unary(a.ln(), 1.0 / a, -1.0 / (a * a)),
        Function::Sqrt => {
            let root = a.sqrt();
            Second::unary(root, 0.5 / root, -0.25 / (root * a))
        }
        Function::Abs => Second::unary(a.abs(), sign(a), 0.0),
        Function::Tanh => {
            let tanh = a.tanh();
            let slope = 1.0 - tanh * tanh;
            Second::unary(tanh, slope, -2.0 * tanh * slope)
        }
        Function::Step => Second::unary(step(a), 0.0, 0.0),
    }
}

/// −1, 0 or 1.
pub(super) fn sign(a: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a.signum() }
}

fn pair(operator: Binary, a: f64, b: f64) -> Second {
    match operator {
        Binary::Add => Second::linear(a + b, 1.0, 1.0),
        Binary::Subtract => Second::linear(a - b, 1.0, -1.0),
        Binary::Multiply => Second { by_ab: 1.0, ..Second::linear(a * b, b, a) },
        Binary::Divide => {
            let (value, inverse) = (a / b, 1.0 / b);
            let by_b = -value * inverse;
            Second { by_ab: -inverse * inverse, by_bb: -2.0 * by_b * inverse, ..Second::linear(value, inverse, by_b) }
        }
        Binary::Power => power(a, b),
        Binary::Min => choose(smaller(a, b), a <= b),
        Binary::Max => choose(larger(a, b), a >= b),
    }
}

fn choose(value: f64, first: bool) -> Second {
    if first { Second::linear(value, 1.0, 0.0) } else { Second::linear(value, 0.0, 1.0) }
}

/// a^b for a ≥ 0 or integer b; ln a counts as 0 at a = 0, where a^b is flat in b > 0.
fn power(a: f64, b: f64) -> Second {
    let value = a.powf(b);
    let log = if a == 0.0 { 0.0 } else { a.ln() };
    let lower = a.powf(b - 1.0);
    Second {
        value,
        by_a: b * lower,
        by_b: value * log,
        by_aa: b * (b - 1.0) * a.powf(b - 2.0),
        by_ab: lower * (1.0 + b * log),
        by_bb: value * log * log,
    }
}
