//! Test whether two forecasters differ, given their score differences window by window.

use super::{all_finite, level};
use crate::{Error, Result, stream};
use rand::RngExt;
use rayon::prelude::*;
use spec_math::Beta;

/// Result of a Diebold–Mariano test.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DieboldMariano {
    /// Mean difference.
    pub mean: f64,
    /// Its standard error, small-sample correction included.
    pub std_error: f64,
    /// Mean over standard error.
    pub statistic: f64,
    /// Two-sided probability of a statistic this large between equally good forecasters.
    pub p_value: f64,
    /// Number of autocovariance lags included.
    pub lag: usize,
}

/// Newey and West's (1994) rule for the number of lags: ⌊4 (n/100)^{2/9}⌋, less than n.
pub fn automatic_lag(count: usize) -> usize {
    ((4.0 * (count as f64 / 100.0).powf(2.0 / 9.0)) as usize).min(count.saturating_sub(1))
}

/// Test whether the mean of `differences` (score of one forecaster minus that of another, in the order of time) is 0.
///
/// The variance of the mean includes autocovariances up to `lag` with Bartlett weights (Newey and West 1987), so it is
/// never negative. The statistic carries the small-sample factor √((n − h)(n − h + 1))/n, h = lag + 1, and is compared
/// with Student's t with n − 1 degrees of freedom (Harvey, Leybourne and Newbold 1997). With `lag` 0 it is the paired
/// t-test.
///
/// # Errors
/// Fewer than `lag` + 3 differences; one that is not finite; differences that are all equal.
pub fn diebold_mariano(differences: &[f64], lag: usize) -> Result<DieboldMariano> {
    let count = differences.len();
    if count < lag.saturating_add(3) {
        let expected = format!("at least 3 more than the {lag} lags");
        return Err(Error::Shape { what: "differences", got: count.to_string(), expected });
    }
    let (mean, centred) = centre(differences)?;
    let n = count as f64;
    let covariance = |k: usize| centred.iter().zip(&centred[k..]).map(|(a, b)| a * b).sum::<f64>() / n;
    let weighted = |k: usize| 2.0 * (1.0 - k as f64 / (lag as f64 + 1.0)) * covariance(k);
    let variance = (covariance(0) + (1..=lag).map(weighted).sum::<f64>()) / n;
    let left = n - (lag as f64 + 1.0);
    let std_error = variance.sqrt() * n / (left * (left + 1.0)).sqrt();
    // Differences that are equal up to rounding leave a standard error of rounding size.
    if !std_error.is_finite() || std_error <= 1e-14 * mean.abs() {
        let why = format!("the differences have a standard error of {std_error}; they must vary, and not overflow");
        return Err(Error::Numerical { what: "Diebold–Mariano test", why });
    }
    let statistic = mean / std_error;
    Ok(DieboldMariano { mean, std_error, statistic, p_value: two_sided(statistic, n - 1.0), lag })
}

/// P(|T| ≥ |t|) for Student's t with `dof` degrees of freedom.
fn two_sided(t: f64, dof: f64) -> f64 {
    (dof / (dof + t * t)).ibeta(0.5 * dof, 0.5)
}

/// How to resample.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct BlockBootstrap {
    /// Length of a block; `None` for the integer nearest to n^{1/3}.
    pub block: Option<usize>,
    /// Number of resampled series.
    pub resamples: usize,
    /// Probability of the interval.
    pub coverage: f64,
    /// Seed; the same interval for any number of threads.
    pub seed: u64,
}

impl Default for BlockBootstrap {
    fn default() -> Self {
        Self { block: None, resamples: 5000, coverage: 0.95, seed: 1 }
    }
}

/// Interval for the mean of `differences` by the moving-block bootstrap (Künsch 1989): series of the same length put
/// together from blocks of neighbours, so that dependence within a block survives.
///
/// Overlapping blocks contain the ends of the series less often than its middle. The resampled means are therefore
/// centred at their own expectation before they are shifted to the mean.
///
/// # Errors
/// Fewer than 2 differences, or one that is not finite; a block of 0 or longer than the series; fewer than 100
/// resamples; a coverage outside (0, 1).
pub fn block_bootstrap(differences: &[f64], how: &BlockBootstrap) -> Result<(f64, f64)> {
    let half = 0.5 * level("coverage", how.coverage)?;
    let (mean, errors) = resampled_errors(differences, how)?;
    let around = |level: f64| errors.quantile(level).map(|error| mean + error);
    Ok((around(0.5 - half)?, around(0.5 + half)?))
}

/// Standard error of the mean of `values` by the same resampling as [`block_bootstrap`].
///
/// # Errors
/// As there.
pub fn block_std_error(values: &[f64], how: &BlockBootstrap) -> Result<f64> {
    let (_, errors) = resampled_errors(values, how)?;
    let squares: f64 = errors.sorted().iter().map(|error| error * error).sum();
    Ok((squares / errors.len() as f64).sqrt())
}

/// The mean, and the deviations of resampled means from their expectation.
fn resampled_errors(values: &[f64], how: &BlockBootstrap) -> Result<(f64, super::Sample)> {
    let count = values.len();
    if count < 2 {
        return Err(Error::Shape { what: "differences", got: count.to_string(), expected: "at least 2".into() });
    }
    let (mean, centred) = centre(values)?;
    let block = how.block.unwrap_or_else(|| (count as f64).cbrt().round() as usize);
    let fits = (1..=count).contains(&block);
    crate::error::check("block", block as f64, fits, "must be between 1 and the number of differences")?;
    crate::error::check("resamples", how.resamples as f64, how.resamples >= 100, "must be at least 100")?;
    let expected = expected_mean(&centred, block);
    let resample = |index: usize| one_mean(&centred, block, &mut stream(how.seed, index as u64)) - expected;
    let errors: Vec<f64> = (0..how.resamples).into_par_iter().map(resample).collect();
    Ok((mean, super::Sample::new(&errors)?))
}

/// Mean of one series put together from blocks, the last one cut to fit.
fn one_mean(values: &[f64], block: usize, rng: &mut crate::StreamRng) -> f64 {
    let mut missing = values.len();
    let mut sum = 0.0;
    while missing > 0 {
        let start = rng.random_range(0..=values.len() - block);
        let length = block.min(missing);
        sum += values[start..start + length].iter().sum::<f64>();
        missing -= length;
    }
    sum / values.len() as f64
}

/// Expectation of [`one_mean`].
fn expected_mean(values: &[f64], block: usize) -> f64 {
    let starts = values.len() - block + 1;
    // Sum of the values at place `offset` of a block, over all blocks.
    let at = |offset: usize| values[offset..offset + starts].iter().sum::<f64>() / starts as f64;
    let places: Vec<f64> = (0..block).map(at).collect();
    let (whole, rest) = (values.len() / block, values.len() % block);
    let sum = whole as f64 * places.iter().sum::<f64>() + places[..rest].iter().sum::<f64>();
    sum / values.len() as f64
}

/// The mean and the centred values.
fn centre(values: &[f64]) -> Result<(f64, Vec<f64>)> {
    all_finite("difference", values)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    super::finite_score("mean difference", mean)?;
    Ok((mean, values.iter().map(|value| value - mean).collect()))
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
