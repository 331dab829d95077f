//! Sparse data, and dense data with very heavy tails: the Gaussian-sum filter beside sweeps with one quadratic.

use super::{PATHS, STEPS, drift};
use levytilt::internals::posterior::{WeightSummary, log_evidence, walk};
use levytilt::internals::potential::Potential;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{GaussianSumOptions, SweepOptions, gaussian_sum, robust_start, sweep};
use levytilt::internals::{Chain, exact};
use levytilt::noise::Stable;
use levytilt::{Result, Start, StateSpace, simulate};
use std::time::Instant;

/// What one data set shows.
struct Case {
    gap: f64,
    /// Particle minus exact evidence, and its standard error.
    particle: (f64, f64),
    effective: f64,
    k_hat: f64,
    bumps: f64,
    /// Filter alone, and filter with paths.
    seconds: (f64, f64),
    /// Gap and seconds of sweeps with one quadratic.
    sweeps: (f64, f64),
}

/// Print the table for one drift, or its rows observed at every `only`th step.
pub fn table(name: &str, seeds: u64, only: Option<usize>) -> Result<()> {
    println!(
        "| drift | α | observed every | exact − ELBO, mean | worst | particle filter within 3 se | furthest off, nats | its se, mean | ESS | k̂ | components | \
         s filter | s with paths | sweeps: exact − ELBO | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for every in [1, 5, 20, 100].into_iter().filter(|every| only.is_none_or(|only| only == *every)) {
        let alphas: &[f64] = if every == 1 { &[1.1, 1.2] } else { &[1.2, 1.5, 1.8] };
        for &alpha in alphas {
            let cases = (1..=seeds).map(|seed| case(name, alpha, every, seed)).collect::<Result<Vec<_>>>()?;
            row(name, alpha, every, &cases);
        }
    }
    Ok(())
}

fn row(name: &str, alpha: f64, every: usize, cases: &[Case]) {
    let n = cases.len() as f64;
    let mean = |f: &dyn Fn(&Case) -> f64| cases.iter().map(f).sum::<f64>() / n;
    let worst = cases.iter().map(|c| c.gap).fold(f64::NEG_INFINITY, f64::max);
    let within = cases.iter().filter(|c| c.particle.0.abs() <= 3.0 * c.particle.1).count();
    let furthest = cases.iter().map(|c| c.particle.0.abs()).fold(0.0, f64::max);
    println!(
        "| {name} | {alpha} | {every} | {:.2} | {worst:.2} | {within}/{} | {furthest:.2} | {:.3} | {:.0} | {:.2} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} |",
        mean(&|c| c.gap),
        cases.len(),
        mean(&|c| c.particle.1),
        mean(&|c| c.effective),
        mean(&|c| c.k_hat),
        mean(&|c| c.bumps),
        mean(&|c| c.seconds.0),
        mean(&|c| c.seconds.1),
        mean(&|c| c.sweeps.0),
        mean(&|c| c.sweeps.1),
    );
}

fn case(name: &str, alpha: f64, every: usize, seed: u64) -> Result<Case> {
    let model = StateSpace::new(drift(name)?, Box::new(Stable::new(alpha, 2.0)?), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=STEPS).map(|j| j as f64 * 0.01).collect();
    let mut values = simulate(&model, &times, seed)?.observations;
    values.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, v)| *v = f64::NAN);
    let grid = TimeGrid::new(&times, Some(STEPS))?;
    let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default())?;
    let chain = Chain::new(&model, &grid, &[&values])?;
    let start = Instant::now();
    let potentials = gaussian_sum(&chain, &GaussianSumOptions::default())?;
    let filter_seconds = start.elapsed().as_secs_f64();
    let summary = WeightSummary::new(&walk(&chain, &potentials, PATHS, seed + 1_000_000).log_weights());
    let seconds = (filter_seconds, start.elapsed().as_secs_f64());
    let particle = log_evidence(&chain, &potentials, 4000, seed + 2_000_000);
    let start = Instant::now();
    let swept = sweep(&chain, robust_start(&chain)?, &SweepOptions { seed, ..Default::default() })?;
    let fresh = WeightSummary::new(&walk(&chain, &swept.potentials, PATHS, seed + 1_000_000).log_weights());
    let sweeps = (exact - fresh.elbo, start.elapsed().as_secs_f64());
    let count = |potential: &Potential| match potential {
        Potential::Quadratic(_) => 1,
        Potential::Sum(sum) => sum.components().len(),
    };
    Ok(Case {
        gap: exact - summary.elbo,
        particle: (particle.log_evidence - exact, particle.std_error),
        effective: summary.effective_sample_size,
        k_hat: summary.k_hat,
        bumps: potentials[0].iter().map(count).sum::<usize>() as f64 / chain.len() as f64,
        seconds,
        sweeps,
    })
}
