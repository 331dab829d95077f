//! Variance gamma noise: E e^{iuJ} = (1 + u²·scale²·ν/2)^{−Δ/ν}; S = scale²·ν times a gamma variable of shape Δ/ν.

use super::condense::{LIGHT, Layout};
use super::family::{Family, boxed};
use super::gamma::{gamma_point, gamma_tail, sample_gamma};
use super::gaussian::SCALE;
use super::log_law::{Action, Range, SlidingLaw, SlidingNodes};
use super::{Lengths, Nodes, Noise, NoisePart, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, ParameterEntry};
use crate::{Result, StreamRng};

/// Variance gamma noise: variance `scale`² per time, gathered in gamma-distributed bursts of size about `nu` in time.
///
/// For Δ ≪ ν most steps hardly move. Variances below 1e-16 of that of a burst are gathered at that size, so the density
/// is right for increments down to about 1e-8 of a burst and bounded below that, where the true one diverges.
#[derive(Debug, Clone)]
pub struct VarianceGamma {
    pub(super) scale: f64,
    pub(super) nu: f64,
}

/// Length of a burst; the more a typical increment falls short of the mean square, the longer the bursts.
pub(super) const NU: ParameterEntry = ParameterEntry::new(
    "nu",
    "variance rate of the gamma clock; larger is burstier",
    "time",
    Domain::POSITIVE,
    0.1,
    |scales, _| scales.lag * (scales.root_mean_square / scales.motion),
);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "variance-gamma",
    about: "Variance gamma",
    parameters: &[SCALE, NU],
    rival: true,
    build: |p| boxed(VarianceGamma::new(p[0], p[1])),
};

/// ln of the smallest gamma variable that is told from zero.
const FLOOR: f64 = -37.0;

/// The long lower tail of small shapes is coarse: it only says how sharply the density peaks at zero.
const BURSTS: Layout = Layout { reach: 14.0, tail_width: 2.4, ..LIGHT };

impl VarianceGamma {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Variance gamma noise; an error names a parameter that is not a positive number.
    pub fn new(scale: f64, nu: f64) -> Result<Self> {
        SCALE.check(scale)?;
        NU.check(nu)?;
        Ok(Self { scale, nu })
    }
}

/// Nodes of G/a, G a gamma variable of shape a.
fn unit_nodes(a: f64) -> Result<SlidingNodes<1>> {
    let point = |u: f64| gamma_point(a, u);
    let floor = FLOOR - a.ln().min(0.0);
    // The maximum is at u = 0, unless that lies below the floor.
    let range = Range::between(point, floor.max(0.0), floor, f64::INFINITY)?;
    let mut law = SlidingLaw::new(&range.points(), point);
    if range.low == floor {
        law.add_tail(floor, gamma_tail(a, floor));
    }
    Ok(law.condense(BURSTS))
}

impl Noise for VarianceGamma {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("scale", self.scale), ("nu", self.nu)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [scale, nu] => Ok(Box::new(Self::new(scale, nu)?)),
            _ => Err(wrong_count(values.len(), 2)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        // S = scale²·Δ·(G/a), a = Δ/ν.
        let a = dt / self.nu;
        unit_nodes(a)?.scaled(
            self.scale * self.scale * dt,
            &[
                Action { name: "scale", stretch: 2.0 / self.scale, shape: [0.0] },
                Action { name: "nu", stretch: 0.0, shape: [-a / self.nu] },
            ],
        )
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        self.scale * self.scale * self.nu * sample_gamma(dt / self.nu, rng)
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        -dt / self.nu * (0.5 * self.nu * (self.scale * u).powi(2)).ln_1p()
    }

    fn lengthening(&self) -> Option<Vec<f64>> {
        Some(vec![0.5 * self.scale, -self.nu])
    }

    fn lengths(&self) -> Lengths {
        Lengths::Additive
    }

    fn has_variance(&self) -> bool {
        true
    }
}
