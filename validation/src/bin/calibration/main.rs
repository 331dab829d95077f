//! Simulation-based calibration: `scripts/validate calibration REPLICATES [FILE.svg [NOISE]]` prints a table,
//! and draws how far the distributions of ranks are from uniform; for one noise or for all.
//!
//! A truth is drawn from a prior, data from the truth. If inference is right, the truth is one more draw from the posterior:
//! its rank among posterior draws is uniform, over replicates.

mod picture;
mod replicate;
mod verdict;

use levytilt::Result;
use rayon::prelude::*;
use replicate::{SETTINGS, Setting};
use std::collections::BTreeMap;
use verdict::Verdict;

/// Scores of a quantity over all replicates, by name.
pub type Scores = BTreeMap<String, Vec<f64>>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let replicates = words.first().and_then(|w| w.parse().ok()).unwrap_or(20);
    println!(
        "| drift | noise | quantity | ranks | mean / its standard error | sd | (sd² − 1) / its standard error | KS distance / 99% band |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = Vec::new();
    for setting in SETTINGS.into_iter().filter(|setting| words.get(2).is_none_or(|noise| noise == setting.noise)) {
        let (scores, failures) = calibrate(&setting, replicates);
        for (name, scores) in &scores {
            let Verdict { count, bias, spread, spread_error, distance } = Verdict::new(scores);
            println!(
                "| {} | {} | {name} | {count} | {bias:+.1} | {spread:.3} | {spread_error:+.1} | {distance:.2} |",
                setting.drift, setting.noise
            );
        }
        for failure in failures {
            println!("<!-- {} {}: {failure} -->", setting.drift, setting.noise);
        }
        all.push((setting, scores));
    }
    if let Some(path) = words.get(1) {
        std::fs::write(path, picture::draw(&all)).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Ok(())
}

/// Scores of all replicates, and what went wrong in those that failed.
fn calibrate(setting: &Setting, replicates: u64) -> (Scores, Vec<String>) {
    let found: Vec<Result<Vec<(String, f64)>>> =
        (1..=replicates).into_par_iter().map(|seed| one(setting, seed)).collect();
    let mut scores = Scores::new();
    let mut failures = Vec::new();
    for (k, outcome) in found.into_iter().enumerate() {
        match outcome {
            Ok(named) => named.into_iter().for_each(|(name, z)| scores.entry(name).or_default().push(z)),
            Err(error) => failures.push(format!("replicate {}: {error}", k + 1)),
        }
    }
    (scores, failures)
}

fn one(setting: &Setting, seed: u64) -> Result<Vec<(String, f64)>> {
    let data = setting.data(seed)?;
    let mut named: Vec<(String, f64)> =
        data.states(&data.paths()?, 1.0)?.into_iter().map(|z| ("state".into(), z)).collect();
    let learned = data.learn()?;
    named.extend(data.parameters(&learned));
    let [near, far] = data.forecasts(&learned)?;
    named.extend([("forecast, near".into(), near), ("forecast, far".into(), far)]);
    Ok(named)
}
