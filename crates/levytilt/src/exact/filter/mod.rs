//! Carry the exact law of the present state forward, one observation at a time.
//!
//! The law is a density on a grid that follows the data ([`FilterState`]). A new value costs the latent steps since the last
//! one and nothing else, and says how surprising it was before its own time: log predictive density, PIT, and the
//! probability that a jump led to it. What a value changes depends on the state and on the value alone, so that a record
//! taken in pieces gives the same numbers as taken at once.

mod start;
mod state;
mod step;
#[cfg(test)]
mod tests;

pub use state::{FilterState, Seen};

use super::convolve::{Convolver, Rounding};
use crate::noise::{NodeCache, Nodes};
use crate::series::{TimeGrid, length_key};
use crate::{Error, Result, StateSpace};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Cells per standard deviation of the narrowest law that a time may have.
const PER_SD: f64 = 5.0;
/// Different step lengths whose tables are kept.
const MOST_LENGTHS: usize = 512;
/// Fewest cells whose tails are kept.
const FEWEST_TAILS: usize = 1024;

/// The filter of a one-dimensional model.
pub struct Filter<'a> {
    model: &'a StateSpace,
    /// Latent steps are not longer than this.
    longest: f64,
    nodes: NodeCache<'a>,
    tables: Option<Tables<'a>>,
}

/// Kernels on a grid of one spacing: of the whole noise, and of its steps that are no jumps.
struct Tables<'a> {
    spacing: f64,
    all: Convolver<'a>,
    calm: Convolver<'a>,
    /// Probabilities to move down and up by so many cells or more, by step length and number.
    tails: BTreeMap<(u64, usize), [Vec<f64>; 2]>,
}

impl Tables<'_> {
    /// At least `count` probabilities each to move down and up by 1, 2, … cells or more in a step of length `dt`.
    ///
    /// Their number is a power of two, and each number has a list of its own: what was asked for before must not change a
    /// digit.
    fn tails(&mut self, dt: f64, count: usize) -> Result<&[Vec<f64>; 2]> {
        let key = (length_key(dt), count.max(FEWEST_TAILS).next_power_of_two());
        if !self.tails.contains_key(&key) {
            let tails = self.all.exactly_tails(dt, key.1)?;
            self.tails.insert(key, tails);
        }
        Ok(&self.tails[&key])
    }
}

impl<'a> Filter<'a> {
    /// The filter of `model`, whose latent steps are not longer than `longest`.
    ///
    /// # Errors
    /// A model of several dimensions; other than Gaussian observation errors of one size; a skewed noise; a length that is not
    /// positive.
    pub fn new(model: &'a StateSpace, longest: f64) -> Result<Self> {
        let dimension = model.only_dimension()?;
        model.plain_errors("filter")?;
        model.even_noise("filter")?;
        crate::error::positive("longest latent step", longest)?;
        let family = dimension.noise.family();
        if family.starts_with("skewed") {
            // The tails of the kernels are taken to be the same on both sides.
            let (got, expected) = (format!("noise {family}"), "a symmetric noise".into());
            return Err(Error::Shape { what: "filter", got, expected });
        }
        Ok(Self { model, longest, nodes: NodeCache::new(dimension.noise.as_ref()), tables: None })
    }

    /// Filter the rows of a record on its latent times: the state after the last row, and what was seen at every row but the
    /// first (nothing where a value is missing).
    ///
    /// # Errors
    /// Values that do not fit the grid; a value that the model cannot have produced.
    pub fn run(&mut self, grid: &TimeGrid, values: &[f64]) -> Result<(FilterState, Vec<Option<Seen>>)> {
        let spread = grid.spread(values)?;
        let mut state = self.start(grid.times()[0], spread[0])?;
        let mut seen = Vec::with_capacity(grid.rows());
        for (j, (&time, &value)) in grid.times().iter().zip(&spread).enumerate().skip(1) {
            if !value.is_nan() {
                let (next, found) = self.observe(&state, time, value)?;
                state = next;
                seen.push(Some(found));
                continue;
            }
            state.pending.push(time);
            if grid.observation(j).is_some() {
                seen.push(None);
            }
        }
        Ok((state, seen))
    }

    /// Take in one row: what was seen there, or nothing if the value is missing (NaN).
    ///
    /// # Errors
    /// A time that is not after the last one; a value that is infinite or that the model cannot have produced. The state is
    /// then as it was.
    pub fn advance(&mut self, state: &mut FilterState, time: f64, value: f64) -> Result<Option<Seen>> {
        let last = state.end();
        if !(time > last && time.is_finite()) {
            let problem = format!("is not after {last}, the last time of the record");
            return Err(Error::Series { place: format!("time {time}"), problem });
        }
        let gap = time - last;
        // A gap longer than the limit by rounding only stays whole, as in a grid of times.
        let parts = (gap / (self.longest * 1.000_000_1)).ceil().max(1.0);
        if parts > 1e6 {
            let problem = format!("lies {parts:.1e} latent steps of {:.3e} after the last time", self.longest);
            return Err(Error::Series { place: format!("time {time}"), problem });
        }
        let between = (1..parts as usize).map(|k| last + gap * (k as f64 / parts));
        let mut ahead =
            FilterState { pending: state.pending.iter().copied().chain(between).collect(), ..state.clone() };
        if value.is_nan() {
            ahead.pending.push(time);
            *state = ahead;
            return Ok(None);
        }
        crate::series::check_values("value", &[value])?;
        let (next, seen) = self.observe(&ahead, time, value)?;
        *state = next;
        Ok(Some(seen))
    }

    /// Nodes of a step.
    fn nodes(&mut self, dt: f64) -> Result<Arc<Nodes>> {
        if self.nodes.lengths() > MOST_LENGTHS {
            self.nodes = NodeCache::new(self.model.dimensions[0].noise.as_ref());
            self.tables = None;
        }
        self.nodes.nodes(dt)
    }

    /// Kernels for steps of length `dt` on a grid of this spacing, and the share of steps that are no jumps.
    fn tables(&mut self, dt: f64, spacing: f64) -> Result<(&mut Tables<'a>, f64)> {
        let nodes = self.nodes(dt)?;
        let noise = self.model.dimensions[0].noise.as_ref();
        if self.tables.as_ref().is_none_or(|tables| tables.spacing != spacing) {
            let convolver = || Convolver::new(noise, spacing, Rounding::Reference);
            self.tables = Some(Tables { spacing, all: convolver(), calm: convolver(), tails: BTreeMap::new() });
        }
        let tables = self.tables.as_mut().expect("made above");
        let threshold = crate::posterior::upper_tail(nodes.weights());
        let share: f64 = nodes.weights()[..threshold].iter().sum();
        tables.calm.provide(length_key(dt), || {
            let calm = |values: &[f64]| values[..threshold].to_vec();
            let (variances, weights) = (calm(nodes.variances()), calm(nodes.weights()));
            let calm = match nodes.means() {
                Some(means) => Nodes::with_means(calm(means), variances, weights, Vec::new(), Vec::new()),
                None => Nodes::new(variances, weights, Vec::new()),
            };
            calm.map(Arc::new)
        })?;
        Ok((tables, share))
    }
}
