//! Score the simple rivals on hourly prices by the protocol of Kındap et al.: 30 days of training, 2 days ahead.
//!
//! scripts/validate walks PRICES.csv NVDA 2024-03-25 2026-03-01
//!
//! FROM is where the first window starts, at midnight UTC or, as in 2024-03-25T14:30, later that day.
//! PRICES.csv has a column of ISO 8601 timestamps and one column per ticker. Prints a Markdown table.

use levytilt::internals::series::ClockOptions;
use levytilt::score::{BlockBootstrap, ScoredWindow, automatic_lag, block_bootstrap, diebold_mariano};
use levytilt::score::{jump_crps, reliability};
use levytilt_baselines::{Forecaster, Garch, Increments, Walk};
use levytilt_validation::prices::{Outcome, PATHS, Prices, Scored, mean};
use rayon::prelude::*;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, ticker, from, to] = arguments.as_slice() else {
        return Err("expected PRICES.csv TICKER FROM TO, such as prices.csv NVDA 2024-03-25 2026-03-01".into());
    };
    let prices = Prices::read(file, ticker, from, to)?;
    println!("{ticker}: {} windows, {} skipped, {PATHS} paths each\n", prices.windows.len(), prices.skipped);
    table(&prices)
}

/// Name, then CRPS, coverage, difference to the first model with its interval and p-value, and jump CRPS.
fn table(prices: &Prices) -> Outcome<()> {
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
    println!("| model | CRPS | minus gaussian walk, 95% | p | coverage 50 / 90 / 99 | jump CRPS 90 / 95 / 97.5 / 99 |");
    println!("|---|---|---|---|---|---|");
    let mut first: Option<Vec<f64>> = None;
    for model in &models {
        let scored: Vec<Scored> =
            prices.windows.par_iter().map(|window| prices.score(model.as_ref(), window)).collect::<Outcome<_>>()?;
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
