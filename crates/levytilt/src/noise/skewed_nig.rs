//! Skewed normal inverse Gaussian noise: J = skew·(S − E S) + √S·Z with the S of [`Nig`].

use super::Nig;
use super::family::{Family, boxed};
use super::nig::SCALE;
use super::skewed_mixture::{Mixture, SKEW, Skewed};
use super::tempered_stable::TEMPERING;
use crate::Result;
use nalgebra::Complex;

/// Normal inverse Gaussian noise with skew: positive `skew` makes jumps upward larger, 0 gives [`Nig`].
///
/// The tails fall like e^{skew·x − √(tempering² + skew²)·|x|}. The mean of an increment is 0 for every skew; its variance
/// is E S + skew²·Var S with E S = Δ·scale/tempering and Var S = Δ·scale/tempering³.
pub type SkewedNig = Skewed<Nig>;

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
        Self::of(Nig::new(scale, tempering)?, skew)
    }
}

impl Mixture for Nig {
    const SKEWED: &'static Family = &FAMILY;

    fn mean_variance(&self, dt: f64) -> f64 {
        dt * self.scale / self.tempering
    }

    fn mean_variance_derivatives(&self, dt: f64) -> Vec<f64> {
        let mean = self.mean_variance(dt);
        vec![mean / self.scale, -mean / self.tempering]
    }

    fn log_laplace(&self, dt: f64, q: Complex<f64>) -> Complex<f64> {
        let root = (q + self.tempering * self.tempering).sqrt();
        -q * (dt * self.scale) / (root + self.tempering)
    }
}
