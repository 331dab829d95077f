//! Lower formulas to one list of instructions: constants folded, common parts shared, derivatives planned.

use super::parse::{Binary, Expression, Form, Function};
use super::partials::{Op, scalar};
use super::token::Source;
use crate::Result;
use std::collections::HashMap;

/// Most parameters of the formulas of a model; their derivatives take memory like the square.
const MOST_PARAMETERS: usize = 400;

/// A derivative of an instruction in one direction, and where those of its operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// Direction: the states, then the parameters.
    pub direction: usize,
    pub slot: usize,
    pub operands: [Option<usize>; 2],
}

/// Names in the order in which values are given.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Names {
    pub states: Vec<String>,
    pub inputs: Vec<String>,
    pub parameters: Vec<String>,
}

/// The formulas of all states as one list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Program {
    pub names: Names,
    pub sources: Vec<Source>,
    pub ops: Vec<Op>,
    /// Per instruction: formula and characters it comes from.
    pub origins: Vec<(usize, (usize, usize))>,
    /// The instruction of each state's drift.
    pub outputs: Vec<usize>,
    /// Instructions that depend on parameters alone, and those that also depend on states, time or inputs; only ones that
    /// some output needs.
    pub fixed: Vec<usize>,
    pub varying: Vec<usize>,
    /// Derivatives of each instruction.
    pub links: Vec<Vec<Link>>,
    /// Number of all derivatives.
    pub slots: usize,
    /// Whether every formula is affine in the states.
    pub affine: bool,
    /// Whether no formula depends on time or inputs.
    pub autonomous: bool,
}

impl Program {
    /// Lower the parsed formulas of `names.states`; names that are not known become parameters.
    pub fn new(mut names: Names, sources: Vec<Source>, parsed: &[Vec<Expression>]) -> Result<Self> {
        let mut builder = Builder { names: &mut names, ops: Vec::new(), origins: Vec::new(), known: HashMap::new() };
        let outputs = parsed.iter().enumerate().map(|(i, list)| builder.lower(i, &sources[i], list));
        let outputs: Vec<usize> = outputs.collect::<Result<_>>()?;
        let Builder { ops, origins, .. } = builder;
        let needed = needed(&ops, &outputs);
        let varies = depends(&ops, |op| matches!(op, Op::State(_) | Op::Input(_) | Op::Time));
        let timed = depends(&ops, |op| matches!(op, Op::Input(_) | Op::Time));
        let all = 0..ops.len();
        let (varying, fixed) = all.filter(|&o| needed[o]).partition(|&o| varies[o]);
        let (links, slots) = links(&ops, &needed, names.states.len());
        let degrees = degrees(&ops);
        let affine = outputs.iter().all(|&o| degrees[o] <= 1);
        let autonomous = outputs.iter().all(|&o| !timed[o]);
        Ok(Self { names, sources, ops, origins, outputs, fixed, varying, links, slots, affine, autonomous })
    }

    /// Number of states.
    pub fn dim(&self) -> usize {
        self.names.states.len()
    }

    /// Number of states and parameters: the directions of derivatives.
    pub fn directions(&self) -> usize {
        self.dim() + self.names.parameters.len()
    }

    /// The text that an instruction comes from.
    pub fn piece(&self, o: usize) -> String {
        let (formula, span) = self.origins[o];
        self.sources[formula].piece(span)
    }
}

struct Builder<'a> {
    names: &'a mut Names,
    ops: Vec<Op>,
    origins: Vec<(usize, (usize, usize))>,
    known: HashMap<Op, usize>,
}

impl Builder<'_> {
    fn lower(&mut self, formula: usize, source: &Source, list: &[Expression]) -> Result<usize> {
        let mut places = Vec::with_capacity(list.len());
        for expression in list {
            let op = match &expression.form {
                Form::Number(value) => Op::Constant(value.to_bits()),
                Form::Name(name) => self.name(name),
                Form::Negate(a) => Op::Negate(places[*a]),
                Form::Call(function, a) => Op::Call(*function, places[*a]),
                Form::Pair(operator, a, b) => self.pair(*operator, places[*a], places[*b]),
            };
            if matches!(op, Op::Parameter(l) if l >= MOST_PARAMETERS) {
                let problem = format!("this is one parameter too many; at most {MOST_PARAMETERS} are allowed");
                return Err(source.error(expression.span.0, problem));
            }
            let place = self.push(op, (formula, expression.span));
            if let Op::Pair(Binary::Divide, _, b) = self.ops[place]
                && self.constant(b) == Some(0.0)
            {
                return Err(source.error(expression.span.0, format!("{} divides by 0", source.piece(expression.span))));
            }
            if self.constant(place).is_some_and(|value| !value.is_finite()) {
                let problem = format!("{} has no finite value", source.piece(expression.span));
                return Err(source.error(expression.span.0, problem));
            }
            places.push(place);
        }
        Ok(*places.last().expect("a parsed formula has an expression"))
    }

    /// A name: a state, an input, time, π, or else a parameter.
    fn name(&mut self, name: &str) -> Op {
        let place = |names: &[String]| names.iter().position(|known| known == name);
        match name {
            "pi" => return Op::Constant(std::f64::consts::PI.to_bits()),
            "t" => return Op::Time,
            _ => {}
        }
        if let Some(i) = place(&self.names.states) {
            return Op::State(i);
        }
        if let Some(k) = place(&self.names.inputs) {
            return Op::Input(k);
        }
        let l = place(&self.names.parameters).unwrap_or_else(|| {
            self.names.parameters.push(name.into());
            self.names.parameters.len() - 1
        });
        Op::Parameter(l)
    }

    /// Two operands in a form that evaluates faster where there is one.
    fn pair(&self, operator: Binary, a: usize, b: usize) -> Op {
        match (operator, self.constant(b)) {
            (Binary::Power, Some(0.5)) => Op::Call(Function::Sqrt, a),
            (Binary::Power, Some(n)) if n.fract() == 0.0 && n.abs() <= 64.0 => Op::Integer(a, n as i32),
            // The order of these two does not matter to the last bit.
            (Binary::Add | Binary::Multiply, _) => Op::Pair(operator, a.min(b), a.max(b)),
            _ => Op::Pair(operator, a, b),
        }
    }

    fn constant(&self, place: usize) -> Option<f64> {
        match self.ops[place] {
            Op::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// The place of an instruction, which may be there already or be a number by now.
    fn push(&mut self, op: Op, origin: (usize, (usize, usize))) -> usize {
        let op = self.fold(op);
        *self.known.entry(op).or_insert_with(|| {
            self.ops.push(op);
            self.origins.push(origin);
            self.ops.len() - 1
        })
    }

    fn fold(&self, op: Op) -> Op {
        let value = |place: Option<usize>| place.and_then(|place| self.constant(place));
        let [a, b] = op.operands();
        match (a, b, value(a), value(b)) {
            (Some(_), None, Some(x), _) => Op::Constant(scalar(op, x, 0.0).to_bits()),
            (Some(_), Some(_), Some(x), Some(y)) => Op::Constant(scalar(op, x, y).to_bits()),
            (Some(a), ..) if matches!(op, Op::Integer(_, 1)) => self.ops[a],
            (Some(_), ..) if matches!(op, Op::Integer(_, 0)) => Op::Constant(1f64.to_bits()),
            _ => op,
        }
    }
}

/// Which instructions the outputs need; operands come earlier, so one pass from the end finds them all.
fn needed(ops: &[Op], outputs: &[usize]) -> Vec<bool> {
    let mut needed = vec![false; ops.len()];
    outputs.iter().for_each(|&o| needed[o] = true);
    for o in (0..ops.len()).rev() {
        if needed[o] {
            ops[o].operands().into_iter().flatten().for_each(|operand| needed[operand] = true);
        }
    }
    needed
}

/// Which instructions depend on one that `is` true of.
fn depends(ops: &[Op], is: impl Fn(Op) -> bool) -> Vec<bool> {
    let mut found = Vec::with_capacity(ops.len());
    for &op in ops {
        let there = is(op) || op.operands().into_iter().flatten().any(|operand| found[operand]);
        found.push(there);
    }
    found
}

/// The directions in which each needed instruction has a derivative, each with a slot of its own.
fn links(ops: &[Op], needed: &[bool], dim: usize) -> (Vec<Vec<Link>>, usize) {
    let mut all: Vec<Vec<Link>> = Vec::with_capacity(ops.len());
    let mut slots = 0;
    for (o, &op) in ops.iter().enumerate() {
        let slot_in = |operand: Option<usize>, direction: usize| {
            operand.and_then(|operand| all[operand].iter().find(|link| link.direction == direction)).map(|l| l.slot)
        };
        let operands = op.operands();
        let mut directions: Vec<usize> = match op {
            Op::State(i) => vec![i],
            Op::Parameter(l) => vec![dim + l],
            // Flat wherever it has a derivative.
            Op::Call(Function::Step, _) => Vec::new(),
            _ => operands.into_iter().flatten().flat_map(|p| all[p].iter().map(|link| link.direction)).collect(),
        };
        if !needed[o] {
            directions.clear();
        }
        directions.sort_unstable();
        directions.dedup();
        let own: Vec<Link> = directions
            .into_iter()
            .enumerate()
            .map(|(k, direction)| Link {
                direction,
                slot: slots + k,
                operands: operands.map(|operand| slot_in(operand, direction)),
            })
            .collect();
        slots += own.len();
        all.push(own);
    }
    (all, slots)
}

/// Degree of each instruction in the states: 0, 1, or 2 for everything else.
fn degrees(ops: &[Op]) -> Vec<u8> {
    let mut degrees: Vec<u8> = Vec::with_capacity(ops.len());
    for &op in ops {
        let [a, b] = op.operands().map(|operand| operand.map_or(0, |operand| degrees[operand]));
        let degree = match op {
            Op::State(_) => 1,
            Op::Negate(_) => a,
            Op::Pair(Binary::Add | Binary::Subtract, ..) => a.max(b),
            Op::Pair(Binary::Multiply, ..) => (a + b).min(2),
            Op::Pair(Binary::Divide, ..) if b == 0 => a,
            _ if a + b == 0 => 0,
            _ => 2,
        };
        degrees.push(degree);
    }
    degrees
}
