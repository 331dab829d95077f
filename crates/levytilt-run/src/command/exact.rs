//! Compute exact evidence and posterior of a record and write them.

use anyhow::Result;
use std::path::PathBuf;

use crate::directory::lock::Lock;
use crate::settings::Settings;
use crate::settings::inputs::take;
use crate::table;
use crate::workflow::exact::{Outcome, analyse, write};

/// What to infer, and where to write it.
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

/// Read, compute, write.
pub fn run(request: Request) -> Result<Outcome> {
    let Request { source, settings, config, out } = request;
    settings.drift.without_network("exact")?;
    let lock = out.as_deref().map(Lock::new).transpose()?;
    let mut settings = settings.with_config(config.as_deref())?;
    let table = table::read(&source, &settings.chosen_columns(), &settings.data.format())?;
    let table = take(table, &mut settings)?.with_errors(settings.data.error_column.as_deref())?;
    let outcome = analyse(settings, &table)?;
    if let Some(lock) = lock {
        write(lock, &outcome, &table)?;
    }
    Ok(outcome)
}
