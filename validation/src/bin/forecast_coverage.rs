//! Measure the coverage of forecasts of observations: OU records with stable noise, three levels of observation noise.
//!
//! `cargo run --release -p levytilt-validation --bin forecast_coverage -- [RECORDS]` (default 300). Each record has 221 times;
//! a model with all parameters open is fitted to the first 201 and forecasts the other 20, as observations and as states.

use anyhow::Result;
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::forecast::{ForecastOptions, Target};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, simulate};

/// Times fitted, and times forecast.
const SEEN: usize = 201;
const AHEAD: usize = 20;
const STEP: f64 = 0.05;

fn main() -> Result<()> {
    let records: u64 = std::env::args().nth(1).map_or(Ok(300), |text| text.parse())?;
    println!("| observation noise | observations in their 90% interval | in that of the state | records |");
    println!("|---|---|---|---|");
    for std in [0.1, 0.5, 1.0] {
        let mut shares = Vec::new();
        for seed in 1..=records {
            shares.push(record(std, seed)?);
        }
        let [seen, state] = [0, 1].map(|k| mean_and_error(shares.iter().map(|share| share[k])));
        println!(
            "| {std} | {:.1}% ± {:.1}% | {:.1}% ± {:.1}% | {records} |",
            100.0 * seen.0,
            100.0 * seen.1,
            100.0 * state.0,
            100.0 * state.1
        );
    }
    Ok(())
}

/// Share of the observations ahead that lie in the 90% intervals of observations, and in those of states.
fn record(std: f64, seed: u64) -> Result<[f64; 2]> {
    let (Some(drift), Some(noise)) = (DriftFamily::named("ou"), Family::named("stable")) else {
        anyhow::bail!("the registry has no ou or no stable");
    };
    let model = StateSpace::new(drift.build(&[1.0, 1.0])?, noise.build(&[1.7, 1.0])?, std, Start::Fixed(1.0))?;
    let times: Vec<f64> = (0..SEEN + AHEAD).map(|k| k as f64 * STEP).collect();
    let values = simulate(&model, &times, seed)?.observations;
    let grid = TimeGrid::new(&times[..SEEN], Some(1))?;
    let found =
        fit(&Spec::new(drift, noise), &grid, &[&values[..SEEN]], &FitOptions { seed, ..FitOptions::default() })?;
    let share = |target| -> Result<f64> {
        let options = ForecastOptions { from: times[SEEN - 1], longest_step: STEP, paths: 1000, seed, target };
        let ahead = found.forecast_at(&times[SEEN..], &options)?;
        let inside = |j: &usize| {
            let law = ahead.marginal(0, *j, &[0.05, 0.95]);
            (law.quantiles[0]..=law.quantiles[1]).contains(&values[SEEN + j])
        };
        Ok((0..AHEAD).filter(inside).count() as f64 / AHEAD as f64)
    };
    Ok([share(Target::Observations)?, share(Target::States)?])
}

/// Mean over records, which are independent, and its standard error.
fn mean_and_error(shares: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = shares.clone().count() as f64;
    let mean = shares.clone().sum::<f64>() / count;
    let variance = shares.map(|share| (share - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, (variance / count).sqrt())
}
