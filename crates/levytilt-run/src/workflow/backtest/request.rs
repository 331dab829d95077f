//! Say what to backtest.

use std::path::PathBuf;

use crate::settings::DataSettings;

/// What to backtest, on which windows, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// File with the record, or - for standard input.
    pub source: String,
    /// Columns.
    pub data: DataSettings,
    /// Whether the columns are prices, of which cumulative log-returns are forecast.
    pub log_returns: bool,
    /// Length of the training part, such as 30d.
    pub train: String,
    /// Length of the forecast part.
    pub horizon: String,
    /// From one window to the next; the horizon if nothing is given.
    pub stride: Option<String>,
    /// Start of the first window; the first time, or the midnight before it, if nothing is given.
    pub from: Option<String>,
    /// End of the last forecast; the last time if nothing is given.
    pub to: Option<String>,
    /// Windows with fewer training times are skipped.
    pub least: usize,
    /// Names of the models.
    pub models: Vec<String>,
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
