//! Smooth a scalar linear Gaussian model: x' = slope·x + offset + N(0, variance), y = x + N(0, observation_std²).
//!
//! Filter and Rauch–Tung–Striebel smoother, in forms that only add positive terms, so that variances cannot turn
//! negative by rounding.

use crate::error::positive;
use crate::{Error, Result, Start};
use std::f64::consts::PI;

/// One step x' = slope·x + offset + N(0, variance).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Factor of the old state, any finite number.
    pub slope: f64,
    /// Constant added, any finite number.
    pub offset: f64,
    /// Variance of the noise, 0 or greater.
    pub variance: f64,
}

/// The exact posterior of a linear Gaussian model.
#[derive(Debug, Clone, PartialEq)]
pub struct Smoothed {
    /// ln p(y), with all Gaussian constants; 0 if no value is observed.
    pub log_evidence: f64,
    /// E[x_j | y] at each time.
    pub mean: Vec<f64>,
    /// Standard deviation of x_j given y.
    pub sd: Vec<f64>,
    /// Cov(x_j, x_{j+1} | y) for each step.
    pub covariance: Vec<f64>,
}

/// Exact log evidence and smoothed states for one value per time (NaN = missing): `values.len()` = `steps.len()` + 1.
///
/// Linear in the number of steps. Errors if lengths do not fit, a step is not finite or has a negative variance, or the
/// result overflows.
pub fn smooth(start: Start, steps: &[Step], values: &[f64], observation_std: f64) -> Result<Smoothed> {
    check(steps, values)?;
    let noise = positive("observation_std", observation_std)?.powi(2);
    let (mut mean, mut variance) = match start {
        Start::Fixed(x0) => (x0, 0.0),
        Start::Gaussian { mean, std } => (mean, std * std),
    };
    let mut log_evidence = 0.0;
    let mut filtered = Vec::with_capacity(values.len());
    for (j, &value) in values.iter().enumerate() {
        if j > 0 {
            let step = steps[j - 1];
            mean = step.slope * mean + step.offset;
            variance = step.slope * step.slope * variance + step.variance;
        }
        if !value.is_nan() {
            let total = variance + noise;
            let residual = value - mean;
            log_evidence -= 0.5 * (residual / total * residual + (2.0 * PI * total).ln());
            mean += variance / total * residual;
            variance *= noise / total;
        }
        filtered.push((mean, variance));
    }
    let smoothed = backward(steps, filtered, log_evidence);
    let fine = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if !(log_evidence.is_finite() && fine(&smoothed.mean) && fine(&smoothed.sd)) {
        return Err(Error::Numerical {
            what: "Kalman smoother",
            why: "the result overflows; bring values, slopes and variances to a common scale".into(),
        });
    }
    Ok(smoothed)
}

/// Smooth the filtered means and variances from the last time to the first.
fn backward(steps: &[Step], filtered: Vec<(f64, f64)>, log_evidence: f64) -> Smoothed {
    let (mut means, mut variances): (Vec<f64>, Vec<f64>) = filtered.into_iter().unzip();
    let mut covariance = vec![0.0; steps.len()];
    for (j, step) in steps.iter().enumerate().rev() {
        let (mean, variance) = (means[j], variances[j]);
        let predicted = step.slope * step.slope * variance + step.variance;
        // Without any spread the next state says nothing new about this one.
        let gain = if predicted > 0.0 { step.slope * variance / predicted } else { 0.0 };
        let kept = if predicted > 0.0 { variance * (step.variance / predicted) } else { variance };
        covariance[j] = gain * variances[j + 1];
        means[j] = mean + gain * (means[j + 1] - step.slope * mean - step.offset);
        variances[j] = kept + gain * gain * variances[j + 1];
    }
    let sd = variances.iter().map(|variance| variance.sqrt()).collect();
    Smoothed { log_evidence, mean: means, sd, covariance }
}

fn check(steps: &[Step], values: &[f64]) -> Result<()> {
    if values.len() != steps.len() + 1 {
        return Err(Error::Shape {
            what: "values",
            got: values.len().to_string(),
            expected: format!("{} (one more than steps)", steps.len() + 1),
        });
    }
    for (j, step) in steps.iter().enumerate() {
        let fine = step.slope.is_finite() && step.offset.is_finite() && step.variance.is_finite();
        if !fine || step.variance < 0.0 {
            return Err(Error::Series {
                place: format!("step {}", j + 1),
                problem: format!(
                    "slope {}, offset {} and variance {} must be finite, the variance not negative",
                    step.slope, step.offset, step.variance
                ),
            });
        }
    }
    match values.iter().position(|value| value.is_infinite()) {
        Some(j) => Err(Error::observation(j, "the value is infinite")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// The same posterior by dense linear algebra: prior mean and covariance of the path, then conditioning.
    fn dense(start: Start, steps: &[Step], values: &[f64], observation_std: f64) -> (f64, Vec<f64>, DMatrix<f64>) {
        let n = values.len();
        let (m0, v0) = match start {
            Start::Fixed(x0) => (x0, 0.0),
            Start::Gaussian { mean, std } => (mean, std * std),
        };
        let mut mean = DVector::from_element(n, m0);
        let mut cov = DMatrix::zeros(n, n);
        cov[(0, 0)] = v0;
        for j in 1..n {
            let Step { slope, offset, variance } = steps[j - 1];
            mean[j] = slope * mean[j - 1] + offset;
            for i in 0..j {
                cov[(i, j)] = slope * cov[(i, j - 1)];
                cov[(j, i)] = cov[(i, j)];
            }
            cov[(j, j)] = slope * slope * cov[(j - 1, j - 1)] + variance;
        }
        let seen: Vec<usize> = (0..n).filter(|&j| !values[j].is_nan()).collect();
        let observed = DMatrix::from_fn(seen.len(), seen.len(), |a, b| {
            cov[(seen[a], seen[b])] + if a == b { observation_std.powi(2) } else { 0.0 }
        });
        let cross = DMatrix::from_fn(n, seen.len(), |j, a| cov[(j, seen[a])]);
        let residual = DVector::from_fn(seen.len(), |a, _| values[seen[a]] - mean[seen[a]]);
        let factor = observed.cholesky().unwrap();
        let log_det: f64 = factor.l().diagonal().iter().map(|d| 2.0 * d.ln()).sum();
        let solved = factor.solve(&residual);
        let log_evidence = -0.5 * (residual.dot(&solved) + log_det + seen.len() as f64 * (2.0 * PI).ln());
        let posterior_mean = &mean + &cross * solved;
        let posterior = &cov - &cross * factor.solve(&cross.transpose());
        (log_evidence, posterior_mean.iter().copied().collect(), posterior)
    }

    #[test]
    fn agrees_with_dense_linear_algebra() {
        let steps: Vec<Step> = (0..11)
            .map(|j| {
                let wave = (1.7 * j as f64).sin();
                Step { slope: 0.9 + 0.3 * wave, offset: 0.2 * wave, variance: 0.3 * (1.0 + wave).max(0.0) }
            })
            .collect();
        let mut values: Vec<f64> = (0..12).map(|j| (0.9 * j as f64).cos() * 2.0).collect();
        for j in [2, 3, 7, 11] {
            values[j] = f64::NAN;
        }
        for start in [Start::Fixed(0.7), Start::Gaussian { mean: -0.3, std: 1.4 }] {
            let fast = smooth(start, &steps, &values, 0.35).unwrap();
            let (log_evidence, mean, cov) = dense(start, &steps, &values, 0.35);
            assert!((fast.log_evidence - log_evidence).abs() < 1e-10);
            for j in 0..12 {
                assert!((fast.mean[j] - mean[j]).abs() < 1e-10);
                assert!((fast.sd[j].powi(2) - cov[(j, j)]).abs() < 1e-10);
                if j < 11 {
                    assert!((fast.covariance[j] - cov[(j, j + 1)]).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn no_noise_and_no_data_are_fine() {
        let still = [Step { slope: 1.0, offset: 0.5, variance: 0.0 }; 3];
        let known = smooth(Start::Fixed(1.0), &still, &[f64::NAN, 1.0, f64::NAN, 2.0], 1.0).unwrap();
        assert_eq!(known.mean, [1.0, 1.5, 2.0, 2.5]);
        assert_eq!(known.sd, [0.0; 4]);
        let prior = smooth(Start::Gaussian { mean: 0.0, std: 2.0 }, &still, &[f64::NAN; 4], 1.0).unwrap();
        assert_eq!((prior.log_evidence, prior.sd[3]), (0.0, 2.0));
    }

    #[test]
    fn bad_input_is_named() {
        let step = Step { slope: 1.0, offset: 0.0, variance: 1.0 };
        let start = Start::Fixed(0.0);
        assert!(matches!(smooth(start, &[step], &[0.0], 1.0), Err(Error::Shape { .. })));
        assert!(smooth(start, &[step], &[0.0, 1.0], 0.0).unwrap_err().to_string().contains("observation_std = 0"));
        let negative = Step { variance: -1.0, ..step };
        assert!(smooth(start, &[step, negative], &[0.0; 3], 1.0).unwrap_err().to_string().contains("step 2"));
        assert!(smooth(start, &[step], &[0.0, f64::INFINITY], 1.0).unwrap_err().to_string().contains("observation 2"));
        assert!(matches!(smooth(start, &[step], &[0.0, 1e200], 1.0), Err(Error::Numerical { .. })));
    }
}
