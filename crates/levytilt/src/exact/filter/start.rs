//! Begin a filter: the start of the model and the first value, in closed form where errors are Gaussian.

use super::law::Law;
use super::{Filter, FilterState, PER_SD};
use crate::{ErrorLaw, Result, Start};
use std::f64::consts::PI;

/// Standard deviations of the first law that are kept to either side.
const DEPTH: f64 = 8.0;
/// Cells per standard deviation of the first law.
const CELLS: f64 = 6.0;

impl Filter<'_> {
    /// The state at the first time of a record, with its value there (NaN if it is missing); where errors are known, `unit` is
    /// that of the value, else 1.
    ///
    /// # Errors
    /// A value that is infinite or too large; a known error that is not positive.
    pub fn start(&self, time: f64, value: f64, unit: f64) -> Result<FilterState> {
        let dimension = self.model.only_dimension()?;
        let law = dimension.errors.law;
        let error = match value.is_nan() {
            true => dimension.typical_error(),
            false => self.observation(time, value, unit)?.error,
        };
        let (mean, std) = match dimension.start {
            Start::Fixed(x0) => (x0, 0.0),
            Start::Gaussian { mean, std } => (mean, std),
        };
        let narrow = error * law.core();
        let spacing = narrow / PER_SD;
        let (law, origin, log_evidence) = match (value.is_nan(), law) {
            (true, _) => (bell((mean, std), spacing), mean, 0.0),
            (false, ErrorLaw::Gaussian) => {
                let total = std * std + error * error;
                let z = (value - mean) / total.sqrt();
                let gain = std * std / total;
                let given = (mean + gain * (value - mean), std * error / total.sqrt());
                (bell(given, spacing), given.0, -0.5 * (z * z + (2.0 * PI * total).ln()))
            }
            (false, heavy) => {
                let mut start = bell((mean, std), spacing);
                let likelihood = start.states().into_iter().map(|x| heavy.relative((x - value) / error));
                start.masses[0].iter_mut().zip(likelihood).for_each(|(mass, l)| *mass *= l);
                let total: f64 = start.all().iter().sum();
                (start.trimmed(), mean, total.ln() + heavy.log_peak() - error.ln())
            }
        };
        Ok(FilterState {
            time,
            log_evidence,
            observations: usize::from(!value.is_nan()),
            first: law.first,
            step: law.step,
            masses: law.all().to_vec(),
            origin,
            spacing,
            variance: narrow * narrow,
            pending: Vec::new(),
            recent: Vec::new(),
        })
    }
}

/// A Gaussian on cells not farther apart than `spacing`; one cell if `std` is 0.
fn bell((mean, std): (f64, f64), spacing: f64) -> Law {
    if std == 0.0 {
        return Law { first: mean, step: spacing, masses: vec![vec![1.0]] };
    }
    let step = spacing.min(std / CELLS);
    let half = (DEPTH * std / step).ceil() as i64;
    let density = |i: i64| (-0.5 * (i as f64 * step / std).powi(2)).exp();
    let masses: Vec<f64> = (-half..=half).map(density).collect();
    let sum: f64 = masses.iter().sum();
    Law { first: mean - half as f64 * step, step, masses: vec![masses.into_iter().map(|mass| mass / sum).collect()] }
}
