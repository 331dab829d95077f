//! Say what to backtest.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::settings::{DataSettings, Settings};
use crate::table::time::{Length, Moment};

/// What to backtest, on which windows, and where to write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// File with the record, or - for standard input.
    pub source: String,
    /// Columns.
    pub data: DataSettings,
    /// Whether the columns are prices, of which cumulative log-returns are forecast.
    pub log_returns: bool,
    /// Length of the training part, such as 30d.
    pub train: Length,
    /// Length of the forecast part.
    pub horizon: Length,
    /// From one window to the next; the horizon if nothing is given.
    pub stride: Option<Length>,
    /// Start of the first window; the first time, or the midnight before it, if nothing is given.
    pub from: Option<Moment>,
    /// End of the last forecast; the last time if nothing is given.
    pub to: Option<Moment>,
    /// Windows with fewer training times are skipped.
    pub least: usize,
    /// Names of the models.
    pub models: Vec<String>,
    /// Models that forecast only so many of the windows, evenly spread, by name; the others forecast all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub windows: BTreeMap<String, usize>,
    /// Settings of models by name, as `fit` takes them; a name that ends with .toml is a file of settings.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, Settings>,
    /// Model that the others are compared with; random-walk, or else the first, if nothing is given.
    pub reference: Option<String>,
    /// Training steps of models that are trained networks.
    pub training_steps: Option<usize>,
    /// Forecast paths per window.
    pub paths: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Threads, 0 for all cores.
    pub threads: usize,
    /// Directory for the results.
    pub out: PathBuf,
    /// Whether to show no progress.
    pub quiet: bool,
}

/// Length of the training part, unless another is given.
pub const TRAIN: &str = "30d";
/// Length of the forecast part.
pub const HORIZON: &str = "2d";
/// Fewest training times.
pub const LEAST: usize = 20;
/// Names of the models.
pub const MODELS: &str = "random-walk,student-walk,student-walk+clock+adaptive,garch-t,gaussian-sde,tilt";
/// Forecast paths per window.
pub const PATHS: usize = 1000;

impl Default for Request {
    fn default() -> Self {
        Self {
            source: String::new(),
            data: DataSettings::default(),
            log_returns: false,
            train: TRAIN.into(),
            horizon: HORIZON.into(),
            stride: None,
            from: None,
            to: None,
            least: LEAST,
            models: MODELS.split(',').map(String::from).collect(),
            windows: BTreeMap::new(),
            own: BTreeMap::new(),
            reference: None,
            training_steps: None,
            paths: PATHS,
            seed: 1,
            threads: 0,
            out: PathBuf::new(),
            quiet: false,
        }
    }
}
