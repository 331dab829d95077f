//! Measure the power of the residual verdict on eight wrong models, and its false alarms on right ones.
//!
//! scripts/validate residuals [RECORDS] [ROWS]
//!
//! Every record has 1000 hourly rows and its own seed. The model that is fitted, all parameters learned, is Ornstein–Uhlenbeck
//! motion with Gaussian noise, which is right for the first row of the table; where the drift is what is missing, it has none.

use levytilt::Result;
use levytilt::drift::DriftFamily;
use levytilt::internals::exact::filter::Filter;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::residuals::Residuals;
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{StreamRng, stream};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Pull to the level per hour, and error of observation in sizes of a step.
const PULL: f64 = 0.1;
const ERROR: f64 = 0.2;

/// What is simulated: a name, the drift that is fitted, and the aspects that should be named.
const CASES: [(&str, &str, &str); 10] = [
    ("right: mean reversion, Gaussian", "ou", "none"),
    ("right: random walk, Gaussian", "none", "none"),
    ("season of a day in the level", "ou", "season or dependence"),
    ("size of moves changes with the hour", "ou", "clock or volatility"),
    ("Student moves, 3 degrees of freedom", "ou", "distribution or outlier"),
    ("1% of the values wrong by 10 steps", "ou", "outlier, distribution or volatility"),
    ("volatility that comes and goes", "ou", "volatility"),
    ("moves skewed to one side", "ou", "skewness or distribution"),
    ("mean reversion fitted without a drift", "none", "level or dependence"),
    ("moves that resemble the one before", "ou", "dependence"),
];

fn main() -> Result<()> {
    let number = |k: usize, usual: u64| std::env::args().nth(k).and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (records, rows) = (number(1, 100), number(2, 1000) as usize);
    println!(
        "| record of {rows} rows | records | failed | share | aspects named | expected |\n|---|---|---|---|---|---|"
    );
    for (k, (name, drift, expected)) in CASES.into_iter().enumerate() {
        let one = |seed: u64| verdict(k, drift, rows, 1000 * k as u64 + seed);
        let found: Vec<Vec<String>> = (0..records).into_par_iter().map(one).collect::<Result<_>>()?;
        let failed = found.iter().filter(|aspects| !aspects.is_empty()).count();
        let share = 100.0 * failed as f64 / records as f64;
        println!("| {name} | {records} | {failed} | {share:.0}% | {} | {expected} |", counted(&found));
    }
    Ok(())
}

/// Names of the aspects with how often each was found, most frequent first.
fn counted(found: &[Vec<String>]) -> String {
    let mut names: Vec<&String> = found.iter().flatten().collect();
    names.sort();
    let mut counts: Vec<(usize, &str)> =
        names.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0].as_str())).collect();
    counts.sort_by(|a, b| b.cmp(a));
    counts.iter().map(|(count, name)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// The checks that fail on a record of case `k`.
fn verdict(k: usize, drift: &str, rows: usize, seed: u64) -> Result<Vec<String>> {
    let times: Vec<f64> = (0..rows).map(|j| j as f64 / 24.0).collect();
    let values = record(k, &times, &mut stream(seed, 0));
    let spec = Spec::new(DriftFamily::named(drift).expect("a drift"), Family::named("gaussian").expect("a family"));
    let grid = TimeGrid::unsplit(&times)?;
    let options = FitOptions { paths: 20, ..FitOptions::default() };
    let found = fit(&spec, &grid, &[&values], &options)?;
    let (_, seen) = Filter::new(&found.model, 1.0)?.run(&grid, &values)?;
    let residuals = Residuals::new(&seen, &[(1.0, "day"), (7.0, "week")]);
    Ok(residuals.failures().map(|check| check.name()).collect())
}

/// A record of case `k`: steps of standard deviation 1.
fn record(k: usize, times: &[f64], rng: &mut StreamRng) -> Vec<f64> {
    let student = StudentT::new(3.0).expect("degrees of freedom");
    let (mut x, mut before, mut log_volatility) = (0.0, 0.0, 0.0);
    let mut all = Vec::with_capacity(times.len());
    for time in times {
        let normal = |rng: &mut StreamRng| -> f64 { StandardNormal.sample(rng) };
        log_volatility = 0.97 * log_volatility + 0.15 * normal(rng);
        let step: f64 = match k {
            3 => (1.0 + 0.8 * (TAU * time).sin()) * normal(rng),
            4 => student.sample(rng) / 3f64.sqrt(),
            6 => log_volatility.exp() * normal(rng),
            7 => {
                let draw: f64 = Exp1.sample(rng);
                draw - 1.0
            }
            9 => {
                before = 0.4 * before + normal(rng);
                before
            }
            _ => normal(rng),
        };
        x += step - if k == 1 { 0.0 } else { PULL * x };
        let season = if k == 2 { 2.0 * (TAU * time).sin() } else { 0.0 };
        let wrong = if k == 5 && normal(rng) > 2.326 { 10.0 } else { 0.0 };
        all.push(x + season + wrong + ERROR * normal(rng));
    }
    all
}
