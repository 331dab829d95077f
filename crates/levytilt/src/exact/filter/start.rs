//! Begin a filter: the start of the model and the first value in closed form.

use super::{Filter, FilterState, PER_SD};
use crate::{Result, Start};
use std::f64::consts::PI;

/// Standard deviations of the first law that are kept to either side.
const DEPTH: f64 = 8.0;
/// Cells per standard deviation of the first law.
const CELLS: f64 = 6.0;

impl Filter<'_> {
    /// The state at the first time of a record, with its value there (NaN if it is missing).
    ///
    /// # Errors
    /// A value that is infinite or too large.
    pub fn start(&self, time: f64, value: f64) -> Result<FilterState> {
        if !value.is_nan() {
            crate::series::check_values("value", &[value])?;
        }
        let dimension = self.model.only_dimension()?;
        let error = dimension.observation_std;
        let (mean, std) = match dimension.start {
            Start::Fixed(x0) => (x0, 0.0),
            Start::Gaussian { mean, std } => (mean, std),
        };
        let total = std * std + error * error;
        let (mean, std, log_evidence) = match value.is_nan() {
            true => (mean, std, 0.0),
            false => {
                let z = (value - mean) / total.sqrt();
                let gain = std * std / total;
                (mean + gain * (value - mean), std * error / total.sqrt(), -0.5 * (z * z + (2.0 * PI * total).ln()))
            }
        };
        let variance = error * error;
        let spacing = error / PER_SD;
        let step = if std > 0.0 { spacing.min(std / CELLS) } else { spacing };
        let half = if std > 0.0 { (DEPTH * std / step).ceil() as i64 } else { 0 };
        let density = |i: i64| if std > 0.0 { (-0.5 * (i as f64 * step / std).powi(2)).exp() } else { 1.0 };
        let masses: Vec<f64> = (-half..=half).map(density).collect();
        let sum: f64 = masses.iter().sum();
        Ok(FilterState {
            time,
            log_evidence,
            observations: usize::from(!value.is_nan()),
            first: mean - half as f64 * step,
            step,
            masses: masses.into_iter().map(|mass| mass / sum).collect(),
            origin: mean,
            spacing,
            variance,
            pending: Vec::new(),
        })
    }
}
