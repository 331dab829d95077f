//! Print how exact and how fast the paths of the grid solver are: `scripts/validate grid [paths]`.
//!
//! 1000 steps of 0.01, observations with standard deviation 0.1 at every time, every 5th or every 20th, stable noise of
//! scale 2, true parameters given. A z-score is a difference to the exact marginal in its own Monte Carlo standard
//! errors: right paths give a root mean square of 1.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::posterior::{WeightSummary, marginals};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::{exact, solve};
use levytilt::noise::Stable;
use levytilt::{Result, Start, StateSpace, simulate};
use std::time::Instant;

const STEPS: usize = 1000;

fn main() -> Result<()> {
    let count = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(500);
    println!(
        "| drift | α | observed | cells per sd | log evidence | its difference to the ELBO | sd of log weights | ESS of {count} \
         | left the domain | rms z of means | of medians | smoother, s | paths, s | of it above the evidence, s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for name in ["ou", "double-well"] {
        for alpha in [1.2, 1.5, 1.8] {
            for every in [1, 5, 20] {
                row(name, alpha, every, count)?;
            }
        }
    }
    Ok(())
}

fn row(name: &str, alpha: f64, every: usize, count: usize) -> Result<()> {
    let drift: Box<dyn Drift> = match name {
        "ou" => Box::new(Ou::new(3.0, 1.0)?),
        _ => Box::new(DoubleWell::new(1.0, 1.0)?),
    };
    let model = StateSpace::new(drift, Box::new(Stable::new(alpha, 2.0)?), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=STEPS).map(|j| j as f64 * 0.01).collect();
    let mut values = simulate(&model, &times, 1)?.observations;
    (0..=STEPS).filter(|j| j % every != 0).for_each(|j| values[j] = f64::NAN);
    let grid = TimeGrid::new(&times, Some(STEPS))?;
    let options = exact::Options { quantiles: vec![0.25, 0.5, 0.75], ..Default::default() };
    let (exact, smoother) = timed(|| exact::smooth(&model, &grid, &values, &options))?;
    let (found, seconds) = timed(|| solve::exact_paths(&model, &grid, &values, &options, count, 1))?;
    let (_, evidence) = timed(|| exact::log_evidence(&model, &grid, &values, &options))?;
    let logs = found.paths.log_weights();
    let summary = WeightSummary::new(&logs);
    let spread = (logs.iter().map(|l| (l - summary.elbo).powi(2)).sum::<f64>() / (count - 1) as f64).sqrt();
    let n = count as f64;
    let got = marginals(&found.paths, 0, &vec![1.0 / n; count], &[0.5]);
    // Between modes, and where the variance does not exist, a mean has no standard error; a median has one everywhere: the
    // density at it is read off the middle half of the law.
    let mean_z = rms((1..=STEPS)
        .filter(|&j| exact.sd[j].is_finite())
        .map(|j| (got[j].mean - exact.mean[j]) / exact.sd[j] * n.sqrt()));
    let median_z = rms((1..=STEPS).map(|j| {
        let below = found.paths.column(0, j).filter(|x| *x < exact.quantiles[1][j]).count() as f64;
        (below / n - 0.5) / (0.5 / n.sqrt())
    }));
    // Only between observations does the domain matter.
    let (low, high) = found.domain;
    let mut outside = vec![false; count];
    for j in (0..=STEPS).filter(|j| j % every != 0) {
        let states = found.paths.column(0, j);
        outside.iter_mut().zip(states).for_each(|(outside, x)| *outside |= x < low || x > high);
    }
    let left = outside.iter().filter(|outside| **outside).count();
    let cells_per_sd = exact.sd[STEPS / 2 / every * every] / exact.spacing;
    println!(
        "| {name} | {alpha} | every {every} | {cells_per_sd:.1} | {:.3} | {:+.1e} | {spread:.1e} | {:.1} | {left} | {mean_z:.2} | \
         {median_z:.2} | {smoother:.2} | {seconds:.2} | {:.2} |",
        found.log_evidence,
        found.log_evidence - summary.elbo,
        summary.effective_sample_size,
        seconds - evidence
    );
    Ok(())
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), z| (sum + z * z, count + 1.0));
    f64::sqrt(sum / count)
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let start = Instant::now();
    Ok((work()?, start.elapsed().as_secs_f64()))
}
