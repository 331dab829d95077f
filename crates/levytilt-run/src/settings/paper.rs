//! Hold the choices of the published method: `[paper]`.

use anyhow::Result;
use clap::Args;
use levytilt_paper::potential::NeuralPotentialSpec;
use levytilt_paper::published::{Gradient, Kl, Motion, PaperOptions};
use levytilt_paper::training::Rule;
use serde::{Deserialize, Serialize};

use crate::failure::bad;

/// `[paper]`: choices of method paper
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct PaperSettings {
    /// Divergence of method paper: quadrature, series or monte-carlo [default: quadrature]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Kl>)]
    pub kl: Option<Kl>,
    /// Gradient of method paper: unbiased, or published (pathwise only) [default: unbiased]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Gradient>)]
    pub gradient: Option<Gradient>,
    /// Drift between jumps of method paper: flow or euler [default: flow]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Motion>)]
    pub motion: Option<Motion>,
    /// Values of alpha that method paper tries, separated by commas; the one with the highest ELBO is kept
    #[arg(long, value_name = "VALUES", help_heading = "Solver", value_delimiter = ',')]
    pub alpha_grid: Option<Vec<f64>>,
    /// Draws of a Monte Carlo divergence
    #[arg(skip)]
    pub kl_draws: Option<usize>,
    /// How gradients become steps: rms-prop or adam
    #[arg(skip)]
    pub optimiser: Option<Rule>,
    /// Learning rate of the networks
    #[arg(skip)]
    pub learning_rate: Option<f64>,
    /// Share of all learning rates left at the last iteration [default: 1, constant rates]
    #[arg(skip)]
    pub rate_end: Option<f64>,
    /// Learning rate of the encoder of time
    #[arg(skip)]
    pub encoder_rate: Option<f64>,
    /// Learning rate of the drift's parameters
    #[arg(skip)]
    pub drift_rate: Option<f64>,
    /// Weight of the penalty on the drift's parameters
    #[arg(skip)]
    pub drift_ridge: Option<f64>,
    /// Quantile of the layerwise rescaling, 0 for none
    #[arg(skip)]
    pub rescale: Option<f64>,
    /// Weight of the penalty on the networks' parameters
    #[arg(skip)]
    pub ridge: Option<f64>,
    /// Reference times of the encoder
    #[arg(skip)]
    pub references: Option<usize>,
    /// Numbers per reference time
    #[arg(skip)]
    pub features: Option<usize>,
    /// Units per layer of the two networks
    #[arg(skip)]
    pub units: Option<usize>,
    /// Layers of the two networks
    #[arg(skip)]
    pub layers: Option<usize>,
}

impl PaperSettings {
    /// The choices with their defaults; paths and seed are those of the fit.
    ///
    /// # Errors
    /// A rate, quantile or weight outside its range.
    pub fn options(&self, iterations: Option<usize>) -> Result<PaperOptions> {
        let usual = PaperOptions::default();
        let within = |name: &str, given: Option<f64>, usual: f64, most: f64| match given {
            Some(value) if !(0.0..=most).contains(&value) => {
                Err(bad(format!("[paper] {name} = {value}: give a number from 0 to {most}")))
            }
            given => Ok(given.unwrap_or(usual)),
        };
        if self.kl_draws.is_some_and(|draws| draws < 2) {
            return Err(bad("[paper] kl_draws: give at least 2"));
        }
        Ok(PaperOptions {
            iterations: iterations.unwrap_or(usual.iterations),
            kl: self.kl.unwrap_or(usual.kl),
            gradient: self.gradient.unwrap_or(usual.gradient),
            motion: self.motion.unwrap_or(usual.motion),
            draws: self.kl_draws.unwrap_or(usual.draws),
            rate: within("learning_rate", self.learning_rate, usual.rate, 1.0)?,
            rate_end: within("rate_end", self.rate_end, usual.rate_end, 1.0)?,
            encoder_rate: within("encoder_rate", self.encoder_rate, usual.encoder_rate, 1.0)?,
            drift_rate: within("drift_rate", self.drift_rate, usual.drift_rate, 1.0)?,
            drift_ridge: within("drift_ridge", self.drift_ridge, usual.drift_ridge, 1e3)?,
            rule: self.optimiser.unwrap_or(usual.rule),
            rescale: within("rescale", self.rescale, usual.rescale, 1.0)?,
            ridge: within("ridge", self.ridge, usual.ridge, 1e3)?,
            ..usual
        })
    }

    /// Sizes of the networks.
    ///
    /// # Errors
    /// A size of 0.
    pub fn sizes(&self) -> Result<NeuralPotentialSpec> {
        let usual = NeuralPotentialSpec::default();
        let size = |name: &str, given: Option<usize>, usual: usize| match given {
            Some(0) => Err(bad(format!("[paper] {name} = 0: give at least 1"))),
            given => Ok(given.unwrap_or(usual)),
        };
        Ok(NeuralPotentialSpec {
            references: size("references", self.references, usual.references)?,
            features: size("features", self.features, usual.features)?,
            width: size("units", self.units, usual.width)?,
            depth: size("layers", self.layers, usual.depth)?,
            ..usual
        })
    }
}

/// A choice by its name in a settings file.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> std::result::Result<T, String> {
    serde_json::from_value(serde_json::Value::String(name.into())).map_err(|error| error.to_string())
}
