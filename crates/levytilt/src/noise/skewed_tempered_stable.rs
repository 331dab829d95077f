//! Skewed tempered stable noise: J = skew·(S − E S) + √S·Z with the S of [`TemperedStable`].

use super::family::{Family, boxed};
use super::skewed_mixture::{SKEW, skewed_nodes, skewed_square};
use super::stable::ALPHA_BELOW_2;
use super::tempered_stable::{SCALE, TEMPERING};
use super::{Lengths, Nodes, Noise, TemperedStable, wrong_count};
use crate::{Result, StreamRng};
use nalgebra::Complex;

/// Tempered stable noise with skew: positive `skew` makes jumps upward larger, 0 gives [`TemperedStable`].
///
/// The tails fall like e^{skew·x − √(tempering² + skew²)·|x|}: skew acts on large jumps, small ones stay symmetric. The
/// mean of an increment is 0 for every skew; E S = Δ·α·scale^α·tempering^{α−2}.
#[derive(Debug, Clone)]
pub struct SkewedTemperedStable {
    symmetric: TemperedStable,
    alpha: f64,
    scale: f64,
    tempering: f64,
    skew: f64,
}

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "skewed-tempered-stable",
    about: "Skewed stable with exponentially tempered large jumps",
    parameters: &[ALPHA_BELOW_2, SCALE, TEMPERING, SKEW],
    rival: true,
    build: |p| boxed(SkewedTemperedStable::new(p[0], p[1], p[2], p[3])),
};

impl SkewedTemperedStable {
    /// The noise; an error names a parameter outside the domain of [`TemperedStable`], or a skew that is not finite.
    pub fn new(alpha: f64, scale: f64, tempering: f64, skew: f64) -> Result<Self> {
        SKEW.check(skew)?;
        Ok(Self { symmetric: TemperedStable::new(alpha, scale, tempering)?, alpha, scale, tempering, skew })
    }

    /// E S of a step.
    fn mean_variance(&self, dt: f64) -> f64 {
        dt * self.alpha * self.scale.powf(self.alpha) * self.tempering.powf(self.alpha - 2.0)
    }

    /// ln E exp(iuJ).
    fn exponent(&self, dt: f64, u: f64) -> Complex<f64> {
        let square = skewed_square(u, self.skew);
        let tilt = dt * (self.scale * self.tempering).powf(self.alpha);
        let ratio = square / (self.tempering * self.tempering);
        // (1 + z)^{α/2} − 1 = e^w − 1 with w = (α/2) ln(1 + z), which does not cancel for small z.
        let log = if ratio.norm() < 1e-4 {
            ratio * (Complex::new(1.0, 0.0) - ratio * (Complex::new(0.5, 0.0) - ratio * (1.0 / 3.0 - 0.25 * ratio)))
        } else {
            (ratio + 1.0).ln()
        };
        let w = log * (0.5 * self.alpha);
        let half = (0.5 * w.im).sin();
        let growth = Complex::new(w.re.exp_m1() * w.im.cos() - 2.0 * half * half, w.re.exp() * w.im.sin());
        let exponent = -growth * tilt;
        exponent - Complex::new(0.0, u * self.skew * self.mean_variance(dt))
    }
}

impl Noise for SkewedTemperedStable {
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
            [alpha, scale, tempering, skew] => Ok(Box::new(Self::new(alpha, scale, tempering, skew)?)),
            _ => Err(wrong_count(values.len(), 4)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        let mean = self.mean_variance(dt);
        let by = [
            mean * (1.0 / self.alpha + self.scale.ln() + self.tempering.ln()),
            mean * self.alpha / self.scale,
            mean * (self.alpha - 2.0) / self.tempering,
        ];
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
