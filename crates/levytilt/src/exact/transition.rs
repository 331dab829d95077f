//! Carry messages over one step: backward as a function of the state, forward as a mass, one the transpose of the other.
//!
//! Backward: (pull b)(x) = (K ∗ b)(flow(x)): convolve with the kernel, then interpolate at the flow of each cell.
//! Forward: spread each cell's mass with the same interpolation weights, then convolve. So ⟨a, pull b⟩ = ⟨push a, b⟩
//! holds to rounding, and the evidence is the same at every time.
//!
//! At a time without an observation, or with one whose error may be gross, a state beyond the domain counts as being at its end: no mass is lost, the mass at
//! the ends says how much lies outside, and a drift that brings far states back at once is served almost exactly.

use super::convolve::{Convolver, Rounding, Way};
use super::flow_table::FlowTable;
use super::lagrange::{LEFT, POINTS, dot};
use super::landing::{Landing, Landings, Slopes};
use super::layout::Layout;
use super::levels::{Levels, Rung, stretches};
use super::problem::Problem;
use crate::{Error, Result};
use std::ops::Range;

/// Copies of the cells that masses are spread on in turns.
const COPIES: usize = 4;

/// Masses on the grid, with the cell of the first.
type Spread = (i64, Vec<f64>);

/// The steps of a problem on a layout.
pub(crate) struct Transition<'a> {
    pub problem: &'a Problem<'a>,
    pub layout: &'a Layout,
    pub convolver: Convolver<'a>,
    /// Kernels by size, where the size of the noise depends on the state.
    levels: Option<Levels<'a>>,
    flows: FlowTable,
    max_cells: usize,
}

impl<'a> Transition<'a> {
    /// The steps of `problem` on `layout`, with `rounding` by FFTs as allowed.
    pub fn new(problem: &'a Problem<'a>, layout: &'a Layout, max_cells: usize, rounding: Rounding) -> Self {
        let mut convolver = Convolver::new(problem.dimension.noise.as_ref(), layout.spacing, rounding);
        if rounding == Rounding::Fast {
            convolver.ladder = layout.ladder(problem);
        }
        let levels = Levels::of(problem.model, layout.spacing, rounding);
        Self { problem, layout, convolver, levels, flows: FlowTable::default(), max_cells }
    }

    /// E[b(x_{j+1}) | x_j = x] at the cells x of time `j`, for `b` at the cells of time `j` + 1; with the typical
    /// absolute error of a value (see [`Convolver::apply`]).
    pub fn pull(&mut self, j: usize, b: &[f64]) -> Result<(Vec<f64>, f64)> {
        let landings = self.landings(j);
        let read = self.read(j, b, &landings, false)?;
        Ok((read.values(&landings), read.floor()))
    }

    /// [`Transition::pull`], with what it was read from, which also has slopes.
    pub fn pull_ahead(&mut self, j: usize, b: &[f64]) -> Result<(Vec<f64>, Read)> {
        let landings = self.landings(j);
        let read = self.read(j, b, &landings, true)?;
        Ok((read.values(&landings), read))
    }

    /// What the cells of time `j`, which land at `landings`, are read from; with `slopes`, also what the size decides.
    fn read(&mut self, j: usize, b: &[f64], landings: &[Landing], slopes: bool) -> Result<Read> {
        self.problem.stop.go_on()?;
        if self.levels.is_none() {
            return Ok(Read::Even(self.ahead(j, b, self.landing(j, landings)?)?));
        }
        let rungs = self.rungs(j)?;
        let mut parts = Vec::new();
        for (level, range) in stretches(&rungs, slopes) {
            let cells = self.landing(j, &landings[range.clone()])?;
            parts.push((level, range, self.ahead_at(level, j, b, cells)?));
        }
        Ok(Read::Levels { rungs, parts })
    }

    /// E[b(x_{j+1}) | flow of x_j] at `len` cells from `first` on, for `b` at the cells of time `j` + 1.
    pub fn ahead(&mut self, j: usize, b: &[f64], cells: (i64, usize)) -> Result<Ahead> {
        let (problem, layout) = (self.problem, self.layout);
        Steps { problem, layout, convolver: &mut self.convolver }.ahead(j, b, cells)
    }

    /// The same for noise of the size of a level.
    pub fn ahead_at(&mut self, level: i64, j: usize, b: &[f64], cells: (i64, usize)) -> Result<Ahead> {
        self.at_level(level, j)?.ahead(j, b, cells)
    }

    fn at_level(&mut self, level: i64, j: usize) -> Result<Steps<'_, 'a>> {
        let (problem, layout) = (self.problem, self.layout);
        let convolver = match &mut self.levels {
            Some(levels) => levels.convolver(level, problem.lengths[j])?,
            None => &mut self.convolver,
        };
        Ok(Steps { problem, layout, convolver })
    }

    /// States of the cells of time `j`.
    fn states(&self, j: usize) -> Vec<f64> {
        let (first, spacing) = self.layout.points(j);
        (0..self.layout.support(j).len).map(|i| first + i as f64 * spacing).collect()
    }

    /// Where the sizes of the cells of time `j` lie; empty where all noise has one size.
    fn rungs(&self, j: usize) -> Result<Vec<Rung>> {
        let time = self.problem.grid.times()[j];
        self.levels.as_ref().map_or(Ok(Vec::new()), |levels| levels.rungs(time, &self.states(j)))
    }

    /// Per cell of time `j`, the derivatives of ln γ in its parameters; empty where all noise has one size.
    pub fn log_size_slopes(&self, j: usize) -> Result<Vec<Vec<f64>>> {
        let states = || self.states(j);
        self.levels.as_ref().map_or(Ok(Vec::new()), |l| l.log_slopes(self.problem.grid.times()[j], &states()))
    }

    /// Mass at the cells of time `j` + 1 for masses `a` at the cells of time `j`.
    pub fn push(&mut self, j: usize, a: &[f64]) -> Result<(Vec<f64>, f64)> {
        self.problem.stop.go_on()?;
        let landings = self.landings(j);
        if self.levels.is_none() {
            let moved = self.spread(j, &landings, a)?;
            return self.at_level(0, j)?.push(j, (moved.0, &moved.1));
        }
        let (mut pushed, mut floor) = (vec![0.0; self.layout.support(j + 1).len], 0.0);
        for (level, moved) in self.spread_levels(j, &landings, a)? {
            let (part, own) = self.at_level(level, j)?.push(j, (moved.0, &moved.1))?;
            pushed.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            floor += own;
        }
        Ok((pushed, floor))
    }

    /// Masses moved along the flow, by the level of their size.
    fn spread_levels(&self, j: usize, landings: &[Landing], a: &[f64]) -> Result<Vec<(i64, Spread)>> {
        let rungs = self.rungs(j)?;
        let one = |(level, range): (i64, Range<usize>)| {
            let masses: Vec<f64> = range.clone().map(|i| rungs[i].weight(level) * a[i]).collect();
            Ok((level, self.spread(j, &landings[range], &masses)?))
        };
        stretches(&rungs, false).into_iter().map(one).collect()
    }

    /// Count the pairs of step `j` for the noise's parameters: `masses` at the cells of time `j` and the message `after` it,
    /// with its first cell, divided by `evidence`.
    pub fn pair(&mut self, j: usize, masses: &[f64], after: (i64, &[f64]), evidence: f64) -> Result<()> {
        self.problem.stop.go_on()?;
        let landings = self.landings(j);
        if self.levels.is_none() {
            let (first, before) = self.spread(j, &landings, masses)?;
            return self.at_level(0, j)?.pair(j, (first, &before), after, evidence);
        }
        for (level, (first, before)) in self.spread_levels(j, &landings, masses)? {
            self.at_level(level, j)?.pair(j, (first, &before), after, evidence)?;
        }
        Ok(())
    }

    /// What was paired, see [`Convolver::contract`].
    pub fn contract(&mut self) -> Vec<(u64, Vec<f64>)> {
        match &mut self.levels {
            Some(levels) => levels.contract(),
            None => self.convolver.contract(),
        }
    }

    /// Masses moved along the flow onto the grid.
    fn spread(&self, j: usize, landings: &[Landing], a: &[f64]) -> Result<Spread> {
        let (first, len) = self.landing(j, landings)?;
        Ok((first, spread(landings, a.iter().copied(), (first, len))))
    }

    /// First cell and number of cells that the interpolation at `landings` touches.
    fn landing(&self, j: usize, landings: &[Landing]) -> Result<(i64, usize)> {
        let (mut lo, mut hi, mut failed) = (f64::INFINITY, f64::NEG_INFINITY, false);
        for Landing { target, .. } in landings {
            lo = if *target < lo { *target } else { lo };
            hi = if *target > hi { *target } else { hi };
            failed |= target.is_nan();
        }
        if failed && let Some(error) = self.problem.model.drift.failure() {
            return Err(error);
        }
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

    /// Step length and place among the cells of the layout of those of time `j`, if their flow is that of other times too.
    pub fn shared_flow(&self, j: usize) -> Option<(u64, Range<usize>)> {
        self.flows.place(self.problem, self.layout, j)
    }

    /// Weights that give the slopes at `landings`, those of time `j`.
    pub fn slopes(&mut self, j: usize, landings: &Landings) -> Slopes {
        self.flows.slopes(self.problem, self.layout, j, landings)
    }
}

/// The steps of a problem with noise of one size.
struct Steps<'s, 'a> {
    problem: &'s Problem<'s>,
    layout: &'s Layout,
    convolver: &'s mut Convolver<'a>,
}

impl Steps<'_, '_> {
    fn ahead(&mut self, j: usize, b: &[f64], (first, len): (i64, usize)) -> Result<Ahead> {
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

    /// Mass at the cells of time `j` + 1 for masses `spread` before the noise, from cell `first` on.
    fn push(&mut self, j: usize, (first, spread): (i64, &[f64])) -> Result<(Vec<f64>, f64)> {
        let support = self.layout.support(j + 1);
        let mut pushed = vec![0.0; support.len];
        let out = (support.first, pushed.as_mut_slice());
        let floor = self.convolver.apply(Way::Forward, self.problem.lengths[j], (first, spread), out)?;
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

    /// Count the pairs of masses `before` the noise of step `j` and the message `after` it, each with its first cell.
    fn pair(&mut self, j: usize, before: (i64, &[f64]), after: (i64, &[f64]), evidence: f64) -> Result<()> {
        let length = self.problem.lengths[j];
        self.convolver.pair(length, before, after, evidence)?;
        if let ([low, .., high], true) = (after.1, self.problem.open(j + 1)) {
            let ends = (after.0, after.0 + after.1.len() as i64);
            self.convolver.pair_beyond(length, before, ends, [low / evidence, high / evidence])?;
        }
        Ok(())
    }
}

/// What the cells of a time are read from.
pub(crate) enum Read {
    /// Noise of one size.
    Even(Ahead),
    /// Per level of the size: the stretch of cells that it serves.
    Levels { rungs: Vec<Rung>, parts: Vec<(i64, Range<usize>, Ahead)> },
}

impl Read {
    /// E[b] at the cells, which land at `landings`.
    pub fn values(&self, landings: &[Landing]) -> Vec<f64> {
        match self {
            Self::Even(ahead) => landings.iter().map(|landing| ahead.at_landing(landing)).collect(),
            Self::Levels { rungs, .. } => {
                self.sum(landings.len(), |level, i| rungs[i].weight(level), |ahead, i| ahead.at_landing(&landings[i]))
            }
        }
    }

    /// The slopes per cell of the landing, by their weights `slopes`.
    pub fn slopes(&self, landings: &[Landing], slopes: &[[f64; POINTS]]) -> Vec<f64> {
        let at = |ahead: &Ahead, i: usize| ahead.weigh(landings[i].first(), &slopes[i]);
        match self {
            Self::Even(ahead) => (0..landings.len()).map(|i| at(ahead, i)).collect(),
            Self::Levels { rungs, .. } => self.sum(landings.len(), |level, i| rungs[i].weight(level), at),
        }
    }

    /// The slopes in ln γ; 0 where all noise has one size.
    pub fn size_slopes(&self, landings: &[Landing]) -> Vec<f64> {
        match self {
            Self::Even(_) => vec![0.0; landings.len()],
            Self::Levels { rungs, .. } => {
                let slopes: Vec<_> = rungs.iter().map(Rung::slopes).collect();
                let slope = |level: i64, i: usize| slopes[i][(level - rungs[i].levels().start) as usize];
                self.sum(landings.len(), slope, |ahead, i| ahead.at_landing(&landings[i]))
            }
        }
    }

    /// Typical absolute error of a value.
    fn floor(&self) -> f64 {
        match self {
            Self::Even(ahead) => ahead.floor,
            Self::Levels { parts, .. } => parts.iter().map(|(.., ahead)| ahead.floor).sum(),
        }
    }

    fn sum(&self, count: usize, weight: impl Fn(i64, usize) -> f64, at: impl Fn(&Ahead, usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; count];
        if let Self::Levels { parts, .. } = self {
            for (level, range, ahead) in parts {
                for i in range.clone() {
                    sums[i] += weight(*level, i) * at(ahead, i);
                }
            }
        }
        sums
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

    /// Σ `weights` · values of the cells from `first` on.
    #[inline]
    fn weigh(&self, first: i64, weights: &[f64; POINTS]) -> f64 {
        let index = (first - self.first) as usize;
        dot(weights, self.values[index..].first_chunk().expect("the cells of the landing"))
    }
}

/// Masses moved to where they land, on `len` cells from `first` on, which are all that the landings touch.
pub(super) fn spread(landings: &[Landing], masses: impl Iterator<Item = f64>, (first, len): (i64, usize)) -> Vec<f64> {
    // Neighbours land on the same cells: in turns on copies of these, they do not wait for each other.
    let mut copies = vec![0.0; COPIES * len];
    for (i, (landing, mass)) in landings.iter().zip(masses).enumerate().filter(|(_, (_, mass))| *mass != 0.0) {
        let index = (i % COPIES) * len + (landing.first() - first) as usize;
        let cells: &mut [f64; POINTS] = copies[index..].first_chunk_mut().expect("the cells of the landings");
        landing.weights.iter().zip(cells).for_each(|(w, cell)| *cell += w * mass);
    }
    let (spread, others) = copies.split_at_mut(len);
    for copy in others.chunks_exact(len) {
        spread.iter_mut().zip(copy).for_each(|(sum, cell)| *sum += cell);
    }
    copies.truncate(len);
    copies
}

/// First cell and number of cells that interpolation between positions `lo` and `hi` touches.
pub(crate) fn touched(lo: f64, hi: f64) -> (i64, usize) {
    let first = lo.floor() as i64 - LEFT;
    (first, (hi.floor() as i64 - first - LEFT) as usize + POINTS)
}
