//! Print how close sampled posteriors come to the exact ones.
//!
//! - `scripts/validate inference [seeds]`: dense data, method `auto`.
//! - `scripts/validate inference SEEDS ou` or `double-well`: sparse data, the Gaussian-sum filter; a
//!   number behind it prints the rows observed that rarely alone.
//!
//! Dense data as in the paper's synthetic study: 1000 steps of 0.01, an observation at each with standard deviation 0.1,
//! true parameters given, 500 paths. The exact figures come from the grid reference.

mod sparse;

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::Chain;
use levytilt::internals::exact;
use levytilt::internals::posterior::{WeightSummary, log_evidence, marginals, walk};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Method, SweepOptions, expect};
use levytilt::noise::Stable;
use levytilt::{Result, Start, StateSpace, simulate};
use std::time::Instant;

const STEPS: usize = 1000;
const PATHS: usize = 500;

/// What one data set shows.
struct Case {
    gap: f64,
    /// Particle minus exact evidence, and its standard error.
    particle: (f64, f64),
    /// Root mean square error of posterior means in posterior standard deviations.
    mean_error: f64,
    effective: f64,
    /// Whether the Gaussian sum was taken rather than sweeps.
    sum: bool,
    seconds: f64,
}

fn main() -> Result<()> {
    let seeds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(10);
    if let Some(name) = std::env::args().nth(2) {
        return sparse::table(&name, seeds, std::env::args().nth(3).and_then(|s| s.parse().ok()));
    }
    println!(
        "| drift | α | exact − ELBO, mean | worst | particle filter within 3 se | its se, mean | rms of means / sd | ESS | Gaussian sums | s per fit |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut all: Vec<Case> = Vec::new();
    for name in ["ou", "double-well"] {
        for tenth in 11..=19 {
            let alpha = f64::from(tenth) / 10.0;
            let cases = (0..seeds).map(|seed| case(name, alpha, seed + 1)).collect::<Result<Vec<_>>>()?;
            row(name, &format!("{alpha}"), &cases);
            all.extend(cases);
        }
    }
    row("all", "1.1–1.9", &all);
    Ok(())
}

fn row(name: &str, alpha: &str, cases: &[Case]) {
    let n = cases.len() as f64;
    let mean = |f: &dyn Fn(&Case) -> f64| cases.iter().map(f).sum::<f64>() / n;
    let worst = cases.iter().map(|c| c.gap).fold(f64::NEG_INFINITY, f64::max);
    let within = cases.iter().filter(|c| c.particle.0.abs() <= 3.0 * c.particle.1).count();
    println!(
        "| {name} | {alpha} | {:.2} | {worst:.2} | {within}/{} | {:.3} | {:.3} | {:.0} | {} | {:.2} |",
        mean(&|c| c.gap),
        cases.len(),
        mean(&|c| c.particle.1),
        mean(&|c| c.mean_error),
        mean(&|c| c.effective),
        cases.iter().filter(|c| c.sum).count(),
        mean(&|c| c.seconds)
    );
}

fn drift(name: &str) -> Result<Box<dyn Drift>> {
    Ok(match name {
        "ou" => Box::new(Ou::new(3.0, 1.0)?),
        "double-well" => Box::new(DoubleWell::new(1.0, 1.0)?),
        _ => panic!("drift {name} is not in this table; ou and double-well are"),
    })
}

fn case(name: &str, alpha: f64, seed: u64) -> Result<Case> {
    let model = StateSpace::new(drift(name)?, Box::new(Stable::new(alpha, 2.0)?), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=STEPS).map(|j| j as f64 * 0.01).collect();
    let values = simulate(&model, &times, seed)?.observations;
    let grid = TimeGrid::new(&times, Some(STEPS))?;
    let exact = exact::smooth(&model, &grid, &values, &exact::Options::default())?;
    let start = Instant::now();
    let chain = Chain::new(&model, &grid, &[&values])?;
    let found = expect(&chain, None, Method::Auto, &SweepOptions { seed, ..Default::default() })?;
    // Fresh paths: the ones that the potentials were fitted to would flatter them.
    let fresh = walk(&chain, &found.potentials, PATHS, seed + 1_000_000);
    let logs = fresh.log_weights();
    let summary = WeightSummary::new(&logs);
    // Every path counts the same: the weight of a whole path is a product over a thousand steps and says little about one
    // of them, so weighting trades a bias that cannot be seen for a variance that can.
    let means = marginals(&fresh, 0, &[1.0 / PATHS as f64; PATHS], &[]);
    let particle = log_evidence(&chain, &found.potentials, 4000, seed + 2_000_000);
    let seconds = start.elapsed().as_secs_f64();
    let square: f64 = (1..=STEPS).map(|j| ((means[j].mean - exact.mean[j]) / exact.sd[j]).powi(2)).sum();
    Ok(Case {
        gap: exact.log_evidence - summary.elbo,
        particle: (particle.log_evidence - exact.log_evidence, particle.std_error),
        mean_error: (square / STEPS as f64).sqrt(),
        effective: summary.effective_sample_size,
        sum: found.choice.method == Method::GaussianSum,
        seconds,
    })
}
