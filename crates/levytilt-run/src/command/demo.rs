//! Fit the record of the demo and write what was found.

use anyhow::Result;
use levytilt::Context;
use std::path::Path;

use crate::command::fit::{FILES, entries};
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::table::Table;
use crate::workflow::demo::{Comparison, compare, introduction, record, write_data};

/// The demo, before it runs.
pub struct Demo {
    lock: Lock,
    table: Table,
}

impl Demo {
    /// Lock `dir` for the results, and read the record.
    pub fn new(dir: &Path) -> Result<Self> {
        let files = [&FILES[..], &["data.csv"]].concat();
        Ok(Self { lock: Lock::for_files(dir, &files)?, table: record()? })
    }

    /// What the record is.
    pub fn introduction(&self) -> String {
        introduction(&self.table)
    }

    /// Fit the model with jumps, compare it with its rival, write.
    pub fn run(self, context: &Context) -> Result<Comparison> {
        let Self { lock, table } = self;
        let found = compare(&table, context)?;
        let summary = found.comparison;
        let mut files = entries(&found.jumps, &table, &summary, Some(&summary.rival))?;
        files.push(Entry::new("data.csv", |out| write_data(out, &table)));
        lock.save(&files)?;
        drop(files);
        Ok(summary)
    }
}
