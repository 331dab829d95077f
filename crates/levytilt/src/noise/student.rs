//! Student noise: J = scale·√Δ·t with `dof` degrees of freedom; S is an inverse gamma variable.

use super::bessel::log_bessel_k;
use super::condense::LIGHT;
use super::family::{Family, boxed};
use super::gamma::{gamma_point, gamma_tail, sample_gamma};
use super::log_law::{Action, LogPoint, Range, SlidingLaw, SlidingNodes};
use super::{Nodes, Noise, NoisePart, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Result, StreamRng};
use std::f64::consts::LN_2;

/// Increments that are Student-t for every step length: scale·√Δ·t_dof.
///
/// The law is that of the step as given. It does not add up: two steps of length Δ/2 are not one step of length Δ
/// (their sum is not t distributed), so results depend on the grid, unlike for every other family.
#[derive(Debug, Clone)]
pub struct Student {
    dof: f64,
    scale: f64,
    /// Nodes of (dof/2)/G, G a gamma variable of shape dof/2: every step length is a rescaling of them.
    unit: SlidingNodes<1>,
}

/// The degrees of freedom.
const DOF: ParameterEntry =
    ParameterEntry::new("dof", "degrees of freedom; large is nearly Gaussian", "", Domain::POSITIVE, 4.0, |_, _| 4.0);

/// The size of the noise.
const SCALE: ParameterEntry = ParameterEntry::new(
    "scale",
    "scale of the noise per square root of time",
    "value/√time",
    Domain::POSITIVE,
    1.0,
    |scales, _| scales.motion / scales.lag.sqrt(),
)
.with_effect(Effect::Scale);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "student",
    about: "Student-t increments at every step, so results depend on the time grid",
    parameters: &[DOF, SCALE],
    rival: true,
    build: |p| boxed(Student::new(p[0], p[1])),
};

impl Student {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Student noise; an error names a parameter that is not a positive number.
    pub fn new(dof: f64, scale: f64) -> Result<Self> {
        DOF.check(dof)?;
        SCALE.check(scale)?;
        Ok(Self { dof, scale, unit: unit_nodes(0.5 * dof)? })
    }
}

/// Nodes of k/G, G a gamma variable of shape k.
fn unit_nodes(k: f64) -> Result<SlidingNodes<1>> {
    // u = −ln(G/k): the gamma law mirrored.
    let mirror = |point: LogPoint<1>| LogPoint { by_u: -point.by_u, ..point };
    let point = |u: f64| mirror(gamma_point(k, -u));
    // Reach increments of 10⁶ scales, and a tail mass of 1e-5 where that lies farther out (few degrees of freedom).
    let ceiling = (11.5 / k).max(31.0);
    let range = Range::between(point, 0.0, f64::NEG_INFINITY, ceiling)?;
    let mut law = SlidingLaw::new(&range.points(), point);
    if range.high == ceiling {
        law.add_tail(ceiling + 1.0 / k, mirror(gamma_tail(k, -ceiling)));
    }
    Ok(law.condense(LIGHT))
}

impl Noise for Student {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("dof", self.dof), ("scale", self.scale)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [dof, scale] => Ok(Box::new(Self::new(dof, scale)?)),
            _ => Err(wrong_count(values.len(), 2)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        self.unit.clone().scaled(
            self.scale * self.scale * dt,
            &[
                Action { name: "dof", stretch: 0.0, shape: [0.5] },
                Action { name: "scale", stretch: 2.0 / self.scale, shape: [0.0] },
            ],
        )
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let k = 0.5 * self.dof;
        self.scale * self.scale * dt * k / sample_gamma(k, rng)
    }

    /// ln of K_k(z) z^k / (Γ(k) 2^{k−1}), k = dof/2, z = √dof·scale·√Δ·|u|.
    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        let k = 0.5 * self.dof;
        let z = (self.dof * dt).sqrt() * self.scale * u.abs();
        if z == 0.0 {
            return 0.0;
        }
        log_bessel_k(k, z) + k * z.ln() - libm::lgamma(k) - (k - 1.0) * LN_2
    }

    fn has_variance(&self) -> bool {
        self.dof > 2.0
    }
}
