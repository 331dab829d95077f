//! Run `levytilt demo`: an ice-core record with two climate states, driven by jumps or by plain diffusion?

use anyhow::Result;
use serde::Serialize;
use std::io::Write;

use crate::args::DemoArgs;
use crate::exact::{Outcome, analyse};
use crate::input::{self, Table};
use crate::output::{Entry, check_directory, number, save, say};
use crate::report::{Summary, write_posterior};
use crate::settings::Settings;
use crate::time::Calendar;

const RECORD: &str = include_str!("../data/ngrip_10yr.csv");

/// The ice age ended 11 650 years before 1950; the warm age after it has a single state.
const END_OF_ICE_AGE: f64 = 11_650.0;

/// Halfway between the two maxima of the histogram of -ln Ca, at about -5.6 (cold) and -3.8 (warm).
const MIDDLE: f64 = 4.7;

/// The rivals, each at the parameters that maximise its evidence (found by `examples/ngrip_search.rs` of the
/// library; log evidence 469.9 and 309.1).
const JUMPS: &str = "
model = { drift = 'double-well', noise = 'stable', alpha = 1.554, scale = 0.978, observation_std = 0.154 }
drift = { theta1 = 0.401, theta2 = 0.673 }";
const DIFFUSION: &str = "
model = { drift = 'double-well', noise = 'gaussian', scale = 1.441, observation_std = 0.139 }
drift = { theta1 = 1.143, theta2 = 1.585 }";

/// The content of summary.json: the model with jumps, and its rival.
#[derive(Debug, Serialize)]
struct Comparison {
    #[serde(flatten)]
    jumps: Summary,
    rival: Summary,
}

/// Compute both, say which wins, write the posterior of the model with jumps.
pub fn run(args: &DemoArgs) -> Result<()> {
    check_directory(&args.out)?;
    let table = record()?;
    if !args.report.quiet && !args.report.json {
        say(&introduction(&table));
    }
    let jumps = analyse(toml::from_str(JUMPS)?, &table)?;
    let rival = analyse(toml::from_str(DIFFUSION)?, &table)?.summary;
    let summary = Comparison { jumps: jumps.summary.clone(), rival };
    write(args, &jumps, &table, &summary)?;
    if args.report.json {
        say(&serde_json::to_string_pretty(&summary)?);
    } else if !args.report.quiet {
        say(&verdict(&summary));
        let dir = args.out.display();
        say(&format!("\nWritten to {dir}: data.csv, summary.json, settings.toml and posterior.csv, the climate state"));
        say(&format!("Try your own: levytilt exact {dir}/data.csv --config {dir}/settings.toml --alpha 1.5"));
    }
    Ok(())
}

/// The glacial part of the record, forward in time: thousands of years relative to 1950, and 4.7 - ln Ca.
fn record() -> Result<Table> {
    let mut table = input::parse(RECORD, "ngrip_10yr.csv", Some("Ca_ng_per_g"))?;
    let glacial = table.times.partition_point(|&age| age <= END_OF_ICE_AGE);
    let calcium = table.columns.remove(0).split_off(glacial);
    let ages = table.times.split_off(glacial);
    Ok(Table {
        source: table.source,
        names: vec!["climate".into()],
        times: ages.iter().rev().map(|age| -age / 1000.0).collect(),
        columns: vec![calcium.iter().rev().map(|ca| MIDDLE - ca.ln()).collect()],
        lines: table.lines.split_off(glacial).into_iter().rev().collect(),
        calendar: Calendar::Numbers,
    })
}

fn introduction(table: &Table) -> String {
    format!(
        "Greenland climate, {:.1} to {:.1} thousand years before present: {} ten-year means of calcium dust\n\
         in the NGRIP ice core (Erhardt et al. 2019). Two states, cold and warm, with abrupt changes between them.\n",
        -table.times[0],
        -table.times[table.times.len() - 1],
        table.columns[0].iter().filter(|value| !value.is_nan()).count()
    )
}

fn verdict(Comparison { jumps, rival }: &Comparison) -> String {
    let gain = jumps.log_evidence - rival.log_evidence;
    let winner = if gain > 0.0 { "jumps" } else { "plain diffusion" };
    format!(
        "a double well driven by      log evidence\n\
         jumps (stable, alpha {:.2})  {:12.1}\n\
         plain diffusion (gaussian)  {:12.1}\n\n\
         The record is more probable under {winner}, by {:.1} nats: each model at its best parameters, its\n\
         evidence computed on a grid without sampling, {:.1} s.",
        jumps.parameters["alpha"].estimate,
        jumps.log_evidence,
        rival.log_evidence,
        gain.abs(),
        jumps.seconds + rival.seconds
    )
}

fn write(args: &DemoArgs, outcome: &Outcome, table: &Table, summary: &Comparison) -> Result<()> {
    let settings: &Settings = &outcome.settings;
    save(
        &args.out,
        &[
            Entry::new("data.csv", |out| write_data(out, table)),
            Entry::json("summary.json", summary),
            Entry::new("posterior.csv", |out| {
                write_posterior(out, &outcome.smoothed, &table.calendar, &table.names[0])
            }),
            Entry::text("settings.toml", settings.to_toml()?),
        ],
    )
}

fn write_data(out: &mut dyn Write, table: &Table) -> Result<()> {
    writeln!(out, "kyr,{}", table.names[0])?;
    for (time, value) in table.times.iter().zip(&table.columns[0]) {
        writeln!(out, "{},{}", number(*time), number(*value))?;
    }
    Ok(())
}
