//! Two-speed noise: calm steps, and with probability 1 − e^{−rate·Δ} a wild one; S has two values.

use super::family::{Family, boxed};
use super::{NodeDerivative, Nodes, Noise, wrong_count};
use crate::error::positive;
use crate::parameter::{Domain, ParameterEntry};
use crate::{Result, StreamRng};
use rand::RngExt;

/// Brownian noise of standard deviation `calm` per √time; steps that are hit, at `rate`, have variance 1 more.
///
/// Hits within one step count once, so the law is that of the step as given: steps do not add up.
#[derive(Debug, Clone)]
pub struct TwoSpeed {
    calm: f64,
    rate: f64,
}

/// The calm motion; by default the typical increment.
const CALM: ParameterEntry = ParameterEntry::new(
    "calm",
    "standard deviation of calm motion per square root of time",
    "value/√time",
    Domain::POSITIVE,
    1.0,
    |scales, _| scales.motion / scales.lag.sqrt(),
);

/// The rate of hits; by default every tenth observation has one.
const RATE: ParameterEntry =
    ParameterEntry::new("rate", "hits per unit of time", "1/time", Domain::POSITIVE, 1.0, |scales, _| 0.1 / scales.lag);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "two-speed",
    about: "Calm steps, and now and then a wild one",
    parameters: &[CALM, RATE],
    rival: false,
    build: |p| boxed(TwoSpeed::new(p[0], p[1])),
};

impl TwoSpeed {
    /// An error names a parameter that is not a positive number.
    pub fn new(calm: f64, rate: f64) -> Result<Self> {
        Ok(Self { calm: CALM.check(calm)?, rate: RATE.check(rate)? })
    }
}

impl Noise for TwoSpeed {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![(CALM.name, self.calm), (RATE.name, self.rate)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [calm, rate] => Ok(Box::new(Self::new(calm, rate)?)),
            _ => Err(wrong_count(values.len(), 2)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let small = self.calm * self.calm * dt;
        let (still, by_rate) = ((-self.rate * dt).exp(), -dt * (-self.rate * dt).exp());
        let by_calm = 2.0 * self.calm * dt;
        // Each parameter moves variances, weights, or both; the weights' derivatives sum to zero.
        let derivatives = vec![
            NodeDerivative { name: CALM.name, variances: vec![by_calm; 2], weights: vec![0.0; 2] },
            NodeDerivative { name: RATE.name, variances: vec![0.0; 2], weights: vec![by_rate, -by_rate] },
        ];
        Nodes::new(vec![small, small + 1.0], vec![still, 1.0 - still], derivatives)
    }

    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let hit = rng.random::<f64>() > (-self.rate * dt).exp();
        self.calm * self.calm * dt + if hit { 1.0 } else { 0.0 }
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        let still = (-self.rate * dt).exp();
        -0.5 * self.calm * self.calm * dt * u * u + (still + (1.0 - still) * (-0.5 * u * u).exp()).ln()
    }

    fn has_variance(&self) -> bool {
        true
    }
}
