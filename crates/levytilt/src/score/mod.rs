//! Evaluate sample forecasts: proper scoring rules, calibration, and tests between forecasters.
//!
//! A forecast of one number is a [`Sample`]; a forecast of several at once is a [`Cloud`]. Every draw counts the same:
//! no draw is reweighted, clipped or left out, because that would reward a forecaster for draws it did not mean.
//!
//! | question | answer |
//! |---|---|
//! | how good is the whole forecast? | [`Sample::crps`], [`Cloud::energy_score`] |
//! | are columns moved together as they should be? | [`Cloud::variogram_score`], [`Cloud::equal_shares`] |
//! | how good is its tail? | [`Sample::tail_crps`]; for comparison with the literature also [`jump_crps`], which is not proper |
//! | how good is a quantile or an interval? | [`pinball`], [`interval_score`] |
//! | are its probabilities right? | [`Sample::covers`], [`reliability`] with [`reliability_std_error`], [`pits`], [`histogram`] |
//! | is the difference between two forecasters real? | [`diebold_mariano`], [`block_bootstrap`] |
//!
//! ```
//! use levytilt::score::{Estimator, Sample};
//!
//! let forecast = Sample::new(&[0.0, 1.0])?;
//! assert_eq!(forecast.crps(2.0, Estimator::VStatistic)?, 1.25);
//! assert_eq!(forecast.crps(2.0, Estimator::Fair)?, 1.0);
//! # Ok::<(), levytilt::Error>(())
//! ```

mod calibration;
mod compare;
mod crps;
mod energy;
mod jump;
mod quantile;
mod sample;
mod variogram;

pub use calibration::{histogram, pits, reliability, reliability_std_error};
pub use compare::{BlockBootstrap, DieboldMariano, automatic_lag, block_bootstrap, block_std_error, diebold_mariano};
pub use crps::{Estimator, Tail, weighted_crps};
pub use energy::Cloud;
pub use jump::{JumpCrps, ScoredWindow, jump_crps};
pub use quantile::{interval_score, pinball};
pub use sample::Sample;
pub use variogram::VARIOGRAM_ORDER;

use crate::{Error, Result};

/// The truth, or an error if it is not a finite number.
fn finite_truth(truth: f64) -> Result<f64> {
    crate::error::finite("truth", truth)
}

/// A probability strictly between 0 and 1.
fn level(name: &str, value: f64) -> Result<f64> {
    crate::error::check(name, value, value > 0.0 && value < 1.0, "must lie strictly between 0 and 1")
}

/// A score, or an error where finite inputs overflowed.
fn finite_score(what: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    let why = format!("is {value}: the draws are too large for floating-point sums; rescale the series");
    Err(Error::Numerical { what, why })
}

/// Refuse values that are not finite, naming the first.
fn all_finite(what: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::Series {
            place: format!("{what} {}", i + 1),
            problem: format!("{} is not a finite number: the forecast failed here and cannot be scored", values[i]),
        }),
    }
}
