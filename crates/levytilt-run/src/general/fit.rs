//! Fit a written-out model to a table and write what was found.

use anyhow::Result;
use levytilt::general::{GeneralFit, GeneralOptions, fit_general};
use levytilt::progress::{Watcher, watched};
use levytilt::series::{Observations, TimeGrid};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Instant;

use super::page::page;
use super::settings::GeneralSettings;
use super::summary::{write_jumps, write_paths, write_posterior};
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::directory::state::{History, MODEL, NETWORK, STATE};
use crate::failure::bad;
use crate::finite;
use crate::report;
use crate::settings::{DataSettings, Settings};
use crate::table::time::Calendar;
use crate::table::{self, Table};
use crate::threads::with_threads;
use crate::workflow::exact::locate;

pub use super::summary::Summary;

/// What to fit, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// File with the record, or - for standard input.
    pub source: String,
    /// What the settings file says.
    pub model: GeneralSettings,
    /// What was given as flags.
    pub flags: Settings,
    /// Directory for the results.
    pub out: Option<PathBuf>,
}

/// What a forecast needs of a fit: the content of state.json.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GeneralState {
    /// Names of the observed columns.
    pub columns: Vec<String>,
    /// Last latent time.
    pub time: f64,
    /// Typical latent step.
    pub step: f64,
    /// First and last timestamp; nothing if times are numbers.
    pub stamps: Vec<String>,
    /// Posterior states at the last time, state fastest.
    pub ends: Vec<f64>,
    /// Seed of the fit.
    pub seed: u64,
    /// Whether a parameter was learned.
    pub learned: bool,
    /// The end of the record.
    pub history: History,
}

/// Read, compute, write; the watcher made by `watcher` is told of every step of learning, and may ask for an end.
///
/// # Errors
/// A flag that does not fit a written-out model; a model or table that cannot be used.
pub fn run(request: Request, watcher: impl FnOnce() -> Watcher + Send) -> Result<Summary> {
    let Request { source, mut model, flags, out } = request;
    refuse(&flags)?;
    let lock = out.as_deref().map(Lock::new).transpose()?;
    model.grid.steps = flags.grid.steps.or(model.grid.steps);
    let threads = flags.solve.threads.or(model.solve.threads.take());
    let paths = flags.solve.paths.or(model.solve.paths).unwrap_or(GeneralOptions::default().paths);
    let seed = flags.solve.seed.or(model.solve.seed).unwrap_or(1);
    (model.solve.paths, model.solve.seed) = (Some(paths), Some(seed));
    model.parameters.extend(flags.parameters);
    if flags.data != DataSettings::default() {
        model.data = flags.data;
    }
    let table = table::read(&source, &model.columns(), &model.data.format())?;
    let options = GeneralOptions { paths, seed, ..GeneralOptions::default() };
    let started = Instant::now();
    let fit = with_threads(threads, || watched(watcher(), || analyse(&model, &table, &options)))??;
    let summary = Summary::new(&fit, &table.calendar, seed, started.elapsed().as_secs_f64());
    if let Some(lock) = lock {
        save(lock, &fit, &summary, &model, &table)?;
    }
    Ok(summary)
}

/// Fit the columns of `table`.
pub fn analyse(model: &GeneralSettings, table: &Table, options: &GeneralOptions) -> Result<GeneralFit> {
    let spec = model.spec(&table.names)?;
    let compute = || {
        let series = Observations::new(table.times.clone(), table.columns.clone(), table.names.clone())?;
        let grid = TimeGrid::new(series.times(), model.grid.steps)?;
        let columns: Vec<&[f64]> = (0..series.dim()).map(|i| series.column(i)).collect();
        fit_general(&spec, &grid, &columns, options)
    };
    compute().map_err(|error| locate(error, table))
}

/// Flags that say what the model is belong to models that are not written out.
fn refuse(flags: &Settings) -> Result<()> {
    let solve = &flags.solve;
    let given = [
        (flags.model != Default::default(), "a flag of the noise, the observations or the start"),
        (flags.drift != Default::default(), "a flag of the drift"),
        (!flags.data.chosen().is_empty(), "--column or --columns"),
        (solve.method.is_some(), "--method"),
        (solve.bayes.is_some() || solve.draws.is_some(), "--bayes or --draws, which need exact evidence,"),
        (solve.init.is_some() || solve.iterations.is_some() || solve.components.is_some(), "a flag of method neural"),
    ];
    match given.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(bad(format!(
            "{what} does not go with a settings file that has [states]: write it there, or use --set \"NAME=VALUE\" to fix \
             a parameter"
        ))),
        None => Ok(()),
    }
}

fn save(lock: Lock, fit: &GeneralFit, summary: &Summary, model: &GeneralSettings, table: &Table) -> Result<()> {
    let filled = model.filled(&fit.parameters, &table.names);
    let state = finite::json(&state(fit, table, summary.seed))?;
    let [page, content] = report::entries(&page(fit, summary, table))?;
    lock.save(&[
        Entry::json("summary.json", summary),
        Entry::new("posterior.csv", |out| write_posterior(out, fit, &table.calendar)),
        Entry::new("jumps.csv", |out| write_jumps(out, fit, &table.calendar)),
        Entry::new("paths.npz", |out| write_paths(out, fit)),
        Entry::text("settings.toml", toml::to_string(model)?),
        Entry::text(MODEL, toml::to_string(&filled)?),
        Entry::text(STATE, state + "\n"),
        Entry::gone(NETWORK),
        page,
        content,
    ])
}

fn state(fit: &GeneralFit, table: &Table, seed: u64) -> GeneralState {
    let mut lengths: Vec<f64> = fit.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    lengths.sort_by(f64::total_cmp);
    let (dim, last) = (fit.model.dim(), fit.times.len() - 1);
    let ends = [table.times[0], table.times[table.times.len() - 1]];
    GeneralState {
        columns: table.names.clone(),
        time: ends[1],
        step: lengths[lengths.len() / 2],
        stamps: match table.calendar {
            Calendar::Numbers => Vec::new(),
            Calendar::Days(_) => ends.iter().map(|&time| table.calendar.write(time)).collect(),
        },
        ends: fit.smoothed.paths.iter().flat_map(|path| path.states[last * dim..].to_vec()).collect(),
        seed,
        learned: fit.parameters.iter().any(|p| !p.fixed),
        history: History::new(table),
    }
}
