//! Carry the uncertainty of parameters over to a curve that depends on them (delta method).

use levytilt::StateSpace;
use levytilt::internals::fit::Fit;
use levytilt::internals::solve::rebuild;

use levytilt::internals::fit::NINETY;

/// A curve with its 90% band.
pub struct Curve {
    /// The curve at the estimates.
    pub middle: Vec<f64>,
    /// Lower and upper end, if errors are known.
    pub band: Option<[Vec<f64>; 2]>,
}

impl Curve {
    /// The curve that `of` gives for the model found, with a band from the covariance of the parameters.
    pub fn new(fit: &Fit, of: impl Fn(&StateSpace) -> Vec<f64>) -> Self {
        let middle = of(&fit.model);
        let errors = errors(fit, &of, middle.len());
        let shifted =
            |sign: f64, errors: &[f64]| middle.iter().zip(errors).map(|(m, e)| m + sign * NINETY * e).collect();
        let band = errors.map(|errors| [shifted(-1.0, &errors), shifted(1.0, &errors)]);
        Self { middle, band }
    }
}

/// Standard error of the curve at every place; none for a network, whose weights have no covariance.
fn errors(fit: &Fit, of: &impl Fn(&StateSpace) -> Vec<f64>, count: usize) -> Option<Vec<f64>> {
    let free: Vec<usize> = (0..fit.parameters.len()).filter(|&k| !fit.parameters[k].fixed).collect();
    if fit.network.is_some() || fit.covariance.is_empty() {
        return None;
    }
    let n = free.len();
    let slopes =
        (0..n).map(|k| slope(fit, of, free[k], fit.covariance[k * n + k].sqrt())).collect::<Option<Vec<_>>>()?;
    let variance = |at: usize| -> f64 {
        let term = |k: usize, l: usize| slopes[k][at] * fit.covariance[k * n + l] * slopes[l][at];
        (0..n).flat_map(|k| (0..n).map(move |l| (k, l))).map(|(k, l)| term(k, l)).sum()
    };
    Some((0..count).map(|at| variance(at).max(0.0).sqrt()).collect())
}

/// Derivative of the curve in parameter `k` on its free scale, by a central difference of a twentieth of its error.
fn slope(fit: &Fit, of: &impl Fn(&StateSpace) -> Vec<f64>, k: usize, error: f64) -> Option<Vec<f64>> {
    let transform = fit.transforms()[k];
    let (free, step) = (transform.forward(fit.parameters[k].value), 0.05 * error);
    let curve = |free: f64| {
        let mut values: Vec<f64> = fit.parameters.iter().map(|p| p.value).collect();
        values[k] = transform.backward(free);
        rebuild(&fit.model, &values).ok().map(|model| of(&model))
    };
    let (above, below) = (curve(free + step)?, curve(free - step)?);
    Some(above.iter().zip(&below).map(|(a, b)| (a - b) / (2.0 * step)).collect())
}
