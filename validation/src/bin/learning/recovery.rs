//! Learned parameters against the truth over many data sets: bias and coverage.

use crate::data::{Truth, observations};
use levytilt::Result;
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;

const STEPS: usize = 1000;
/// 95% quantile of the normal law: the end of a 90% interval.
const Z: f64 = 1.644_853_626_951_472_7;

/// Fit everything, without priors, to `seeds` data sets of an OU process for each index.
pub fn recovery(seeds: u64) -> Result<()> {
    println!(
        "| α | parameter | truth | mean | bias / its standard error | mean standard error / sd of estimates | 90% intervals cover |"
    );
    println!("|---|---|---|---|---|---|---|");
    for alpha in [1.2, 1.5, 1.8] {
        rows(alpha, seeds)?;
    }
    Ok(())
}

fn rows(alpha: f64, seeds: u64) -> Result<()> {
    let truth = Truth { alpha, ..Truth::default() };
    let names = ["theta", "mu", "alpha", "scale", "observation_std"];
    let true_values = [3.0, 1.0, alpha, truth.scale, truth.observation_std];
    let mut found: Vec<Vec<(f64, f64)>> = vec![Vec::new(); names.len()];
    for seed in 1..=seeds {
        let (times, values) = observations(&truth, STEPS, 100 + seed)?;
        let grid = TimeGrid::new(&times, Some(STEPS))?;
        let spec = Spec::new(DriftFamily::named("ou").expect("known"), Family::named("stable").expect("known"));
        let fit = fit(&spec, &grid, &[&values], &FitOptions { seed, priors: false, ..FitOptions::default() })?;
        for (found, name) in found.iter_mut().zip(names) {
            let p = fit.parameter(name).expect("a parameter of this model");
            found.push((p.value, p.std_error.unwrap_or(f64::NAN)));
        }
    }
    let n = seeds as f64;
    for ((found, name), wanted) in found.iter().zip(names).zip(true_values) {
        let mean = found.iter().map(|f| f.0).sum::<f64>() / n;
        let spread = (found.iter().map(|f| (f.0 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let error = found.iter().map(|f| f.1).sum::<f64>() / n;
        let covered = found.iter().filter(|f| (f.0 - wanted).abs() <= Z * f.1).count();
        println!(
            "| {alpha} | {name} | {wanted} | {mean:.4} | {:.2} | {:.2} | {covered}/{seeds} |",
            (mean - wanted) / (spread / n.sqrt()),
            error / spread
        );
    }
    Ok(())
}
