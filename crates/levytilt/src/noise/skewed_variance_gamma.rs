//! Skewed variance gamma noise: J = skew·(S − E S) + √S·Z with the S of [`VarianceGamma`].

use super::VarianceGamma;
use super::family::{Family, boxed};
use super::gaussian::SCALE;
use super::skewed_mixture::{Mixture, SKEW, Skewed};
use super::variance_gamma::NU;
use crate::Result;
use nalgebra::Complex;

/// Variance gamma noise with skew: positive `skew` makes jumps upward larger, 0 gives [`VarianceGamma`].
///
/// The mean of an increment is 0 for every skew; its variance is E S + skew²·Var S with E S = scale²·Δ and
/// Var S = scale⁴·ν·Δ.
pub type SkewedVarianceGamma = Skewed<VarianceGamma>;

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
        Self::of(VarianceGamma::new(scale, nu)?, skew)
    }
}

impl Mixture for VarianceGamma {
    const SKEWED: &'static Family = &FAMILY;

    fn mean_variance(&self, dt: f64) -> f64 {
        self.scale * self.scale * dt
    }

    fn mean_variance_derivatives(&self, dt: f64) -> Vec<f64> {
        vec![2.0 * self.mean_variance(dt) / self.scale, 0.0]
    }

    fn log_laplace(&self, dt: f64, q: Complex<f64>) -> Complex<f64> {
        let grown = q * (0.5 * self.nu * self.scale * self.scale) + 1.0;
        -grown.ln() * (dt / self.nu)
    }
}
