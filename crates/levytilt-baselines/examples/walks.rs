//! Score the simple rivals on hourly prices by the protocol of Kındap et al.: 30 days of training, 2 days ahead.
//!
//! cargo run --release -p levytilt-baselines --example walks -- PRICES.csv NVDA 2024-03-25 2026-03-01
//!
//! FROM is where the first window starts, at midnight UTC or, as in 2024-03-25T14:30, later that day.
//! PRICES.csv has a column of ISO 8601 timestamps and one column per ticker. Prints a Markdown table.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use levytilt::score::{
    BlockBootstrap, Estimator, Sample, ScoredWindow, automatic_lag, block_bootstrap, diebold_mariano,
};
use levytilt::score::{jump_crps, pits, reliability};
use levytilt::series::{ClockOptions, Rolling, Scaled, Window, cumulative_log_returns};
use levytilt_baselines::{Forecaster, Garch, Increments, Record, Walk};
use rayon::prelude::*;
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PATHS: usize = 1000;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, ticker, from, to] = arguments.as_slice() else {
        return Err("expected PRICES.csv TICKER FROM TO, such as prices.csv NVDA 2024-03-25 2026-03-01".into());
    };
    let origin = instant(from)?;
    let days = |time: Timestamp| (time.as_second() - origin.as_second()) as f64 / 86_400.0;
    let rows = read(file, ticker)?;
    let to = days(instant(to)?);
    let inside = |(time, _): &&(Timestamp, f64)| (0.0..to).contains(&days(*time));
    let rows: Vec<&(Timestamp, f64)> = rows.iter().filter(inside).collect();
    // The first price is only the base of the first return, so the first window must not begin with it.
    let (times, prices): (Vec<f64>, Vec<f64>) = rows.iter().map(|(time, price)| (days(*time), *price)).unzip();
    let found = Rolling::monthly(0.0, to).windows(&times)?;
    println!("{ticker}: {} windows, {} skipped, {PATHS} paths each\n", found.windows.len(), found.skipped.len());
    table(&times, &prices, &found.windows)
}

/// Name, then CRPS, coverage, difference to the first model with its interval and p-value, and jump CRPS.
fn table(times: &[f64], prices: &[f64], windows: &[Window]) -> Outcome<()> {
    let walk = |increments, power: Option<f64>, adaptive| {
        let clock = power.map(|power| ClockOptions { power, ..ClockOptions::default() });
        Box::new(Walk { increments, clock, adaptive })
    };
    let models: Vec<Box<dyn Forecaster>> = vec![
        Box::new(Walk::gaussian()),
        Box::new(Walk::plain(Increments::Student)),
        Box::new(Walk::plain(Increments::Stable)),
        Box::new(Walk::plain(Increments::Bootstrap)),
        walk(Increments::Gaussian, None, true),
        walk(Increments::Gaussian, Some(1.0), false),
        walk(Increments::Gaussian, Some(2.0), false),
        walk(Increments::Student, Some(1.0), false),
        walk(Increments::Student, Some(2.0), false),
        walk(Increments::Bootstrap, Some(1.0), false),
        walk(Increments::Gaussian, Some(1.0), true),
        walk(Increments::Student, Some(1.0), true),
        walk(Increments::Student, Some(2.0), true),
        walk(Increments::Bootstrap, Some(1.0), true),
        Box::new(Garch),
    ];
    println!("| model | CRPS | minus gaussian walk, 95% | p | cover 50 / 90 / 99 | jump CRPS 90 / 95 / 97.5 / 99 |");
    println!("|---|---|---|---|---|---|");
    let mut first: Option<Vec<f64>> = None;
    for model in &models {
        let scored: Vec<Scored> =
            windows.par_iter().map(|window| score(model.as_ref(), times, prices, window)).collect::<Outcome<_>>()?;
        let crps: Vec<f64> = scored.iter().map(|window| mean(&window.crps)).collect();
        let bar = first.get_or_insert_with(|| crps.clone());
        let differences: Vec<f64> = crps.iter().zip(bar.iter()).map(|(a, b)| a - b).collect();
        let paired = if differences.iter().all(|d| *d == 0.0) {
            "– | –".into()
        } else {
            let test = diebold_mariano(&differences, automatic_lag(differences.len()))?;
            let (low, high) = block_bootstrap(&differences, &BlockBootstrap::default())?;
            format!("{:+.4} ({low:+.4}, {high:+.4}) | {:.1e}", test.mean, test.p_value)
        };
        let pits: Vec<f64> = scored.iter().flat_map(|window| window.pits.clone()).collect();
        let cover =
            [0.5, 0.9, 0.99].map(|level| reliability(&pits, level).map(|share| format!("{:.1}", 100.0 * share)));
        let cover = cover.into_iter().collect::<Result<Vec<_>, _>>()?.join(" / ");
        let parts: Vec<ScoredWindow> =
            scored.iter().map(|w| ScoredWindow { targets: &w.targets, crps: &w.crps }).collect();
        let jumps = jump_crps(&parts, 1, &[90.0, 95.0, 97.5, 99.0])?;
        let jumps: Vec<String> = jumps.iter().map(|row| row.crps.map_or("–".into(), |c| format!("{c:.3}"))).collect();
        println!("| {} | {:.4} | {paired} | {cover} | {} |", model.name(), mean(&crps), jumps.join(" / "));
    }
    Ok(())
}

struct Scored {
    targets: Vec<f64>,
    crps: Vec<f64>,
    pits: Vec<f64>,
}

fn score(model: &dyn Forecaster, times: &[f64], prices: &[f64], window: &Window) -> Outcome<Scored> {
    let Scaled { train, ahead, .. } = cumulative_log_returns(prices, window)?;
    // The window knows the price before its first return: its value is 0 by construction.
    let base = window.train.start.checked_sub(1).map(|i| (times[i], 0.0));
    let (seen_times, seen): (Vec<f64>, Vec<f64>) =
        base.into_iter().chain(times[window.train.clone()].iter().copied().zip(train)).unzip();
    let record = Record::new(seen_times, vec![seen])?;
    let seed = window.number as u64;
    let paths = model.forecast(&record, &times[window.ahead.clone()], PATHS, seed)?;
    let samples = ahead.iter().enumerate().map(|(j, y)| Ok((Sample::new(&paths.draws(j, 0))?, *y)));
    let samples: Vec<(Sample, f64)> = samples.collect::<levytilt::Result<_>>()?;
    let crps = samples.iter().map(|(sample, y)| sample.crps(*y, Estimator::Fair)).collect::<levytilt::Result<_>>()?;
    Ok(Scored { crps, pits: pits(&samples, seed)?, targets: ahead })
}

fn read(file: &str, ticker: &str) -> Outcome<Vec<(Timestamp, f64)>> {
    let mut reader = csv::Reader::from_path(file)?;
    let column = reader.headers()?.iter().position(|name| name == ticker).ok_or("no such ticker")?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        if !record[column].is_empty() {
            rows.push((record[0].parse()?, record[column].parse()?));
        }
    }
    Ok(rows)
}

/// A date, at midnight UTC, or a date with a time.
fn instant(text: &str) -> Outcome<Timestamp> {
    Ok(text.parse::<DateTime>()?.to_zoned(TimeZone::UTC)?.timestamp())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
