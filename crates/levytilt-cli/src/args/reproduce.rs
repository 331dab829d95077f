//! Declare the flags of `reproduce`.

use clap::{Args, ValueEnum};
use levytilt_run::workflow::reproduce;
use std::path::PathBuf;

use crate::args::backtest::model_windows;
use crate::args::{PlotArgs, ReportArgs};

/// Which of the paper's studies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Study {
    /// Simulated OU and double-well systems with known truth
    Synthetic,
    /// Hourly prices of NVDA and GOOGL, one at a time
    Univariate,
    /// Hourly prices of ten tickers together
    Multivariate,
}

/// Flags of `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// The study
    #[arg(value_enum)]
    pub study: Study,
    /// CSV file of hourly prices, a column per ticker: univariate and multivariate
    #[arg(long, value_name = "FILE")]
    pub data: Option<String>,
    /// Run a small part only, in about a minute
    #[arg(long)]
    pub quick: bool,
    /// Data sets per system, tail index and observation noise: synthetic [default: 50]
    #[arg(long, value_name = "N")]
    pub realisations: Option<usize>,
    /// Observation standard deviations, separated by commas: synthetic
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.05")]
    pub observation_std: Vec<f64>,
    /// Data sets of each kind on which to train networks too, a minute or two each: synthetic
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub networks: usize,
    /// Train the method of the paper too, for N iterations (published: 3000, hours), on two data sets of alpha 1.2, 1.5, 1.8 each:
    /// synthetic
    #[arg(long, value_name = "N")]
    pub paper: Option<usize>,
    /// Models, separated by commas: univariate and multivariate [default: walks, garch-t, gaussian-sde, tilt]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Option<Vec<String>>,
    /// Models that run on only some windows, evenly spread, such as deepar=60,nhits=150: univariate and multivariate
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = model_windows)]
    pub windows: Vec<(String, usize)>,
    /// Training steps of neural network models: univariate and multivariate [default: the published number]
    #[arg(long, value_name = "N")]
    pub training_steps: Option<usize>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads, 0 = all cores; results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
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

impl ReproduceArgs {
    /// What is asked for.
    pub fn request(&self) -> reproduce::Request {
        reproduce::Request {
            study: match self.study {
                Study::Synthetic => reproduce::Study::Synthetic,
                Study::Univariate => reproduce::Study::Univariate,
                Study::Multivariate => reproduce::Study::Multivariate,
            },
            data: self.data.clone(),
            quick: self.quick,
            realisations: self.realisations,
            observation_std: self.observation_std.clone(),
            networks: self.networks,
            paper: self.paper,
            models: self.models.clone(),
            windows: self.windows.iter().cloned().collect(),
            training_steps: self.training_steps,
            seed: self.seed,
            threads: self.threads,
            out: self.out.clone(),
            quiet: self.report.quiet,
        }
    }
}

/// Below the flags of `reproduce`.
pub const REPRODUCE_HELP: &str = "\
Reproduces the tables of Kındap, Opper, Dupuis, Şimşekli and Birdal, with the published figures alongside.

synthetic     OU and double well, alpha 1.1 to 1.9: 10 001 points, 1000 of them observed; CRPS of the posterior on the
              9001 held out, and errors of the drift's parameters. Rows: tilt (stable noise, everything learned but the
              observation noise), Gaussian noise, and the exact posterior with the true parameters, which is the floor.
              With --networks 2, networks of the paper's size are trained on the first two data sets of each kind, in this
              library's way; with --paper 3000, the method of the paper on some, at the published number of iterations.
univariate    30 days of training, 2 days ahead, every 2 days: see `levytilt backtest --help`. Needs --data: a column of
multivariate  timestamps and one per ticker, as yfinance.download(tickers, interval=\"1h\")[\"Close\"] gives. The paper's
              networks join with --models, and so does its own method (paper, paper-gaussian); with the published number of
              steps they take minutes per window: --windows deepar=60 forecasts 60 windows, evenly spread.

Writes report.html (the report), table.json and table.md, and one line per finished piece, so that the same
command resumes a stopped run.

Examples:
  levytilt reproduce synthetic --quick --out quick
  levytilt reproduce synthetic --observation-std 0.1 --out synthetic
  levytilt reproduce univariate --data prices.csv --out univariate
  levytilt reproduce univariate --data prices.csv --models random-walk,tilt,dlinear,neural-mjd --out networks
  levytilt reproduce multivariate --quick --data prices.csv --out ten";
