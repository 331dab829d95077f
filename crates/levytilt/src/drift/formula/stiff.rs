//! Integrate one state over a stiff step: the linearly implicit Euler method, extrapolated, with exact derivatives.
//!
//! A basic step of length H is done with n = 2, 3, 4, … parts, y ← y + (1 − hJ)⁻¹ h f(t + h, y) with h = H/n and J the
//! Jacobian at its start, and extrapolated to h → 0. Each column gains an order; their differences give the error. The
//! derivatives are those of the numbers computed: the same scheme differentiated, with the second derivatives of f
//! where J itself depends on state and parameters. (E. Hairer and G. Wanner, *Solving Ordinary Differential Equations II*,
//! section IV.9.)

use super::hyper::{bends, rounding, run_at};
use super::inputs::Segment;
use super::lanes::{Bound, Lanes};
use crate::drift::integral::norm;
use nalgebra::{DMatrix, Dyn, LU};

/// Local error of a step, relative to the size of what moves.
pub(super) const TOLERANCE: f64 = 1e-11;
/// What has decayed to less than this part of its largest size needs no digits of its own: for states, and derivatives.
pub(super) const LEAST: [f64; 2] = [1e-18, 1e-12];
/// Units of rounding that an error estimate may always have.
pub(super) const ROUNDING: f64 = 1000.0 * f64::EPSILON;
/// Where a path could not be continued: state, time, and the size of the step that failed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stop {
    pub t: f64,
    pub ahead: f64,
    pub x: Vec<f64>,
}

/// Most columns of the extrapolation, and the one at which the step size aims.
const COLUMNS: usize = 12;
const AIM: usize = 8;
/// By how much extrapolation may amplify rounding.
const AMPLIFIED: f64 = 100.0;

/// Number of parts in each row of the extrapolation.
fn parts(row: usize) -> usize {
    row + 2
}

/// Take a path (see [`super::explicit::integrate`]) from `time` after the start of the segment to its end, with at most
/// `patience` attempts at basic steps.
pub(super) fn finish(
    bound: &Bound,
    segment: &Segment,
    mut time: f64,
    patience: usize,
    path: &mut [f64],
) -> Result<(), Stop> {
    let mut solver = Solver::new(bound, segment, path.len());
    let mut step = 0.1 * (segment.length - time);
    for _ in 0..patience {
        let rest = segment.length - time;
        let whole = step >= rest;
        let length = if whole { rest } else { step };
        let tried = solver.step(path, segment.start + time, length);
        match tried {
            Some((next, factor)) => {
                path.copy_from_slice(&next);
                if whole {
                    return Ok(());
                }
                time += length;
                step = length * factor;
            }
            None => {
                step = 0.3 * length;
                if step < 1e-14 * segment.length {
                    break;
                }
            }
        }
    }
    let stop = Stop { t: segment.start + time, ahead: step, x: path[..bound.program.dim()].to_vec() };
    path.fill(f64::NAN);
    Err(stop)
}

struct Solver<'a> {
    bound: &'a Bound,
    segment: &'a Segment,
    dim: usize,
    /// Directions of derivatives; none if they are not wanted.
    directions: usize,
    lanes: Lanes<1>,
}

/// What a basic step is about: its start and what is known there.
struct Start {
    t: f64,
    x: Vec<f64>,
    jacobian: DMatrix<f64>,
    /// ∂J/∂z, one matrix per direction.
    bends: Vec<DMatrix<f64>>,
    /// Errors of state and derivatives that rounding alone may make.
    noise: DMatrix<f64>,
}

impl<'a> Solver<'a> {
    fn new(bound: &'a Bound, segment: &'a Segment, size: usize) -> Self {
        let dim = bound.program.dim();
        Self { bound, segment, dim, directions: size / dim - 1, lanes: Lanes::new(bound) }
    }

    /// Drift at a state, and its derivatives in all directions as columns.
    fn evaluate(&mut self, t: f64, x: &[f64]) -> (DMatrix<f64>, DMatrix<f64>) {
        let program = &self.bound.program;
        run_at(self.bound, &mut self.lanes, x, t, self.segment);
        self.lanes.differentiate(program);
        let drift = DMatrix::from_fn(self.dim, 1, |i, _| self.lanes.values[program.outputs[i]][0]);
        let mut slopes = DMatrix::zeros(self.dim, program.directions());
        for (i, &o) in program.outputs.iter().enumerate() {
            for link in &program.links[o] {
                slopes[(i, link.direction)] = self.lanes.tangents[link.slot][0];
            }
        }
        (drift, slopes)
    }

    /// One basic step: the path after it and by how much the next one may be longer; none if it is too long.
    fn step(&mut self, path: &[f64], t: f64, length: f64) -> Option<(Vec<f64>, f64)> {
        let dim = self.dim;
        let x = path[..dim].to_vec();
        let (_, slopes) = self.evaluate(t, &x);
        let jacobian = slopes.columns(0, dim).into_owned();
        let bends = match self.directions {
            0 => Vec::new(),
            _ => bends(self.bound, &self.lanes)
                .chunks_exact(dim * dim)
                .map(|rows| DMatrix::from_row_slice(dim, dim, rows))
                .collect(),
        };
        // Rounding adds up over the time in which the motion forgets it.
        let reach = length.min(10.0 / norm(&jacobian));
        let noise = rounding(self.bound, &self.lanes);
        let noise =
            DMatrix::from_fn(dim, 1 + self.directions, |i, z| AMPLIFIED * ROUNDING * reach * noise[z * dim + i]);
        let start = Start { t, x, jacobian, bends, noise };
        // The last row of the extrapolation; each entry is a state and its derivatives in the start and the parameters.
        let mut row: Vec<DMatrix<f64>> = Vec::new();
        let mut before = f64::INFINITY;
        for k in 0..COLUMNS {
            let mut entry = self.parts(&start, length, parts(k))?;
            let mut new = Vec::with_capacity(k + 1);
            for (m, above) in row.iter().enumerate() {
                let ratio = parts(k) as f64 / parts(k - m - 1) as f64;
                let better = &entry + (&entry - above) / (ratio - 1.0);
                new.push(std::mem::replace(&mut entry, better));
            }
            if let Some(worse) = new.last() {
                let error = self.error(&start, path, &entry, worse);
                if !error.is_finite() || (k > 5 && error > 1e3 * before.max(1.0)) {
                    return None;
                }
                if error <= 1.0 {
                    let factor = (0.7 * (1.0 / error.max(1e-10)).powf(1.0 / (k + 1) as f64)).min(3.0);
                    let factor = if k + 1 < AIM { factor.max(1.5) } else { factor.clamp(0.5, 1.5) };
                    return Some((self.compose(path, &entry), factor));
                }
                before = error;
            }
            new.push(entry);
            row = new;
        }
        None
    }

    /// State and derivatives after `length` in `count` parts; none if the matrix cannot be solved or a number is lost.
    fn parts(&mut self, start: &Start, length: f64, count: usize) -> Option<DMatrix<f64>> {
        let (dim, h) = (self.dim, length / count as f64);
        let matrix = DMatrix::identity(dim, dim) - &start.jacobian * h;
        let solver: LU<f64, Dyn, Dyn> = matrix.lu();
        let mut state = DMatrix::zeros(dim, 1 + self.directions);
        state.column_mut(0).copy_from_slice(&start.x);
        for i in 0..dim.min(self.directions) {
            state[(i, 1 + i)] = 1.0;
        }
        for part in 1..=count {
            let x: Vec<f64> = state.column(0).iter().copied().collect();
            let (drift, slopes) = self.evaluate(start.t + part as f64 * h, &x);
            let change = solver.solve(&(drift * h))?;
            if !change.iter().all(|change| change.is_finite()) {
                return None;
            }
            if self.directions > 0 {
                let columns = state.columns(1, self.directions);
                let mut right = slopes.columns(0, dim) * columns;
                for z in dim..self.directions {
                    let mut column = right.column_mut(z);
                    column += slopes.column(z);
                }
                for (z, bend) in start.bends.iter().enumerate() {
                    let mut column = right.column_mut(z);
                    column += (bend * &change).column(0);
                }
                let derivatives = solver.solve(&(right * h))?;
                let mut columns = state.columns_mut(1, self.directions);
                columns += derivatives;
            }
            let mut column = state.column_mut(0);
            column += change.column(0);
        }
        Some(state)
    }

    /// Largest difference of the path after two results, in units of what is allowed.
    ///
    /// The path is compared, not the basic step: a fast mode that has decayed needs no digits in the step either.
    fn error(&self, start: &Start, path: &[f64], better: &DMatrix<f64>, worse: &DMatrix<f64>) -> f64 {
        let dim = self.dim;
        let (better, worse) = (self.compose(path, better), self.compose(path, worse));
        let mut largest: f64 = 0.0;
        for (c, ((a, b), before)) in better.iter().zip(&worse).zip(path).enumerate() {
            let error = (a - b).abs();
            if !error.is_finite() {
                return f64::NAN;
            }
            // The derivative of a state in itself starts at 1.
            let least = if (dim..dim * (dim + 1)).contains(&c) { LEAST[1] } else { 0.0 };
            let scale = a.abs().max(before.abs()).max(least);
            if error > 0.0 {
                largest = largest.max(error / (TOLERANCE * scale + start.noise[(c % dim, c / dim)]));
            }
        }
        largest
    }

    /// The path after a basic step: its derivatives follow by the chain rule.
    fn compose(&self, path: &[f64], moved: &DMatrix<f64>) -> Vec<f64> {
        let dim = self.dim;
        let mut next = moved.column(0).iter().copied().collect::<Vec<f64>>();
        for z in 0..self.directions {
            let before = &path[dim + z * dim..dim + (z + 1) * dim];
            let own = |i: usize| if z < dim { 0.0 } else { moved[(i, 1 + z)] };
            next.extend((0..dim).map(|i| own(i) + (0..dim).map(|j| moved[(i, 1 + j)] * before[j]).sum::<f64>()));
        }
        next
    }
}
