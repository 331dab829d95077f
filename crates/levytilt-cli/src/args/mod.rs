//! Declare the command line; the help texts are meant to be all the manual a user needs.

pub mod backtest;
pub mod compare;
mod output;
pub mod reproduce;
mod result;

use clap::{Args, Parser, Subcommand};
use levytilt_run::settings::{
    DataSettings, DriftSettings, GridSettings, Init, InputArgs, KeepPaths, Method, ModelSettings, Named, NoiseName,
};
use levytilt_run::settings::{PaperArgs, Settings, SimulateSettings, SolveSettings, method_parser, parse_parameter};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub use output::{EffortArgs, PlotArgs, ReportArgs};
pub use result::{ForecastArgs, RenderArgs, ScoreArgs, UpdateArgs};

use crate::args::backtest::{BACKTEST_HELP, BacktestArgs};
use crate::args::compare::{COMPARE_HELP, CompareArgs};
use crate::args::reproduce::{REPRODUCE_HELP, ReproduceArgs};
use crate::help::{COMPLETIONS_HELP, DOCTOR_HELP, INIT_HELP, MAN_HELP, UPDATE_HELP};
use crate::help::{DEMO_HELP, EXACT_HELP, FIT_HELP, FORECAST_HELP, REPORT_HELP, SCORE_HELP, SIMULATE_HELP, overview};

/// Inference for systems that jump: dX = f(X) dt + dL, with heavy-tailed noise L, seen through noisy observations.
#[derive(Debug, Parser)]
#[command(name = "levytilt", version, after_help = overview(), max_term_width = 120)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a demo on an embedded ice-core record: jumps against plain diffusion
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArgs),
    /// Simulate a data set with known truth
    #[command(allow_negative_numbers = true, after_help = SIMULATE_HELP, mut_arg("width", |arg| arg.hide(true)), mut_arg("depth", |arg| arg.hide(true)), mut_arg("clock", |arg| arg.hide(true)), mut_arg("volatility", |arg| arg.hide(true)))]
    Simulate(SimulateArgs),
    /// Infer the parameters and the hidden path of a record
    #[command(allow_negative_numbers = true, after_help = FIT_HELP)]
    Fit(Box<FitArgs>),
    /// Forecast from the end of a fitted record
    #[command(after_help = FORECAST_HELP)]
    Forecast(ForecastArgs),
    /// Update a fitted run with new rows: evidence, p-value and alarms for each, without refitting
    #[command(after_help = UPDATE_HELP)]
    Update(UpdateArgs),
    /// Score a forecast against the observations: CRPS, energy score, tails, coverage
    #[command(allow_negative_numbers = true, after_help = SCORE_HELP)]
    Score(ScoreArgs),
    /// Backtest models on rolling windows of a record with proper scoring rules
    #[command(after_help = BACKTEST_HELP)]
    Backtest(BacktestArgs),
    /// Compare models of a record: evidence, residuals and out-of-sample scores in one table
    #[command(after_help = COMPARE_HELP)]
    Compare(Box<CompareArgs>),
    /// Regenerate the report of a run
    #[command(after_help = REPORT_HELP)]
    Report(RenderArgs),
    /// Reproduce the tables of the paper behind this program, with the published figures alongside
    #[command(after_help = REPRODUCE_HELP)]
    Reproduce(ReproduceArgs),
    /// Exact evidence and posterior of a one-dimensional record, all parameters given
    #[command(allow_negative_numbers = true, after_help = EXACT_HELP, mut_arg("width", |arg| arg.hide(true)), mut_arg("depth", |arg| arg.hide(true)), mut_arg("clock", |arg| arg.hide(true)), mut_arg("volatility", |arg| arg.hide(true)))]
    Exact(ExactArgs),
    /// Check this machine and a data file (gaps, outliers, tails) and suggest a first fit
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Write a settings file with comments
    #[command(after_help = INIT_HELP)]
    Init(InitArgs),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them
    #[command(after_help = MAN_HELP)]
    Man(ManArgs),
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Directory for report.html, data.csv and what `fit` writes; created if missing
    #[arg(long, value_name = "DIR", default_value = "levytilt-demo")]
    pub out: PathBuf,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Directory for data.csv, truth.csv, truth.json and settings.toml; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Settings file; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// CSV file with times from 0 on and the columns of --inputs
    #[arg(long, value_name = "FILE", help_heading = "Drift")]
    pub inputs_file: Option<String>,
    /// Span.
    #[command(flatten)]
    pub simulate: SimulateSettings,
    /// Seed.
    #[command(flatten)]
    pub solve: SolveSettings,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Parameters by name.
#[derive(Debug, Clone, Args)]
pub struct SetArgs {
    /// Fix a parameter of a formula or of one dimension: "k=3", "theta[NVDA]=3", "x0[NVDA]=0"; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_parameter, help_heading = "Drift")]
    pub set: Vec<(String, f64)>,
}

impl SetArgs {
    fn parameters(&self) -> BTreeMap<String, Named> {
        self.set.iter().map(|(name, value)| (name.clone(), (*value).into())).collect()
    }
}

/// A model and the grid of its latent times.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Noise, observation, start.
    #[command(flatten)]
    pub model: ModelSettings,
    /// Drift.
    #[command(flatten)]
    pub drift: DriftSettings,
    /// Parameters by name.
    #[command(flatten)]
    pub set: SetArgs,
    /// Inputs.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Steps.
    #[command(flatten)]
    pub grid: GridSettings,
}

impl ModelArgs {
    /// What was given as flags.
    fn settings(&self) -> Settings {
        Settings {
            model: self.model.clone(),
            drift: self.drift.clone(),
            parameters: self.set.parameters(),
            inputs: self.inputs.settings(),
            grid: self.grid.clone(),
            ..Settings::default()
        }
    }
}

/// A record and the model for it, as `exact` and `fit` take them.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// CSV file, plain or gzipped, or - for standard input
    #[arg(value_name = "DATA")]
    pub source: String,
    /// Settings file; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Column.
    #[command(flatten)]
    pub data: DataSettings,
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
}

/// Flags of `exact`.
#[derive(Debug, Args)]
pub struct ExactArgs {
    /// The record and the model for it.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Directory for summary.json, posterior.csv and settings.toml; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// The record and the model for it.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Directory for the results; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed.
    #[command(flatten)]
    pub solve: SolveSettings,
    /// One more noise of this family that moves every column, with loadings learned: load[COLUMN], alpha[common]
    #[arg(long, value_name = "FAMILY", help_heading = "Noise", value_parser = NoiseName::parser())]
    pub noise_common: Option<NoiseName>,
    /// Solver [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "Solver", value_parser = method_parser())]
    pub method: Option<Method>,
    /// Initialisation of method neural: cold, sweep, or the directory of a run [default: cold]
    #[arg(long, value_name = "WHERE", help_heading = "Solver")]
    pub init: Option<Init>,
    /// Maximum number of iterations of methods neural and paper [default: 3000]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub iterations: Option<usize>,
    /// Mixture components per time in the message of method neural; more than one for sparse data [default: 1]
    #[arg(long, value_name = "M", help_heading = "Solver")]
    pub components: Option<usize>,
    /// With method neural, learn parameters jointly with the networks, not by sweeps beforehand; method paper always does
    #[arg(long, help_heading = "Solver")]
    pub alongside: bool,
    /// Draw the parameters from their posterior, weighted by evidence
    #[arg(long, help_heading = "Solver")]
    pub bayes: bool,
    /// Parameter draws of --bayes; up to five times as many more where these do not suffice [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub draws: Option<usize>,
    /// List moves between observations larger than X, beyond the drift, as jumps [default: the noise model's own jumps]
    #[arg(long, value_name = "X", help_heading = "Data")]
    pub jump_above: Option<f64>,
    /// Fit every series of a long table, in which this column names the series of each row; needs --out
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub panel: Option<String>,
    /// Parameters that all series of --panel share, separated by commas; with ~ after a name, partially pooled
    #[arg(long, value_name = "NAMES", help_heading = "Data", value_delimiter = ',')]
    pub share: Option<Vec<String>>,
    /// Paths written to paths.npz: a number, or all [default: as many as 20 MB hold]
    #[arg(long, value_name = "N", help_heading = "Solver")]
    pub keep_paths: Option<KeepPaths>,
    /// Choices of method paper.
    #[command(flatten)]
    pub paper: PaperArgs,
    /// Posterior paths and threads.
    #[command(flatten)]
    pub effort: EffortArgs,
    /// The figures alone.
    #[command(flatten)]
    pub plots: PlotArgs,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// CSV file to check, plain or gzipped, or - for standard input [default: check the machine only]
    #[arg(value_name = "DATA")]
    pub source: Option<String>,
    /// Columns, and how the table is written.
    #[command(flatten)]
    pub data: DataSettings,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// File to write, or - for standard output
    #[arg(value_name = "FILE", default_value = "levytilt.toml")]
    pub file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// Flags of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Flags of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory for the pages of all commands; created if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl SimulateArgs {
    /// What was given as flags.
    pub fn settings(&self) -> Settings {
        Settings { simulate: self.simulate.clone(), solve: self.solve.clone(), ..self.model.settings() }
    }
}

impl RecordArgs {
    /// What was given as flags.
    pub fn settings(&self) -> Settings {
        Settings { data: self.data.clone(), ..self.model.settings() }
    }
}

impl FitArgs {
    /// What was given as flags.
    pub fn settings(&self) -> Settings {
        let EffortArgs { paths, threads } = self.effort;
        let solve = SolveSettings {
            method: self.method,
            init: self.init.clone(),
            iterations: self.iterations,
            components: self.components,
            alongside: self.alongside.then_some(true),
            bayes: self.bayes.then_some(true),
            draws: self.draws,
            jump_above: self.jump_above,
            keep_paths: self.keep_paths,
            paths,
            threads,
            ..self.solve.clone()
        };
        let settings = self.record.settings();
        let data = DataSettings { panel: self.panel.clone(), share: self.share.clone(), ..settings.data };
        Settings { solve, paper: self.paper.settings(), data, ..settings }
    }
}
