//! Compare models of a record and write the table.

use anyhow::Result;
use levytilt::Context;
use std::path::{Path, PathBuf};

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::interrupt;
use crate::report::{self, compare_page};
use crate::settings::{DataSettings, Settings};
use crate::table::{self, Table};
use crate::threads::with_threads;
use crate::workflow::compare::entrants::{Wanted, common_data};
use crate::workflow::compare::{Comparison, compare};

/// The files that a comparison writes.
pub const FILES: [&str; 4] = ["summary.json", "compare.csv", "report.html", "report.json"];

/// What to compare, and where to write it.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// File with the record, or - for standard input.
    pub source: String,
    /// The models.
    pub wanted: Wanted,
    /// What was given as flags, for all of them.
    pub flags: Settings,
    /// Settings file under every combination of noise and drift.
    pub config: Option<PathBuf>,
    /// Share of the rows to hold out.
    pub holdout: f64,
    /// Directory for the results.
    pub out: Option<PathBuf>,
}

/// Read, compare, write; `context` is told how it goes, and may ask for an end.
pub fn run(request: &Request, context: &Context) -> Result<Comparison> {
    let lock = request.out.as_deref().map(|dir| Lock::for_files(dir, &FILES)).transpose()?;
    let entrants = request.wanted.entrants(&request.flags, request.config.as_deref())?;
    let data = match request.flags.data == DataSettings::default() {
        true => common_data(&entrants)?,
        false => request.flags.data.clone(),
    };
    let table =
        table::read(&request.source, &data.chosen(), &data.format())?.with_errors(data.error_column.as_deref())?;
    let found = with_threads(request.flags.solve.threads, || {
        compare(entrants, &table, request.holdout, context, &interrupt::asked)
    })??;
    lock.map_or(Ok(()), |lock| write(lock, &found, &table))?;
    Ok(found)
}

/// Write the files of a comparison of models of `table` into `dir`.
pub fn save(dir: &Path, found: &Comparison, table: &Table) -> Result<()> {
    write(Lock::for_files(dir, &FILES)?, found, table)
}

fn write(lock: Lock, found: &Comparison, table: &Table) -> Result<()> {
    let [page, content] = report::entries(compare_page(found, table))?;
    lock.save(&[
        Entry::json("summary.json", found),
        Entry::new("compare.csv", |out| found.write_csv(out)),
        page,
        content,
    ])
}
