//! Coverage of the 90% intervals of all five parameters of OU with stable noise, by default and with `--bayes`.
//!
//! scripts/validate coverage RECORDS ROWS [DRAWS]
//!
//! The records are those of the paper's synthetic study (steps of 0.01, each observed with standard deviation 0.1, noise of
//! scale 2, θ = 3, μ = 1), with α = 1.2, 1.5 and 1.8 in turn. DRAWS parameter draws each; none if it is left out.

use anyhow::{Result, anyhow};
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{Fit, FitOptions, Interval, Spec, fit, parameter_posterior};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, simulate};
use std::time::Instant;

const NAMES: [&str; 5] = ["theta", "mu", "alpha", "scale", "observation_std"];
const ALPHAS: [f64; 3] = [1.2, 1.5, 1.8];

/// Per parameter: intervals with the truth in them, below it and above it.
type Count = [[usize; 3]; 5];

fn main() -> Result<()> {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<std::result::Result<_, _>>()?;
    let (&records, &rows) = words.first().zip(words.get(1)).ok_or_else(|| anyhow!("expected RECORDS ROWS [DRAWS]"))?;
    let draws = words.get(2).copied().unwrap_or(0);
    let ways = ["default", "Gaussian", "bayes"];
    let mut counts = [[Count::default(); 3]; 3];
    let (mut seconds, mut worst_k, mut least) = ([0.0; 2], f64::NEG_INFINITY, f64::INFINITY);
    for record in 0..records {
        let which = record % ALPHAS.len();
        let truth = [3.0, 1.0, ALPHAS[which], 2.0, 0.1];
        let (grid, values) = simulated(&truth, rows, 5000 + record as u64)?;
        let spec = Spec::new(
            DriftFamily::named("ou").ok_or_else(|| anyhow!("no ou"))?,
            Family::named("stable").ok_or_else(|| anyhow!("no stable"))?,
        );
        let started = Instant::now();
        let found = fit(&spec, &grid, &[&values], &FitOptions { paths: 2, ..FitOptions::default() })?;
        seconds[0] += started.elapsed().as_secs_f64();
        for k in 0..5 {
            for (way, interval) in intervals(&found, k)?.into_iter().enumerate() {
                note(&mut counts[way][which][k], [interval.low, interval.high], truth[k]);
            }
        }
        if draws > 0 {
            let started = Instant::now();
            let drawn = parameter_posterior(&found, &spec, (&grid, &values), true, (draws, 1))?;
            seconds[1] += started.elapsed().as_secs_f64();
            worst_k = worst_k.max(drawn.k_hat);
            least = least.min(drawn.effective_sample_size);
            if std::env::var_os("VERBOSE").is_some() {
                eprintln!("{record}: k̂ {:.2}, effective {:.0}", drawn.k_hat, drawn.effective_sample_size);
            }
            for k in 0..5 {
                let q = drawn.quantiles(k, &[0.05, 0.95]);
                note(&mut counts[2][which][k], [q[0], q[1]], truth[k]);
            }
        }
    }
    println!("| interval | parameter | covered | below | above | by α = 1.2, 1.5, 1.8 |\n|---|---|---|---|---|---|");
    for (way, counts) in ways.iter().zip(&counts).take(if draws > 0 { 3 } else { 2 }) {
        for (k, name) in NAMES.iter().enumerate() {
            let all = |i: usize| counts.iter().map(|count| count[k][i]).sum::<usize>();
            let share = |count: &[usize; 3]| 100.0 * count[0] as f64 / count.iter().sum::<usize>().max(1) as f64;
            let each: Vec<String> = counts.iter().map(|count| format!("{:.0}%", share(&count[k]))).collect();
            let total = [all(0), all(1), all(2)];
            println!("| {way} | {name} | {:.1}% | {} | {} | {} |", share(&total), all(1), all(2), each.join(", "));
        }
    }
    let per = |seconds: f64| seconds / records as f64;
    println!("\n{records} records of {rows} rows; fit {:.2} s, draws {:.2} s each", per(seconds[0]), per(seconds[1]));
    println!("largest k̂ {worst_k:.2}, least effective draws {least:.0} of {draws}");
    Ok(())
}

fn simulated(truth: &[f64; 5], rows: usize, seed: u64) -> Result<(TimeGrid, Vec<f64>)> {
    let drift = DriftFamily::named("ou").ok_or_else(|| anyhow!("no ou"))?.build(&truth[..2])?;
    let noise = Family::named("stable").ok_or_else(|| anyhow!("no stable"))?.build(&truth[2..4])?;
    let model = StateSpace::new(drift, noise, truth[4], Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=rows).map(|j| 0.01 * j as f64).collect();
    let values = simulate(&model, &times, seed)?.observations;
    Ok((TimeGrid::new(&times, None)?, values))
}

/// The interval that a fit gives, and the Gaussian one.
fn intervals(found: &Fit, k: usize) -> Result<[Interval; 2]> {
    let p = &found.parameters[k];
    let given = p.interval.ok_or_else(|| anyhow!("{} has no interval", p.name))?;
    let error = p.std_error.ok_or_else(|| anyhow!("{} has no standard error", p.name))?;
    Ok([given, Interval::gaussian(p.value, error, found.transforms()[k])])
}

/// Count a truth as within, or on which side the interval lies.
fn note(count: &mut [usize; 3], [low, high]: [f64; 2], truth: f64) {
    let place = if high < truth {
        1
    } else if low > truth {
        2
    } else {
        0
    };
    count[place] += 1;
}
