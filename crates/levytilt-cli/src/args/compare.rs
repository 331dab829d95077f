//! Declare the flags of `compare`.

use clap::Args;
use levytilt_run::command::compare::Request;
use levytilt_run::settings::season::SeasonArgs;
use levytilt_run::settings::{
    Clock, DataSettings, DriftSettings, ErrorName, GridSettings, InputArgs, Method, ModelSettings, Settings,
    SizeFormula, SolveSettings, Volatility, method_parser, parse_parameter,
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
    /// Laws of the observation errors, separated by commas
    #[arg(long, value_name = "LAWS", value_delimiter = ',', value_parser = ErrorName::parser())]
    pub errors: Vec<ErrorName>,
    /// Time scales of the noise, separated by commas; times in days
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub clock: Vec<Clock>,
    /// Volatilities of the noise, separated by commas; times in days
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub volatility: Vec<Volatility>,
    /// Seasons in the drift of every model.
    #[command(flatten)]
    pub season: SeasonArgs,
    /// Size of the noise of every model as a formula of state x, such as "1 + s*abs(x)" [default: 1]
    #[arg(long, value_name = "FORMULA", allow_hyphen_values = true)]
    pub size: Option<SizeFormula>,
    /// Inputs of every model.
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Settings file under every combination of the lists
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
                errors: self.errors.clone(),
                clocks: self.clock.clone(),
                volatilities: self.volatility.clone(),
                held: self.set.clone(),
            },
            flags: Settings {
                data: self.data.clone(),
                model: ModelSettings { size: self.size.clone(), ..ModelSettings::default() },
                drift: DriftSettings {
                    season: self.season.season.clone(),
                    harmonics: self.season.harmonics,
                    ..DriftSettings::default()
                },
                inputs: self.inputs.settings(),
                grid: self.grid.clone(),
                solve,
                ..Settings::default()
            },
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

--models takes settings files as `fit --config` does, also those that write states out. --drift, --noise, --errors, --clock
and --volatility take lists, and every combination is a model; without one of them its default, or that of --config, is used.
--season, --size and --inputs are for every model. The lengths that a business clock learns count as parameters. Give
formulas in quotes: --drift 'ou,theta*(mu - x)^3'.

With --out writes report.html (the report), compare.csv (a row per model, with two columns per parameter) and
summary.json; with --plots also the figures of the page as files.

Examples:
  levytilt compare data.csv --noise stable,nig,gaussian --drift ou,none --out which
  levytilt compare data.csv --noise auto --holdout 0
  levytilt compare data.csv --noise stable,student --errors gaussian,outliers
  levytilt compare data.csv --drift 'ou,-k*x^3' --noise nig --set observation_std=0.1 --json
  levytilt compare data.csv --models mine.toml,other.toml --out which";
