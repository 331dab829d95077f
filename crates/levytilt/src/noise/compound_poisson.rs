//! Compound Poisson noise with Gaussian marks (Merton): S = jump_std² times a Poisson variable of mean rate·Δ.

use super::condense::{FineLaw, LIGHT, condense};
use super::family::{Family, boxed};
use super::{Lengths, NodeDerivative, Nodes, Noise, NoisePart, wrong_count};
use crate::error::{check, positive};
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Result, StreamRng};
use rand_distr::{Distribution, Poisson};

/// Jumps at `rate` per time, each N(0, `jump_std`²); between them nothing moves.
///
/// The nodes have an atom at S = 0 of weight e^{−rate·Δ}.
#[derive(Debug, Clone)]
pub struct CompoundPoisson {
    rate: f64,
    jump_std: f64,
}

/// The rate of jumps; by default every second observation has one.
pub(super) const RATE: ParameterEntry =
    ParameterEntry::new("rate", "jumps per unit of time", "1/time", Domain::POSITIVE, 1.0, |scales, _| {
        0.5 / scales.lag
    });

/// The size of a jump.
pub(super) const JUMP_STD: ParameterEntry =
    ParameterEntry::new("jump_std", "standard deviation of a jump", "value", Domain::POSITIVE, 1.0, |scales, _| {
        1.5 * scales.root_mean_square
    })
    .with_effect(Effect::JumpScale);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "compound-poisson",
    about: "Rare Gaussian jumps",
    parameters: &[RATE, JUMP_STD],
    rival: true,
    build: |p| boxed(CompoundPoisson::new(p[0], p[1])),
};

/// Most jumps per step for which a Poisson number is still told from its neighbours in floating point.
const MOST_JUMPS: f64 = 1e15;

impl CompoundPoisson {
    /// This noise with every parameter learned.
    pub fn learned() -> NoisePart {
        NoisePart::learned(const { &FAMILY })
    }

    /// Compound Poisson noise; an error names a parameter that is not a positive number.
    pub fn new(rate: f64, jump_std: f64) -> Result<Self> {
        RATE.check(rate)?;
        JUMP_STD.check(jump_std)?;
        Ok(Self { rate, jump_std })
    }
}

/// The Poisson law of mean λ as a law of S = number of jumps, with its derivative in λ.
fn poisson_law(mean: f64) -> FineLaw {
    let mut law = FineLaw {
        atom: (-mean).exp(),
        atom_derivatives: vec![-(-mean).exp()],
        derivatives: vec![Vec::new()],
        ..FineLaw::default()
    };
    // For many jumps the law is smooth over √λ and a sixteenth of that is as good as every number.
    let stride = (mean.sqrt() / 16.0).floor().max(1.0);
    let first = ((mean - 10.0 * mean.sqrt()) / stride).floor().max(1.0) as u64;
    let last = ((mean + 10.0 * mean.sqrt() + 40.0) / stride).ceil() as u64;
    let largest = log_poisson(mean, mean.floor().max(1.0));
    for i in first..=last {
        let k = i as f64 * stride;
        let log_mass = log_poisson(mean, k);
        // Beyond e^{−45} of the largest mass nothing is seen of a number of jumps.
        if log_mass > largest - 45.0 {
            let mass = stride * log_mass.exp();
            law.u.push(k.ln());
            law.mass.push(mass);
            law.derivatives[0].push(mass * (k / mean - 1.0));
        }
    }
    law
}

/// ln(λ^k e^{−λ}/k!) for k ≥ 1, relative to the maximum where λ and k are large and nearly cancel.
pub(super) fn log_poisson(mean: f64, k: f64) -> f64 {
    if k < 1e3 {
        return k * mean.ln() - mean - libm::lgamma(k + 1.0);
    }
    // ln k! = k ln k − k + ½ ln 2πk + 1/(12k) − …; k ln(λ/k) − λ + k with r = (λ−k)/k is k(ln(1+r) − r).
    let r = (mean - k) / k;
    k * (r.ln_1p() - r) - 0.5 * (2.0 * std::f64::consts::PI * k).ln() - 1.0 / (12.0 * k)
}

/// A Poisson number of mean λ; NaN beyond 1e15, where the nodes are an error as well.
pub(crate) fn sample_poisson(mean: f64, rng: &mut StreamRng) -> f64 {
    match mean <= MOST_JUMPS {
        // A mean that underflows to zero means no jump.
        true => Poisson::new(mean).map_or(0.0, |law| law.sample(rng)),
        false => f64::NAN,
    }
}

impl Noise for CompoundPoisson {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("rate", self.rate), ("jump_std", self.jump_std)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [rate, jump_std] => Ok(Box::new(Self::new(rate, jump_std)?)),
            _ => Err(wrong_count(values.len(), 2)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let mean = self.rate * dt;
        check("rate × step length", mean, mean > 0.0 && mean <= MOST_JUMPS, "must be greater than 0 and at most 1e15")?;
        let unit = condense(&poisson_law(mean), LIGHT);
        let factor = self.jump_std * self.jump_std;
        let variances: Vec<f64> = unit.variances.iter().map(|s| factor * s).collect();
        let by_rate = NodeDerivative {
            name: "rate",
            variances: vec![0.0; variances.len()],
            weights: unit.derivatives[0].iter().map(|w| dt * w).collect(),
        };
        let by_size = NodeDerivative::scaling("jump_std", self.jump_std, &variances);
        Nodes::new(variances, unit.weights, vec![by_rate, by_size])
    }

    /// Exact; the number of jumps is a Poisson draw, NaN if more than 1e15 are expected.
    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        self.jump_std * self.jump_std * sample_poisson(self.rate * dt, rng)
    }

    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        self.rate * dt * (-0.5 * (self.jump_std * u).powi(2)).exp_m1()
    }

    fn lengths(&self) -> Lengths {
        Lengths::Additive
    }

    fn has_variance(&self) -> bool {
        true
    }
}
