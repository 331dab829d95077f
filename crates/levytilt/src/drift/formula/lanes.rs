//! Run the instructions over several states at once, with derivatives in states and parameters.

use super::inputs::Segment;
use super::parse::{Binary, Function};
use super::partials::{self, Op, integer_power, integer_slope, larger, sign, smaller, step};
use super::program::Program;
use std::array::from_fn;

/// One number per state that is worked on.
pub(super) type Lane<const W: usize> = [f64; W];

/// A program with values for its parameters, and what follows from them alone.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub program: std::sync::Arc<Program>,
    pub parameters: Vec<f64>,
    /// Values and derivatives that do not vary; 0 elsewhere.
    values: Vec<f64>,
    tangents: Vec<f64>,
}

impl Bound {
    /// Give the parameters their values; those must be as many as the program has.
    pub fn new(program: std::sync::Arc<Program>, parameters: Vec<f64>) -> Self {
        let (values, tangents) = (vec![0.0; program.ops.len()], vec![0.0; program.slots]);
        let mut bound = Self { program, parameters, values, tangents };
        let mut lanes = Lanes::<1>::new(&bound);
        let program = bound.program.clone();
        for &o in &program.fixed {
            lanes.evaluate(&bound, o, &[], &[0.0], &Segment::default());
            lanes.derive(&program, o);
        }
        // Derivatives of a state in itself do not vary.
        for &o in program.varying.iter().filter(|&&o| matches!(program.ops[o], Op::State(_))) {
            lanes.derive(&program, o);
        }
        bound.values = lanes.values.iter().map(|value| value[0]).collect();
        bound.tangents = lanes.tangents.iter().map(|value| value[0]).collect();
        bound
    }

    /// The first instruction of parameters alone that has no finite value, if there is one.
    pub fn unsound(&self) -> Option<usize> {
        self.program.fixed.iter().copied().find(|&o| !self.values[o].is_finite())
    }
}

/// Working space for `W` states.
#[derive(Debug)]
pub(super) struct Lanes<const W: usize> {
    pub values: Vec<Lane<W>>,
    pub tangents: Vec<Lane<W>>,
}

impl<const W: usize> Lanes<W> {
    pub fn new(bound: &Bound) -> Self {
        let spread = |numbers: &[f64]| numbers.iter().map(|&number| [number; W]).collect();
        Self { values: spread(&bound.values), tangents: spread(&bound.tangents) }
    }

    /// Evaluate the drift at states `x` (one lane per dimension) and times `t`.
    pub fn run(&mut self, bound: &Bound, x: &[Lane<W>], t: &Lane<W>, segment: &Segment) {
        for &o in &bound.program.varying {
            self.evaluate(bound, o, x, t, segment);
        }
    }

    /// All derivatives where [`Lanes::run`] was last.
    pub fn differentiate(&mut self, program: &Program) {
        for &o in &program.varying {
            if !matches!(program.ops[o], Op::State(_)) {
                self.derive(program, o);
            }
        }
    }

    fn evaluate(&mut self, bound: &Bound, o: usize, x: &[Lane<W>], t: &Lane<W>, segment: &Segment) {
        let v = &self.values;
        let value = match bound.program.ops[o] {
            Op::Constant(bits) => [f64::from_bits(bits); W],
            Op::State(i) => x[i],
            Op::Parameter(l) => [bound.parameters[l]; W],
            Op::Input(k) => t.map(|t| segment.input(k, t)),
            Op::Time => *t,
            Op::Negate(a) => v[a].map(|a| -a),
            Op::Integer(a, 2) => v[a].map(|a| a * a),
            Op::Integer(a, 3) => v[a].map(|a| a * (a * a)),
            Op::Integer(a, n) => v[a].map(|a| integer_power(a, n)),
            Op::Call(function, a) => call(function, &v[a]),
            Op::Pair(operator, a, b) => pair(operator, &v[a], &v[b]),
        };
        self.values[o] = value;
    }

    fn derive(&mut self, program: &Program, o: usize) {
        let links = &program.links[o];
        if links.is_empty() {
            return;
        }
        let op = program.ops[o];
        let [a, b] = op.operands();
        let (by_a, by_b) = match (a, b) {
            (Some(a), b) => slopes(op, &self.values[a], b.map(|b| &self.values[b]), &self.values[o]),
            _ => ([1.0; W], [1.0; W]),
        };
        for link in links {
            let tangents = &self.tangents;
            let tangent = match link.operands {
                [None, None] => [1.0; W],
                [Some(a), None] => from_fn(|w| by_a[w] * tangents[a][w]),
                [None, Some(b)] => from_fn(|w| by_b[w] * tangents[b][w]),
                [Some(a), Some(b)] => from_fn(|w| by_a[w] * tangents[a][w] + by_b[w] * tangents[b][w]),
            };
            self.tangents[link.slot] = tangent;
        }
    }
}

fn call<const W: usize>(function: Function, a: &Lane<W>) -> Lane<W> {
    match function {
        Function::Sin => a.map(f64::sin),
        Function::Cos => a.map(f64::cos),
        Function::Tan => a.map(f64::tan),
        Function::Exp => a.map(f64::exp),
        Function::Log => a.map(f64::ln),
        Function::Sqrt => a.map(f64::sqrt),
        Function::Abs => a.map(f64::abs),
        Function::Tanh => a.map(f64::tanh),
        Function::Step => a.map(step),
    }
}

fn pair<const W: usize>(operator: Binary, a: &Lane<W>, b: &Lane<W>) -> Lane<W> {
    match operator {
        Binary::Add => from_fn(|w| a[w] + b[w]),
        Binary::Subtract => from_fn(|w| a[w] - b[w]),
        Binary::Multiply => from_fn(|w| a[w] * b[w]),
        Binary::Divide => from_fn(|w| a[w] / b[w]),
        Binary::Power => from_fn(|w| a[w].powf(b[w])),
        Binary::Min => from_fn(|w| smaller(a[w], b[w])),
        Binary::Max => from_fn(|w| larger(a[w], b[w])),
    }
}

/// Derivatives in the operands, given these and the value; as in [`partials::second`], lane by lane.
fn slopes<const W: usize>(op: Op, a: &Lane<W>, b: Option<&Lane<W>>, value: &Lane<W>) -> (Lane<W>, Lane<W>) {
    let b = b.unwrap_or(a);
    match op {
        Op::Negate(_) => ([-1.0; W], [0.0; W]),
        Op::Integer(_, 2) => (a.map(|a| 2.0 * a), [0.0; W]),
        Op::Integer(_, 3) => (a.map(|a| 3.0 * (a * a)), [0.0; W]),
        Op::Integer(_, n) => (a.map(|a| integer_slope(a, n)), [0.0; W]),
        Op::Call(Function::Exp, _) => (*value, [0.0; W]),
        Op::Call(Function::Log, _) => (a.map(|a| 1.0 / a), [0.0; W]),
        Op::Call(Function::Sqrt, _) => (value.map(|root| 0.5 / root), [0.0; W]),
        Op::Call(Function::Tanh, _) => (value.map(|tanh| 1.0 - tanh * tanh), [0.0; W]),
        Op::Call(Function::Sin, _) => (a.map(f64::cos), [0.0; W]),
        Op::Call(Function::Cos, _) => (a.map(|a| -a.sin()), [0.0; W]),
        Op::Call(Function::Abs, _) => (a.map(sign), [0.0; W]),
        Op::Pair(Binary::Add, ..) => ([1.0; W], [1.0; W]),
        Op::Pair(Binary::Subtract, ..) => ([1.0; W], [-1.0; W]),
        Op::Pair(Binary::Multiply, ..) => (*b, *a),
        Op::Pair(Binary::Divide, ..) => (b.map(|b| 1.0 / b), from_fn(|w| -value[w] / b[w])),
        _ => {
            let all: [partials::Second; W] = from_fn(|w| partials::second(op, a[w], b[w]));
            (all.map(|s| s.by_a), all.map(|s| s.by_b))
        }
    }
}
