//! Carry messages over one step: backward as a function of the state, forward as a mass, one the transpose of the other.
//!
//! Backward: (pull b)(x) = (K ∗ b)(flow(x)): convolve with the kernel, then interpolate at the flow of each cell.
//! Forward: spread each cell's mass with the same interpolation weights, then convolve. So ⟨a, pull b⟩ = ⟨push a, b⟩
//! holds to rounding, and the evidence is the same at every time.
//!
//! At a time without an observation, or with one whose error may be gross, a state beyond the domain counts as being at its end: no mass is lost, the mass at
//! the ends says how much lies outside, and a drift that brings far states back at once is served almost exactly.

use super::convolve::{Convolver, Rounding, Way};
use super::flow_table::{FlowTable, Landing, Landings};
use super::lagrange::{LEFT, POINTS, slopes};
use super::layout::Layout;
use super::problem::Problem;
use crate::{Error, Result};

/// The steps of a problem on a layout.
pub(crate) struct Transition<'a> {
    pub problem: &'a Problem<'a>,
    pub layout: &'a Layout,
    pub convolver: Convolver<'a>,
    flows: FlowTable,
    max_cells: usize,
}

impl<'a> Transition<'a> {
    /// The steps of `problem` on `layout`, with `rounding` by FFTs as allowed.
    pub fn new(problem: &'a Problem<'a>, layout: &'a Layout, max_cells: usize, rounding: Rounding) -> Self {
        let convolver = Convolver::new(problem.dimension.noise.as_ref(), layout.spacing, rounding);
        Self { problem, layout, convolver, flows: FlowTable::default(), max_cells }
    }

    /// E[b(x_{j+1}) | x_j = x] at the cells x of time `j`, for `b` at the cells of time `j` + 1; with the typical
    /// absolute error of a value (see [`Convolver::apply`]).
    pub fn pull(&mut self, j: usize, b: &[f64]) -> Result<(Vec<f64>, f64)> {
        let (values, ahead) = self.pull_ahead(j, b)?;
        Ok((values, ahead.floor))
    }

    /// [`Transition::pull`], with what it was read from.
    pub fn pull_ahead(&mut self, j: usize, b: &[f64]) -> Result<(Vec<f64>, Ahead)> {
        let landings = self.landings(j);
        let ahead = self.ahead(j, b, self.landing(j, &landings)?)?;
        Ok((landings.iter().map(|landing| ahead.at_landing(landing)).collect(), ahead))
    }

    /// E[b(x_{j+1}) | flow of x_j] at `len` cells from `first` on, for `b` at the cells of time `j` + 1.
    pub fn ahead(&mut self, j: usize, b: &[f64], (first, len): (i64, usize)) -> Result<Ahead> {
        let mut values = vec![0.0; len];
        let source = (self.layout.support(j + 1).first, b);
        let dt = self.problem.lengths[j];
        let floor = self.convolver.apply(Way::Backward, dt, source, (first, &mut values))?;
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
        let floor = self.convolver.apply(Way::Forward, self.problem.lengths[j], (first, &spread), out)?;
        if let (Some(beyond), [low, .., high]) = (self.beyond(j, first, spread.len())?, pushed.as_mut_slice()) {
            for (mass, (below, above)) in spread.iter().zip(beyond) {
                *low += mass * below;
                *high += mass * above;
            }
        }
        Ok((pushed, floor))
    }

    /// Probability to end below and above the domain, from each of `len` cells on, the first being `first`; none if
    /// the observation of time `j` + 1 confines the state.
    fn beyond(&mut self, j: usize, first: i64, len: usize) -> Result<Option<impl Iterator<Item = (f64, f64)> + '_>> {
        if !self.problem.open(j + 1) {
            return Ok(None);
        }
        let support = self.layout.support(j + 1);
        let count = support.len + len + (first - support.first).unsigned_abs() as usize + 1;
        let [down, up] = self.convolver.tails(self.problem.lengths[j], count)?;
        // A cell outside already stays there unless it moves back.
        let move_by = |out: &[f64], back: &[f64], distance: i64| match distance {
            1.. => out[distance as usize - 1],
            _ => 1.0 - back[(-distance) as usize],
        };
        let end = support.first + support.len as i64;
        let cells = first..first + len as i64;
        Ok(Some(cells.map(move |cell| (move_by(down, up, cell - support.first + 1), move_by(up, down, end - cell)))))
    }

    /// Count the pairs of step `j` for the noise's parameters: masses `before` its noise and the message `after` it, each
    /// with its first cell, divided by `evidence`.
    pub fn pair(&mut self, j: usize, before: (i64, &[f64]), after: (i64, &[f64]), evidence: f64) -> Result<()> {
        let length = self.problem.lengths[j];
        self.convolver.pair(length, before, after, evidence)?;
        if let ([low, .., high], true) = (after.1, self.problem.open(j + 1)) {
            let ends = (after.0, after.0 + after.1.len() as i64);
            self.convolver.pair_beyond(length, before, ends, [low / evidence, high / evidence])?;
        }
        Ok(())
    }

    /// Masses moved along the flow onto the grid, with the cell of the first.
    pub fn spread(&mut self, j: usize, a: &[f64]) -> Result<(i64, Vec<f64>)> {
        let landings = self.landings(j);
        let (first, len) = self.landing(j, &landings)?;
        let mut spread = vec![0.0; len];
        for (landing, &mass) in landings.iter().zip(a).filter(|(_, mass)| **mass != 0.0) {
            let index = (landing.first() - first) as usize;
            landing.weights.iter().zip(&mut spread[index..index + POINTS]).for_each(|(w, cell)| *cell += w * mass);
        }
        Ok((first, spread))
    }

    /// First cell and number of cells that the interpolation at `landings` touches.
    fn landing(&self, j: usize, landings: &[Landing]) -> Result<(i64, usize)> {
        let targets = landings.iter().map(|landing| landing.target);
        if targets.clone().any(f64::is_nan)
            && let Some(error) = self.problem.model.drift.failure()
        {
            return Err(error);
        }
        let (lo, hi) = targets.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), t| (lo.min(t), hi.max(t)));
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

    /// Where the flow of the cells of time `j` lands.
    pub fn landings(&mut self, j: usize) -> Landings {
        self.flows.landings(self.problem, self.layout, j)
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
        self.at_landing(&Landing::new(target))
    }

    /// [`Ahead::at`] with known weights.
    pub fn at_landing(&self, landing: &Landing) -> f64 {
        self.weigh(landing.first(), &landing.weights)
    }

    /// The slope per cell at `target`.
    pub fn slope_at(&self, target: f64) -> f64 {
        let cell = target.floor();
        self.weigh(cell as i64 - LEFT, &slopes(target - cell))
    }

    #[inline]
    fn weigh(&self, first: i64, weights: &[f64; POINTS]) -> f64 {
        let index = (first - self.first) as usize;
        weights.iter().zip(&self.values[index..index + POINTS]).map(|(w, c)| w * c).sum()
    }
}

/// First cell and number of cells that interpolation between positions `lo` and `hi` touches.
pub(crate) fn touched(lo: f64, hi: f64) -> (i64, usize) {
    let first = lo.floor() as i64 - LEFT;
    (first, (hi.floor() as i64 - first - LEFT) as usize + POINTS)
}
