//! Declare the flags of `compare`.

use clap::Args;
use levytilt_run::command::compare::Request;
use levytilt_run::settings::{
    DataSettings, GridSettings, Method, Settings, SolveSettings, method_parser, parse_parameter,
};
use levytilt_run::workflow::compare::entrants::{Wanted, parts};
use std::path::PathBuf;

use crate::args::{EffortArgs, PlotArgs, ReportArgs};

/// Flags of `compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// CSV file, plain or gzipped, or - for standard input
    #[arg(value_name = "DATA")]
    pub source: String,
    /// Settings files, separated by commas: each is a model
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    pub models: Vec<PathBuf>,
    /// Noise families, separated by commas; auto stands for all that `fit --noise auto` tries
    #[arg(long, value_name = "FAMILIES")]
    pub noise: Option<String>,
    /// Drifts, separated by commas: families or formulas; every combination with --noise is a model
    #[arg(long, value_name = "KINDS", allow_hyphen_values = true)]
    pub drift: Option<String>,
    /// Settings file under every combination of --noise and --drift
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Fix a parameter in every model that has it: "observation_std=0.1", "theta[NVDA]=3"; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub set: Vec<(String, f64)>,
    /// Share of the rows at the end to hold out for the out-of-sample score; 0 for none
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub holdout: f64,
    /// Column.
    #[command(flatten)]
    pub data: DataSettings,
    /// Steps.
    #[command(flatten)]
    pub grid: GridSettings,
    /// Seed.
    #[command(flatten)]
    pub solve: SolveSettings,
    /// Solver [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = method_parser())]
    pub method: Option<Method>,
    /// Posterior paths and threads.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Directory for report.html, compare.csv and summary.json; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

impl CompareArgs {
    /// What is asked for.
    pub fn request(&self) -> Request {
        let EffortArgs { paths, threads } = self.effort;
        let solve = SolveSettings { method: self.method, paths, threads, ..self.solve.clone() };
        Request {
            source: self.source.clone(),
            wanted: Wanted {
                models: self.models.clone(),
                noises: self.noise.as_deref().map_or(Vec::new(), parts),
                drifts: self.drift.as_deref().map_or(Vec::new(), parts),
                held: self.set.clone(),
            },
            flags: Settings { data: self.data.clone(), grid: self.grid.clone(), solve, ..Settings::default() },
            config: self.config.clone(),
            holdout: self.holdout,
            out: self.out.clone(),
        }
    }
}

/// Below the flags of `compare`.
pub const COMPARE_HELP: &str = "\
Fits every model to the same record and prints one table, best first:
  log evidence   log density of all observations at the estimates, with its standard error where it is not exact
  learned        number of learned parameters
  penalty        half the logarithm of the number of observations per learned parameter (BIC)
  result         log evidence less the penalty; behind is the distance to the best. A difference of 3 nats is a hint, 10
                 are decisive
  held out       mean log density of the last values (--holdout) given the earlier ones, with parameters learned from the
                 values before; larger is better
  residuals      which checks of the one-step residuals fail
and below it the parameters with their standard errors. Evidence compares models of the same values only: all models see
the same columns. A model that fails, or is not finished at Ctrl-C, is listed with the reason and not ranked.

--models takes settings files as `fit --config` does, also those that write states out. --drift and --noise take lists;
without one of them its default, or that of --config, is used. Give formulas in quotes: --drift 'ou,theta*(mu - x)^3'.

With --out writes report.html (the report), compare.csv (a row per model, with two columns per parameter) and
summary.json; with --plots also the figures of the page as files.

Examples:
  levytilt compare data.csv --noise stable,nig,gaussian --drift ou,none --out which
  levytilt compare data.csv --noise auto --holdout 0
  levytilt compare data.csv --drift 'ou,-k*x^3' --noise nig --set observation_std=0.1 --json
  levytilt compare data.csv --models mine.toml,other.toml --out which";
