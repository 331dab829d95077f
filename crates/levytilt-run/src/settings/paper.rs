//! Hold the choices of the published method: `[paper]`.

use anyhow::Result;
use clap::Args;
use levytilt_paper::published::{Gradient, Kl, Motion, PaperOptions};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// `[paper]`: choices of method paper.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaperSettings {
    /// Values of alpha that are tried; the one with the highest ELBO is kept.
    pub alpha_grid: Option<Vec<f64>>,
    /// Fields of [`PaperOptions`] that are given.
    #[serde(flatten)]
    given: Given,
}

/// Some of the fields of [`PaperOptions`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Table")]
struct Given(Table);

impl Given {
    fn options(&self) -> std::result::Result<PaperOptions, toml::de::Error> {
        self.0.clone().try_into()
    }
}

impl TryFrom<Table> for Given {
    type Error = toml::de::Error;

    fn try_from(table: Table) -> std::result::Result<Self, Self::Error> {
        let given = Self(table);
        given.options().map(|_| given)
    }
}

impl PaperSettings {
    /// The choices with their defaults; paths and seed are those of the fit.
    ///
    /// # Errors
    /// A rate, quantile, weight or size outside its range.
    pub fn options(&self, iterations: Option<usize>) -> Result<PaperOptions> {
        let options = self.given.options()?;
        Ok(PaperOptions { iterations: iterations.unwrap_or(options.iterations), ..options }.checked()?)
    }

    /// All keys of the section.
    pub(super) fn keys() -> Vec<String> {
        let options = Table::try_from(PaperOptions::default()).unwrap_or_default();
        options.into_iter().map(|(key, _)| key).chain(["alpha_grid".to_string()]).collect()
    }
}

/// Flags of method paper.
#[derive(Debug, Clone, Default, Args)]
pub struct PaperArgs {
    /// Divergence of method paper: quadrature, series or monte-carlo [default: quadrature]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Kl>)]
    pub kl: Option<Value>,
    /// Gradient of method paper: unbiased, or published (pathwise only) [default: unbiased]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Gradient>)]
    pub gradient: Option<Value>,
    /// Drift between jumps of method paper: flow or euler [default: flow]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = named::<Motion>)]
    pub motion: Option<Value>,
    /// Values of alpha that method paper tries, separated by commas; the one with the highest ELBO is kept
    #[arg(long, value_name = "VALUES", help_heading = "Solver", value_delimiter = ',')]
    pub alpha_grid: Option<Vec<f64>>,
}

impl PaperArgs {
    /// What was given as flags.
    pub fn settings(&self) -> PaperSettings {
        let flags = [("kl", &self.kl), ("gradient", &self.gradient), ("motion", &self.motion)];
        let given = flags.into_iter().filter_map(|(key, value)| Some((key.into(), value.clone()?)));
        PaperSettings { alpha_grid: self.alpha_grid.clone(), given: Given(given.collect()) }
    }
}

/// The name of a choice, as a settings file has it.
fn named<T: serde::de::DeserializeOwned>(name: &str) -> std::result::Result<Value, toml::de::Error> {
    let name = Value::String(name.into());
    name.clone().try_into::<T>().map(|_| name)
}
