//! How long a whole fit takes, and how time and memory grow with the number of steps.

use crate::data::{Truth, observations};
use levytilt::Result;
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt_validation::memory::memory;
use std::hint::black_box;
use std::time::Instant;

/// Fit everything to an OU path with stable noise: 1000 steps, 500 paths; median of `rounds` data sets.
pub fn whole_fit(rounds: u64) -> Result<()> {
    println!("| α | seconds, median | minimum | in 10⁶ exp | Newton steps |\n|---|---|---|---|---|");
    for alpha in [1.2, 1.5, 1.8] {
        let mut runs = (1..=rounds).map(|seed| timed(alpha, seed)).collect::<Result<Vec<_>>>()?;
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (seconds, ratio, steps) = runs[runs.len() / 2];
        println!("| {alpha} | {seconds:.2} | {:.2} | {:.0} | {steps} |", runs[0].0, ratio);
    }
    Ok(())
}

/// Seconds, millions of `exp` of the same moment, and Newton steps of one fit.
fn timed(alpha: f64, seed: u64) -> Result<(f64, f64, usize)> {
    let exp = exp_seconds();
    let (fit, seconds) = one_fit(alpha, 1000, 500, seed)?;
    Ok((seconds, seconds / (1e6 * exp), fit.iterations))
}

/// One row of the table of growth, for a process of its own: `VmHWM` is the most memory it ever held.
pub fn growth(steps: usize, paths: usize) -> Result<()> {
    let (fit, seconds) = one_fit(1.5, steps, paths, 1)?;
    println!("| {steps} | {paths} | {seconds:.1} | {:.2} | {} |", peak_gigabytes(), fit.iterations);
    Ok(())
}

fn one_fit(alpha: f64, steps: usize, paths: usize, seed: u64) -> Result<(Fit, f64)> {
    let (times, values) = observations(&Truth { drift: "ou", alpha, ..Truth::default() }, steps, seed)?;
    let start = Instant::now();
    let grid = TimeGrid::new(&times, Some(steps))?;
    let spec = Spec::new(DriftFamily::named("ou").expect("known"), Family::named("stable").expect("known"));
    let fit = fit(&spec, &grid, &[&values], &FitOptions { paths, seed, ..FitOptions::default() })?;
    Ok((fit, start.elapsed().as_secs_f64()))
}

/// Most memory this process ever held, in GB (10⁹ bytes).
fn peak_gigabytes() -> f64 {
    memory("VmHWM").map_or(f64::NAN, |bytes| bytes / 1e9)
}

/// Seconds of one scalar exponential in a loop.
fn exp_seconds() -> f64 {
    let n = 4_000_000;
    let start = Instant::now();
    let sum: f64 = (0..n).map(|i| black_box(-(i as f64) * 2.5e-6).exp()).sum();
    black_box(sum);
    start.elapsed().as_secs_f64() / n as f64
}
