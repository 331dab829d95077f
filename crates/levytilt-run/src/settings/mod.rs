//! Hold every setting once, as key of a TOML file and as flag alike.

pub mod build_model;
mod data;
mod diffusion;
mod drift_name;
mod formulas;
pub mod init;
pub mod inputs;
mod keep_paths;
pub mod keywords;
mod name;
mod named;
pub mod names;
mod paper;
pub mod parameters;
pub mod season;
mod size;

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use levytilt::ErrorKind;
use levytilt::drift::Inputs;
use levytilt::internals::registry::{BROWNIAN, OBSERVATION_STD, X0, X0_STD};
use levytilt::noise::FAMILIES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::failure::{bad, brief};
use crate::table::bytes::read_settings;
use crate::table::time::Length;

pub use data::DataSettings;
pub use drift_name::DriftName;
pub use inputs::{InputArgs, InputColumns};
pub use keep_paths::{KeepPaths, kept, usual_paths};
pub use levytilt::internals::solve::Method;
pub use name::name_of;
pub use named::Named;
pub use names::{ErrorName, NoiseName};
pub use paper::{PaperArgs, PaperSettings};
pub use parameters::{Section, Values};
pub use size::SizeFormula;

/// All settings. A value left out is `None`; what that means depends on the command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Which part of the input to use.
    #[serde(skip_serializing_if = "is_empty")]
    pub data: DataSettings,
    /// Noise, observation and start.
    #[serde(skip_serializing_if = "is_empty")]
    pub model: ModelSettings,
    /// Parameters of the drift.
    #[serde(skip_serializing_if = "is_empty")]
    pub drift: DriftSettings,
    /// Parameters of single dimensions, by names such as `theta[NVDA]`, and of a formula.
    #[serde(skip_serializing_if = "is_empty")]
    pub parameters: BTreeMap<String, Named>,
    /// Columns that are inputs of the drift.
    #[serde(skip_serializing_if = "is_empty")]
    pub inputs: InputColumns,
    /// Values of the inputs, once a table was read.
    #[serde(skip)]
    pub known_inputs: Option<Arc<Inputs>>,
    /// Latent times.
    #[serde(skip_serializing_if = "is_empty")]
    pub grid: GridSettings,
    /// What `simulate` needs besides.
    #[serde(skip_serializing_if = "is_empty")]
    pub simulate: SimulateSettings,
    /// How to compute.
    #[serde(skip_serializing_if = "is_empty")]
    pub solve: SolveSettings,
    /// The published method.
    #[serde(skip_serializing_if = "is_empty")]
    pub paper: PaperSettings,
}

/// Whether a section says nothing, and so need not be saved.
pub(crate) fn is_empty<T: Default + PartialEq>(section: &T) -> bool {
    *section == T::default()
}

/// `[model]`: names of drift and noise, and values of the parameters of noise, observation and start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelSettings {
    /// Family of the drift, or its formula.
    pub drift: Option<DriftName>,
    /// Family of the noise.
    pub noise: Option<NoiseName>,
    /// Law of the observation errors.
    pub errors: Option<ErrorName>,
    /// What increments are multiplied by, as a formula of the state `x`.
    pub size: Option<SizeFormula>,
    /// Parameters of the noise, of observation and of the start.
    pub values: Values,
    /// Whether `brownian` is to be learned: `brownian = "learn"`.
    pub learn_brownian: bool,
    /// Time scale of the noise.
    pub clock: Option<Clock>,
    /// Volatility of the noise.
    pub volatility: Option<Volatility>,
}

/// `[drift]`: values of the parameters of the drift, or the size of a network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DriftSettings {
    /// Parameters of the drift.
    pub values: Values,
    /// Units per layer of a network.
    pub width: Option<usize>,
    /// Layers of a network.
    pub depth: Option<usize>,
    /// Periods of Fourier terms.
    pub season: Option<Vec<Length>>,
    /// Harmonics of each period.
    pub harmonics: Option<usize>,
}

impl DriftSettings {
    /// Refuse flags of a drift network for a command that cannot learn one.
    pub fn without_network(&self, command: &str) -> anyhow::Result<()> {
        match [("--width", self.width), ("--depth", self.depth)].iter().find(|(_, given)| given.is_some()) {
            Some((flag, _)) => Err(bad(format!(
                "{flag} belongs to drift neural, which only `levytilt fit` learns; leave it out for {command}"
            ))),
            None => Ok(()),
        }
    }
}

/// `[grid]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct GridSettings {
    /// Latent steps over the whole span, merged with the observation times
    #[arg(long, value_name = "N", help_heading = "Grid")]
    pub steps: Option<usize>,
}

/// `[simulate]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct SimulateSettings {
    /// Length of the record in units of time [default: 10]
    #[arg(long, value_name = "T", help_heading = "Simulation")]
    pub span: Option<f64>,
    /// Observe every N-th time, starting with the first [default: 1]
    #[arg(long, value_name = "N", help_heading = "Simulation")]
    pub every: Option<usize>,
}

/// `[solve]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct SolveSettings {
    /// Solver of `fit`; `exact` is always the grid
    #[arg(skip)]
    pub method: Option<Method>,
    /// First potential of method neural
    #[arg(skip)]
    pub init: Option<Init>,
    /// Maximum number of iterations of method neural
    #[arg(skip)]
    pub iterations: Option<usize>,
    /// Mixture components per time in the message of method neural
    #[arg(skip)]
    pub components: Option<usize>,
    /// Whether method neural learns parameters jointly with its networks
    #[arg(skip)]
    pub alongside: Option<bool>,
    /// Whether `fit` draws the parameters from their posterior
    #[arg(skip)]
    pub bayes: Option<bool>,
    /// Number of these draws
    #[arg(skip)]
    pub draws: Option<usize>,
    /// Size from which a move counts as a jump, in the unit of the data
    #[arg(skip)]
    pub jump_above: Option<f64>,
    /// Paths written to paths.npz: a number, or all
    #[arg(skip)]
    pub keep_paths: Option<KeepPaths>,
    /// Posterior paths of `fit`
    #[arg(skip)]
    pub paths: Option<usize>,
    /// Seed of the random numbers [default: 1]
    // TOML integers end at 2^63 - 1; a seed that cannot be saved would not be a record.
    #[arg(long, value_name = "N", help_heading = "Random numbers", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Threads, 0 = all cores
    #[arg(skip)]
    pub threads: Option<usize>,
}

/// Time scale of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Calendar time
    Calendar,
    /// Trading time: the effective length of hours of the day and of closed-market gaps is learned
    Business,
}

/// Volatility of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Volatility {
    /// Constant
    Steady,
    /// Estimated from recent moves: time runs faster after large ones
    Recent,
}

/// What reads a method from a flag.
pub fn method_parser() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.map(|method| PossibleValue::new(method.name()).help(method.about()));
    PossibleValuesParser::new(values)
        .try_map(|name| Method::named(&name).ok_or_else(|| format!("{name} is not the name of a method")))
}

/// Where the networks of method neural begin: cold, sweep, or the directory of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Init {
    /// At the message of a robust smoother
    Cold,
    /// At what sweeps found
    Sweep,
    /// At the networks of another run
    Run(PathBuf),
}

impl From<String> for Init {
    fn from(text: String) -> Self {
        match text.as_str() {
            "cold" => Self::Cold,
            "sweep" => Self::Sweep,
            _ => Self::Run(text.into()),
        }
    }
}

impl From<Init> for String {
    fn from(init: Init) -> Self {
        match init {
            Init::Cold => "cold".into(),
            Init::Sweep => "sweep".into(),
            Init::Run(dir) => dir.to_string_lossy().into_owned(),
        }
    }
}

impl Settings {
    /// The settings of the file `config`, if there is one, under those given as flags.
    pub fn with_config(self, config: Option<&Path>) -> Result<Self> {
        match config {
            None => Ok(self),
            Some(path) => {
                let name = path.display();
                let text = read_settings(path).map_err(|e| bad(format!("{name}: cannot be read: {e}")))?;
                self.over(Self::parse(&text, &name.to_string())?)
            }
        }
    }

    /// The settings of a text called `name`.
    ///
    /// # Errors
    /// A key or value that they cannot have.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let wrong = |error: toml::de::Error| bad(format!("{name}: {}", brief(&error)));
        let settings = toml::from_str(text).map_err(wrong)?;
        // Integers of TOML end at 2⁶³ - 1, though larger ones are read if asked for; here the message shows the line.
        let _: toml::Table = toml::from_str(text).map_err(wrong)?;
        Ok(settings)
    }

    /// These settings where they say something, `below` where they do not.
    ///
    /// Another noise or drift than `below` has comes with its own parameters: a scale meant for one family is not one
    /// for another, so the parameters of the replaced family are set aside.
    pub fn over(self, mut below: Self) -> Result<Self> {
        if self.model.noise.is_some_and(|noise| noise != below.noise()) {
            below.clear_noise_parameters();
        }
        if self.model.errors.is_some_and(|errors| errors.kind() != below.errors()) {
            below.keep_parameters(|name| !is_of_errors(name));
            below.model.values.retain(|name| !is_of_errors(name));
        }
        if self.model.drift.as_ref().is_some_and(|drift| *drift != below.drift()) {
            let DriftSettings { season, harmonics, .. } = below.drift;
            below.drift = DriftSettings { season, harmonics, ..DriftSettings::default() };
            let named = below.formula_names();
            below.keep_parameters(|name| Section::of(name) != Some(Section::Drift) && !named.iter().any(|n| n == name));
        }
        // Larger ones may have come from a caller in Rust.
        let table = |settings: Self| {
            toml::Table::try_from(settings)
                .map_err(|_| bad(format!("a number of the settings is too large; expected at most {}", i64::MAX)))
        };
        let mut merged = table(below)?;
        overlay(&mut merged, table(self)?);
        Ok(merged.try_into()?)
    }

    /// The text of a settings file.
    pub fn to_toml(&self) -> Result<String> {
        Ok(toml::to_string(self)?)
    }

    /// The noise family, with its default.
    pub fn noise(&self) -> NoiseName {
        self.model.noise.unwrap_or(NoiseName::STABLE)
    }

    /// The law of the observation errors, with its default.
    pub fn errors(&self) -> ErrorKind {
        self.model.errors.map_or(ErrorKind::Gaussian, ErrorName::kind)
    }

    /// The drift, with its default.
    pub fn drift(&self) -> DriftName {
        self.model.drift.clone().unwrap_or(DriftName::OU)
    }

    /// Columns of the inputs.
    pub fn input_columns(&self) -> Vec<String> {
        inputs::columns(&self.inputs).collect()
    }

    /// The columns to read: values, their known errors, and inputs; all of them if no value column is named.
    pub fn chosen_columns(&self) -> Vec<String> {
        let mut chosen = self.data.chosen();
        if !chosen.is_empty() {
            for column in self.input_columns() {
                if !chosen.contains(&column) {
                    chosen.push(column);
                }
            }
        }
        chosen
    }

    /// Give a value to a parameter of one dimension.
    ///
    /// # Errors
    /// A name that neither the registry nor the formula of the drift has.
    pub fn hold(&mut self, name: &str, value: f64) -> Result<()> {
        if let Some(named) = self.parameters.get_mut(name) {
            *named = named.with_value(value);
            return Ok(());
        }
        if name == BROWNIAN {
            self.model.learn_brownian = false;
        }
        match Section::of(name) {
            Some(Section::Drift) => self.drift.values.set(name, Some(value)),
            Some(Section::Model) => self.model.values.set(name, Some(value)),
            None if self.formula_names().iter().chain(&self.size_names()).any(|known| known == name) => {
                self.parameters.insert(name.into(), value.into()).is_none()
            }
            None => return Err(bad(format!("{name} is not a parameter of any drift or noise"))),
        };
        Ok(())
    }

    /// Whether the model has a parameter of this name, which may carry a dimension: `theta[NVDA]`.
    pub fn has(&self, name: &str) -> bool {
        let plain = name.split('[').next().unwrap_or(name);
        let of_noise = || self.noise().family().is_some_and(|family| family.parameter(plain).is_some());
        let of_drift = || self.drift().family().is_some_and(|family| family.parameter(plain).is_some());
        let of_errors = || self.errors().parameters().iter().any(|entry| entry.name == plain);
        let of_all = || [OBSERVATION_STD, BROWNIAN, X0, X0_STD].contains(&plain);
        of_noise() || of_drift() || of_errors() || of_all() || self.formula_names().iter().any(|known| known == plain)
    }

    /// Keep the parameters of single dimensions whose name without its dimension passes.
    fn keep_parameters(&mut self, keep: impl Fn(&str) -> bool) {
        self.parameters.retain(|name, _| keep(name.split('[').next().unwrap_or(name)));
    }

    fn clear_noise_parameters(&mut self) {
        self.keep_parameters(|name| !is_of_noise(name));
        self.model.values.retain(|name| !is_of_noise(name));
    }
}

/// Whether a parameter belongs to a law of the observation errors.
fn is_of_errors(name: &str) -> bool {
    ErrorKind::ALL.iter().any(|kind| kind.parameters().iter().any(|entry| entry.name == name))
}

/// Whether a parameter belongs to a family of noise.
fn is_of_noise(name: &str) -> bool {
    FAMILIES.iter().any(|family| family.parameter(name).is_some())
}

/// Read `NAME=VALUE`, where the name may have a dimension: `NAME[DIMENSION]=VALUE`.
pub fn parse_parameter(text: &str) -> Result<(String, f64), String> {
    let (name, value) =
        text.rsplit_once('=').ok_or("expected NAME=VALUE or NAME[DIMENSION]=VALUE, such as k=3 or theta[NVDA]=3")?;
    let value = value.trim().parse::<f64>().map_err(|_| format!("{value} is not a number"))?;
    Ok((name.trim().to_string(), value))
}

/// Put the values of `top` into `bottom`, section by section.
fn overlay(bottom: &mut toml::Table, top: toml::Table) {
    for (key, value) in top {
        match (bottom.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => overlay(below, above),
            (_, value) => drop(bottom.insert(key, value)),
        }
    }
}
