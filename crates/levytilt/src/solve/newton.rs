//! Turn slope and information into a Newton step: on the free scale, with priors, no further than they can be trusted.

use super::parameters::{Parameter, Transform};
use super::score::Score;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Slope, information and Newton step of the free parameters, on the free scale.
pub(super) struct System {
    free: Vec<usize>,
    information: DMatrix<f64>,
    prior: DVector<f64>,
    step: DVector<f64>,
    slope: DVector<f64>,
    /// Free parameters about which the paths cannot tell how much is known.
    vague: Vec<usize>,
    /// What the sampling of paths alone adds to the length of the way to go, in standard errors.
    noise: f64,
}

/// Smallest share of the complete information that a direction is trusted to keep: bounds how far a step may go.
const LEAST_SHARE: f64 = 0.01;
/// Longest step on the free scale of a parameter that has a natural unit there: a factor of about e. A parameter that is its
/// own free scale has the unit of the data, whatever that is.
const LONGEST: f64 = 1.0;

impl System {
    /// The system at these values.
    pub(super) fn new(score: &Score, parameters: &[Parameter], values: &[f64]) -> Self {
        let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let n = free.len();
        let scale: Vec<f64> = free.iter().map(|&i| parameters[i].transform.slope(values[i])).collect();
        let on_free = |m: &DMatrix<f64>| {
            DMatrix::from_fn(n, n, |i, j| m[(free[i] - score.first, free[j] - score.first)] * scale[i] * scale[j])
        };
        let mut prior = DVector::zeros(n);
        let mut slope = DVector::from_fn(n, |i, _| score.slope[free[i] - score.first] * scale[i]);
        for (k, &i) in free.iter().enumerate() {
            if let Some(p) = parameters[i].prior {
                prior[k] = p.std.powi(-2);
                slope[k] -= (parameters[i].transform.forward(values[i]) - p.mean) * prior[k];
            }
        }
        let missing = on_free(&score.missing);
        let (observed, vague) = observed(&on_free(&score.complete), &on_free(&score.products), &missing);
        let information = observed + DMatrix::from_diagonal(&prior);
        let factor = information.clone().cholesky();
        let mut step = factor.as_ref().map_or_else(|| DVector::zeros(n), |c| c.solve(&slope));
        let relative = |(k, step): (usize, &f64)| match parameters[free[k]].transform {
            Transform::Identity => 0.0,
            Transform::Log | Transform::Logit(_) => step.abs(),
        };
        let longest = step.iter().enumerate().map(relative).fold(0.0, f64::max);
        if longest > LONGEST {
            step *= LONGEST / longest;
        }
        let noise = match (score.paths, &factor) {
            (Some(count), Some(factor)) => (factor.solve(&missing).trace().max(0.0) / count as f64).sqrt(),
            _ => 0.0,
        };
        Self { vague: vague.into_iter().map(|k| free[k]).collect(), free, information, prior, step, slope, noise }
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

    /// What the sampling of paths alone adds to [`System::length`].
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// √(slopeᵀ information⁻¹ slope): the way to go in standard errors.
    pub(super) fn length(&self) -> f64 {
        self.information.clone().cholesky().map_or(f64::INFINITY, |c| c.solve(&self.slope).dot(&self.slope).sqrt())
    }

    /// Free parameters about which the paths cannot tell how much is known.
    pub(super) fn vague(&self) -> &[usize] {
        &self.vague
    }

    /// Covariance of the free parameters on the free scale, row after row; empty if there is none.
    pub(super) fn covariance(&self) -> Vec<f64> {
        let inverse = self.information.clone().cholesky().map(|c| c.inverse());
        // Symmetric, so that the order of the columns is that of the rows.
        inverse.map_or_else(Vec::new, |inverse| inverse.iter().copied().collect())
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

/// complete − missing, with every direction left at least [`LEAST_SHARE`] of what a known path would tell, and the
/// parameter that is most of each direction where that had to be done.
///
/// Far from the maximum second derivatives may have the wrong sign; products of scores never have.
fn observed(complete: &DMatrix<f64>, products: &DMatrix<f64>, missing: &DMatrix<f64>) -> (DMatrix<f64>, Vec<usize>) {
    let n = complete.nrows();
    // A whisper of a ridge keeps a parameter that nothing pushes (a slope of zero everywhere) solvable, in any unit.
    let whisper = |known: f64| if known == 0.0 { 1e-12 } else { 1e-10 * known.abs() };
    let ridge = |m: &DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| if i == j { whisper(m[(i, i)]) } else { 0.0 });
    let factored = |m: &DMatrix<f64>| (m + ridge(m)).cholesky();
    let Some((known, factor)) = [complete, products].into_iter().find_map(|m| factored(m).map(|factor| (m, factor)))
    else {
        return (ridge(products), (0..n).collect());
    };
    let l = factor.l();
    let solved = |m: &DMatrix<f64>| l.solve_lower_triangular(m).unwrap_or_else(|| DMatrix::zeros(n, n));
    let eigen = SymmetricEigen::new(solved(&solved(&(known - missing)).transpose()));
    let half = &l * &eigen.eigenvectors;
    let vague = (0..n).filter(|&k| eigen.eigenvalues[k] < LEAST_SHARE).map(|k| eigen.eigenvectors.column(k).icamax());
    let vague = vague.collect();
    let kept = eigen.eigenvalues.map(|share| share.max(LEAST_SHARE));
    (&half * DMatrix::from_diagonal(&kept) * half.transpose(), vague)
}
