//! The demo: an ice-core record with two climate states, driven by jumps or by plain diffusion?

use anyhow::Result;
use levytilt::Context;
use serde::Serialize;
use std::io::Write;

use crate::number::number;
use crate::table::Format;
use crate::table::input::{self, Table};
use crate::table::time::Calendar;
use crate::workflow::exact;
use crate::workflow::exact::summary::Summary;
use crate::workflow::fit;

const RECORD: &str = include_str!("../../data/ngrip_10yr.csv");

/// The ice age ended 11 650 years before 1950; the warm age after it has a single state.
const END_OF_ICE_AGE: f64 = 11_650.0;

/// Halfway between the two maxima of the histogram of -ln Ca, at about -5.6 (cold) and -3.8 (warm).
const MIDDLE: f64 = 4.7;

/// The model to fit.
const JUMPS: &str = "model = { drift = 'double-well', noise = 'stable' }";
/// Its rival at the parameters that maximise its evidence (found by `scripts/validate ngrip_search`; the
/// same search finds a log evidence of 469.9 for the model with jumps).
const DIFFUSION: &str = "
model = { drift = 'double-well', noise = 'gaussian', scale = 1.441, observation_std = 0.139 }
drift = { theta1 = 1.143, theta2 = 1.585 }";

/// The content of summary.json: the model with jumps, and its rival.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The model with jumps.
    #[serde(flatten)]
    pub jumps: fit::summary::Summary,
    /// Plain diffusion.
    pub rival: Summary,
}

/// The fit of the model with jumps, and how it compares.
pub struct Demo {
    /// The fit.
    pub jumps: fit::Outcome,
    /// Its figures beside those of its rival.
    pub comparison: Comparison,
}

/// Fit the model with jumps to the record, and compare it with its rival at its best.
pub fn compare(table: &Table, context: &Context) -> Result<Demo> {
    let jumps = fit::analyse(toml::from_str(JUMPS)?, table, context)?;
    let rival = exact::analyse(toml::from_str(DIFFUSION)?, table)?.summary;
    let comparison = Comparison { jumps: jumps.summary.clone(), rival };
    Ok(Demo { jumps, comparison })
}

/// The glacial part of the record, forward in time: thousands of years relative to 1950, and 4.7 - ln Ca.
pub fn record() -> Result<Table> {
    let mut table = input::parse(RECORD, "ngrip_10yr.csv", &["Ca_ng_per_g".to_string()], &Format::default())?;
    let glacial = table.times.partition_point(|&age| age <= END_OF_ICE_AGE);
    let calcium = table.columns.remove(0).split_off(glacial);
    let ages = table.times.split_off(glacial);
    Ok(Table {
        source: table.source,
        time_name: "thousand years relative to 1950".into(),
        names: vec!["climate".into()],
        times: ages.iter().rev().map(|age| -age / 1000.0).collect(),
        columns: vec![calcium.iter().rev().map(|ca| MIDDLE - ca.ln()).collect()],
        lines: table.lines.split_off(glacial).into_iter().rev().collect(),
        calendar: Calendar::Numbers,
        errors: None,
        others: Vec::new(),
        notes: Vec::new(),
    })
}

/// What the record is.
pub fn introduction(table: &Table) -> String {
    format!(
        "Greenland climate, {:.1} to {:.1} thousand years before present: {} ten-year means of calcium dust\n\
         in the NGRIP ice core (Erhardt et al. 2019). Two states, cold and warm, with abrupt changes between them.\n",
        -table.times[0],
        -table.times[table.times.len() - 1],
        table.columns[0].iter().filter(|value| !value.is_nan()).count()
    )
}

/// Which model wins, and by how much.
pub fn verdict(Comparison { jumps, rival }: &Comparison) -> String {
    let gain = jumps.log_evidence - rival.log_evidence;
    let winner = if gain > 0.0 { "jumps" } else { "plain diffusion" };
    format!(
        "{}\n\n\
         Plain diffusion in the same double well, at its maximum-evidence parameters: log evidence {:.1}.\n\
         The record is more probable under {winner}, by {:.1} nats.",
        jumps.to_text(),
        rival.log_evidence,
        gain.abs()
    )
}

/// Write data.csv.
pub fn write_data(out: &mut dyn Write, table: &Table) -> Result<()> {
    writeln!(out, "kyr,{}", table.names[0])?;
    for (time, value) in table.times.iter().zip(&table.columns[0]) {
        writeln!(out, "{},{}", number(*time), number(*value))?;
    }
    Ok(())
}
