//! Say what to reproduce.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which of the paper's studies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Study {
    /// Simulated OU and double-well systems with known truth.
    Synthetic,
    /// Hourly prices of NVDA and GOOGL, one at a time.
    Univariate,
    /// Hourly prices of ten tickers together.
    Multivariate,
}

/// A study, how much of it, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The study.
    pub study: Study,
    /// File of hourly prices, a column per ticker: univariate and multivariate.
    pub data: Option<String>,
    /// Whether a small part is enough.
    pub quick: bool,
    /// Data sets per system, tail index and observation noise: synthetic.
    pub realisations: Option<usize>,
    /// Observation standard deviations: synthetic.
    pub observation_std: Vec<f64>,
    /// Data sets per system, index and error that networks are trained on too: synthetic.
    pub networks: usize,
    /// Iterations of the method of the paper, which is trained on some data sets: synthetic.
    pub paper: Option<usize>,
    /// Names of the models: univariate and multivariate.
    pub models: Option<Vec<String>>,
    /// Models that run on only some windows, evenly spread, by name: univariate and multivariate.
    pub windows: BTreeMap<String, usize>,
    /// Training steps of models that are trained networks; the published number by default: univariate and multivariate.
    pub training_steps: Option<usize>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Threads, 0 for all cores.
    pub threads: usize,
    /// Directory for the results.
    pub out: PathBuf,
    /// Whether to show no progress.
    pub quiet: bool,
}
