//! Bring model, times and values together and say where they contradict each other.

use crate::series::{TimeGrid, check_values};
use crate::{Dimension, Error, Model, Result, Start};
use std::f64::consts::PI;

/// A model with the times and values it has to explain.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub model: &'a Model,
    /// The model's only dimension.
    pub dimension: &'a Dimension,
    pub grid: &'a TimeGrid,
    /// One value per latent time, NaN where nothing is observed.
    pub values: Vec<f64>,
    /// Latent time of the last observed value.
    pub end: usize,
    /// Lengths of the steps for the noise; they differ from those for the drift where steps are gathered ([`super::gather`]).
    pub lengths: Vec<f64>,
}

impl<'a> Problem<'a> {
    /// Check that the values fit the times and that one of them is observed.
    pub fn new(model: &'a Model, grid: &'a TimeGrid, values: &[f64]) -> Result<Self> {
        let dimension = model.only_dimension()?;
        let spread = grid.spread(values)?;
        check_values("values", values)?;
        let end = spread.iter().rposition(|value| !value.is_nan()).unwrap_or(0);
        let mut checked = f64::NAN;
        for dt in (0..grid.steps()).map(|j| grid.step(j)) {
            // Equal steps mostly follow each other.
            if dt != checked {
                model.drift.check_step(dt)?;
                checked = dt;
            }
        }
        let lengths = (0..grid.steps()).map(|j| grid.step(j)).collect();
        Ok(Self { model, dimension, grid, values: spread, end, lengths })
    }

    /// Observed values in order of time, with their latent times.
    pub fn observed(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.values.iter().copied().enumerate().filter(|(_, value)| !value.is_nan())
    }

    /// Whether some time, the first apart, has no observation.
    pub fn has_missing(&self) -> bool {
        self.values[1..].iter().any(|value| value.is_nan())
    }

    /// Largest magnitude among values and start.
    pub fn magnitude(&self) -> f64 {
        let start = match self.dimension.start {
            Start::Fixed(x0) => x0.abs(),
            Start::Gaussian { mean, .. } => mean.abs(),
        };
        self.observed().fold(start, |largest, (_, value)| largest.max(value.abs()))
    }

    /// Multiply `message`, given at states `first` + i·`spacing`, by the likelihood of the value at time `j`.
    ///
    /// Returns the logarithm of the constant left out, −ln(σ√2π), or 0 where nothing is observed.
    pub fn observe(&self, j: usize, (first, spacing): (f64, f64), message: &mut [f64]) -> f64 {
        let (y, std) = (self.values[j], self.dimension.observation_std);
        if y.is_nan() {
            return 0.0;
        }
        for (i, value) in message.iter_mut().enumerate() {
            let z = (first + i as f64 * spacing - y) / std;
            *value *= (-0.5 * z * z).exp();
        }
        -(std * (2.0 * PI).sqrt()).ln()
    }

    /// The error for data that the model cannot have produced at time `j`.
    pub fn impossible(&self, j: usize, why: &str) -> Error {
        Error::Numerical {
            what: "exact reference",
            why: format!(
                "at time {} the model gives the data essentially zero probability ({why}); use a noise with heavier \
                 tails or a larger observation_std",
                self.grid.times()[j]
            ),
        }
    }
}
