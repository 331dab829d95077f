//! Carry the exact law of the present state forward, one observation at a time.
//!
//! The law is a density on a grid that follows the data ([`FilterState`]). A new value costs the latent steps since the last
//! one and nothing else, and says how surprising it was before its own time: log predictive density, PIT, and the
//! probability that a jump led to it ([`Seen`]); and again when some rows have come after it ([`Hindsight`]). What a value
//! changes depends on the state and on the value alone, so that a record taken in pieces gives the same numbers as taken at
//! once.

mod error_tail;
mod hindsight;
mod kernels;
mod landings;
mod law;
mod recent;
mod start;
mod state;
mod step;
mod stride;
#[cfg(test)]
mod tests;

pub use recent::Hindsight;
pub use state::{FilterState, Seen};

use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace};
use error_tail::ErrorTail;
use kernels::Kernels;
use landings::Landings;
use recent::Observation;
use std::ops::Deref;

/// Cells per standard deviation of the narrowest law that a time may have.
const PER_SD: f64 = 5.0;

/// The filter of a one-dimensional model.
pub struct Filter<'a> {
    model: Held<'a>,
    /// Latent steps are not longer than this.
    longest: f64,
    /// Rows of hindsight.
    lag: usize,
    kernels: Kernels<'a>,
    landings: Landings,
    /// α where the noise of several steps can be one step's.
    index: Option<f64>,
    error_tail: ErrorTail,
}

/// The model of a filter: that which it was made with, or one that took its place.
enum Held<'a> {
    Given(&'a StateSpace),
    Own(Box<StateSpace>),
}

impl Deref for Held<'_> {
    type Target = StateSpace;

    fn deref(&self) -> &StateSpace {
        match self {
            Self::Given(model) => model,
            Self::Own(model) => model,
        }
    }
}

/// What a row said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// What was seen there; nothing if the value is missing.
    pub seen: Option<Seen>,
    /// What the row that now has the filter's lag of rows after it looks like in hindsight.
    pub revised: Option<Hindsight>,
}

impl<'a> Filter<'a> {
    /// The filter of `model`, whose latent steps are not longer than `longest`.
    ///
    /// # Errors
    /// A model of several dimensions; a length that is not positive.
    pub fn new(model: &'a StateSpace, longest: f64) -> Result<Self> {
        let dimension = model.only_dimension()?;
        crate::error::positive("longest latent step", longest)?;
        let error_tail = ErrorTail::new(dimension.errors.law);
        let kernels = Kernels::new(dimension.noise.as_ref());
        let index = super::gather::index(model);
        let model = Held::Given(model);
        Ok(Self { model, longest, lag: 0, kernels, landings: Landings::default(), index, error_tail })
    }

    /// Go on with the drift and the size of `model`, whose inputs reach further. Everything else must be as in the model that
    /// the filter was made with, because its tables stay.
    pub fn set_model(&mut self, model: StateSpace) {
        self.model = Held::Own(Box::new(model));
    }

    /// The model.
    pub fn model(&self) -> &StateSpace {
        &self.model
    }

    /// Look at every row again when `lag` rows have come after it; 0 for not. A value then costs about 4 `lag` times as much.
    pub fn with_lag(mut self, lag: usize) -> Self {
        self.lag = lag;
        self
    }

    /// Count increments beyond `above` as jumps, instead of those whose variance is in the upper 1% of the prior.
    ///
    /// # Errors
    /// A limit that is not positive.
    pub fn with_jump_above(mut self, above: Option<f64>) -> Result<Self> {
        above.map_or(Ok(0.0), |above| crate::error::positive("jump_above", above))?;
        self.kernels.set_jump_above(above);
        Ok(self)
    }

    /// Filter the rows of a record on its latent times: the state after the last row, and what was seen at every row but the
    /// first (nothing where a value is missing).
    ///
    /// # Errors
    /// Values that do not fit the grid; a value that the model cannot have produced.
    pub fn run(&mut self, grid: &TimeGrid, values: &[f64]) -> Result<(FilterState, Vec<Option<Seen>>)> {
        let spread = grid.spread(values)?;
        let errors = self.model.dimensions[0].errors.clone();
        let unit = |j: usize| {
            grid.observation(j).filter(|_| !spread[j].is_nan()).map_or(Ok(1.0), |row| errors.checked_unit(row))
        };
        let mut state = self.start(grid.times()[0], spread[0], unit(0)?)?;
        let mut seen = Vec::with_capacity(grid.rows());
        for (j, (&time, &value)) in grid.times().iter().zip(&spread).enumerate().skip(1) {
            if !value.is_nan() {
                let (next, found) = self.observe(&state, self.observation(time, value, unit(j)?)?)?;
                state = next;
                state.ripen(self.lag);
                seen.push(Some(found));
                continue;
            }
            state.pending.push(time);
            if grid.observation(j).is_some() {
                state.ripen(self.lag);
                seen.push(None);
            }
        }
        Ok((state, seen))
    }

    /// Take in one row: what was seen there, or nothing if the value is missing (NaN). Where errors are known, `unit` is that
    /// of the value, else 1.
    ///
    /// # Errors
    /// A time that is not after the last one; a value that is infinite or that the model cannot have produced; a known error
    /// that is not positive. The state is then as it was.
    pub fn advance(&mut self, state: &mut FilterState, time: f64, value: f64, unit: f64) -> Result<Taken> {
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
        let seen = match value.is_nan() {
            true => {
                ahead.pending.push(time);
                None
            }
            false => {
                let (next, seen) = self.observe(&ahead, self.observation(time, value, unit)?)?;
                ahead = next;
                Some(seen)
            }
        };
        let revised = ahead.ripen(self.lag);
        *state = ahead;
        Ok(Taken { seen, revised })
    }

    fn observation(&self, time: f64, value: f64, unit: f64) -> Result<Observation> {
        crate::series::check_values("value", &[value])?;
        crate::error::positive("known error", unit)?;
        Ok(Observation { time, value, error: self.model.dimensions[0].observation_std * unit })
    }
}
