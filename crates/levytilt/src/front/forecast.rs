//! Forecast from a fit: predictive paths of observations over a span or at given times.

use crate::Result;
use crate::fit::Fit;
use crate::forecast::{Forecast, ForecastOptions, Target};

/// How far ahead to look.
#[derive(Debug, Clone, PartialEq)]
pub enum Horizon {
    /// This much time beyond the end of the record, in steps as long as its last ones.
    Span(f64),
    /// These times, increasing, beyond the end of the record.
    At(Vec<f64>),
}

impl Fit {
    /// Predictive paths of observations, state plus observation noise, as many as the fit has, with parameters drawn from their law where that is known.
    ///
    /// # Errors
    /// Times that are not ahead; a state too large for an `f64`.
    pub fn forecast(&self, horizon: Horizon) -> Result<Forecast> {
        let [.., before, from] = self.times[..] else { unreachable!("a grid has at least two times") };
        let times = match horizon {
            Horizon::Span(span) => {
                let steps = (span / (from - before) * (1.0 - 1e-9)).ceil().max(1.0);
                (1..=steps as usize).map(|j| from + span * j as f64 / steps).collect()
            }
            Horizon::At(times) => times,
        };
        let longest_step = self.times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
        let target = Target::Observations;
        let options = ForecastOptions { from, longest_step, paths: self.weights.len(), seed: 1, target };
        self.forecast_at(&times, &options)
    }
}
