//! Hold every setting once, as key of a TOML file and as flag alike.

pub mod build_model;
pub mod init;
pub mod keywords;
mod name;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::failure::{bad, brief};
use crate::table::bytes::read_settings;

pub use name::name_of;

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
    /// Parameters of single dimensions, by names such as `theta[NVDA]`.
    #[serde(skip_serializing_if = "is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// Latent times.
    #[serde(skip_serializing_if = "is_empty")]
    pub grid: GridSettings,
    /// What `simulate` needs besides.
    #[serde(skip_serializing_if = "is_empty")]
    pub simulate: SimulateSettings,
    /// How to compute.
    #[serde(skip_serializing_if = "is_empty")]
    pub solve: SolveSettings,
}

/// Whether a section says nothing, and so need not be saved.
fn is_empty<T: Default + PartialEq>(section: &T) -> bool {
    *section == T::default()
}

/// `[data]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// Value column to use when the file has several
    #[arg(long, value_name = "NAME", help_heading = "Data", conflicts_with = "columns")]
    pub column: Option<String>,
    /// Value columns to explain together, separated by commas: fit [default: all]
    #[arg(long, value_name = "NAMES", help_heading = "Data", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
}

impl DataSettings {
    /// The value columns to read; all of them if none is named.
    pub fn chosen(&self) -> Vec<String> {
        self.column.iter().chain(self.columns.iter().flatten()).cloned().collect()
    }
}

/// `[model]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Law of motion without noise [default: ou]
    #[arg(long, value_name = "KIND", help_heading = "Drift")]
    pub drift: Option<DriftKind>,
    /// Law of the jumps [default: stable]
    #[arg(long, value_name = "FAMILY", help_heading = "Noise")]
    pub noise: Option<NoiseKind>,
    /// Tail index, in (0, 2]: stable; in (0, 2): truncated-stable, tempered-stable
    #[arg(long, value_name = "A", help_heading = "Noise")]
    pub alpha: Option<f64>,
    /// Size of the noise: all but compound-poisson. Stable: E exp(iuJ) = exp(-dt scale^alpha |u|^alpha). Gaussian:
    /// standard deviation per square root of time
    #[arg(long, value_name = "S", help_heading = "Noise")]
    pub scale: Option<f64>,
    /// Smallest mixing radius: truncated-stable
    #[arg(long, value_name = "R", help_heading = "Noise")]
    pub tau: Option<f64>,
    /// Standard deviation of the Gaussian marks: truncated-stable
    #[arg(long, value_name = "S", help_heading = "Noise")]
    pub sigma_g: Option<f64>,
    /// Damping of large jumps, exp(-tempering |x|): tempered-stable, nig
    #[arg(long, value_name = "L", help_heading = "Noise")]
    pub tempering: Option<f64>,
    /// Length of a burst in time: variance-gamma
    #[arg(long, value_name = "V", help_heading = "Noise")]
    pub nu: Option<f64>,
    /// Degrees of freedom: student
    #[arg(long, value_name = "N", help_heading = "Noise")]
    pub dof: Option<f64>,
    /// Jumps per unit of time: compound-poisson
    #[arg(long, value_name = "R", help_heading = "Noise")]
    pub rate: Option<f64>,
    /// Standard deviation of a jump: compound-poisson
    #[arg(long, value_name = "S", help_heading = "Noise")]
    pub jump_std: Option<f64>,
    /// Extra diffusion beside the jumps, standard deviation per square root of time [default: 0]
    #[arg(long, value_name = "S", help_heading = "Noise")]
    pub brownian: Option<f64>,
    /// Standard deviation of the observation error
    #[arg(long, value_name = "S", help_heading = "Observation and start")]
    pub observation_std: Option<f64>,
    /// State at the first time
    #[arg(long, value_name = "X", help_heading = "Observation and start")]
    pub x0: Option<f64>,
    /// Standard deviation of the state at the first time; without it a given x0 is exact
    #[arg(long, value_name = "S", help_heading = "Observation and start")]
    pub x0_std: Option<f64>,
    /// How time runs: `business` is for `fit`
    #[arg(skip)]
    pub clock: Option<Clock>,
}

/// `[drift]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct DriftSettings {
    /// Rate of return: ou, dx = theta (mu - x) dt
    #[arg(long, value_name = "T", help_heading = "Drift")]
    pub theta: Option<f64>,
    /// Level of return: ou
    #[arg(long, value_name = "M", help_heading = "Drift")]
    pub mu: Option<f64>,
    /// Push away from 0: double-well, dx = (theta1 x - theta2 x³) dt
    #[arg(long, value_name = "T", help_heading = "Drift")]
    pub theta1: Option<f64>,
    /// Pull back from far away: double-well
    #[arg(long, value_name = "T", help_heading = "Drift")]
    pub theta2: Option<f64>,
    /// Rate of growth: linear, dx = (slope x + offset) dt
    #[arg(long, value_name = "A", help_heading = "Drift")]
    pub slope: Option<f64>,
    /// Constant push: linear
    #[arg(long, value_name = "B", help_heading = "Drift")]
    pub offset: Option<f64>,
    /// Units per layer: neural [default: 32]
    #[arg(long, value_name = "N", help_heading = "Drift")]
    pub width: Option<usize>,
    /// Layers: neural [default: 2]
    #[arg(long, value_name = "N", help_heading = "Drift")]
    pub depth: Option<usize>,
}

impl DriftSettings {
    /// Refuse flags of a drift network for a command that cannot learn one.
    pub fn without_network(&self, command: &str) -> anyhow::Result<()> {
        match [("--width", self.width), ("--depth", self.depth)].iter().find(|(_, given)| given.is_some()) {
            Some((flag, _)) => {
                Err(bad(format!("{flag} is of drift neural, which `levytilt fit` learns; {command} has none")))
            }
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
    /// Most iterations of method neural
    #[arg(skip)]
    pub iterations: Option<usize>,
    /// Bumps per time in the message of method neural
    #[arg(skip)]
    pub components: Option<usize>,
    /// Whether method neural learns parameters along with its networks
    #[arg(skip)]
    pub alongside: Option<bool>,
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

/// Drifts by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DriftKind {
    /// Return to a level: theta, mu
    Ou,
    /// Two stable states: theta1, theta2
    DoubleWell,
    /// A line, growth and trends included: slope, offset
    Linear,
    /// A network, for `fit` only: width, depth
    Neural,
    /// No drift
    None,
}

/// Noise families by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseKind {
    /// Symmetric stable: alpha, scale
    Stable,
    /// Stable without its smallest jumps: alpha, scale, tau, sigma_g
    TruncatedStable,
    /// Stable with damped large jumps: alpha, scale, tempering
    TemperedStable,
    /// Variance gamma: scale, nu
    VarianceGamma,
    /// Normal inverse Gaussian: scale, tempering
    Nig,
    /// Student-t increments on every grid, so results depend on the grid: dof, scale
    Student,
    /// Rare Gaussian jumps: rate, jump_std
    CompoundPoisson,
    /// Brownian motion: scale
    Gaussian,
    /// Fit each family and keep the one with the most evidence: `fit` only
    Auto,
}

/// How time runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// As the times say.
    Calendar,
    /// Effective step lengths learned by `fit`.
    Business,
}

/// Solvers of `fit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Sweeps, or a Gaussian sum where it raises the bound by more than two nats
    Auto,
    /// Exact paths from a grid of states: one dimension, slower
    Grid,
    /// One quadratic potential per time, improved by sweeps: dense data
    Sweep,
    /// A sum of bumps per time from one backward pass: sparse data
    GaussianSum,
    /// One quadratic potential per time from networks trained on the bound, as in the paper: minutes
    Neural,
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
                let wrong = |error: toml::de::Error| bad(format!("{name}: {}", brief(&error)));
                let file = toml::from_str(&text).map_err(wrong)?;
                // Integers of TOML end at 2⁶³ - 1, though larger ones are read if asked for; here the message shows the line.
                let _: toml::Table = toml::from_str(&text).map_err(wrong)?;
                self.over(file)
            }
        }
    }

    /// These settings where they say something, `below` where they do not.
    ///
    /// Another noise or drift than `below` has comes with its own parameters: a scale meant for one family is not one
    /// for another, so the parameters of the replaced family are set aside.
    pub fn over(self, mut below: Self) -> Result<Self> {
        if self.model.noise.is_some_and(|noise| noise != below.noise()) {
            below.clear_noise_parameters();
        }
        if self.model.drift.is_some_and(|drift| drift != below.drift()) {
            below.drift = DriftSettings::default();
            below.keep_parameters(|name| !DRIFT_NAMES.contains(&name));
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
    pub fn noise(&self) -> NoiseKind {
        self.model.noise.unwrap_or(NoiseKind::Stable)
    }

    /// The drift, with its default.
    pub fn drift(&self) -> DriftKind {
        self.model.drift.unwrap_or(DriftKind::Ou)
    }

    /// Keep the parameters of single dimensions whose name without its dimension passes.
    fn keep_parameters(&mut self, keep: impl Fn(&str) -> bool) {
        self.parameters.retain(|name, _| keep(name.split('[').next().unwrap_or(name)));
    }

    fn clear_noise_parameters(&mut self) {
        let ModelSettings { drift, noise, brownian, observation_std, x0, x0_std, clock, .. } = self.model.clone();
        self.keep_parameters(|name| DRIFT_NAMES.contains(&name) || KEPT_NAMES.contains(&name));
        self.model = ModelSettings { drift, noise, brownian, observation_std, x0, x0_std, clock, ..Default::default() };
    }
}

/// Parameters that belong to a drift.
const DRIFT_NAMES: [&str; 6] = ["theta", "mu", "theta1", "theta2", "slope", "offset"];
/// Parameters that belong to neither drift nor noise family.
const KEPT_NAMES: [&str; 4] = ["brownian", "observation_std", "x0", "x0_std"];

/// Read NAME[DIMENSION]=VALUE.
pub fn parse_parameter(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("expected NAME[DIMENSION]=VALUE, such as theta[NVDA]=3")?;
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
