//! Carry messages over one step: backward as a function of the state, forward as a mass, one the transpose of the other.
//!
//! Backward: (pull b)(x) = (K ∗ b)(flow(x)): convolve with the kernel, then interpolate at the flow of each cell.
//! Forward: spread each cell's mass with the same interpolation weights, then convolve. So ⟨a, pull b⟩ = ⟨push a, b⟩
//! holds to rounding, and the evidence is the same at every time.
//!
//! At a time without an observation a state beyond the domain counts as being at its end: no mass is lost, the mass at
//! the ends says how much lies outside, and a drift that brings far states back at once is served almost exactly.

use super::convolve::Convolver;
use super::lagrange::{LEFT, POINTS, weights};
use super::layout::Layout;
use super::problem::Problem;
use crate::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Flow targets kept over all step lengths before the cache is emptied.
const KEPT: usize = 1 << 24;

/// Where the flow of each cell ends, in cells of the grid.
type Targets = Arc<Vec<f64>>;

/// The steps of a problem on a layout.
pub(crate) struct Transition<'a> {
    pub problem: &'a Problem<'a>,
    pub layout: &'a Layout,
    pub convolver: Convolver<'a>,
    /// Targets of the whole domain by step length, with the flow of a few states to recognise a drift that changes.
    whole: HashMap<u64, (Vec<f64>, Targets)>,
    max_cells: usize,
}

impl<'a> Transition<'a> {
    /// The steps of `problem` on `layout`; with `careful`, without the absolute error of FFTs.
    pub fn new(problem: &'a Problem<'a>, layout: &'a Layout, max_cells: usize, careful: bool) -> Self {
        let convolver = Convolver::new(problem.dimension.noise.as_ref(), layout.spacing, careful);
        Self { problem, layout, convolver, whole: HashMap::new(), max_cells }
    }

    /// E[b(x_{j+1}) | x_j = x] at the cells x of time `j`, for `b` at the cells of time `j` + 1; with the typical
    /// absolute error of a value (see [`Convolver::apply`]).
    pub fn pull(&mut self, j: usize, b: &[f64]) -> Result<(Vec<f64>, f64)> {
        let targets = self.targets(j);
        let ahead = self.ahead(j, b, self.landing(j, &targets)?)?;
        Ok((targets.iter().map(|&target| ahead.at(target)).collect(), ahead.floor))
    }

    /// E[b(x_{j+1}) | flow of x_j] at `len` cells from `first` on, for `b` at the cells of time `j` + 1.
    pub fn ahead(&mut self, j: usize, b: &[f64], (first, len): (i64, usize)) -> Result<Ahead> {
        let mut values = vec![0.0; len];
        let source = (self.layout.support(j + 1).first, b);
        let dt = self.problem.grid.step(j);
        let floor = self.convolver.apply(dt, source, (first, &mut values))?;
        if let (Some(beyond), [low, .., high]) = (self.beyond(j, first, len)?, b) {
            for (value, (below, above)) in values.iter_mut().zip(beyond) {
                *value += low * below + high * above;
            }
        }
        Ok(Ahead { first, values, floor })
    }

    /// Mass at the cells of time `j` + 1 for masses `a` at the cells of time `j`.
    pub fn push(&mut self, j: usize, a: &[f64]) -> Result<(Vec<f64>, f64)> {
        let (first, spread) = self.spread(j, a)?;
        let support = self.layout.support(j + 1);
        let mut pushed = vec![0.0; support.len];
        let out = (support.first, pushed.as_mut_slice());
        let floor = self.convolver.apply(self.problem.grid.step(j), (first, &spread), out)?;
        if let (Some(beyond), [low, .., high]) = (self.beyond(j, first, spread.len())?, pushed.as_mut_slice()) {
            for (mass, (below, above)) in spread.iter().zip(beyond) {
                *low += mass * below;
                *high += mass * above;
            }
        }
        Ok((pushed, floor))
    }

    /// Probability to end below and above the domain, from each of `len` cells on, the first being `first`; none if
    /// time `j` + 1 has an observation.
    fn beyond(&mut self, j: usize, first: i64, len: usize) -> Result<Option<impl Iterator<Item = (f64, f64)> + '_>> {
        if !self.problem.values[j + 1].is_nan() {
            return Ok(None);
        }
        let support = self.layout.support(j + 1);
        let count = support.len + len + (first - support.first).unsigned_abs() as usize + 1;
        let tails = self.convolver.tails(self.problem.grid.step(j), count)?;
        // A cell outside already stays there unless it moves back.
        let move_by = |distance: i64| match distance {
            1.. => tails[distance as usize - 1],
            _ => 1.0 - tails[(-distance) as usize],
        };
        let end = support.first + support.len as i64;
        let cells = first..first + len as i64;
        Ok(Some(cells.map(move |cell| (move_by(cell - support.first + 1), move_by(end - cell)))))
    }

    /// Masses moved along the flow onto the grid, with the cell of the first.
    fn spread(&mut self, j: usize, a: &[f64]) -> Result<(i64, Vec<f64>)> {
        let targets = self.targets(j);
        let (first, len) = self.landing(j, &targets)?;
        let mut spread = vec![0.0; len];
        for (&target, &mass) in targets.iter().zip(a).filter(|(_, mass)| **mass != 0.0) {
            let (index, weights) = place(target, first);
            weights.iter().zip(&mut spread[index..index + POINTS]).for_each(|(w, cell)| *cell += w * mass);
        }
        Ok((first, spread))
    }

    /// First cell and number of cells that the interpolation at `targets` touches.
    fn landing(&self, j: usize, targets: &[f64]) -> Result<(i64, usize)> {
        if targets.iter().any(|target| target.is_nan())
            && let Some(error) = self.problem.model.drift.failure()
        {
            return Err(error);
        }
        let (lo, hi) = targets.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &t| (lo.min(t), hi.max(t)));
        if !(hi - lo < 4.0 * self.max_cells as f64 && lo.abs() < 1e15) {
            return Err(Error::Numerical {
                what: "exact reference",
                why: format!(
                    "the drift spreads the states at time {} over {:.3e} cells; use shorter steps or a wider spacing",
                    self.problem.grid.times()[j],
                    hi - lo
                ),
            });
        }
        Ok(touched(lo, hi))
    }

    /// Flow of the cells of time `j`, in cells of the grid.
    fn targets(&mut self, j: usize) -> Targets {
        let support = self.layout.support(j);
        if j == 0 || !self.problem.values[j].is_nan() {
            return Arc::new((0..support.len).map(|i| self.flow(j, self.layout.cell(j, i))).collect());
        }
        // All times without an observation share their cells. Seven states, placed irregularly, tell whether the flow
        // of an earlier step of this length is the flow of this one.
        let range = (support.len - 1) as f64;
        let probes: Vec<f64> = [0.0, 0.137, 0.291, 0.462, 0.618, 0.853, 1.0]
            .iter()
            .map(|part| self.flow(j, self.layout.origin + part * range * self.layout.spacing))
            .collect();
        let key = self.problem.grid.step(j).to_bits();
        if let Some((known, targets)) = self.whole.get(&key)
            && *known == probes
        {
            return targets.clone();
        }
        if self.whole.len() * support.len > KEPT {
            self.whole.clear();
        }
        let targets: Targets = Arc::new((0..support.len).map(|i| self.flow(j, self.layout.cell(j, i))).collect());
        self.whole.insert(key, (probes, targets.clone()));
        targets
    }

    fn flow(&self, j: usize, x: f64) -> f64 {
        let mut out = [0.0];
        self.problem.model.drift.flow(self.problem.grid.times()[j], self.problem.grid.step(j), &[x], &mut out);
        (out[0] - self.layout.origin) / self.layout.spacing
    }
}

/// What a state before the noise of a step may expect, at cells from `first` on.
pub(crate) struct Ahead {
    first: i64,
    values: Vec<f64>,
    /// Typical absolute error of a value.
    floor: f64,
}

impl Ahead {
    /// The value at position `target`, counted in cells of the grid; the cells around it must be there.
    pub fn at(&self, target: f64) -> f64 {
        let (index, weights) = place(target, self.first);
        weights.iter().zip(&self.values[index..index + POINTS]).map(|(w, c)| w * c).sum()
    }
}

/// First cell and number of cells that interpolation between positions `lo` and `hi` touches.
pub(crate) fn touched(lo: f64, hi: f64) -> (i64, usize) {
    let first = lo.floor() as i64 - LEFT;
    (first, (hi.floor() as i64 - first - LEFT) as usize + POINTS)
}

/// Index of the first interpolation point, counted from cell `first`, and the weights for `target`.
fn place(target: f64, first: i64) -> (usize, [f64; POINTS]) {
    let cell = target.floor();
    ((cell as i64 - LEFT - first) as usize, weights(target - cell))
}
