//! Sparse data: the Gaussian-sum filter against the exact evidence.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::noise::Stable;
use levytilt::posterior::{WeightSummary, log_evidence, walk};
use levytilt::series::TimeGrid;
use levytilt::solve::{GaussianSumOptions, SweepOptions, gaussian_sum, robust_start, sweep};
use levytilt::{Chain, Model, Result, Start, exact, simulate};
use std::time::Instant;

const STEPS: usize = 1000;
const PATHS: usize = 500;

/// What one data set shows.
struct Case {
    gap: f64,
    /// Particle minus exact evidence, and its standard error.
    particle: (f64, f64),
    effective: f64,
    k_hat: f64,
    bumps: f64,
    filter_seconds: f64,
    seconds: f64,
    /// Gap and seconds of sweeps with one quadratic.
    sweeps: (f64, f64),
}

pub fn main(seeds: u64) -> Result<()> {
    println!(
        "| drift | α | observed every | exact − ELBO, mean | worst | particle within 3 se | its se, mean | ESS | k̂ | bumps | s filter | s in all | sweeps: exact − ELBO | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let pick = |i: usize| std::env::args().nth(i);
    for name in ["ou", "double-well"] {
        if pick(2).is_some_and(|p| p != name && p != "all") {
            continue;
        }
        for every in [1, 5, 20, 100] {
            if pick(3).is_some_and(|p| p != every.to_string() && p != "all") {
                continue;
            }
            let alphas: &[f64] = if every == 1 { &[1.1, 1.2] } else { &[1.2, 1.5, 1.8] };
            for &alpha in alphas {
                let cases = (1..=seeds).map(|seed| case(name, alpha, every, seed)).collect::<Result<Vec<_>>>()?;
                row(name, alpha, every, &cases);
            }
        }
    }
    Ok(())
}

fn row(name: &str, alpha: f64, every: usize, cases: &[Case]) {
    let n = cases.len() as f64;
    let mean = |f: &dyn Fn(&Case) -> f64| cases.iter().map(f).sum::<f64>() / n;
    let worst = cases.iter().map(|c| c.gap).fold(f64::NEG_INFINITY, f64::max);
    let within = cases.iter().filter(|c| c.particle.0.abs() <= 3.0 * c.particle.1).count();
    println!(
        "| {name} | {alpha} | {every} | {:.2} | {worst:.2} | {within}/{} | {:.3} | {:.0} | {:.2} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} |",
        mean(&|c| c.gap),
        cases.len(),
        mean(&|c| c.particle.1),
        mean(&|c| c.effective),
        mean(&|c| c.k_hat),
        mean(&|c| c.bumps),
        mean(&|c| c.filter_seconds),
        mean(&|c| c.seconds),
        mean(&|c| c.sweeps.0),
        mean(&|c| c.sweeps.1),
    );
}

fn case(name: &str, alpha: f64, every: usize, seed: u64) -> Result<Case> {
    let drift: Box<dyn Drift> = match name {
        "ou" => Box::new(Ou::new(3.0, 1.0)?),
        _ => Box::new(DoubleWell::new(1.0, 1.0)?),
    };
    let model = Model::new(drift, Box::new(Stable::new(alpha, 2.0)?), 0.1, Start::Fixed(0.0))?;
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
    let seconds = start.elapsed().as_secs_f64();
    let particle = log_evidence(&chain, &potentials, 4000, seed + 2_000_000);
    let start = Instant::now();
    let swept = sweep(&chain, robust_start(&chain)?, &SweepOptions { seed, ..Default::default() })?;
    let fresh = WeightSummary::new(&walk(&chain, &swept.potentials, PATHS, seed + 1_000_000).log_weights());
    let sweeps = (exact - fresh.elbo, start.elapsed().as_secs_f64());
    let bumps = potentials[0]
        .iter()
        .map(|p| match p {
            levytilt::potential::Potential::Sum(sum) => sum.components().len() as f64,
            _ => 1.0,
        })
        .sum::<f64>()
        / chain.len() as f64;
    if std::env::var("SUM_VERBOSE").is_ok() {
        println!(
            "seed {seed} gap {:.2} sweeps {:.2} ess {:.0} particle {:.3} ± {:.3}",
            exact - summary.elbo,
            sweeps.0,
            summary.effective_sample_size,
            particle.log_evidence - exact,
            particle.std_error
        );
    }
    Ok(Case {
        gap: exact - summary.elbo,
        particle: (particle.log_evidence - exact, particle.std_error),
        effective: summary.effective_sample_size,
        k_hat: summary.k_hat,
        bumps,
        filter_seconds,
        seconds,
        sweeps,
    })
}
