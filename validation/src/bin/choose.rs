//! Choose the configuration of `Tilt::prices` on the first third of the record: settings tried, one change at a time.
//!
//! scripts/validate choose PRICES.csv 2023-07-27 2024-07-12 4
//!
//! No forecast reaches beyond the second date. Of the windows of each ticker every fourth is scored, the tickers taking
//! turns so that all dates count. Prints a Markdown table as it goes: mean CRPS, and the mean difference to the first row
//! with a standard error over dates, which the tickers share.

use levytilt::internals::series::{ClockPrior, Memory, Window};
use levytilt::noise::Family;
use levytilt::score::{BlockBootstrap, block_std_error, reliability};
use levytilt_baselines::Tilt;
use levytilt_validation::prices::{Outcome, PATHS, Prices, mean};
use rayon::prelude::*;
use std::collections::BTreeMap;

const TICKERS: [&str; 10] = ["NVDA", "GOOGL", "MSFT", "AAPL", "AMZN", "META", "TSLA", "AMD", "NFLX", "INTC"];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, from, to, every] = arguments.as_slice() else {
        return Err("expected PRICES.csv FROM TO EVERY, such as prices.csv 2023-07-27 2024-07-12 4".into());
    };
    let every: usize = every.parse()?;
    let tickers = TICKERS.iter().map(|ticker| Prices::read(file, ticker, from, to)).collect::<Outcome<Vec<_>>>()?;
    let turns = |(k, prices): (usize, &'_ Prices)| -> Vec<(usize, Window)> {
        prices.windows.iter().filter(|w| w.number % every == k % every).map(|w| (k, w.clone())).collect()
    };
    let cases: Vec<(usize, Window)> = tickers.iter().enumerate().flat_map(turns).collect();
    let skipped: usize = tickers.iter().map(|prices| prices.skipped).sum();
    let all: usize = skipped + tickers.iter().map(|prices| prices.windows.len()).sum::<usize>();
    let used = cases.len();
    println!(
        "{used} of {all} windows of {} tickers ({skipped} have nothing to forecast), {PATHS} paths\n",
        TICKERS.len()
    );
    println!("| setting | CRPS | minus first, 10⁻⁴ | coverage 50 / 90 / 99 |\n|---|---|---|---|");
    let mut first: Option<Vec<f64>> = None;
    for (name, model) in settings() {
        let one = |(k, window): &(usize, Window)| tickers[*k].score(&model, window);
        let scored = cases.par_iter().map(one).collect::<Outcome<Vec<_>>>()?;
        let crps: Vec<f64> = scored.iter().map(|window| mean(&window.crps)).collect();
        let bar = first.get_or_insert_with(|| crps.clone());
        let differences: Vec<f64> = crps.iter().zip(bar.iter()).map(|(a, b)| a - b).collect();
        let pits: Vec<f64> = scored.iter().flat_map(|window| window.pits.clone()).collect();
        let cover =
            [0.5, 0.9, 0.99].map(|level| reliability(&pits, level).map(|share| format!("{:.1}", 100.0 * share)));
        println!(
            "| {name} | {:.4} | {:+.1} ± {:.1} | {} |",
            mean(&crps),
            1e4 * mean(&differences),
            1e4 * error(&cases, &differences)?,
            cover.into_iter().collect::<Result<Vec<_>, _>>()?.join(" / ")
        );
    }
    Ok(())
}

/// Standard error of the mean difference over blocks of dates: tickers of one date move together.
fn error(cases: &[(usize, Window)], differences: &[f64]) -> Outcome<f64> {
    let mut dates: BTreeMap<i64, f64> = BTreeMap::new();
    for ((_, window), difference) in cases.iter().zip(differences) {
        *dates.entry(window.number as i64).or_default() += difference;
    }
    let scale = dates.len() as f64 / differences.len() as f64;
    let sums: Vec<f64> = dates.values().map(|sum| sum * scale).collect();
    Ok(block_std_error(&sums, &BlockBootstrap::default())?)
}

/// The configuration in use, then one change at a time.
fn settings() -> Vec<(String, Tilt)> {
    let mut all = vec![("as chosen".to_string(), Tilt::prices())];
    let mut add = |name: String, change: &dyn Fn(&mut Tilt)| {
        let mut tilt = Tilt::prices();
        change(&mut tilt);
        all.push((name, tilt));
    };
    for (half_life, share) in [(20.0, 0.5), (10.0, 0.75)] {
        let memory = Memory { half_life, share };
        add(format!("half-life {half_life}, share {share}"), &|tilt| tilt.pace.memory = vec![memory]);
    }
    for ((short, long), share) in [((5.0, 40.0), 0.5), ((10.0, 40.0), 0.5), ((10.0, 80.0), 0.75)] {
        let memory = [short, long].map(|half_life| Memory { half_life, share });
        add(format!("half-lives {short} and {long}, share {share}"), &|tilt| tilt.pace.memory = memory.to_vec());
    }
    add("volatility of open hours only".into(), &|tilt| tilt.pace.gaps_tell = false);
    add("no recent volatility".into(), &|tilt| tilt.pace.memory.clear());
    for (closed, weight) in [(8.0, 100.0), (15.0, 100.0)] {
        add(format!("gap of {closed} hours, weight {weight}"), &|tilt| {
            tilt.pace.clock.iter_mut().for_each(|clock| clock.prior = Some(ClockPrior { closed, weight }));
        });
    }
    for dof in [3.0, 5.0] {
        add(format!("{dof} degrees of freedom"), &|tilt| tilt.given = vec![("dof".into(), dof)]);
    }
    add("degrees of freedom learned".into(), &|tilt| tilt.given.clear());
    add("Gaussian noise".into(), &|tilt| (tilt.noise, tilt.given) = (Family::named("gaussian"), vec![]));
    add("noise auto".into(), &|tilt| (tilt.noise, tilt.given) = (None, vec![]));
    all
}
