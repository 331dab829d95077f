//! Hold a record: times and values, validated once, and how finely the latent path is resolved.

use crate::Result;
use crate::series::{Observations, TimeGrid};

/// A record of one or more variables; NaN marks a missing value.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    observations: Observations,
    steps: Option<usize>,
}

impl Series {
    /// One variable, seen at strictly increasing `times`.
    ///
    /// # Errors
    /// Names the row: times that are not finite or do not increase, values that are infinite, lengths that differ.
    pub fn new(times: &[f64], values: &[f64]) -> Result<Self> {
        Self::of_columns(times, &[("value", values)])
    }

    /// Several variables, named, seen at the same times.
    ///
    /// # Errors
    /// As [`Series::new`], with the name of the variable.
    pub fn of_columns(times: &[f64], columns: &[(&str, &[f64])]) -> Result<Self> {
        let (names, values) = columns.iter().map(|(name, values)| (name.to_string(), values.to_vec())).unzip();
        Ok(Self { observations: Observations::new(times.to_vec(), values, names)?, steps: None })
    }

    /// Resolve the latent path with at least `steps` even steps over the span. Left out, every gap longer than a
    /// two-hundredth of the span is split.
    pub fn with_steps(self, steps: usize) -> Self {
        Self { steps: Some(steps), ..self }
    }

    /// The record itself.
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The latent times.
    pub fn grid(&self) -> Result<TimeGrid> {
        TimeGrid::new(self.observations.times(), self.steps)
    }
}
