//! Declare the command line; the help texts are meant to be all the manual a user needs.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

use crate::settings::{DataSettings, DriftSettings, GridSettings, ModelSettings, Settings};
use crate::settings::{SimulateSettings, SolveSettings};

/// Inference for systems that jump: dX = f(X) dt + dL, with heavy-tailed noise L, seen through noisy observations.
#[derive(Debug, Parser)]
#[command(name = "levytilt", version, after_help = OVERVIEW, max_term_width = 120)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See it work: an embedded ice-core record, jumps against plain diffusion
    #[command(after_help = DEMO_HELP)]
    Demo(DemoArgs),
    /// Draw a synthetic data set whose truth is known
    #[command(allow_negative_numbers = true, after_help = SIMULATE_HELP)]
    Simulate(SimulateArgs),
    /// Exact evidence and posterior of a one-dimensional record, all parameters given
    #[command(allow_negative_numbers = true, after_help = EXACT_HELP)]
    Exact(ExactArgs),
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Directory for data.csv, summary.json, posterior.csv and settings.toml; made if missing
    #[arg(long, value_name = "DIR", default_value = "levytilt-demo")]
    pub out: PathBuf,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Flags of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Directory for data.csv, truth.csv, truth.json and settings.toml; made if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Settings file; flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Noise, observation, start.
    #[command(flatten)]
    pub model: ModelSettings,
    /// Drift.
    #[command(flatten)]
    pub drift: DriftSettings,
    /// Steps.
    #[command(flatten)]
    pub grid: GridSettings,
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

/// Flags of `exact`.
#[derive(Debug, Args)]
pub struct ExactArgs {
    /// CSV file, plain or gzipped, or - for standard input
    #[arg(value_name = "DATA")]
    pub source: String,
    /// Directory for summary.json, posterior.csv and settings.toml; made if missing
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Settings file; flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Column.
    #[command(flatten)]
    pub data: DataSettings,
    /// Noise, observation, start.
    #[command(flatten)]
    pub model: ModelSettings,
    /// Drift.
    #[command(flatten)]
    pub drift: DriftSettings,
    /// Steps.
    #[command(flatten)]
    pub grid: GridSettings,
    /// How to report.
    #[command(flatten)]
    pub report: ReportArgs,
}

/// How to report.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Print nothing but errors (and the JSON, if asked for)
    #[arg(long)]
    pub quiet: bool,
}

impl SimulateArgs {
    /// What was given as flags.
    pub fn settings(&self) -> Settings {
        Settings {
            model: self.model.clone(),
            drift: self.drift.clone(),
            grid: self.grid.clone(),
            simulate: self.simulate.clone(),
            solve: self.solve.clone(),
            ..Settings::default()
        }
    }
}

impl ExactArgs {
    /// What was given as flags.
    pub fn settings(&self) -> Settings {
        Settings {
            data: self.data.clone(),
            model: self.model.clone(),
            drift: self.drift.clone(),
            grid: self.grid.clone(),
            ..Settings::default()
        }
    }
}

const OVERVIEW: &str = "\
Start here:
  levytilt demo
  levytilt simulate --theta 3 --mu 1 --alpha 1.5 --scale 2 --observation-std 0.1 --out sim
  levytilt exact sim/data.csv --config sim/settings.toml

Data is CSV (or .csv.gz) with a header row. The first column is time: numbers, or ISO 8601 timestamps or dates.
The other columns are observed values; nothing, NaN or NA where a value is missing. Times may be irregular, rows in
any order. `levytilt COMMAND --help` has the details and more examples.

Settings come from flags or from a TOML file (--config), whose keys are named like the flags:
  [model]    drift noise alpha scale tau sigma_g tempering nu dof rate jump_std brownian observation_std x0 x0_std
  [drift]    theta mu theta1 theta2 slope offset
  [grid]     steps
  [data]     column
  [simulate] span every
  [solve]    seed
Flags win over the file. A noise or drift chosen by a flag sets aside the parameters of the one in the file. The
settings in effect are saved as settings.toml beside the results, ready for --config.

Exit codes: 0 done, 1 the computation failed, 2 wrong input (the message says what and where). A command that fails
leaves no half-written files.";

const DEMO_HELP: &str = "\
The record: calcium dust in Greenland ice (NGRIP), 10-year means, 60 000 to 11 700 years before present. Climate there
has two states and jumps between them. The demo computes how probable the record is when the state of a double well
is driven by heavy-tailed jumps, and when it is driven by plain diffusion, and says which wins and by how much. It
takes some seconds.

Examples:
  levytilt demo
  levytilt demo --out results --json";

const SIMULATE_HELP: &str = "\
Draws x' = flow(x) + J over steps of span / steps from time 0 on, with exact draws of the jumps J, and observes every
N-th state with Gaussian error. Every parameter of the drift and of the noise and --observation-std must be given;
--steps is 1000 if left out, --x0 is 0. The same seed gives the same files, byte for byte.

Writes data.csv (time,value), truth.csv (time,value: the states), truth.json (parameters), settings.toml.

Examples:
  levytilt simulate --drift ou --theta 3 --mu 1 --noise stable --alpha 1.5 --scale 2 --steps 1000 --span 10 \\
      --observation-std 0.1 --every 1 --x0 0 --seed 1 --out sim
  levytilt simulate --drift double-well --theta1 4 --theta2 1 --noise gaussian --scale 1 --observation-std 0.2 \\
      --every 5 --out wells";

const EXACT_HELP: &str = "\
Computes on a grid, without sampling: the log evidence of the record (the log density of all observations, Gaussian
constants included) and mean, sd and quantiles of the state at every latent time. The model is x' = flow(x) + J over
every step between latent times: the observation times and, with --steps N, N equal steps over the span; without it
gaps longer than a thousandth of the span are split evenly.

Every parameter of the chosen drift and noise and --observation-std must be given. Without --x0 the state at the
first time is Gaussian around the first observed value, with standard deviation --x0-std or, without that, 10 times
--observation-std. Rates and scales are per unit of time: the unit of numeric times, days for timestamps.
Timestamps may carry a zone (2024-03-01T09:30:00+01:00, ...[Europe/Berlin]), which is honoured; without one they are
taken as UTC. Results print times the way the input wrote them.

Prints a summary. With --out writes summary.json, posterior.csv (time,dimension,mean,sd,q05,q25,q50,q75,q95; a value
that does not exist, such as the sd of a law without variance, is left empty) and settings.toml.

Examples:
  levytilt exact data.csv --drift ou --theta 3 --mu 1 --noise stable --alpha 1.5 --scale 2 --observation-std 0.1
  levytilt exact data.csv.gz --column price --drift none --noise student --dof 4 --scale 1 --observation-std 0.05 \\
      --out run
  levytilt exact data.csv --config run/settings.toml --noise gaussian --scale 3 --json
  cat data.csv | levytilt exact - --config run/settings.toml";
