//! The systems of the synthetic study, and the law that their parameters are drawn from.

use levytilt::Result;
use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::solve::Prior;
use serde::{Deserialize, Serialize};

/// Mean and standard deviation of ln|z| and of |z|, z standard normal.
const LOG_HALF_NORMAL: [f64; 2] = [-0.635_181_422_730_739, 1.110_720_734_539_591_7];
const HALF_NORMAL: [f64; 2] = [0.797_884_560_802_865_4, 0.602_810_275_989_839_3];

/// A system of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// dx = θ(μ − x) dt, θ = |5z|, μ = 5z'.
    Ou,
    /// dx = (θ₁x − θ₂x³) dt, θ₁ = |z|, θ₂ = |z'|.
    DoubleWell,
}

impl System {
    /// The drift with these parameters.
    pub fn drift(self, [a, b]: [f64; 2]) -> Result<Box<dyn Drift>> {
        Ok(match self {
            System::Ou => Box::new(Ou::new(a, b)?),
            System::DoubleWell => Box::new(DoubleWell::new(a, b)?),
        })
    }

    /// The law that the paper draws parameters from, and starts its models from: also the prior.
    pub fn draw(self, z: [f64; 2]) -> [f64; 2] {
        match self {
            System::Ou => [(5.0 * z[0]).abs(), 5.0 * z[1]],
            System::DoubleWell => z.map(f64::abs),
        }
    }

    /// Rate at which a small departure from rest dies out: θ, and 2θ₁ in a well.
    pub fn return_rate(self, [first, _]: [f64; 2]) -> f64 {
        match self {
            System::Ou => first,
            System::DoubleWell => 2.0 * first,
        }
    }

    /// That law on the free scales: θ and θ₂ are free in their logarithm, μ and θ₁, which may be negative, as they are.
    pub fn priors(self) -> [Prior; 2] {
        let half = |unit: f64| Prior { mean: LOG_HALF_NORMAL[0] + unit.ln(), std: LOG_HALF_NORMAL[1] };
        match self {
            System::Ou => [half(5.0), Prior { mean: 0.0, std: 5.0 }],
            System::DoubleWell => [Prior { mean: HALF_NORMAL[0], std: HALF_NORMAL[1] }, half(1.0)],
        }
    }
}
