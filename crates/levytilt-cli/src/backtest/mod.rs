//! Run `levytilt backtest`: rolling windows, every model on the same ones.

pub mod args;
pub mod score;
pub mod summary;
pub mod table;
pub mod windows;

use anyhow::{Context, Result};
use levytilt_baselines::{Forecaster, ForecasterOptions, forecaster};
use serde_json::{Value, json};
use std::collections::HashSet;

use crate::backtest::args::BacktestArgs;
use crate::backtest::score::{Line, Protocol, identity};
use crate::backtest::summary::{Judged, Scores, summarise};
use crate::backtest::windows::{Case, Cut, cut};
use crate::claim::Claim;
use crate::failure::bad;
use crate::input::{self, Table};
use crate::journal::Journal;
use crate::output::{Entry, say};
use crate::progress::Progress;
use crate::report;
use crate::resume::work_through;
use crate::threads::with_threads;

/// Most paths of a forecast.
const MOST_PATHS: usize = 1_000_000;

/// Backtest and report.
pub fn run(args: &BacktestArgs) -> Result<()> {
    let scores = backtest(args)?;
    if args.report.json {
        say(&serde_json::to_string_pretty(&scores).context("scores")?);
    } else if !args.report.quiet {
        let (used, skipped) = (scores.windows.len(), scores.skipped.len());
        say(&format!("{used} windows, {skipped} skipped, {} left out because a model failed", scores.failed.len()));
        scores.table().iter().for_each(|line| say(line));
        scores.warnings.iter().for_each(|warning| say(&format!("note: {warning}")));
        say(&format!("written: {}: report.html, windows.jsonl, scores.json, scores.md", args.out.display()));
    }
    Ok(())
}

/// Read, cut, forecast and score what is not finished yet, and write.
pub fn backtest(args: &BacktestArgs) -> Result<Scores> {
    let claim = Claim::new(&args.out)?;
    check_counts(args)?;
    let options = ForecasterOptions { steps: args.training_steps };
    let models: Vec<(&str, Box<dyn Forecaster>)> = (args.models.iter())
        .map(|name| Ok((name.as_str(), forecaster(name, &options)?)))
        .collect::<levytilt::Result<_>>()?;
    let reference = reference(args)?;
    let table = input::read(&args.source, &args.data.chosen())?;
    let windows = cut(args, &table)?;
    let settings = settings(args, &table, &windows);
    let lines = with_threads(Some(args.threads), || forecasts(args, &windows, &models, &settings))??;
    let judged = Judged {
        cases: &windows.cases,
        models: &args.models,
        lines: &lines,
        reference: &reference,
        dim: table.names.len(),
    };
    let (models, starts, failed) = summarise(&judged)?;
    let scores = Scores {
        data: table.source.clone(),
        dimensions: table.names.clone(),
        settings,
        unit: if args.log_returns { "units of the training part's spread" } else { "the unit of the data" },
        windows: starts,
        skipped: windows.skipped,
        failed,
        reference,
        models,
        version: env!("CARGO_PKG_VERSION"),
        warnings: windows.notes.into_iter().chain(table.calendar.warning()).collect(),
    };
    let [page, content] = report::entries(&report::backtest_page(&serde_json::to_value(&scores)?)?)?;
    let table = Entry::text("scores.md", scores.to_markdown());
    claim.save(&[Entry::json("scores.json", &scores), table, page, content])?;
    Ok(scores)
}

fn check_counts(args: &BacktestArgs) -> Result<()> {
    if !(2..=MOST_PATHS).contains(&args.paths) {
        return Err(bad(format!("--paths {}: expected at least 2 and at most {MOST_PATHS}", args.paths)));
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

/// All lines of these models and windows, those of earlier runs included.
fn forecasts(
    args: &BacktestArgs,
    windows: &Cut,
    models: &[(&str, Box<dyn Forecaster>)],
    settings: &Value,
) -> Result<Vec<Line>> {
    let (journal, mut lines) = Journal::open::<Line>(&args.out.join("windows.jsonl"), settings)?;
    let done: HashSet<(usize, &str)> = lines.iter().map(|line| (line.window, line.model.as_str())).collect();
    let mut tasks: Vec<(&Case, &str, &dyn Forecaster)> = Vec::new();
    for case in &windows.cases {
        let open = models.iter().filter(|(name, _)| !done.contains(&(case.number, name)));
        tasks.extend(open.map(|(name, model)| (case, *name, model.as_ref())));
    }
    let total = windows.cases.len() * models.len();
    let progress = Progress::new("forecasts", total, total - tasks.len(), args.report.quiet);
    let protocol = Protocol { paths: args.paths, seed: args.seed, tails: windows.tails.clone() };
    let fresh = work_through(&tasks, &journal, &progress, |(case, name, model)| Ok(protocol.line(case, name, *model)))?;
    lines.extend(fresh);
    lines.retain(|line| models.iter().any(|(name, _)| *name == line.model));
    Ok(lines)
}
