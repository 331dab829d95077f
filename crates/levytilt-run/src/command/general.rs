//! Fit a written-out model to a table and write what was found.

use anyhow::Result;
use levytilt::Context;
use std::path::PathBuf;

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::directory::state::{MODEL, NETWORK, STATE};
use crate::finite;
use crate::report;
use crate::settings::{DataSettings, NoiseName, Settings, inputs};
use crate::table::{self, Table};
use crate::threads::with_threads;
use crate::workflow::general::common::written_out;
use crate::workflow::general::fit::{self, Outcome, refuse};
use crate::workflow::general::settings::GeneralSettings;
use crate::workflow::general::summary::{write_jumps, write_paths, write_posterior};

pub use crate::workflow::general::summary::Summary;

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

/// Read, compute, write; `context` is told how it goes, and may ask for an end.
///
/// # Errors
/// A flag that does not fit a written-out model; a model or table that cannot be used.
pub fn run(request: Request, context: &Context) -> Result<Summary> {
    let Request { source, mut model, flags, out } = request;
    refuse(&flags)?;
    let out = out.as_deref().map(Lock::new).transpose()?;
    model.grid.steps = flags.grid.steps.or(model.grid.steps);
    model.solve.threads = flags.solve.threads.or(model.solve.threads);
    model.solve.paths = flags.solve.paths.or(model.solve.paths);
    model.solve.seed = flags.solve.seed.or(model.solve.seed);
    model.parameters.extend(flags.parameters);
    if flags.data != DataSettings::default() {
        model.data = flags.data;
    }
    let table = table::read(&source, &model.columns(), &model.data.format())?;
    let (table, known) = inputs::split(table, &model.inputs)?;
    model.known_inputs = known;
    complete(model, &table, out, context)
}

/// What to fit with a common noise beside each column's own.
#[derive(Debug, Clone)]
pub struct CommonRequest {
    /// File with the record, or - for standard input.
    pub source: String,
    /// The model of each column by itself.
    pub settings: Settings,
    /// Settings file, for what was not given.
    pub config: Option<PathBuf>,
    /// Family of the common noise.
    pub family: NoiseName,
    /// Directory for the results.
    pub out: Option<PathBuf>,
}

/// Read, write the model out, compute, write.
///
/// # Errors
/// A setting that a model with a common noise does not know; a model or table that cannot be used.
pub fn run_common(request: CommonRequest, context: &Context) -> Result<Summary> {
    let CommonRequest { source, settings, config, family, out } = request;
    let out = out.as_deref().map(Lock::new).transpose()?;
    let settings = settings.with_config(config.as_deref())?;
    let table = table::read(&source, &settings.data.chosen(), &settings.data.format())?;
    complete(written_out(&settings, family, &table)?, &table, out, context)
}

fn complete(model: GeneralSettings, table: &Table, lock: Option<Lock>, context: &Context) -> Result<Summary> {
    let outcome = with_threads(model.solve.threads, || fit::complete(model, table, context))??;
    if let Some(lock) = lock {
        save(lock, &outcome, table)?;
    }
    Ok(outcome.summary)
}

/// Write the files of a run.
///
/// # Errors
/// A directory that cannot be written to.
pub fn save(lock: Lock, outcome: &Outcome, table: &Table) -> Result<()> {
    let Outcome { fit, summary, settings, model, state } = outcome;
    let [page, content] = report::entries(report::general_page(fit, summary, table, settings))?;
    lock.save(&[
        Entry::json("summary.json", summary),
        Entry::new("posterior.csv", |out| write_posterior(out, fit, &table.calendar)),
        Entry::new("jumps.csv", |out| write_jumps(out, fit, &table.calendar)),
        Entry::new("paths.npz", |out| write_paths(out, fit)),
        Entry::text("settings.toml", settings.to_toml()?),
        Entry::text(MODEL, model.to_toml()?),
        Entry::text(STATE, finite::json(state)? + "\n"),
        Entry::gone(NETWORK),
        page,
        content,
    ])
}
