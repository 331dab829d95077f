//! Skewed normal inverse Gaussian noise: J = skew·(S − E S) + √S·Z with the S of [`Nig`].

use super::family::{Family, boxed};
use super::nig::SCALE;
use super::skewed_mixture::{SKEW, skewed_nodes, skewed_square};
use super::tempered_stable::TEMPERING;
use super::{Lengths, Nig, Nodes, Noise, wrong_count};
use crate::{Result, StreamRng};
use nalgebra::Complex;

/// Normal inverse Gaussian noise with skew: positive `skew` makes jumps upward larger, 0 gives [`Nig`].
///
/// The tails fall like e^{skew·x − √(tempering² + skew²)·|x|}. The mean of an increment is 0 for every skew; its variance
/// is E S + skew²·Var S with E S = Δ·scale/tempering and Var S = Δ·scale/tempering³.
#[derive(Debug, Clone)]
pub struct SkewedNig {
    symmetric: Nig,
    scale: f64,
    tempering: f64,
    skew: f64,
}

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "skewed-nig",
    about: "Skewed normal inverse Gaussian",
    parameters: &[SCALE, TEMPERING, SKEW],
    rival: true,
    build: |p| boxed(SkewedNig::new(p[0], p[1], p[2])),
};

impl SkewedNig {
    /// The noise; an error names a parameter outside the domain of [`Nig`], or a skew that is not finite.
    pub fn new(scale: f64, tempering: f64, skew: f64) -> Result<Self> {
        SKEW.check(skew)?;
        Ok(Self { symmetric: Nig::new(scale, tempering)?, scale, tempering, skew })
    }

    /// E S of a step.
    fn mean_variance(&self, dt: f64) -> f64 {
        dt * self.scale / self.tempering
    }

    /// ln E exp(iuJ).
    fn exponent(&self, dt: f64, u: f64) -> Complex<f64> {
        let square = skewed_square(u, self.skew);
        let root = (square + self.tempering * self.tempering).sqrt();
        let exponent = -square * (dt * self.scale) / (root + self.tempering);
        exponent - Complex::new(0.0, u * self.skew * self.mean_variance(dt))
    }
}

impl Noise for SkewedNig {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = self.symmetric.parameters();
        parameters.push((SKEW.name, self.skew));
        parameters
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [scale, tempering, skew] => Ok(Box::new(Self::new(scale, tempering, skew)?)),
            _ => Err(wrong_count(values.len(), 3)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        let mean = self.mean_variance(dt);
        let by = [mean / self.scale, -mean / self.tempering];
        skewed_nodes(&self.symmetric.nodes(dt)?, self.skew, mean, &by)
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        self.symmetric.sample_variance(dt, rng)
    }

    fn sample_mean_and_variance(&self, dt: f64, rng: &mut StreamRng) -> (f64, f64) {
        let variance = self.sample_variance(dt, rng);
        (self.skew * (variance - self.mean_variance(dt)), variance)
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
