//! Skewed tempered stable noise: J = skew·(S − E S) + √S·Z with the S of [`TemperedStable`].

use super::TemperedStable;
use super::family::{Family, boxed};
use super::skewed_mixture::{Mixture, SKEW, Skewed};
use super::tempered_stable::{ALPHA, SCALE, TEMPERING};
use crate::Result;
use nalgebra::Complex;

/// Tempered stable noise with skew: positive `skew` makes jumps upward larger, 0 gives [`TemperedStable`].
///
/// The tails fall like e^{skew·x − √(tempering² + skew²)·|x|}: skew acts on large jumps, small ones stay symmetric. The
/// mean of an increment is 0 for every skew; E S = Δ·α·scale^α·tempering^{α−2}.
pub type SkewedTemperedStable = Skewed<TemperedStable>;

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "skewed-tempered-stable",
    about: "Skewed stable with exponentially tempered large jumps",
    parameters: &[ALPHA, SCALE, TEMPERING, SKEW],
    rival: true,
    build: |p| boxed(SkewedTemperedStable::new(p[0], p[1], p[2], p[3])),
};

impl SkewedTemperedStable {
    /// The noise; an error names a parameter outside the domain of [`TemperedStable`], or a skew that is not finite.
    pub fn new(alpha: f64, scale: f64, tempering: f64, skew: f64) -> Result<Self> {
        Self::of(TemperedStable::new(alpha, scale, tempering)?, skew)
    }
}

impl Mixture for TemperedStable {
    const SKEWED: &'static Family = &FAMILY;

    fn mean_variance(&self, dt: f64) -> f64 {
        dt * self.alpha * self.scale.powf(self.alpha) * self.tempering.powf(self.alpha - 2.0)
    }

    fn mean_variance_derivatives(&self, dt: f64) -> Vec<f64> {
        let mean = self.mean_variance(dt);
        vec![
            mean * (1.0 / self.alpha + self.scale.ln() + self.tempering.ln()),
            mean * self.alpha / self.scale,
            mean * (self.alpha - 2.0) / self.tempering,
        ]
    }

    fn log_laplace(&self, dt: f64, q: Complex<f64>) -> Complex<f64> {
        let ratio = q / (self.tempering * self.tempering);
        // (1 + z)^{α/2} − 1 = e^w − 1 with w = (α/2) ln(1 + z), which does not cancel for small z.
        let log = if ratio.norm() < 1e-4 {
            ratio * (Complex::new(1.0, 0.0) - ratio * (Complex::new(0.5, 0.0) - ratio * (1.0 / 3.0 - 0.25 * ratio)))
        } else {
            (ratio + 1.0).ln()
        };
        let w = log * (0.5 * self.alpha);
        let half = (0.5 * w.im).sin();
        let growth = Complex::new(w.re.exp_m1() * w.im.cos() - 2.0 * half * half, w.re.exp() * w.im.sin());
        -growth * self.tilt(dt)
    }
}
