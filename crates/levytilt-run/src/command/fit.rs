//! Fit a record and write what was found.

use anyhow::Result;
use levytilt::Context;
use serde::Serialize;
use std::path::{Path, PathBuf};

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::directory::networks;
use crate::directory::state::{MODEL, NETWORK, STATE};
use crate::directory::training::{self, kept_in};
use crate::finite;
use crate::report::{self, Material};
use crate::settings::Settings;
use crate::settings::inputs::take;
use crate::table::{self, Table};
use crate::threads::with_threads;
use crate::workflow::exact;
use crate::workflow::filtering::write_residuals;
use crate::workflow::fit::bayes::{DRAWS_FILE, write_draws};
use crate::workflow::fit::outliers::{OUTLIERS, write_outliers};
use crate::workflow::fit::summary::{write_jumps, write_paths, write_posterior};
use crate::workflow::fit::{Outcome, analyse};

/// The files that a fit may write.
pub const FILES: [&str; 13] = [
    "summary.json",
    "posterior.csv",
    "jumps.csv",
    "residuals.csv",
    "paths.npz",
    "settings.toml",
    MODEL,
    STATE,
    NETWORK,
    DRAWS_FILE,
    OUTLIERS,
    "report.html",
    "report.json",
];

/// What to fit, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// File with the record, or - for standard input.
    pub source: String,
    /// What was given.
    pub settings: Settings,
    /// Settings file, for what was not given.
    pub config: Option<PathBuf>,
    /// Directory for the results.
    pub out: Option<PathBuf>,
}

/// Read, compute, write; `context` is told how it goes, and may ask for an end.
pub fn run(request: Request, context: &Context) -> Result<Outcome> {
    let Request { source, settings, config, out } = request;
    let lock = out.as_deref().map(|dir| Lock::for_files(dir, &FILES)).transpose()?;
    let mut settings = settings.with_config(config.as_deref())?;
    let table = table::read(&source, &settings.chosen_columns(), &settings.data.format())?;
    let table = take(table, &mut settings)?.with_errors(settings.data.error_column.as_deref())?;
    let threads = settings.solve.threads;
    let context = kept_in(context, out.as_deref());
    let outcome = with_threads(threads, || analyse(settings, &table, &context))??;
    if let Some(lock) = lock {
        let mut files = entries(&outcome, &table, &outcome.summary, None)?;
        files.extend(training::left_over(&context));
        lock.save(&files)?;
    }
    Ok(outcome)
}

/// Write the files of a fit to `table` into `dir`.
pub fn save(dir: &Path, outcome: &Outcome, table: &Table) -> Result<()> {
    Lock::new(dir)?.save(&entries(outcome, table, &outcome.summary, None)?)
}

/// The files of a run, with `summary` in summary.json, and `rival` compared with in the report.
pub fn entries<'a>(
    outcome: &'a Outcome,
    table: &'a Table,
    summary: &'a impl Serialize,
    rival: Option<&exact::summary::Summary>,
) -> Result<Vec<Entry<'a>>> {
    let page = report::fit_page(&Material { outcome, table, rival })?;
    let state = finite::json(&outcome.state)?;
    let mut entries = vec![
        Entry::json("summary.json", summary),
        Entry::new("posterior.csv", |out| write_posterior(out, &outcome.fit, &table.calendar, &table.names)),
        Entry::new("jumps.csv", |out| write_jumps(out, &outcome.fit, &table.calendar, &table.names)),
        match &outcome.filtered {
            None => Entry::gone("residuals.csv"),
            Some(found) => {
                Entry::new("residuals.csv", |out| write_residuals(out, found, &table.calendar, &table.names))
            }
        },
        Entry::new("paths.npz", |out| write_paths(out, &outcome.fit, outcome.settings.solve.keep_paths)),
        Entry::toml("settings.toml", &outcome.settings)?,
        Entry::toml(MODEL, &outcome.model)?,
        Entry::text(STATE, state + "\n"),
    ];
    entries.push(match &outcome.drawn {
        Some(drawn) => Entry::new(DRAWS_FILE, |out| write_draws(out, drawn)),
        None => Entry::gone(DRAWS_FILE),
    });
    entries.push(match outcome.fit.wrong.is_empty() {
        true => Entry::gone(OUTLIERS),
        false => Entry::new(OUTLIERS, |out| write_outliers(out, &outcome.fit, table)),
    });
    entries.extend(report::entries(page)?);
    let networks = networks::tensors(outcome.fit.network.as_ref().map(|n| &n.drift), outcome.trained.as_ref())?;
    entries.push(match networks.is_empty() {
        true => Entry::gone(NETWORK),
        false => Entry::new(NETWORK, move |out| networks.write(out)),
    });
    Ok(entries)
}
