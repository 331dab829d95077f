//! Hold the doctor's advice on the drift against the evidence of fits to more of the record.
//!
//! scripts/validate doctor RECORDS ROWS [FILE.csv:COLUMN]...
//!
//! RECORDS simulated records (of no drift, mean reversion and a double well in turn, with Gaussian and stable noise) of 1000
//! rows, and the columns of files. The evidence is that of fits with every drift to at most ROWS rows, with the noise that
//! made the record, or Student noise for files. The advice is right if its drift is within 3 nats of the best.

use anyhow::{Result, anyhow};
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Rating, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::simulate;
use levytilt_run::settings::DataSettings;
use levytilt_run::table;
use levytilt_run::workflow::doctor::data::examine;
use levytilt_run::workflow::doctor::quick::{Advice, advise, middles};
use std::time::Instant;

/// An advice, the drift it means, and a value that it holds.
type Candidate = (&'static str, &'static str, Option<(&'static str, f64)>);

/// What the advice may be.
const DRIFTS: [Candidate; 4] = [
    ("--drift none", "none", None),
    ("--drift linear --slope 0", "linear", Some(("slope", 0.0))),
    ("--drift ou", "ou", None),
    ("--drift double-well", "double-well", None),
];
/// Nats within which two drifts are not told apart.
const CLOSE: f64 = 3.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [records, rows, files @ ..] = arguments.as_slice() else {
        return Err(anyhow!("expected RECORDS ROWS [FILE.csv:COLUMN]..., such as 40 1000"));
    };
    let (records, rows): (u64, usize) = (records.parse()?, rows.parse()?);
    println!(
        "| record | rows | advice | best by evidence | advice behind, nats | right | s |\n|---|---|---|---|---|---|---|"
    );
    let (mut right, mut all) = (0, 0);
    for seed in 0..records {
        let (name, noise, times, values) = simulated(seed)?;
        right += usize::from(judge(&name, noise, (&times, &values), rows)?);
        all += 1;
    }
    for file in files {
        let (path, column) = file.rsplit_once(':').ok_or_else(|| anyhow!("{file}: expected FILE.csv:COLUMN"))?;
        let data = DataSettings { column: Some(column.into()), ..DataSettings::default() };
        let read = table::read(path, &data.chosen(), &data.format())?;
        println!(
            "{}",
            examine(&read, "")?.to_text().lines().map(|line| format!("<!-- {line} -->\n")).collect::<String>()
        );
        right += usize::from(judge(column, "student", (&read.times, &read.columns[0]), rows)?);
        all += 1;
    }
    println!("\nright: {right} of {all} ({:.0}%)", 100.0 * right as f64 / all.max(1) as f64);
    Ok(())
}

/// A record: its name, its noise, times and values.
type Record = (String, &'static str, Vec<f64>, Vec<f64>);

/// A record of 1000 rows.
fn simulated(seed: u64) -> Result<Record> {
    let drift = ["none", "ou", "double-well"][seed as usize % 3];
    let noise = ["gaussian", "stable"][(seed / 3) as usize % 2];
    let mut spec = Spec::new(family(drift)?, Family::named(noise).ok_or_else(|| anyhow!("{noise}"))?);
    spec = match drift {
        // Mean reversion from fast to slow: half-lives of 7 to 70 rows.
        "ou" => spec.fix("theta", [1.0, 0.3, 0.1][(seed / 6) as usize % 3]).fix("mu", 2.0),
        "double-well" => spec.fix("theta1", 1.0).fix("theta2", 0.5),
        _ => spec,
    };
    if noise == "stable" {
        spec = spec.fix("alpha", 1.6);
    }
    let scale = if drift == "double-well" { 0.6 } else { 1.0 };
    let model = spec.fix("scale", scale).fix("observation_std", 0.1).fix("x0", 0.0).model()?;
    let times: Vec<f64> = (0..1000).map(|j| 0.1 * f64::from(j)).collect();
    let values = simulate(&model, &times, 400 + seed)?.observations;
    Ok((format!("{drift}, {noise}, seed {seed}"), noise, times, values))
}

fn family(drift: &str) -> Result<&'static DriftFamily> {
    DriftFamily::named(drift).ok_or_else(|| anyhow!("no drift {drift}"))
}

/// Print a row of the table; whether the advice is right.
fn judge(name: &str, noise: &'static str, (times, values): (&[f64], &[f64]), rows: usize) -> Result<bool> {
    let started = Instant::now();
    let heavy = noise != "gaussian";
    let Advice { drift: advice, .. } =
        advise(times, values, heavy, 1).ok_or_else(|| anyhow!("{name}: no quick fit could be made"))?;
    let seconds = started.elapsed().as_secs_f64();
    let known: Vec<(f64, f64)> =
        times.iter().copied().zip(values.iter().copied()).filter(|(_, y)| !y.is_nan()).collect();
    let every = known.len().div_ceil(rows);
    let (times, values): (Vec<f64>, Vec<f64>) = known.into_iter().step_by(every).unzip();
    let mut scores = Vec::new();
    let tries =
        DRIFTS.iter().flat_map(|candidate| middles(candidate.1, &values).into_iter().map(move |m| (*candidate, m)));
    for ((flags, drift, held), middle) in tries {
        let shifted: Vec<f64> = values.iter().map(|y| y - middle).collect();
        let mut spec = Spec::new(family(drift)?, Family::named(noise).ok_or_else(|| anyhow!("{noise}"))?);
        spec.given.extend(held.map(|(name, value)| (name.to_string(), value)));
        let options = FitOptions { paths: 20, ..FitOptions::default() };
        let grid = TimeGrid::unsplit(&times)?;
        if let Ok(found) = fit(&spec, &grid, &[&shifted], &options) {
            let rating = Rating::of(&found);
            let learned = rating.learned + usize::from(middle != 0.0);
            scores.push((Rating::new(rating.log_evidence, rating.std_error, learned, found.observations).score, flags));
        }
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = scores.first().ok_or_else(|| anyhow!("{name}: nothing could be fitted"))?;
    let own = scores.iter().find(|(_, flags)| *flags == advice).map_or(f64::NEG_INFINITY, |(score, _)| *score);
    let right = best.0 - own < CLOSE;
    println!(
        "| {name} | {} | {advice} | {} | {:.1} | {} | {seconds:.1} |",
        values.len(),
        best.1,
        best.0 - own,
        if right { "yes" } else { "no" }
    );
    Ok(right)
}
