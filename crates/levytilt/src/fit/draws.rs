//! Draw parameters from their approximate posterior, and forecast with them.

use super::{Estimate, Fit};
use crate::forecast::{Forecast, ForecastOptions, forecast, forecast_drawn};
use crate::solve::{ParameterLaw, Transform, parameters};
use crate::{Result, stream};

/// Half the width of a 90% interval of a normal law, in standard errors.
const NINETY: f64 = 1.645;

impl Fit {
    /// The unconstrained scale of each of [`Fit::parameters`]; the weights of a network, which come first in the model,
    /// are not among them.
    pub fn transforms(&self) -> Vec<Transform> {
        parameters(&self.model)[self.weights_before()..].iter().map(|p| p.transform).collect()
    }

    /// 90% intervals of [`Fit::parameters`], none where there is no standard error: by profile likelihood where that was
    /// followed, else Gaussian on the unconstrained scale, centred at the mean of [`Fit::parameter_law`].
    pub fn intervals(&self) -> Vec<Option<[f64; 2]>> {
        let mut shifts = self.shift.iter().copied();
        // One shift for each that is not fixed, or none at all.
        let mut shift = |p: &Estimate| if p.fixed { 0.0 } else { shifts.next().unwrap_or(0.0) };
        let interval = |(p, transform): (&Estimate, Transform)| {
            let shift = shift(p);
            let gaussian = p.std_error.map(|error| transform.interval(p.value, NINETY * error, shift));
            p.profile.or(gaussian)
        };
        self.parameters.iter().zip(self.transforms()).map(interval).collect()
    }

    /// One of [`Fit::intervals`].
    pub fn interval(&self, name: &str) -> Option<[f64; 2]> {
        let place = self.parameters.iter().position(|p| p.name == name)?;
        self.intervals()[place]
    }

    /// Approximate posterior of the learned parameters: Gaussian on the unconstrained scale with [`Fit::covariance`]
    /// and [`Fit::shift`]. `None` if the covariance of a learned parameter is unknown.
    pub fn parameter_law(&self) -> Option<ParameterLaw<'_>> {
        let free = (0..self.parameters.len()).filter(|&k| !self.parameters[k].fixed);
        let places: Vec<usize> = free.map(|k| self.weights_before() + k).collect();
        ParameterLaw::new(&self.model, &places, &self.covariance, &self.shift)
    }

    /// Values of all [`Fit::parameters`], `count` times, from [`Fit::parameter_law`]; those given stay as they are.
    pub fn draw_parameters(&self, count: usize, seed: u64) -> Option<Vec<Vec<f64>>> {
        let law = self.parameter_law()?;
        let mut rng = stream(seed, u64::MAX - 3);
        Some((0..count).map(|_| law.draw(&mut rng).split_off(self.weights_before())).collect())
    }

    /// Predictive paths at `times` with parameters drawn from [`Fit::parameter_law`], or at the estimates if it is
    /// `None`; [`forecast`] with [`Fit::model`] always holds them at the estimates.
    ///
    /// # Errors
    /// As for [`forecast_drawn`].
    pub fn forecast_at(&self, times: &[f64], options: &ForecastOptions) -> Result<Forecast> {
        let (states, weights) = (self.end_states(), &self.weights);
        match self.parameter_law() {
            Some(law) => forecast_drawn(&law, (&states, weights), times, options),
            None => forecast(&self.model, (&states, weights), times, options),
        }
    }

    /// Number of weights of a network, which are parameters of the model but not among [`Fit::parameters`].
    fn weights_before(&self) -> usize {
        parameters(&self.model).len() - self.parameters.len()
    }
}
