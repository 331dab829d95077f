//! Declare the flags of `backtest`.

use clap::Args;
use levytilt_run::settings::DataSettings;
use levytilt_run::table::time::{Length, Moment};
use levytilt_run::workflow::backtest::Request;
use levytilt_run::workflow::backtest::request::{HORIZON, LEAST, MODELS, PATHS, TRAIN};
use std::path::PathBuf;

use crate::args::{PlotArgs, ReportArgs};

/// Flags of `backtest`.
#[derive(Debug, Clone, Args)]
pub struct BacktestArgs {
    /// CSV file, plain or gzipped, or - for standard input
    #[arg(value_name = "DATA")]
    pub source: String,
    /// Columns.
    #[command(flatten)]
    pub data: DataSettings,
    /// The columns are prices: forecast cumulative log-returns, in units of their spread over the training part
    #[arg(long, help_heading = "Data")]
    pub log_returns: bool,
    /// Length of the training part: such as 30d, or a number in the record's unit of time
    #[arg(long, value_name = "SPAN", default_value = TRAIN, help_heading = "Windows")]
    pub train: String,
    /// Length of the forecast part
    #[arg(long, value_name = "SPAN", default_value = HORIZON, help_heading = "Windows")]
    pub horizon: String,
    /// Step from one window to the next [default: the horizon]
    #[arg(long, value_name = "SPAN", help_heading = "Windows")]
    pub stride: Option<String>,
    /// Start of the first window [default: the first time, or the midnight (UTC) before it]
    #[arg(long, value_name = "TIME", help_heading = "Windows")]
    pub from: Option<String>,
    /// End of the last forecast [default: the last time]
    #[arg(long, value_name = "TIME", help_heading = "Windows")]
    pub to: Option<String>,
    /// Windows with fewer training times are skipped
    #[arg(long, value_name = "N", default_value_t = LEAST, help_heading = "Windows")]
    pub least: usize,
    /// Models, separated by commas: kinds as below, or settings files of fit, such as mine.toml
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = MODELS)]
    pub models: Vec<String>,
    /// Models that run on only some windows, evenly spread, such as deepar=60,nhits=150; a larger number later adds windows
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = model_windows)]
    pub windows: Vec<(String, usize)>,
    /// Model that the others are compared with [default: random-walk if listed, else the first]
    #[arg(long, value_name = "NAME")]
    pub reference: Option<String>,
    /// Training steps of neural network models [default: the published number]
    #[arg(long, value_name = "N", help_heading = "Effort")]
    pub training_steps: Option<usize>,
    /// Forecast paths per window
    #[arg(long, value_name = "N", default_value_t = PATHS, help_heading = "Effort")]
    pub paths: usize,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Effort")]
    pub seed: u64,
    /// Threads, 0 = all cores; results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Effort")]
    pub threads: usize,
    /// Dask scheduler whose workers run the windows, such as tcp://10.0.0.1:8786; needs the Python package
    #[arg(long, value_name = "ADDRESS", help_heading = "Effort")]
    pub cluster: Option<String>,
    /// Directory for the results; the same command resumes where it stopped
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// A model and its number of windows: NAME=N.
pub fn model_windows(text: &str) -> Result<(String, usize), String> {
    let parts = text.split_once('=').and_then(|(name, count)| Some((name.to_string(), count.parse().ok()?)));
    parts.ok_or_else(|| "expected a model and its number of windows, such as deepar=60".into())
}

impl BacktestArgs {
    /// What is asked for.
    pub fn request(&self) -> Request {
        let Self { source, data, log_returns, train, horizon, stride, from, to, least, models, reference, .. } =
            self.clone();
        Request {
            source,
            data,
            log_returns,
            train: Length::Text(train),
            horizon: Length::Text(horizon),
            stride: stride.map(Length::Text),
            from: from.map(Moment::Text),
            to: to.map(Moment::Text),
            least,
            models,
            windows: self.windows.iter().cloned().collect(),
            own: Default::default(),
            reference,
            training_steps: self.training_steps,
            paths: self.paths,
            seed: self.seed,
            threads: self.threads,
            out: self.out.clone(),
            quiet: self.report.quiet,
        }
    }
}

/// Below the flags of `backtest`.
pub const BACKTEST_HELP: &str = "\
Every model forecasts every window from its training part alone and is scored against the observations. A model is
named by its kind, with options after plus signs:
  random-walk student-walk stable-walk bootstrap-walk   independent moves, Gaussian, Student-t, stable or resampled from the
                                                        training part; +clock learns the effective length of hours and
                                                        nights, +adaptive weights recent moves more
  garch-t         GARCH(1,1) with Student-t moves
  gaussian-sde    Brownian motion fitted by this program, in calendar time; +ou +clock +adaptive
  tilt            Student-t moves in business time, fitted by this program; a family of noise in its place (+nig,
                  +stable, +auto for the best by evidence, ...), +ou for a drift, +calendar, +steady
  deepar deepar-t nhits dlinear nj-sde neural-mjd       neural networks, retrained for each window: minutes
                                                        with the published number of steps
  paper           the published method with its settings for prices: truncated stable noise, a drift network and networks for the
                  posterior, trained on each window (tens of minutes): +small for 100 paths, 300 iterations and the observed
                  times only, +grid for alpha among 1.5, 1.7, 1.9 by the ELBO; paper-gaussian: Brownian motion and the same drift
  mine.toml       any model that `fit --config mine.toml` takes, fitted to the training part: drift, noise, observation
                  noise, clock = \"business\", volatility = \"recent\", or [states] with a noise that moves several columns; forecasts
                  are of observations

Writes report.html (the report), windows.jsonl (a line per finished window and model), scores.json and
scores.md; with --plots also the figures of the page as files. Rows with a missing value in the chosen columns are left
out. Windows without training or forecast times are skipped and counted.

Examples:
  levytilt backtest prices.csv --column NVDA --log-returns --out nvda
  levytilt backtest prices.csv --log-returns --models random-walk,tilt --from 2024-06-01 --to 2026-04-13 --out ten
  levytilt backtest prices.csv --log-returns --models random-walk,mine.toml --out mine
  levytilt backtest river.csv --train 365d --horizon 7d --models random-walk,gaussian-sde+ou,tilt+ou --out river";
