//! Skew a variance mixture: J = skew·(S − E S) + √S·Z, so that the skew does not move the mean.

use super::{Family, Lengths, NodeDerivative, Nodes, Noise};
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Result, StreamRng};
use nalgebra::Complex;

/// The skew of a variance mixture; at one over the typical increment, means are as large as standard deviations.
pub(super) const SKEW: ParameterEntry = ParameterEntry::new(
    "skew",
    "skew of the jumps; positive makes upward jumps larger, 0 is symmetric",
    "1/value",
    Domain::REAL,
    0.0,
    |_, _| 0.0,
)
.with_prior(|own, _| 3.0 / own.motion)
.with_effect(Effect::Skew);

/// A symmetric noise J = √S·Z whose increments add up and whose variance S has a mean and a known Laplace transform.
pub trait Mixture: Noise {
    /// The entry of the skewed family: the parameters of the symmetric noise, then [`SKEW`].
    const SKEWED: &'static Family;

    /// E S of a step.
    fn mean_variance(&self, dt: f64) -> f64;

    /// Derivatives of E S in the parameters of the symmetric noise, in their order.
    fn mean_variance_derivatives(&self, dt: f64) -> Vec<f64>;

    /// ln E exp(−qS/2).
    fn log_laplace(&self, dt: f64, q: Complex<f64>) -> Complex<f64>;
}

/// The noise J = skew·(S − E S) + √S·Z with the S of a symmetric noise.
#[derive(Debug, Clone)]
pub struct Skewed<S> {
    symmetric: S,
    skew: f64,
}

impl<S: Mixture> Skewed<S> {
    /// The skewed noise; an error names a skew that is not finite.
    pub(super) fn of(symmetric: S, skew: f64) -> Result<Self> {
        Ok(Self { symmetric, skew: SKEW.check(skew)? })
    }

    /// ln E exp(iuJ). Before the mean is taken off it is ln E exp(−(u² − 2iu·skew)·S/2).
    fn exponent(&self, dt: f64, u: f64) -> Complex<f64> {
        let exponent = self.symmetric.log_laplace(dt, Complex::new(u * u, -2.0 * u * self.skew));
        exponent - Complex::new(0.0, u * self.skew * self.symmetric.mean_variance(dt))
    }
}

impl<S: Mixture> Noise for Skewed<S> {
    fn family(&self) -> &'static str {
        S::SKEWED.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = self.symmetric.parameters();
        parameters.push((SKEW.name, self.skew));
        parameters
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        S::SKEWED.build(values)
    }

    /// Nodes m_k = skew·(S_k − E S) on the variances of the symmetric noise.
    fn nodes(&self, dt: f64) -> Result<Nodes> {
        let (symmetric, skew) = (self.symmetric.nodes(dt)?, self.skew);
        let (mean, by) = (self.symmetric.mean_variance(dt), self.symmetric.mean_variance_derivatives(dt));
        let variances = symmetric.variances().to_vec();
        let means = variances.iter().map(|s| skew * (s - mean)).collect();
        let slopes = symmetric.derivatives().iter().zip(by);
        let mut mean_derivatives: Vec<Vec<f64>> =
            slopes.map(|(d, by)| d.variances.iter().map(|slope| skew * (slope - by)).collect()).collect();
        mean_derivatives.push(variances.iter().map(|s| s - mean).collect());
        let mut derivatives = symmetric.derivatives().to_vec();
        let still = vec![0.0; variances.len()];
        derivatives.push(NodeDerivative { name: SKEW.name, variances: still.clone(), weights: still });
        Nodes::with_means(means, variances, symmetric.weights().to_vec(), derivatives, mean_derivatives)
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        self.symmetric.sample_variance(dt, rng)
    }

    fn sample_mean_and_variance(&self, dt: f64, rng: &mut StreamRng) -> (f64, f64) {
        let variance = self.sample_variance(dt, rng);
        (self.skew * (variance - self.symmetric.mean_variance(dt)), variance)
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        self.exponent(dt, u).re
    }

    fn characteristic_phase(&self, dt: f64, u: f64) -> f64 {
        self.exponent(dt, u).im
    }

    fn lengths(&self) -> Lengths {
        Lengths::Additive
    }

    fn has_variance(&self) -> bool {
        true
    }
}
