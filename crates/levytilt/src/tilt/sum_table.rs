//! Tilt one step by a Gaussian sum for many paths: a table per bump, and only the bumps that can matter.

use super::log_sum::LogSum;
use super::step::Draw;
use super::table::TiltTable;
use crate::StreamRng;
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;
use crate::potential::GaussianSum;
use rand::RngExt;
use std::cell::RefCell;
use std::sync::Arc;

/// A term e^{−32} = 1e-14 of another one is left out; all of them together stay below 1e-12.
const NEGLIGIBLE: f64 = 32.0;

/// A step tilted by e^{φ(x)} = Σ_m π_m exp(−a_m(x − c_m)²), with tables; the law is that of [`super::SumStep`].
#[derive(Debug)]
pub struct SumTable {
    potential: GaussianSum,
    /// In decreasing order of `most`, so that the first bump that cannot matter ends the search.
    parts: Vec<Part>,
    space: RefCell<Space>,
}

#[derive(Debug)]
struct Part {
    /// ln π_m.
    log_weight: f64,
    /// ln π_m + ln Z_m at the centre, the largest value of π_m Z_m.
    most: f64,
    table: TiltTable,
}

/// Terms in the making: logarithms that turn into values, and factors beside them.
#[derive(Debug, Default)]
struct Space {
    values: Vec<f64>,
    factors: Vec<f64>,
}

impl SumTable {
    /// Tables of the nodes of a step tilted by a potential, empty until paths come.
    pub fn new(nodes: &Arc<Nodes>, potential: GaussianSum) -> Self {
        let part = |&(log_weight, quadratic): &(f64, _)| {
            let table = TiltTable::new(nodes.clone(), quadratic);
            Part { log_weight, most: log_weight + table.most_log_z(), table }
        };
        let mut parts: Vec<Part> = potential.components().iter().map(part).collect();
        parts.sort_by(|a, b| b.most.total_cmp(&a.most));
        Self { potential, parts, space: RefCell::default() }
    }

    /// The potential.
    pub fn potential(&self) -> &GaussianSum {
        &self.potential
    }

    /// ln Z(x̃) within 1e-9.
    pub fn log_z(&self, x: f64) -> f64 {
        let (top, total) = self.weigh(x, &mut self.space.borrow_mut());
        top + total.ln()
    }

    /// ∂ ln Z/∂x̃: the pull of each bump, weighted by how often it calls.
    pub fn pull(&self, x: f64) -> f64 {
        let mut space = self.space.borrow_mut();
        let (_, total) = self.weigh(x, &mut space);
        self.parts.iter().zip(&space.values).map(|(part, value)| value / total * part.table.pull(x)).sum()
    }

    /// Draw bump, node and next state from x̃; the law is that of [`super::SumStep::draw`].
    pub fn draw(&self, x: f64, rng: &mut StreamRng) -> Draw {
        let mut sum = LogSum::default();
        let (node, state) = self.advance(x, rng, &mut sum);
        Draw { node, state, log_z: sum.value() }
    }

    /// Draw bump, node and next state from x̃ and add ln Z(x̃) to a path's log-weight.
    pub fn advance(&self, x: f64, rng: &mut StreamRng, log_weight: &mut LogSum) -> (usize, f64) {
        let mut space = self.space.borrow_mut();
        let (top, total) = self.weigh(x, &mut space);
        log_weight.add(top);
        log_weight.multiply(total);
        let mut rest = rng.random::<f64>() * total;
        let mut called = 0;
        for (m, &value) in space.values.iter().enumerate() {
            if value > 0.0 {
                called = m;
            }
            rest -= value;
            if rest < 0.0 {
                break;
            }
        }
        self.parts[called].table.go(x, rng)
    }

    /// φ(x).
    pub fn log_potential(&self, x: f64) -> f64 {
        let space = &mut *self.space.borrow_mut();
        let mut top = f64::NEG_INFINITY;
        space.values.clear();
        space.values.extend(self.parts.iter().map(|part| {
            let term = part.log_weight + part.table.potential().log_value(x);
            top = top.max(term);
            term
        }));
        space.values.iter_mut().for_each(|v| *v -= top);
        exp_slice(&mut space.values);
        top + space.values.iter().sum::<f64>().ln()
    }

    /// Write π_m Z_m(x̃) e^{−top} of the leading bumps into `space.values`; `top` and their sum.
    fn weigh(&self, x: f64, space: &mut Space) -> (f64, f64) {
        let Space { values, factors } = space;
        values.clear();
        factors.clear();
        let mut top = f64::NEG_INFINITY;
        for part in &self.parts {
            if part.most < top - NEGLIGIBLE {
                break;
            }
            let (log, factor) = part.table.log_z_and_factor(x);
            // The factor is at least one, so the logarithm alone is a lower bound of the term.
            values.push(part.log_weight + log);
            factors.push(factor);
            top = top.max(part.log_weight + log);
        }
        values.iter_mut().for_each(|v| *v -= top);
        exp_slice(values);
        values.iter_mut().zip(factors.iter()).for_each(|(v, f)| *v *= f);
        (top, values.iter().sum())
    }
}
