//! Turn slope and information into a Newton step: on the free scale, with priors, no further than they can be trusted.

use super::parameters::Parameter;
use super::score::Score;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Slope, information and Newton step of the free parameters, on the free scale.
pub(super) struct System {
    free: Vec<usize>,
    information: DMatrix<f64>,
    prior: DVector<f64>,
    step: DVector<f64>,
    slope: DVector<f64>,
    /// What the sampling of paths alone adds to the length of the way to go, in standard errors.
    noise: f64,
}

/// Smallest share of the complete information that a direction is trusted to keep: bounds how far a step may go.
const LEAST_SHARE: f64 = 0.02;
/// Longest step per parameter on the free scale: a factor of about e.
const LONGEST: f64 = 1.0;

impl System {
    /// The system of a score that is a mean over `count` paths.
    pub(super) fn new(score: &Score, parameters: &[Parameter], values: &[f64], count: usize) -> Self {
        let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let n = free.len();
        let scale: Vec<f64> = free.iter().map(|&i| parameters[i].transform.slope(values[i])).collect();
        let on_free = |m: &DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| m[(free[i], free[j])] * scale[i] * scale[j]);
        let mut prior = DVector::zeros(n);
        let mut slope = DVector::from_fn(n, |i, _| score.slope[free[i]] * scale[i]);
        for (k, &i) in free.iter().enumerate() {
            if let Some(p) = parameters[i].prior {
                prior[k] = p.std.powi(-2);
                slope[k] -= (parameters[i].transform.forward(values[i]) - p.mean) * prior[k];
            }
        }
        let missing = on_free(&score.missing);
        let information = observed(&on_free(&score.complete), &missing) + DMatrix::from_diagonal(&prior);
        // The slope is a mean over paths with covariance missing/count.
        let inverse = information.clone().cholesky().map(|c| c.inverse());
        let noise = inverse.map_or(0.0, |inverse| ((inverse * missing).trace() / count as f64).sqrt());
        let mut step = information.clone().cholesky().map_or_else(|| slope.clone() * 0.0, |c| c.solve(&slope));
        let longest = step.amax();
        if longest > LONGEST {
            step *= LONGEST / longest;
        }
        Self { free, information, prior, step, slope, noise }
    }

    /// Whether nothing is free.
    pub(super) fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// The values after a share of the step.
    pub(super) fn moved(&self, parameters: &[Parameter], values: &[f64], share: f64) -> Vec<f64> {
        let mut values = values.to_vec();
        for (&i, step) in self.free.iter().zip(self.step.iter()) {
            let transform = parameters[i].transform;
            values[i] = transform.backward(transform.forward(values[i]) + share * step);
        }
        values
    }

    /// Length below which the search stops: the tolerance, or what the noise of the paths hides.
    pub(super) fn floor(&self, tolerance: f64) -> f64 {
        tolerance.max(1.5 * self.noise)
    }

    /// √(slopeᵀ information⁻¹ slope): the way to go in standard errors.
    pub(super) fn length(&self) -> f64 {
        self.information.clone().cholesky().map_or(f64::INFINITY, |c| c.solve(&self.slope).dot(&self.slope).sqrt())
    }

    /// Standard errors of all parameters (delta method) and the data's share in each free parameter's information.
    pub(super) fn errors(&self, parameters: &[Parameter], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut errors = vec![f64::NAN; parameters.len()];
        let mut shares = vec![f64::NAN; parameters.len()];
        if let Some(covariance) = self.information.clone().cholesky().map(|c| c.inverse()) {
            for (k, &i) in self.free.iter().enumerate() {
                errors[i] = covariance[(k, k)].sqrt() * parameters[i].transform.slope(values[i]);
                shares[i] = 1.0 - self.prior[k] * covariance[(k, k)];
            }
        }
        (errors, shares)
    }
}

/// complete − missing, with every direction left at least [`LEAST_SHARE`] of its complete information.
fn observed(complete: &DMatrix<f64>, missing: &DMatrix<f64>) -> DMatrix<f64> {
    let n = complete.nrows();
    // A whisper of a ridge keeps a parameter that nothing pushes (a slope of zero everywhere) solvable.
    let ridge = DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| 1e-10 * complete[(i, i)] + 1e-12));
    let Some(factor) = (complete + ridge).cholesky() else {
        return complete.clone();
    };
    let l = factor.l();
    let Some(inverse) = l.clone().try_inverse() else {
        return complete.clone();
    };
    let eigen = SymmetricEigen::new(&inverse * missing * inverse.transpose());
    let kept = eigen.eigenvalues.map(|lost| (1.0 - lost).max(LEAST_SHARE));
    let half = l * eigen.eigenvectors;
    &half * DMatrix::from_diagonal(&kept) * half.transpose()
}
