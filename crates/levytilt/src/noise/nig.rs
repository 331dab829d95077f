//! Normal inverse Gaussian noise: ln E e^{iuJ} = −Δ·scale·(√(tempering² + u²) − tempering); S is inverse Gaussian.

use super::condense::LIGHT;
use super::family::{Family, boxed};
use super::log_law::{Action, LogPoint, Range, SlidingLaw};
use super::tempered_stable::TEMPERING;
use super::{Lengths, Nodes, Noise, NoisePart, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::series::NORMAL_MEDIAN;
use crate::{Result, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::PI;

/// Normal inverse Gaussian noise: Cauchy increments of scale Δ·`scale`, with tails cut like e^{−tempering·|x|}.
///
/// It has variance scale/tempering per time, and is the tempered stable noise with α = 1.
#[derive(Debug, Clone)]
pub struct Nig {
    pub(super) scale: f64,
    pub(super) tempering: f64,
}

/// The scale of the noise, which is Cauchy over short times.
pub(super) const SCALE: ParameterEntry =
    ParameterEntry::new("scale", "scale of the noise", "value/time", Domain::POSITIVE, 1.0, |scales, _| {
        NORMAL_MEDIAN * scales.motion / scales.lag
    })
    .with_effect(Effect::Scale);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "nig",
    about: "Normal inverse Gaussian",
    parameters: &[SCALE, TEMPERING],
    rival: true,
    build: |p| boxed(Nig::new(p[0], p[1])),
};

impl Nig {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Normal inverse Gaussian noise; an error names a parameter that is not a positive number.
    pub fn new(scale: f64, tempering: f64) -> Result<Self> {
        SCALE.check(scale)?;
        TEMPERING.check(tempering)?;
        Ok(Self { scale, tempering })
    }
}

/// ln density of u = ln y, y inverse Gaussian with mean 1 and shape ω: ½ ln(ω/2π) − u/2 − ω(cosh u − 1).
fn unit_point(omega: f64, u: f64) -> LogPoint<1> {
    let bend = 2.0 * (0.5 * u).sinh().powi(2);
    LogPoint {
        value: 0.5 * (omega / (2.0 * PI)).ln() - 0.5 * u - omega * bend,
        by_u: -0.5 - omega * u.sinh(),
        by_shape: [0.5 / omega - bend],
    }
}

impl Noise for Nig {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("scale", self.scale), ("tempering", self.tempering)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [scale, tempering] => Ok(Box::new(Self::new(scale, tempering)?)),
            _ => Err(wrong_count(values.len(), 2)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let omega = dt * self.scale * self.tempering;
        let point = |u: f64| unit_point(omega, u);
        let range = Range::of(point, -(0.5 / omega).asinh())?;
        SlidingLaw::new(&range.points(), point).condense(LIGHT).scaled(
            dt * self.scale / self.tempering,
            &[
                Action { name: "scale", stretch: 1.0 / self.scale, shape: [omega / self.scale] },
                Action { name: "tempering", stretch: -1.0 / self.tempering, shape: [omega / self.tempering] },
            ],
        )
    }

    /// The larger or smaller root of a quadratic (Michael, Schucany and Haas 1976), written without cancellation.
    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let omega = dt * self.scale * self.tempering;
        let z: f64 = StandardNormal.sample(rng);
        // Roots y and 1/y of y + 1/y = 2 + z²/ω.
        let half = 0.5 * z * z / omega;
        let large = 1.0 + half + (half * (half + 2.0)).sqrt();
        let small = 1.0 / large;
        let y = if rng.random::<f64>() * (1.0 + small) < 1.0 { small } else { large };
        dt * self.scale / self.tempering * y
    }

    /// −Δ·scale·u²/(√(tempering² + u²) + tempering), which does not cancel for small u.
    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        -dt * self.scale * u * u / (self.tempering.hypot(u) + self.tempering)
    }

    fn lengthening(&self) -> Option<Vec<f64>> {
        Some(vec![self.scale, 0.0])
    }

    fn lengths(&self) -> Lengths {
        Lengths::Additive
    }

    fn has_variance(&self) -> bool {
        true
    }
}
