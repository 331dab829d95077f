//! Brownian noise: J ~ N(0, scale²·Δ); S is a constant.

use super::family::{Family, boxed};
use super::{Lengths, NodeDerivative, Nodes, Noise, NoisePart, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Result, StreamRng};

/// Brownian noise with standard deviation `scale` per √time.
#[derive(Debug, Clone)]
pub struct Gaussian {
    scale: f64,
}

/// The standard deviation.
pub(super) const SCALE: ParameterEntry = ParameterEntry::new(
    "scale",
    "standard deviation per square root of time",
    "value/√time",
    Domain::POSITIVE,
    1.0,
    |scales, _| scales.root_mean_square / scales.lag.sqrt(),
)
.with_effect(Effect::Scale);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "gaussian",
    about: "Brownian motion",
    parameters: &[SCALE],
    rival: true,
    build: |p| boxed(Gaussian::new(p[0])),
};

impl Gaussian {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Gaussian noise; an error names a scale that is not a positive number.
    pub fn new(scale: f64) -> Result<Self> {
        SCALE.check(scale)?;
        Ok(Self { scale })
    }
}

impl Noise for Gaussian {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("scale", self.scale)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [scale] => Ok(Box::new(Self::new(scale)?)),
            _ => Err(wrong_count(values.len(), 1)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let variances = vec![self.scale * self.scale * dt];
        let derivative = NodeDerivative::scaling("scale", self.scale, &variances);
        Nodes::new(variances, vec![1.0], vec![derivative])
    }

    fn sample_variance(&self, dt: f64, _rng: &mut StreamRng) -> f64 {
        self.scale * self.scale * dt
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        -0.5 * dt * (self.scale * u).powi(2)
    }

    fn lengths(&self) -> Lengths {
        Lengths::SelfSimilar { index: 2.0, parameter: None, scale: 0 }
    }

    fn has_variance(&self) -> bool {
        true
    }
}
