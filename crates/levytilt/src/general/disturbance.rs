//! Differentiate the log evidence of a Kalman filter in every law it predicts: one filter forward, one recursion backward.
//!
//! With variances known the model is Gaussian. The derivatives of the log evidence in the law predicted for a time are
//! ∂/∂mean = r and ∂/∂covariance = ½(rrᵀ − N), and r and N follow from those of the time after (de Jong 1988): no system is
//! solved, and a value seen costs one product with N.

use super::chain::GeneralChain;
use super::form::{add_square, congruence_back, dot};
use super::pass::{Variances, predict_slices, see_each};

/// A Kalman filter with what the way back needs.
pub(super) struct Trace {
    pub log_evidence: f64,
    /// Per time, mean and covariance before and after what is seen there.
    predicted: Laws,
    filtered: Laws,
    /// Per value seen: the gain, and its miss and total variance.
    gains: Vec<f64>,
    misses: Vec<(f64, f64)>,
}

/// Laws of all times in two slices.
struct Laws {
    means: Vec<f64>,
    covariances: Vec<f64>,
}

impl Laws {
    fn new(chain: &GeneralChain) -> Self {
        let (dim, len) = (chain.dim(), chain.len());
        Self { means: vec![0.0; len * dim], covariances: vec![0.0; len * dim * dim] }
    }

    fn of(&self, j: usize, dim: usize) -> (&[f64], &[f64]) {
        (&self.means[j * dim..(j + 1) * dim], &self.covariances[j * dim * dim..(j + 1) * dim * dim])
    }

    fn set(&mut self, j: usize, mean: &[f64], covariance: &[f64]) {
        let dim = mean.len();
        self.means[j * dim..(j + 1) * dim].copy_from_slice(mean);
        self.covariances[j * dim * dim..(j + 1) * dim * dim].copy_from_slice(covariance);
    }
}

/// What the data say about the law predicted for one time.
pub(super) struct Influence<'a> {
    /// r.
    pub force: &'a [f64],
    /// N, symmetric.
    pub stiffness: &'a [f64],
    /// Per value seen at this time: its row, and the derivative of the log evidence in the variance of its error, twice.
    pub seen: &'a [(usize, f64)],
}

impl Influence<'_> {
    /// (rrᵀ − N)b, twice the derivative in the covariance along b.
    pub fn bend(&self, b: &[f64], along: &mut [f64]) {
        let force = dot(self.force, b);
        along.iter_mut().zip(self.force).for_each(|(along, r)| *along = r * force);
        for (column, b) in self.stiffness.chunks_exact(b.len()).zip(b).filter(|(_, b)| **b != 0.0) {
            along.iter_mut().zip(column).for_each(|(along, n)| *along -= n * b);
        }
    }
}

impl Trace {
    /// Filter with these variances.
    pub fn new(chain: &GeneralChain, variances: &Variances) -> Self {
        let dim = chain.dim();
        let (mut predicted, mut filtered) = (Laws::new(chain), Laws::new(chain));
        let (mut gains, mut misses) = (Vec::new(), Vec::new());
        let (mut mean, mut covariance) = chain.start();
        let (mean, covariance) = (mean.as_mut_slice(), covariance.as_mut_slice());
        let mut log_evidence = 0.0;
        for j in 0..chain.len() {
            if j > 0 {
                predict_slices(chain.flow(j), filtered.of(j - 1, dim), mean, covariance);
                for (source, v) in chain.model.sources.iter().zip(variances.of(j)) {
                    add_square(covariance, *v, source.direction.as_slice());
                }
            }
            predicted.set(j, mean, covariance);
            log_evidence += see_each(chain, j, mean, covariance, |gain, miss, total| {
                gains.extend_from_slice(gain);
                misses.push((miss, total));
            });
            filtered.set(j, mean, covariance);
        }
        Self { log_evidence, predicted, filtered, gains, misses }
    }

    /// The law predicted for time `j`.
    pub fn predicted(&self, j: usize, dim: usize) -> (&[f64], &[f64]) {
        self.predicted.of(j, dim)
    }

    /// The law after what is seen at time `j`.
    pub fn filtered(&self, j: usize, dim: usize) -> (&[f64], &[f64]) {
        self.filtered.of(j, dim)
    }

    /// Tell `each` of all times, from the last back to the first.
    pub fn back(&self, chain: &GeneralChain, mut each: impl FnMut(usize, &Influence)) {
        let dim = chain.dim();
        let (mut force, mut stiffness) = (vec![0.0; dim], vec![0.0; dim * dim]);
        let (mut pressed, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
        let mut left = self.misses.len();
        let mut seen = Vec::new();
        for j in (0..chain.len()).rev() {
            seen.clear();
            for &(row, _) in chain.seen_rows(j).iter().rev() {
                left -= 1;
                let (miss, total) = self.misses[left];
                let gain = &self.gains[left * dim..(left + 1) * dim];
                let h = chain.model.rows[row].weights.as_slice();
                let own = miss / total - dot(gain, &force);
                for (pressed, column) in pressed.iter_mut().zip(stiffness.chunks_exact(dim)) {
                    *pressed = dot(column, gain);
                }
                let firm = 1.0 / total + dot(gain, &pressed);
                seen.push((row, own * own - firm));
                // r + h·own, and N − h·(NK)ᵀ − (NK)·hᵀ + firm·hhᵀ.
                force.iter_mut().zip(h).for_each(|(force, h)| *force += h * own);
                for ((column, h_k), n_k) in stiffness.chunks_exact_mut(dim).zip(h).zip(&pressed) {
                    let both = h.iter().zip(&pressed);
                    column.iter_mut().zip(both).for_each(|(n, (h, p))| *n += h * (firm * h_k - n_k) - p * h_k);
                }
            }
            each(j, &Influence { force: &force, stiffness: &stiffness, seen: &seen });
            if j > 0 {
                congruence_back(chain.flow(j), &mut force, &mut stiffness, &mut moved);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pass::backward;
    use super::super::tests::{hidden_velocity, record, times};
    use super::*;
    use crate::series::TimeGrid;
    use nalgebra::{DMatrix, DVector};

    /// r and N against the message from the future met with the predicted law: (I + ΛP)⁻¹γ and (I + ΛP)⁻¹Λ.
    #[test]
    fn identity_recursion_is_the_message_met_with_the_law() {
        let model = hidden_velocity(1.5);
        let times = times(25, 0.1);
        let columns = record(&model, &times, 4);
        let chain = GeneralChain::new(&model, &TimeGrid::new(&times, None).unwrap(), &[&columns[0]]).unwrap();
        let values: Vec<f64> = (1..chain.len()).map(|j| 0.1 + (j % 5) as f64).collect();
        let variances = Variances { sources: 1, values: &values };
        let trace = Trace::new(&chain, &variances);
        let at = vec![DVector::zeros(2); chain.len()];
        let messages = backward(&chain, &variances, &at);
        trace.back(&chain, |j, influence| {
            let mut message = messages[j].clone();
            chain.seen(j).for_each(|seen| message.see(seen, &at[j]));
            let (mean, covariance) = trace.predicted(j, 2);
            let (mean, covariance) = (DVector::from_column_slice(mean), DMatrix::from_column_slice(2, 2, covariance));
            let lu = (DMatrix::identity(2, 2) + &message.precision * covariance).lu();
            let force = lu.solve(&(&message.pull - &message.precision * mean)).unwrap();
            let stiffness = lu.solve(&message.precision).unwrap();
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7 * (1.0 + b.abs()));
            assert!(close(influence.force, force.as_slice()), "{j}: {:?} {force}", influence.force);
            assert!(close(influence.stiffness, stiffness.as_slice()), "{j}: {:?} {stiffness}", influence.stiffness);
        });
    }
}
