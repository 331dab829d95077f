//! Skew a variance mixture: J = skew·(S − E S) + √S·Z, so that the skew does not move the mean.

use super::{NodeDerivative, Nodes};
use crate::Result;
use crate::parameter::{Domain, ParameterEntry};
use nalgebra::Complex;

/// Names of the parameters that skew a noise; at 0 it is symmetric.
pub(crate) const SKEWS: [&str; 2] = ["skew", "jump_mean"];

/// The skew of a variance mixture; at one over the typical increment, means are as large as standard deviations.
pub(super) const SKEW: ParameterEntry = ParameterEntry::new(
    "skew",
    "skew of the jumps; positive makes upward jumps larger, 0 is symmetric",
    "1/value",
    Domain::REAL,
    0.0,
    |_, _| 0.0,
)
.with_prior(|own, _| 3.0 / own.motion);

/// Nodes m_k = skew·(S_k − E S) on the variances of the symmetric noise; `skew` becomes the last parameter.
///
/// `mean` is E S of the step and `by` its derivatives in the parameters of the symmetric noise, in their order.
pub(super) fn skewed_nodes(symmetric: &Nodes, skew: f64, mean: f64, by: &[f64]) -> Result<Nodes> {
    let variances = symmetric.variances().to_vec();
    let means = variances.iter().map(|s| skew * (s - mean)).collect();
    let mut mean_derivatives: Vec<Vec<f64>> = symmetric
        .derivatives()
        .iter()
        .zip(by)
        .map(|(d, by)| d.variances.iter().map(|slope| skew * (slope - by)).collect())
        .collect();
    mean_derivatives.push(variances.iter().map(|s| s - mean).collect());
    let mut derivatives = symmetric.derivatives().to_vec();
    derivatives.push(NodeDerivative {
        name: SKEW.name,
        variances: vec![0.0; variances.len()],
        weights: vec![0.0; variances.len()],
    });
    Nodes::with_means(means, variances, symmetric.weights().to_vec(), derivatives, mean_derivatives)
}

/// The argument u² of a symmetric characteristic function that stands for skewed jumps: u² − 2iu·skew, because
/// E exp(iuJ) = E exp(−(u² − 2iu·skew) S/2) before compensation.
pub(super) fn skewed_square(u: f64, skew: f64) -> Complex<f64> {
    Complex::new(u * u, -2.0 * u * skew)
}
