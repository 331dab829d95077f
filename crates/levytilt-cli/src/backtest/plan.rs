//! Plan a backtest: its windows, its models, and what decides the figures. Where the windows are forecast is left open.

use anyhow::Result;
use levytilt_baselines::{Forecaster, ForecasterOptions, forecaster, is_network};
use serde_json::{Value, json};
use std::collections::HashSet;

use crate::backtest::args::BacktestArgs;
use crate::backtest::score::{Line, Protocol, identity};
use crate::backtest::summary::{Judged, Scores, summarise};
use crate::backtest::windows::{Case, Cut, cut};
use crate::claim::Claim;
use crate::failure::bad;
use crate::input::Table;
use crate::journal::Journal;
use crate::output::Entry;
use crate::report;

/// Most paths of a forecast.
const MOST_PATHS: usize = 1_000_000;

/// A backtest ready to run.
pub struct Plan {
    args: BacktestArgs,
    table: Table,
    windows: Cut,
    models: Vec<(String, Box<dyn Forecaster>)>,
    protocol: Protocol,
    reference: String,
    settings: Value,
}

/// One window for one model.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    case: &'a Case,
    name: &'a str,
    model: &'a dyn Forecaster,
}

impl Task<'_> {
    /// Number of the window and name of the model.
    pub fn id(&self) -> (usize, &str) {
        (self.case.number, self.name)
    }
}

impl Plan {
    /// Check what was asked for, then `read` the data and cut them.
    pub fn new(args: &BacktestArgs, read: impl FnOnce() -> Result<Table>) -> Result<Self> {
        check_counts(args)?;
        let options = ForecasterOptions { steps: args.training_steps };
        let models = (args.models.iter())
            .map(|name| Ok((name.clone(), forecaster(name, &options)?)))
            .collect::<levytilt::Result<_>>()?;
        let reference = reference(args)?;
        let table = read()?;
        let windows = cut(args, &table)?;
        let settings = settings(args, &table, &windows);
        let protocol = Protocol { paths: args.paths, seed: args.seed, tails: windows.tails.clone() };
        Ok(Self { args: args.clone(), table, windows, models, protocol, reference, settings })
    }

    /// What was asked for.
    pub fn args(&self) -> &BacktestArgs {
        &self.args
    }

    /// Forecasts in all.
    pub fn size(&self) -> usize {
        self.windows.cases.len() * self.models.len()
    }

    /// Open the journal, and read what is finished.
    pub fn open(&self) -> Result<(Journal, Vec<Line>)> {
        Journal::open(&self.args.out.join("windows.jsonl"), &self.settings)
    }

    /// What `lines` do not hold yet, window after window.
    pub fn missing(&self, lines: &[Line]) -> Vec<Task<'_>> {
        let done: HashSet<(usize, &str)> = lines.iter().map(|line| (line.window, line.model.as_str())).collect();
        self.tasks().filter(|task| !done.contains(&task.id())).collect()
    }

    fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        let of = |case| self.models.iter().map(move |(name, model)| Task { case, name, model: model.as_ref() });
        self.windows.cases.iter().flat_map(of)
    }

    /// The task with this window and this model.
    pub fn task(&self, window: usize, model: &str) -> Result<Task<'_>> {
        let found = self.tasks().find(|task| task.id() == (window, model));
        found.ok_or_else(|| bad(format!("the backtest has no window {window} for a model {model}")))
    }

    /// Forecast and score.
    pub fn line(&self, task: &Task) -> Line {
        self.protocol.line(task.case, task.name, task.model)
    }

    /// Put all lines together, and write; lines of other models may be among them.
    pub fn finish(&self, claim: Claim, mut lines: Vec<Line>) -> Result<Scores> {
        let Self { args, table, windows, models, reference, settings, .. } = self;
        lines.retain(|line| models.iter().any(|(name, _)| *name == line.model));
        let judged =
            Judged { cases: &windows.cases, models: &args.models, lines: &lines, reference, dim: table.names.len() };
        let (models, starts, failed) = summarise(&judged)?;
        let scores = Scores {
            data: table.source.clone(),
            dimensions: table.names.clone(),
            settings: settings.clone(),
            unit: if args.log_returns { "units of the training part's spread" } else { "the unit of the data" },
            windows: starts,
            skipped: windows.skipped.clone(),
            failed,
            reference: reference.clone(),
            models,
            version: env!("CARGO_PKG_VERSION"),
            warnings: windows.notes.iter().cloned().chain(table.calendar.warning()).collect(),
        };
        let [page, content] = report::entries(&report::backtest_page(&serde_json::to_value(&scores)?)?)?;
        let table = Entry::text("scores.md", scores.to_markdown());
        claim.save(&[Entry::json("scores.json", &scores), table, page, content])?;
        Ok(scores)
    }
}

fn check_counts(args: &BacktestArgs) -> Result<()> {
    if !(2..=MOST_PATHS).contains(&args.paths) {
        return Err(bad(format!("--paths {}: expected at least 2 and at most {MOST_PATHS}", args.paths)));
    }
    if args.training_steps.is_some() && !args.models.iter().any(|name| is_network(name)) {
        return Err(bad(
            "--training-steps: none of the models is a trained network; leave it out, or see --models in --help",
        ));
    }
    match (1..args.models.len()).find(|&k| args.models[..k].contains(&args.models[k])) {
        Some(twice) => Err(bad(format!("--models: {} is named twice; expected each once", args.models[twice]))),
        None => Ok(()),
    }
}

fn reference(args: &BacktestArgs) -> Result<String> {
    let has = |name: &String| args.models.contains(name);
    match &args.reference {
        Some(name) if !has(name) => Err(bad(format!("--reference {name}: is not among the models"))),
        Some(name) => Ok(name.clone()),
        None => {
            let walk = Some("random-walk".to_string()).filter(has);
            walk.or(args.models.first().cloned()).ok_or_else(|| bad("--models: expected at least one"))
        }
    }
}

/// What decides the figures, but for the list of models: lines of other models may stand in the same journal.
fn settings(args: &BacktestArgs, table: &Table, windows: &Cut) -> Value {
    let numbers = table.times.iter().chain(table.columns.iter().flatten());
    let fingerprint = numbers.fold(0u64, |hash, x| identity(&format!("{hash} {x}")));
    json!({
        "dimensions": table.names,
        "data_fingerprint": format!("{fingerprint:016x}"),
        "log_returns": args.log_returns,
        "from": table.calendar.write(windows.rolling.from),
        "to": table.calendar.write(windows.rolling.to),
        "train": windows.rolling.train,
        "horizon": windows.rolling.horizon,
        "stride": windows.rolling.stride,
        "least": windows.rolling.least,
        "paths": args.paths,
        "seed": args.seed,
        "training_steps": args.training_steps,
        "version": env!("CARGO_PKG_VERSION"),
    })
}
