//! Every choice of the published method, with its defaults.

use crate::potential::NeuralPotentialSpec;
use crate::training::Rule;
use levytilt::{Error, Result};
use serde::{Deserialize, Serialize};

/// How the divergence of a tilted jump measure from the prior's is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kl {
    /// Symmetric Monte Carlo with fresh draws for every path and step (the paper's Algorithm 1), without its clipping.
    MonteCarlo,
    /// The power series; an error where it loses too many digits. Its gradient is that of the quadrature.
    Series,
    /// Quadrature over the mixing measure.
    #[default]
    Quadrature,
}

/// Which gradient of the ELBO is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gradient {
    /// Pathwise only: numbers and mixing variables of the jumps are held fixed, as in the published code. Biased.
    Published,
    /// The same plus the score function of numbers and mixing variables.
    #[default]
    Unbiased,
}

/// How the drift moves a path between jumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Motion {
    /// x + f(x)Δ.
    Euler,
    /// The exact flow of the drift.
    #[default]
    Flow,
}

/// The published method: how to train the potential, and the sizes of its networks. Fields that serde reads are the keys of a
/// settings file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaperOptions {
    /// Iterations.
    #[serde(skip)]
    pub iterations: usize,
    /// Paths per iteration.
    #[serde(skip)]
    pub paths: usize,
    /// Seed of networks and paths.
    #[serde(skip)]
    pub seed: u64,
    /// The divergence.
    pub kl: Kl,
    /// Draws of a Monte Carlo divergence.
    pub kl_draws: usize,
    /// The gradient.
    pub gradient: Gradient,
    /// The motion between jumps.
    pub motion: Motion,
    /// How a gradient becomes a step.
    pub optimiser: Rule,
    /// Learning rate of the two networks.
    pub learning_rate: f64,
    /// Share of all learning rates that is left at the last iteration, falling along a line: 1, as published, keeps them constant.
    pub rate_end: f64,
    /// Learning rate of the encoder.
    pub encoder_rate: f64,
    /// Learning rate of the drift's parameters on their unconstrained scale, by Adam.
    pub drift_rate: f64,
    /// Weight of half the sum of squares of the drift's parameters, or of the weights of its network.
    pub drift_ridge: f64,
    /// Quantile of the layerwise rescaling; 0 for no rescaling.
    pub rescale: f64,
    /// Weight of half the sum of squares of all parameters except the reference times.
    pub ridge: f64,
    /// Reference times of the encoder.
    pub references: usize,
    /// Numbers per reference time.
    pub features: usize,
    /// Units per layer of the two networks.
    pub units: usize,
    /// Layers of the two networks.
    pub layers: usize,
    /// [`NeuralPotentialSpec::sharpness`] of the encoder.
    #[serde(skip)]
    pub sharpness: f64,
}

impl Default for PaperOptions {
    fn default() -> Self {
        let sizes = NeuralPotentialSpec::default();
        Self {
            iterations: 3000,
            paths: 500,
            seed: 1,
            kl: Kl::default(),
            kl_draws: 1000,
            gradient: Gradient::default(),
            motion: Motion::default(),
            optimiser: Rule::RmsProp,
            learning_rate: 1e-4,
            rate_end: 1.0,
            encoder_rate: 1e-3,
            drift_rate: 1e-2,
            drift_ridge: 0.0,
            rescale: 0.95,
            ridge: 1e-5,
            references: sizes.references,
            features: sizes.features,
            units: sizes.width,
            layers: sizes.depth,
            sharpness: sizes.sharpness,
        }
    }
}

impl PaperOptions {
    /// These options, if all are within their ranges.
    ///
    /// # Errors
    /// Names the option that is not.
    pub fn checked(self) -> Result<Self> {
        let shares = [
            ("learning_rate", self.learning_rate),
            ("rate_end", self.rate_end),
            ("encoder_rate", self.encoder_rate),
            ("drift_rate", self.drift_rate),
            ("rescale", self.rescale),
        ];
        for (name, value) in shares {
            check(name, value, (0.0..=1.0).contains(&value), "give a number from 0 to 1")?;
        }
        for (name, value) in [("drift_ridge", self.drift_ridge), ("ridge", self.ridge)] {
            check(name, value, (0.0..=1e3).contains(&value), "give a number from 0 to 1000")?;
        }
        check("kl_draws", self.kl_draws as f64, self.kl_draws >= 2, "give at least 2")?;
        let sizes = [self.references, self.features, self.units, self.layers];
        for (name, size) in ["references", "features", "units", "layers"].into_iter().zip(sizes) {
            check(name, size as f64, size >= 1, "give at least 1")?;
        }
        Ok(self)
    }

    /// Sizes of the networks.
    pub(super) fn sizes(&self) -> NeuralPotentialSpec {
        NeuralPotentialSpec {
            references: self.references,
            features: self.features,
            width: self.units,
            depth: self.layers,
            sharpness: self.sharpness,
            ..NeuralPotentialSpec::default()
        }
    }
}

fn check(name: &str, value: f64, holds: bool, expected: &'static str) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error::Parameter { name: format!("[paper] {name}"), value, expected }),
    }
}
