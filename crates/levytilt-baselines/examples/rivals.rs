//! Score the neural rivals on hourly prices, beside the random walk, on windows spread evenly over the record.
//!
//! cargo run --release -p levytilt-baselines --example rivals -- \
//!     PRICES.csv NVDA 2024-03-25 2026-03-01 20 300 random-walk,deepar
//!
//! After the dates: how many windows, how many training steps (`default` for each model's own number), and which models
//! (all of them if left out). Prints a row of a Markdown table as each model is done: CRPS, its mean difference to the first
//! model with a standard error, CRPS after the largest moves, coverage, and seconds of one thread per window.

mod support;

use levytilt::score::{ScoredWindow, jump_crps, reliability};
use levytilt_baselines::{ForecasterOptions, forecaster};
use rayon::prelude::*;
use std::time::Instant;
use support::{Outcome, PATHS, Prices, Scored, mean};

const MODELS: &str =
    "random-walk,garch-t,dlinear,dlinear+residuals,nhits,nhits+residuals,neural-mjd,deepar,deepar-t,nj-sde";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (file, ticker, from, to, count, steps, models) = match *arguments.as_slice() {
        [file, ticker, from, to, count, steps] => (file, ticker, from, to, count, steps, MODELS),
        [file, ticker, from, to, count, steps, models] => (file, ticker, from, to, count, steps, models),
        _ => return Err("expected PRICES.csv TICKER FROM TO WINDOWS STEPS [MODELS]".into()),
    };
    let prices = Prices::read(file, ticker, from, to)?;
    let count = count.parse::<usize>()?.clamp(1, prices.windows.len());
    let windows: Vec<_> = (0..count).map(|k| &prices.windows[k * prices.windows.len() / count]).collect();
    let options = ForecasterOptions { steps: if steps == "default" { None } else { Some(steps.parse()?) } };
    let all = prices.windows.len();
    println!("{ticker}: {count} of {all} windows ({} skipped), {PATHS} paths each, {steps} steps\n", prices.skipped);
    println!("| model | CRPS | minus first | jump CRPS 90 / 95 | cover 50 / 90 | seconds per window |");
    println!("|---|---|---|---|---|---|");
    let mut first: Option<Vec<f64>> = None;
    for name in models.split(',') {
        let model = forecaster(name, &options)?;
        let one = |window| {
            let start = Instant::now();
            prices.score(model.as_ref(), window).map(|scored| (scored, start.elapsed().as_secs_f64()))
        };
        let (scored, seconds): (Vec<Scored>, Vec<f64>) =
            windows.par_iter().map(|window| one(window)).collect::<Outcome<Vec<_>>>()?.into_iter().unzip();
        let crps: Vec<f64> = scored.iter().map(|window| mean(&window.crps)).collect();
        let bar = first.get_or_insert_with(|| crps.clone());
        let differences: Vec<f64> = crps.iter().zip(bar.iter()).map(|(a, b)| a - b).collect();
        let difference = mean(&differences);
        let variance = differences.iter().map(|d| (d - difference).powi(2)).sum::<f64>() / (count as f64 - 1.0);
        let pits: Vec<f64> = scored.iter().flat_map(|window| window.pits.clone()).collect();
        let parts: Vec<ScoredWindow> =
            scored.iter().map(|w| ScoredWindow { targets: &w.targets, crps: &w.crps }).collect();
        let jumps = jump_crps(&parts, 1, &[90.0, 95.0])?;
        let jumps: Vec<String> = jumps.iter().map(|row| row.crps.map_or("–".into(), |c| format!("{c:.3}"))).collect();
        println!(
            "| {} | {:.3} | {difference:+.3} ± {:.3} | {} | {:.0} / {:.0} | {:.1} |",
            model.name(),
            mean(&crps),
            (variance / count as f64).sqrt(),
            jumps.join(" / "),
            100.0 * reliability(&pits, 0.5)?,
            100.0 * reliability(&pits, 0.9)?,
            mean(&seconds)
        );
    }
    Ok(())
}
