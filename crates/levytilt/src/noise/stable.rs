//! Symmetric α-stable noise: E e^{iuJ} = exp(−Δ η^α |u|^α); S = 2 Δ^{2/α} η² times a positive α/2-stable variable.

use super::condense::{Condensed, Layout, STANDARD};
use super::family::{Family, boxed};
use super::log_law::{Action, Range, SlidingLaw, SlidingNodes};
use super::positive_stable::{PositiveStable, lowest};
use super::{Lengths, Nodes, Noise, NoisePart, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::series::{FIRST_ALPHA, NORMAL_MEDIAN};
use crate::{Error, Result, StreamRng};

/// Symmetric α-stable noise with index α in (0, 2] and scale η.
///
/// α = 2 is Brownian motion with standard deviation √2·η per √time; there the only parameter that can be learned is the
/// scale, because α is at its bound.
#[derive(Debug, Clone)]
pub struct Stable {
    alpha: f64,
    scale: f64,
    /// Nodes of the positive α/2-stable variable: every step length is a rescaling of them.
    unit: SlidingNodes<1>,
}

/// Half of all draws of a standard symmetric stable law are below this in absolute value, within 2% for α from 1 to 2.
const STABLE_MEDIAN: f64 = 0.97;
/// An index above this is the Gaussian limit for all that the data can say.
const GAUSSIAN_INDEX: f64 = 1.98;

/// The tail index α.
pub(super) const ALPHA: ParameterEntry = ParameterEntry::new(
    "alpha",
    "tail index; 2 is Gaussian, smaller has heavier tails",
    "",
    Domain { high: 2.0, closed: [false, true], expected: "must lie in (0, 2]", ..Domain::POSITIVE },
    1.5,
    |_, _| FIRST_ALPHA,
)
.with_effect(Effect::TailIndex)
.with_doubt(|learned| {
    let gaussian = "at the Gaussian limit. This record does not show heavy tails; compare with noise gaussian";
    (learned.value > GAUSSIAN_INDEX).then_some(gaussian)
});

/// The tail index of a family that has no member with α = 2.
pub(super) const ALPHA_BELOW_2: ParameterEntry = ParameterEntry {
    domain: Domain { closed: [false, false], expected: "must lie strictly between 0 and 2", ..ALPHA.domain },
    ..ALPHA
};

/// The scale, from the median of the increments.
pub(super) const SCALE: ParameterEntry = ParameterEntry::new(
    "scale",
    "scale of the noise, E exp(iuJ) = exp(-dt scale^alpha |u|^alpha)",
    "value/time^(1/alpha)",
    Domain::POSITIVE,
    1.0,
    |scales, given| {
        let alpha = given(ALPHA.name).unwrap_or(FIRST_ALPHA);
        NORMAL_MEDIAN * scales.motion / (STABLE_MEDIAN * scales.lag.powf(1.0 / alpha))
    },
)
.with_effect(Effect::Scale);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "stable",
    about: "Symmetric stable",
    parameters: &[ALPHA, SCALE],
    rival: true,
    build: |p| boxed(Stable::new(p[0], p[1])),
};

/// Layout of the nodes of the positive ρ-stable variable.
fn layout(rho: f64) -> Layout {
    match rho {
        // The tail is so long that there are no nodes to spare.
        r if r < 0.33 => Layout { tail_width: 5.0, tail_mass: 4e-4, ..STANDARD },
        r if r < 0.75 => Layout { tail_width: 3.0, tail_mass: 2e-5, ..STANDARD },
        // Behind the spike at s = 1 the law falls steeply before its tail begins.
        _ => Layout { tail_width: 3.0, tail_mass: 2e-5, fall: 0.8, ..STANDARD },
    }
}

impl Stable {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Stable noise; an error names α outside (0, 2] or a scale that is not positive, or says that α is so small (below
    /// about 0.03) that the law spreads over more orders of magnitude than numbers have, or less than 1e-7 below 2, where its core cannot be resolved.
    pub fn new(alpha: f64, scale: f64) -> Result<Self> {
        ALPHA.check(alpha)?;
        SCALE.check(scale)?;
        if 2.0 - 1e-7 < alpha && alpha < 2.0 {
            let expected = "must be at most 2 - 1e-7, or exactly 2, where the noise is Gaussian";
            return Err(Error::Parameter { name: ALPHA.name.into(), value: alpha, expected });
        }
        Ok(Self { alpha, scale, unit: unit_nodes(0.5 * alpha)? })
    }

    /// Index α.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Scale η: the increment over Δ has stable scale Δ^{1/α} η.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

/// Nodes of the positive ρ-stable variable, with shape parameter ρ.
fn unit_nodes(rho: f64) -> Result<SlidingNodes<1>> {
    if rho >= 1.0 {
        let one = Condensed { variances: vec![1.0], weights: vec![1.0], derivatives: vec![vec![0.0]] };
        return Ok(SlidingNodes { nodes: one, slides: [0.0] });
    }
    // Reach increments of 10⁶ scales (s = 10^{13.5}), and a tail mass of 1e-5 where that lies farther out (small α).
    let Range { low, high } =
        Range { low: lowest(rho, 40.0), high: PositiveStable::tail(rho, 1e-5).max(31.0) }.checked()?;
    let law = PositiveStable::new(rho, low);
    let mut table = SlidingLaw::new(&law.points(low, high, 0.5), |u| law.log_mass(u));
    table.add_tail(high + 1.0 / rho, PositiveStable::log_tail(rho, high));
    Ok(table.condense(layout(rho)))
}

impl Noise for Stable {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        match self.alpha < 2.0 {
            true => vec![("alpha", self.alpha), ("scale", self.scale)],
            false => vec![("scale", self.scale)],
        }
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [alpha, scale] if self.alpha < 2.0 => Ok(Box::new(Self::new(alpha, scale)?)),
            [scale] if self.alpha == 2.0 => Ok(Box::new(Self::new(2.0, scale)?)),
            _ => Err(wrong_count(values.len(), self.parameters().len())),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let (alpha, scale) = (self.alpha, self.scale);
        let by_scale = Action { name: "scale", stretch: 2.0 / scale, shape: [0.0] };
        // The factor moves with α as well: ∂ ln Δ^{2/α}/∂α = −2 ln Δ/α².
        let by_alpha = Action { name: "alpha", stretch: -2.0 * dt.ln() / (alpha * alpha), shape: [0.5] };
        let actions = [by_alpha, by_scale];
        let learned = if alpha < 2.0 { &actions[..] } else { &actions[1..] };
        self.unit.clone().scaled(2.0 * dt.powf(2.0 / alpha) * scale * scale, learned)
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let unit = if self.alpha < 2.0 { PositiveStable::sample(0.5 * self.alpha, rng) } else { 1.0 };
        2.0 * dt.powf(2.0 / self.alpha) * self.scale * self.scale * unit
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        -dt * (self.scale * u.abs()).powf(self.alpha)
    }

    fn lengths(&self) -> Lengths {
        let learned = self.alpha < 2.0;
        Lengths::SelfSimilar { index: self.alpha, parameter: learned.then_some(0), scale: usize::from(learned) }
    }

    fn has_variance(&self) -> bool {
        self.alpha == 2.0
    }
}
