//! Tempered stable noise: ln E e^{iuJ} = −Δ·scale^α·((u² + ℓ²)^{α/2} − ℓ^α); S is an exponentially tilted stable variable.

use super::condense::LIGHT;
use super::family::{Family, boxed};
use super::log_law::{Action, LogPoint, Range, SlidingLaw, SlidingNodes, last};
use super::positive_stable::PositiveStable;
use super::stable;
use super::{Lengths, Nodes, Noise, NoisePart, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Error, Result, StreamRng};
use rand_distr::{Distribution, Exp1};

/// Tempered stable noise: like [`Stable`](super::Stable) for increments below 1/ℓ, with tails cut like e^{−ℓ|x|}.
///
/// α lies in (0, 2) and the tempering ℓ > 0 is one over a length. The law of S has the density of the stable one times
/// exp(−ℓ²s/2 + Λ), Λ = Δ·(scale·ℓ)^α. With α = 1 it is [`Nig`](super::Nig).
#[derive(Debug, Clone)]
pub struct TemperedStable {
    pub(super) alpha: f64,
    pub(super) scale: f64,
    pub(super) tempering: f64,
}

/// The damping ℓ; by default jumps are damped beyond the sizes that are commonly seen.
pub(super) const TEMPERING: ParameterEntry = ParameterEntry::new(
    "tempering",
    "exponential tempering of large jumps, exp(-tempering |x|)",
    "1/value",
    Domain::POSITIVE,
    1.0,
    |scales, _| 1.0 / scales.spread,
);

/// The index of small jumps; the tails are exponential.
pub(super) const ALPHA: ParameterEntry = ParameterEntry { effect: Effect::Other, ..stable::ALPHA_BELOW_2 };

/// The scale of the noise.
pub(super) const SCALE: ParameterEntry = ParameterEntry { about: "scale of the noise", ..stable::SCALE };

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "tempered-stable",
    about: "Stable with exponentially tempered large jumps",
    parameters: &[ALPHA, SCALE, TEMPERING],
    rival: true,
    build: |p| boxed(TemperedStable::new(p[0], p[1], p[2])),
};

/// Largest Λ for which the tilted density is known to the promised accuracy.
const MOST_TILT: f64 = 1e9;

impl TemperedStable {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Tempered stable noise; an error names α outside (0, 2), or another parameter that is not a positive number.
    pub fn new(alpha: f64, scale: f64, tempering: f64) -> Result<Self> {
        ALPHA.check(alpha)?;
        SCALE.check(scale)?;
        TEMPERING.check(tempering)?;
        Ok(Self { alpha, scale, tempering })
    }

    /// Λ = Δ·(scale·ℓ)^α: −ln of the probability that the tilt accepts a stable draw.
    pub(super) fn tilt(&self, dt: f64) -> f64 {
        dt * (self.scale * self.tempering).powf(self.alpha)
    }
}

/// Nodes of the positive ρ-stable variable Y tilted by exp(−h·y + h^ρ), with shape parameters ρ and ln h.
fn unit_nodes(rho: f64, log_h: f64) -> Result<SlidingNodes<2>> {
    let (h, tilt) = (log_h.exp(), (rho * log_h).exp());
    // The lower tail of the stable density is exp(−A y^{−c}), so that of the tilted one is about exp(−excess), with
    // excess = 0 at the saddle point y = ρ h^{ρ−1}. This bounds the table; the ends of the law lie inside.
    let (c, log_a) = (rho / (1.0 - rho), rho / (1.0 - rho) * rho.ln() + (1.0 - rho).ln());
    let excess = |v: f64| (log_a - c * v).exp() + h * v.exp() - tilt;
    let saddle = rho.ln() + (rho - 1.0) * log_h;
    let near = |v: f64| excess(v) < 60.0;
    let table = Range { low: last(&near, saddle, f64::NEG_INFINITY), high: last(&near, saddle, f64::INFINITY) };
    let table = table.checked()?;
    let law = PositiveStable::between(rho, table.low, table.high);
    let point = |v: f64| {
        let stable = law.log_mass(v);
        let pull = h * v.exp();
        LogPoint {
            value: stable.value - pull + tilt,
            by_u: stable.by_u - pull,
            by_shape: [stable.by_shape[0] + tilt * log_h, rho * tilt - pull],
        }
    };
    // Without a tilt to speak of the maximum is that of the stable law, at ln y of about ln A/c.
    let range = Range::between(point, if tilt > 1.0 { saddle } else { log_a / c }, table.low, table.high)?;
    let points = law.points(range.low, range.high, range.widest_panel());
    Ok(SlidingLaw::new(&points, point).condense(LIGHT))
}

impl Noise for TemperedStable {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.alpha), ("scale", self.scale), ("tempering", self.tempering)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [alpha, scale, tempering] => Ok(Box::new(Self::new(alpha, scale, tempering)?)),
            _ => Err(wrong_count(values.len(), 3)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let Self { alpha, scale, tempering } = *self;
        let tilt = self.tilt(dt);
        if tilt.is_nan() || tilt > MOST_TILT {
            return Err(Error::Numerical {
                what: "tempered stable law of a step",
                why: format!(
                    "step × (scale × tempering)^alpha = {tilt:e} is over {MOST_TILT:e}: over such a step the noise is \
                     Gaussian; use gaussian noise, a shorter step or a smaller tempering"
                ),
            });
        }
        // S = factor·Y, factor = 2 Δ^{2/α} scale², tilted by ℓ²S/2 = h·Y.
        let log_step = 2.0 / alpha * dt.ln() + 2.0 * scale.ln();
        let by_alpha = -2.0 * dt.ln() / (alpha * alpha);
        unit_nodes(0.5 * alpha, log_step + 2.0 * tempering.ln())?.scaled(
            2.0 * log_step.exp(),
            &[
                Action { name: "alpha", stretch: by_alpha, shape: [0.5, by_alpha] },
                Action { name: "scale", stretch: 2.0 / scale, shape: [0.0, 2.0 / scale] },
                Action { name: "tempering", stretch: 0.0, shape: [0.0, 2.0 / tempering] },
            ],
        )
    }

    /// Exact: the step is cut into n = ⌈Λ⌉ equal parts, and each takes stable draws until one is accepted with
    /// probability e^{−ℓ²S/2}, which is at least e^{−1} on average. The cost is about e·n stable draws.
    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let parts = self.tilt(dt).ceil().max(1.0);
        let factor = 2.0 * (dt / parts).powf(2.0 / self.alpha) * self.scale * self.scale;
        let half = 0.5 * self.tempering * self.tempering;
        (0..parts as u64)
            .map(|_| {
                loop {
                    let s = factor * PositiveStable::sample(0.5 * self.alpha, rng);
                    let patience: f64 = Exp1.sample(rng);
                    if half * s < patience {
                        return s;
                    }
                }
            })
            .sum()
    }

    /// −Λ·((1 + (u/ℓ)²)^{α/2} − 1), which does not cancel for small u.
    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        let ratio = u / self.tempering;
        let log_growth = if ratio.abs() < 1e100 { (ratio * ratio).ln_1p() } else { 2.0 * ratio.abs().ln() };
        -self.tilt(dt) * (0.5 * self.alpha * log_growth).exp_m1()
    }

    fn lengthening(&self) -> Option<Vec<f64>> {
        Some(vec![0.0, self.scale / self.alpha, 0.0])
    }

    fn lengths(&self) -> Lengths {
        Lengths::Additive
    }

    fn has_variance(&self) -> bool {
        true
    }
}
