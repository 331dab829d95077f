//! Hold every setting once, as key of a TOML file and as flag alike.

pub mod build_model;
mod diffusion;
mod drift_name;
pub mod init;
pub mod inputs;
mod keep_paths;
pub mod keywords;
mod name;
mod named;
pub mod names;
pub mod parameters;
pub mod season;
mod size;

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use levytilt::ErrorKind;
use levytilt::drift::{Formula, Inputs};
use levytilt::noise::FAMILIES;
use levytilt::registry::{BROWNIAN, OBSERVATION_STD, X0, X0_STD};
use levytilt_paper::potential::NeuralPotentialSpec;
use levytilt_paper::published::{Gradient, Kl, Motion, PaperOptions};
use levytilt_paper::training::Rule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::failure::{bad, brief};
use crate::table::bytes::read_settings;
use crate::table::decimal::Decimal;
use crate::table::format::Format;
use crate::table::separator::Separator;
use crate::table::time::Length;

pub use drift_name::DriftName;
pub use inputs::{InputArgs, InputColumns};
pub use keep_paths::{KeepPaths, kept};
pub use levytilt::solve::Method;
pub use name::name_of;
pub use named::Named;
pub use names::{ErrorName, NoiseName};
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

/// `[data]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// Value column to use when the file has several
    #[arg(long, value_name = "NAME", help_heading = "Data", conflicts_with = "columns")]
    pub column: Option<String>,
    /// Value columns to fit jointly, separated by commas: fit [default: all]
    #[arg(long, value_name = "NAMES", help_heading = "Data", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Column of known standard deviations of the values, which are then multiplied by observation_std: fit
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub error_column: Option<String>,
    /// Column that holds the times [default: the first, or the first after row numbers]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub time_column: Option<String>,
    /// How dates are written, such as %d.%m.%Y or "%m/%d/%Y %H:%M"; or seconds, milliseconds (Unix time), or number
    /// [default: recognised]
    #[arg(long, value_name = "FORMAT", help_heading = "Data")]
    pub date_format: Option<String>,
    /// What separates fields: comma, semicolon, tab, pipe or space [default: recognised]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub separator: Option<Separator>,
    /// Decimal mark: point or comma [default: recognised]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub decimal: Option<Decimal>,
    /// Column of a long table that says which series a row belongs to: fit
    #[arg(skip)]
    pub panel: Option<String>,
    /// Parameters that the series of a long table share; with ~ after the name they are partially pooled
    #[arg(skip)]
    pub share: Option<Vec<String>>,
}

impl DataSettings {
    /// The columns to read: values and their known errors; all of them if no value column is named.
    pub fn chosen(&self) -> Vec<String> {
        let values: Vec<String> = self.column.iter().chain(self.columns.iter().flatten()).cloned().collect();
        let errors = self.error_column.iter().filter(|name| !values.is_empty() && !values.contains(name)).cloned();
        values.iter().cloned().chain(errors).collect()
    }

    /// How the table is written.
    pub fn format(&self) -> Format {
        Format {
            separator: self.separator,
            decimal: self.decimal,
            date_format: self.date_format.clone(),
            time_column: self.time_column.clone(),
        }
    }
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

    /// The formula of the drift, if it is one, with what is known of its parameters.
    ///
    /// # Errors
    /// Bounds, guesses or values of its parameters that do not fit together.
    pub fn formula(&self) -> Result<Option<Formula>> {
        let Some(mut formula) = self.plain_formula()? else { return Ok(None) };
        for (name, named) in &self.parameters {
            if formula.parameters().iter().any(|parameter| parameter.name == *name) {
                formula = named.apply(name, formula)?;
            }
        }
        if let Some(values) = &self.known_inputs {
            formula = formula.with_inputs(values)?;
        }
        Ok(Some(formula))
    }

    /// The formula of the drift, of what was typed or of a family with seasons and inputs.
    fn plain_formula(&self) -> Result<Option<Formula>> {
        let seasons = season::terms(&self.drift)?;
        let names: Vec<&str> = self.inputs.keys().map(String::as_str).collect();
        let name = match self.drift() {
            DriftName::Formula(text) => {
                let text = format!("{text}{}", seasons.unwrap_or_default());
                let formula = Formula::system(&[("x", &text)], &names).map_err(inputs::renamed)?;
                return match formula.unused_inputs().first() {
                    Some(unused) => Err(bad(format!(
                        "--inputs {unused}: the formula {text} does not use it; name it there, or leave it out"
                    ))),
                    None => Ok(Some(formula)),
                };
            }
            DriftName::Listed(name) => name,
        };
        if seasons.is_none() && names.is_empty() {
            return Ok(None);
        }
        let terms = seasons.clone().unwrap_or_default() + &inputs::terms(&self.inputs);
        match name.family() {
            Some(family) => Ok(Some(family.with_terms(&terms, &names).map_err(inputs::renamed)?)),
            None => {
                let flag = if names.is_empty() { "--season does" } else { "--inputs do" };
                Err(bad(format!("{flag} not go with drift {name}; give another --drift, or a formula")))
            }
        }
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

    /// The size of the noise, if it depends on the state, with what is known of its parameters.
    ///
    /// # Errors
    /// Bounds, guesses or values of its parameters that do not fit together.
    pub fn size(&self) -> Result<Option<Formula>> {
        let Some(size) = &self.model.size else { return Ok(None) };
        let mut formula = size.formula()?;
        for (name, named) in &self.parameters {
            if formula.parameters().iter().any(|parameter| parameter.name == *name) {
                formula = named.apply(name, formula)?;
            }
        }
        Ok(Some(formula))
    }

    /// Names of the parameters of the size of the noise.
    pub fn size_names(&self) -> Vec<String> {
        self.model.size.as_ref().map_or(Vec::new(), SizeFormula::names)
    }

    /// Names of the parameters of the formula, if the drift is one.
    pub fn formula_names(&self) -> Vec<String> {
        let formula = self.plain_formula().ok().flatten();
        formula.iter().flat_map(|formula| formula.parameters().iter().map(|parameter| parameter.name.clone())).collect()
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
