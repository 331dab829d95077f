//! Fit columns of files at default settings and list what is noted: `scripts/validate records FILE.csv:COLUMN...`.

use anyhow::{Result, anyhow};
use levytilt::Context;
use levytilt_run::settings::{DataSettings, Settings};
use levytilt_run::table;
use levytilt_run::workflow::fit::analyse;
use std::time::Instant;

fn main() -> Result<()> {
    for file in std::env::args().skip(1) {
        let (path, column) = file.rsplit_once(':').ok_or_else(|| anyhow!("{file}: expected FILE.csv:COLUMN"))?;
        let data = DataSettings { column: Some(column.into()), ..DataSettings::default() };
        let read = table::read(path, &data.chosen(), &data.format())?;
        let started = Instant::now();
        let found = analyse(Settings { data, ..Settings::default() }, &read, &Context::silent())?;
        let (summary, seconds) = (&found.summary, started.elapsed().as_secs_f64());
        println!("| {column} | {} | {} | {seconds:.1} s |", summary.observations, summary.posterior);
        summary.warnings.iter().for_each(|note| println!("  {note}"));
    }
    Ok(())
}
