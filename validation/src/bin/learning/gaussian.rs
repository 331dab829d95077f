//! Gaussian noise and a linear drift, where the maximum of the Kalman likelihood is known.

use crate::data::{Truth, observations};
use crate::maximum::maximum;
use levytilt::drift::DriftFamily;
use levytilt::internals::exact::kalman::{self, Step};
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::parameters;
use levytilt::noise::Family;
use levytilt::{Result, Start};

const STEPS: usize = 1000;

/// Learned values against the maximum of the exact evidence, in standard errors, and the bound against that evidence.
pub fn gaussian(seeds: u64) -> Result<()> {
    println!("| seed | theta | mu | scale | observation_std | ELBO − log evidence | Newton steps |");
    println!("|---|---|---|---|---|---|---|");
    let truth = Truth { alpha: 2.0, ..Truth::default() };
    for seed in 1..=seeds {
        let (times, values) = observations(&truth, STEPS, seed)?;
        let grid = TimeGrid::new(&times, Some(STEPS))?;
        let spec = Spec::new(DriftFamily::named("ou").expect("known"), Family::named("gaussian").expect("known"));
        let spec = Spec { x0: Some(0.0), ..spec };
        let fit = fit(&spec, &grid, &[&values], &FitOptions { seed, priors: false, ..FitOptions::default() })?;
        let model = &fit.model;
        let errors: Vec<f64> = fit.parameters.iter().map(|p| p.std_error.unwrap_or(f64::NAN)).collect();
        let best = maximum(model, &parameters(model), &errors, &grid, &values)?;
        let off = |i: usize| (fit.parameters[i].value - best.values[i]) / best.std_errors[i];
        let evidence = kalman_evidence(&fit, &values)?;
        println!(
            "| {seed} | {:+.5} | {:+.5} | {:+.5} | {:+.5} | {:+.1e} | {} |",
            off(0),
            off(1),
            off(2),
            off(3),
            fit.summary.elbo - evidence,
            fit.iterations
        );
    }
    Ok(())
}

/// ln p(y) from the flow μ + (x − μ)e^{−θΔ} and variance scale²·Δ.
fn kalman_evidence(fit: &Fit, values: &[f64]) -> Result<f64> {
    let [theta, mu, scale, error] = [0, 1, 2, 3].map(|i| fit.parameters[i].value);
    let dt = fit.times[1] - fit.times[0];
    let slope = (-theta * dt).exp();
    let step = Step { slope, offset: mu * (1.0 - slope), variance: scale * scale * dt };
    Ok(kalman::smooth(Start::Fixed(0.0), &vec![step; values.len() - 1], values, error)?.log_evidence)
}
