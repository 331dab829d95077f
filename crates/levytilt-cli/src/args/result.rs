//! Declare the flags of the commands that go on from a result: forecast, update, score and report.

use clap::Args;
use std::path::PathBuf;

use crate::args::output::{EffortArgs, PlotArgs, ReportArgs, TableArgs};

/// Flags of `forecast`.
#[derive(Debug, Args)]
pub struct ForecastArgs {
    /// Directory that `levytilt fit --out` wrote
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Forecast horizon: a number in the record's unit of time or, for timestamps, such as 90m, 12h, 2d, 1w
    #[arg(long, value_name = "H", conflicts_with = "at", required_unless_present = "at")]
    pub horizon: Option<String>,
    /// CSV file whose first column holds the times to forecast
    #[arg(long, value_name = "FILE")]
    pub at: Option<String>,
    /// CSV file with times after the record and the columns of the model's inputs there
    #[arg(long, value_name = "FILE")]
    pub inputs_file: Option<String>,
    /// Directory for the results; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Fix learned parameters at their estimates instead of drawing them from their posterior
    #[arg(long)]
    pub fixed_parameters: bool,
    /// Forecast the state, without observation noise, instead of observations
    #[arg(long)]
    pub state: bool,
    /// Seed of the random numbers [default: that of the fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Paths and threads.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `update`.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// Directory that `levytilt fit --out` wrote
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// CSV file with the columns of the record, plain or gzipped, or - for standard input
    #[arg(value_name = "NEW", required_unless_present_any = ["follow", "refit"])]
    pub source: Option<String>,
    /// Read rows from standard input as they come and answer each with a line of JSON
    #[arg(long, conflicts_with_all = ["source", "refit"])]
    pub follow: bool,
    /// Raise an alarm where the two-sided p-value of a value is below this
    #[arg(long, value_name = "P", default_value_t = 0.001)]
    pub alarm: f64,
    /// Report every row again K rows later, given the rows in between
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub lag: usize,
    /// Count an increment beyond this as a jump, in units of the values [default: as in the fit]
    #[arg(long, value_name = "X")]
    pub jump_above: Option<f64>,
    /// Then fit again to all rows that the run has taken in
    #[arg(long)]
    pub refit: bool,
    /// Threads of --refit, 0 = all cores; results do not depend on it [default: 0]
    #[arg(long, value_name = "N", requires = "refit")]
    pub threads: Option<usize>,
    /// How the table of rows is written.
    #[command(flatten)]
    pub table: TableArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `score`.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Directory that `levytilt forecast --out` wrote
    #[arg(value_name = "FORECAST")]
    pub forecast: PathBuf,
    /// CSV file of observations, with the columns and times of the record, or - for standard input
    #[arg(value_name = "TRUTH")]
    pub truth: String,
    /// Score the tail above this value [default: the 95% quantile of the column in TRUTH]
    #[arg(long, value_name = "X")]
    pub above: Option<f64>,
    /// Score the tail below this value [default: the 5% quantile of the column in TRUTH]
    #[arg(long, value_name = "X")]
    pub below: Option<f64>,
    /// TRUTH holds true states, as truth.csv of simulate does, for a forecast made with --state
    #[arg(long)]
    pub state: bool,
    /// Directory for report.html and scores.json; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed for breaking ties in the PIT [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub seed: u64,
    /// How the table of observations is written.
    #[command(flatten)]
    pub table: TableArgs,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `report`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Directory that fit, demo, forecast, score, backtest, compare or reproduce wrote with --out
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Of a fit: print the probability that nothing jumped after the first time and up to the second, and write nothing
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with_all = ["plots", "quiet"])]
    pub no_jump: Option<Vec<String>>,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// Print only errors
    #[arg(long)]
    pub quiet: bool,
}
