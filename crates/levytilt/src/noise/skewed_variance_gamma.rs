//! Skewed variance gamma noise: J = skew·(S − E S) + √S·Z with the S of [`VarianceGamma`].

use super::family::{Family, boxed};
use super::gaussian::SCALE;
use super::skewed_mixture::{SKEW, skewed_nodes, skewed_square};
use super::variance_gamma::NU;
use super::{Lengths, Nodes, Noise, VarianceGamma, wrong_count};
use crate::{Result, StreamRng};
use nalgebra::Complex;

/// Variance gamma noise with skew: positive `skew` makes jumps upward larger, 0 gives [`VarianceGamma`].
///
/// The mean of an increment is 0 for every skew; its variance is E S + skew²·Var S with E S = scale²·Δ and
/// Var S = scale⁴·ν·Δ.
#[derive(Debug, Clone)]
pub struct SkewedVarianceGamma {
    symmetric: VarianceGamma,
    scale: f64,
    nu: f64,
    skew: f64,
}

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "skewed-variance-gamma",
    about: "Skewed variance gamma",
    parameters: &[SCALE, NU, SKEW],
    rival: true,
    build: |p| boxed(SkewedVarianceGamma::new(p[0], p[1], p[2])),
};

impl SkewedVarianceGamma {
    /// The noise; an error names a parameter outside the domain of [`VarianceGamma`], or a skew that is not finite.
    pub fn new(scale: f64, nu: f64, skew: f64) -> Result<Self> {
        SKEW.check(skew)?;
        Ok(Self { symmetric: VarianceGamma::new(scale, nu)?, scale, nu, skew })
    }

    /// E S of a step.
    fn mean_variance(&self, dt: f64) -> f64 {
        self.scale * self.scale * dt
    }

    /// ln E exp(iuJ).
    fn exponent(&self, dt: f64, u: f64) -> Complex<f64> {
        let square = skewed_square(u, self.skew);
        let grown = square * (0.5 * self.nu * self.scale * self.scale) + 1.0;
        let exponent = -grown.ln() * (dt / self.nu);
        exponent - Complex::new(0.0, u * self.skew * self.mean_variance(dt))
    }
}

impl Noise for SkewedVarianceGamma {
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
            [scale, nu, skew] => Ok(Box::new(Self::new(scale, nu, skew)?)),
            _ => Err(wrong_count(values.len(), 3)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        let mean = self.mean_variance(dt);
        let by = [2.0 * mean / self.scale, 0.0];
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
