//! Turn gradient and information into a Newton step: on the unconstrained scale, with priors, limited to where they are
//! reliable.

use super::gradient::Gradient;
use super::parameters::{Parameter, Transform};
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Gradient, information and Newton step of the free parameters, on the unconstrained scale.
pub(super) struct System {
    free: Vec<usize>,
    information: DMatrix<f64>,
    /// Complete-data information, prior included.
    complete: DMatrix<f64>,
    prior: DVector<f64>,
    /// Longest steps: [`LONGEST`] where the unconstrained scale has a natural unit.
    longest: Vec<f64>,
    slope: DVector<f64>,
    /// Free parameters about which the paths cannot tell how much is known.
    vague: Vec<usize>,
    /// Contribution of the Monte Carlo error to the length of the step, in standard errors.
    noise: f64,
}

/// Smallest share of the complete-data information that every direction keeps: limits the length of a step.
const LEAST_SHARE: f64 = 0.01;
/// Longest step on the unconstrained scale of a parameter that has a natural unit there: a factor of about e. An
/// untransformed parameter has the unit of the data, whatever that is.
const LONGEST: f64 = 1.0;

/// A step on the unconstrained scale.
pub(super) struct Step {
    by: DVector<f64>,
    /// Predicted gain of the objective under the quadratic model.
    pub(super) gain: f64,
}

impl System {
    /// The system at these values.
    pub(super) fn new(gradient: &Gradient, parameters: &[Parameter], values: &[f64]) -> Self {
        let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let n = free.len();
        let scale: Vec<f64> = free.iter().map(|&i| parameters[i].transform.slope(values[i])).collect();
        let on_free = |m: &DMatrix<f64>| {
            DMatrix::from_fn(n, n, |i, j| m[(free[i] - gradient.first, free[j] - gradient.first)] * scale[i] * scale[j])
        };
        let mut prior = DVector::zeros(n);
        let mut slope = DVector::from_fn(n, |i, _| gradient.slope[free[i] - gradient.first] * scale[i]);
        for (k, &i) in free.iter().enumerate() {
            if let Some(p) = parameters[i].prior {
                prior[k] = p.std.powi(-2);
                slope[k] -= (parameters[i].transform.forward(values[i]) - p.mean) * prior[k];
            }
        }
        let missing = on_free(&gradient.missing);
        let Observed { left, complete, vague } =
            observed(&on_free(&gradient.complete), &on_free(&gradient.products), &missing, gradient.paths.is_none());
        let with_prior = |m: DMatrix<f64>| m + DMatrix::from_diagonal(&prior);
        let (information, complete) = (with_prior(left), with_prior(complete));
        let noise = match (gradient.paths, information.clone().cholesky()) {
            (Some(count), Some(factor)) => (factor.solve(&missing).trace().max(0.0) / count as f64).sqrt(),
            _ => 0.0,
        };
        let longest = free.iter().map(|&i| match parameters[i].transform {
            Transform::Identity => f64::INFINITY,
            Transform::Log | Transform::Logit(_) | Transform::LogAbove(_) | Transform::Symmetric(_) => LONGEST,
        });
        let (longest, vague) = (longest.collect(), vague.into_iter().map(|k| free[k]).collect());
        Self { vague, longest, free, information, complete, prior, slope, noise }
    }

    /// The Newton step, or a shorter one, shortened most in the directions where the data have the least information:
    /// `damping` times the complete-data information is added. With 1 it is about an EM step, which is safe but slow.
    pub(super) fn step(&self, damping: f64) -> Step {
        let damped = &self.information + damping * &self.complete;
        let mut by = damped.cholesky().map_or_else(|| DVector::zeros(self.free.len()), |c| c.solve(&self.slope));
        let over = by.iter().zip(&self.longest).map(|(step, longest)| step.abs() * (1.0 + damping) / longest);
        by /= over.fold(1.0, f64::max);
        let gain = self.slope.dot(&by) - 0.5 * (&self.information * &by).dot(&by);
        Step { by, gain }
    }

    /// Gradient of ELBO plus log prior on the unconstrained scale.
    pub(super) fn slope(&self) -> &DVector<f64> {
        &self.slope
    }

    /// Whether nothing is free.
    pub(super) fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    /// The values after a share of a step.
    pub(super) fn moved(&self, parameters: &[Parameter], values: &[f64], step: &Step, share: f64) -> Vec<f64> {
        let mut values = values.to_vec();
        for (&i, step) in self.free.iter().zip(step.by.iter()) {
            let transform = parameters[i].transform;
            values[i] = transform.backward(transform.forward(values[i]) + share * step);
        }
        values
    }

    /// Contribution of the Monte Carlo error to [`System::length`].
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// √(gradientᵀ information⁻¹ gradient): the length of the step in standard errors.
    pub(super) fn length(&self) -> f64 {
        self.information.clone().cholesky().map_or(f64::INFINITY, |c| c.solve(&self.slope).dot(&self.slope).sqrt())
    }

    /// Free parameters about which the paths cannot tell how much is known.
    pub(super) fn vague(&self) -> &[usize] {
        &self.vague
    }

    /// Covariance of the free parameters on the unconstrained scale, row after row; empty if there are none.
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

/// The information of the data.
struct Observed {
    /// complete − missing, with at least [`LEAST_SHARE`] of the complete-data information left in every direction.
    left: DMatrix<f64>,
    complete: DMatrix<f64>,
    /// The parameter that is most of each direction where that had to be done.
    vague: Vec<usize>,
}

/// Observed information from the complete-data information. If it is `exact` it is used unchanged wherever possible.
///
/// Far from the maximum second derivatives may have the wrong sign; outer products of gradients never do.
fn observed(complete: &DMatrix<f64>, products: &DMatrix<f64>, missing: &DMatrix<f64>, exact: bool) -> Observed {
    let n = complete.nrows();
    // A tiny ridge keeps the system solvable if a parameter has zero gradient everywhere, in any unit.
    let whisper = |known: f64| if known == 0.0 { 1e-12 } else { 1e-10 * known.abs() };
    let ridge = |m: &DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| if i == j { whisper(m[(i, i)]) } else { 0.0 });
    let factored = |m: &DMatrix<f64>| (m + ridge(m)).cholesky();
    let Some((known, factor)) = [complete, products].into_iter().find_map(|m| factored(m).map(|factor| (m, factor)))
    else {
        return Observed { left: ridge(products), complete: ridge(products), vague: (0..n).collect() };
    };
    let left = known - missing;
    if exact && factored(&left).is_some() {
        return Observed { left, complete: known.clone(), vague: Vec::new() };
    }
    let l = factor.l();
    let solved = |m: &DMatrix<f64>| l.solve_lower_triangular(m).unwrap_or_else(|| DMatrix::zeros(n, n));
    let eigen = SymmetricEigen::new(solved(&solved(&left).transpose()));
    let half = &l * &eigen.eigenvectors;
    let vague = (0..n).filter(|&k| eigen.eigenvalues[k] < LEAST_SHARE).map(|k| eigen.eigenvectors.column(k).icamax());
    let vague = vague.collect();
    let kept = eigen.eigenvalues.map(|share| share.max(LEAST_SHARE));
    Observed { left: &half * DMatrix::from_diagonal(&kept) * half.transpose(), complete: known.clone(), vague }
}
