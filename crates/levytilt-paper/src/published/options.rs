//! Every choice of the published method, with its defaults.

use crate::training::Rule;
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

/// How to train the published potential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaperOptions {
    /// Iterations.
    pub iterations: usize,
    /// Paths per iteration.
    pub paths: usize,
    /// Seed of networks and paths.
    pub seed: u64,
    /// The divergence.
    pub kl: Kl,
    /// Draws of a Monte Carlo divergence.
    pub draws: usize,
    /// The gradient.
    pub gradient: Gradient,
    /// The motion between jumps.
    pub motion: Motion,
    /// How a gradient becomes a step.
    pub rule: Rule,
    /// Learning rate of the two networks.
    pub rate: f64,
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
}

impl Default for PaperOptions {
    fn default() -> Self {
        Self {
            iterations: 3000,
            paths: 500,
            seed: 1,
            kl: Kl::default(),
            draws: 1000,
            gradient: Gradient::default(),
            motion: Motion::default(),
            rule: Rule::RmsProp,
            rate: 1e-4,
            rate_end: 1.0,
            encoder_rate: 1e-3,
            drift_rate: 1e-2,
            drift_ridge: 0.0,
            rescale: 0.95,
            ridge: 1e-5,
        }
    }
}
