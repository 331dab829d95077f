//! Compound Poisson noise with Gaussian marks of any mean: n jumps have mean n·jump_mean and variance n·jump_std².

use super::compound_poisson::{JUMP_STD, RATE, log_poisson, sample_poisson};
use super::family::{Family, boxed};
use super::{Lengths, NodeDerivative, Nodes, Noise, wrong_count};
use crate::error::{check, positive};
use crate::parameter::{Domain, Effect, ParameterEntry};
use crate::{Result, StreamRng};

/// Jumps at `rate` per time, each N(`jump_mean`, `jump_std`²); between them nothing moves.
///
/// The mean of an increment is Δ·rate·jump_mean: it is not compensated, because between jumps nothing moves. The nodes
/// have an atom at 0 of weight e^{−rate·Δ}.
#[derive(Debug, Clone)]
pub struct SkewedCompoundPoisson {
    rate: f64,
    jump_std: f64,
    jump_mean: f64,
}

/// The mean of a jump.
const JUMP_MEAN: ParameterEntry =
    ParameterEntry::new("jump_mean", "mean of a jump", "value", Domain::REAL, 0.0, |_, _| 0.0)
        .with_prior(|own, _| 3.0 * own.root_mean_square)
        .with_effect(Effect::SkewAndMean);

/// The entry of the family.
pub(super) const FAMILY: Family = Family {
    name: "skewed-compound-poisson",
    about: "Rare Gaussian jumps of any mean",
    parameters: &[RATE, JUMP_STD, JUMP_MEAN],
    rival: true,
    build: |p| boxed(SkewedCompoundPoisson::new(p[0], p[1], p[2])),
};

/// Most jumps expected per step: beyond, the noise over a step is Gaussian to better than 1e-3.
const MOST_JUMPS: f64 = 1e6;
/// Relative mass at which numbers of jumps are left out: e^{−38} = 3e-17.
const DEPTH: f64 = 38.0;

impl SkewedCompoundPoisson {
    /// The noise; an error names a rate or `jump_std` that is not positive, or a `jump_mean` that is not finite.
    pub fn new(rate: f64, jump_std: f64, jump_mean: f64) -> Result<Self> {
        RATE.check(rate)?;
        JUMP_STD.check(jump_std)?;
        JUMP_MEAN.check(jump_mean)?;
        Ok(Self { rate, jump_std, jump_mean })
    }

    /// Numbers of jumps that stand for all: every one, or every so many that Gaussians half as far apart as they are wide
    /// (and a sixteenth of the spread of the number) blur into each other.
    fn stride(&self, expected: f64) -> f64 {
        let spread = expected.sqrt();
        let blur = 0.5 * spread * self.jump_std / self.jump_mean.abs().max(f64::MIN_POSITIVE);
        blur.min(spread / 16.0).floor().max(1.0)
    }
}

impl Noise for SkewedCompoundPoisson {
    fn family(&self) -> &'static str {
        FAMILY.name
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("rate", self.rate), ("jump_std", self.jump_std), ("jump_mean", self.jump_mean)]
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        match *values {
            [rate, jump_std, jump_mean] => Ok(Box::new(Self::new(rate, jump_std, jump_mean)?)),
            _ => Err(wrong_count(values.len(), 3)),
        }
    }

    fn nodes(&self, dt: f64) -> Result<Nodes> {
        positive("step length", dt)?;
        let expected = self.rate * dt;
        check(
            "rate × step length",
            expected,
            expected > 0.0 && expected <= MOST_JUMPS,
            "must be greater than 0 and at most 1e6",
        )?;
        let stride = self.stride(expected);
        let reach = 9.0 * expected.sqrt();
        let first = ((expected - reach) / stride).floor().max(1.0) as u64;
        let last = ((expected + reach + 40.0) / stride).ceil() as u64;
        let largest = log_poisson(expected, expected.floor().max(1.0)).max(-expected);
        let mut counts = Vec::new();
        let mut weights = Vec::new();
        if -expected > largest - DEPTH {
            counts.push(0.0);
            weights.push((-expected).exp());
        }
        for i in first..=last {
            let count = i as f64 * stride;
            let log_mass = log_poisson(expected, count);
            if log_mass > largest - DEPTH {
                counts.push(count);
                weights.push(stride * log_mass.exp());
            }
        }
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        // ∂w/∂λ = w (n/λ − 1), made to sum to zero after the cut.
        let mut by_rate: Vec<f64> = counts.iter().zip(&weights).map(|(n, w)| dt * w * (n / expected - 1.0)).collect();
        let excess: f64 = by_rate.iter().sum();
        by_rate.iter_mut().zip(&weights).for_each(|(d, w)| *d -= excess * w);
        let variances: Vec<f64> = counts.iter().map(|n| self.jump_std * self.jump_std * n).collect();
        let means = counts.iter().map(|n| self.jump_mean * n).collect();
        let (count, none) = (counts.len(), vec![0.0; counts.len()]);
        let derivatives = vec![
            NodeDerivative { name: "rate", variances: none.clone(), weights: by_rate },
            NodeDerivative::scaling("jump_std", self.jump_std, &variances),
            NodeDerivative { name: "jump_mean", variances: none.clone(), weights: vec![0.0; count] },
        ];
        Nodes::with_means(means, variances, weights, derivatives, vec![none.clone(), none, counts])
    }

    /// Exact; the number of jumps is a Poisson draw.
    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        self.sample_mean_and_variance(dt, rng).1
    }

    fn sample_mean_and_variance(&self, dt: f64, rng: &mut StreamRng) -> (f64, f64) {
        let count = sample_poisson(self.rate * dt, rng);
        (self.jump_mean * count, self.jump_std * self.jump_std * count)
    }

    /// λ (Re e^{iu·jump_mean − (u·jump_std)²/2} − 1), without cancellation for small u.
    fn log_characteristic(&self, dt: f64, u: f64) -> f64 {
        let damping = -0.5 * (self.jump_std * u).powi(2);
        let half = (0.5 * u * self.jump_mean).sin();
        self.rate * dt * (damping.exp_m1() - 2.0 * damping.exp() * half * half)
    }

    fn characteristic_phase(&self, dt: f64, u: f64) -> f64 {
        self.rate * dt * (-0.5 * (self.jump_std * u).powi(2)).exp() * (u * self.jump_mean).sin()
    }

    fn lengths(&self) -> Lengths {
        Lengths::Additive
    }

    fn has_variance(&self) -> bool {
        true
    }
}
