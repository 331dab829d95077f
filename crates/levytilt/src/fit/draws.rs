//! Draw parameters from their approximate posterior, and forecast with them.

use super::Fit;
use crate::forecast::{Forecast, ForecastOptions, forecast, forecast_drawn};
use crate::solve::{ParameterLaw, Transform, parameters};
use crate::{Result, stream};

impl Fit {
    /// The unconstrained scale of each of [`Fit::parameters`]; the weights of a network, which come first in the model,
    /// are not among them.
    pub fn transforms(&self) -> Vec<Transform> {
        parameters(&self.model)[self.weights_before()..].iter().map(|p| p.transform).collect()
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
