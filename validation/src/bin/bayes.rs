//! Quantiles of `--bayes` against a long Markov chain on the reference evidence: `scripts/validate bayes STEPS RECORD...`
//!
//! The records are those of `coverage` with 300 rows. The chain is Metropolis's with moves as wide as the posterior, from a t law; it
//! shares the priors with the draws, but neither windows nor laws.

use anyhow::{Result, anyhow};
use levytilt::internals::exact::{Options, log_evidence};
use levytilt::internals::fit::{FitOptions, first_parameters, fit, parameter_posterior};
use levytilt::internals::solve::{ParameterPosterior, rebuild};
use levytilt::stream;
use levytilt_validation::cpu::cpu_seconds;
use levytilt_validation::short_record::{NAMES, Record, spec};
use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

const ROWS: usize = 300;
const DRAWS: usize = 1000;
const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];
/// Share of the chain that is left out at its beginning, and parts of the rest whose spread tells its error.
const WARM_UP: usize = 10;
const PARTS: usize = 10;

fn main() -> Result<()> {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<std::result::Result<_, _>>()?;
    let (&steps, records) = words.split_first().ok_or_else(|| anyhow!("expected STEPS RECORD..."))?;
    println!("| record | k̂ | effective of | parameter | 5%, median, 95%: draws − chain, in sd | error of the chain |");
    println!("|---|---|---|---|---|---|");
    let (mut squares, mut count, mut worst) = (0.0, 0, 0.0f64);
    for &record in records {
        for away in compare(record, steps)? {
            squares += away * away;
            count += 1;
            worst = worst.max(away.abs());
        }
    }
    println!("\nrms {:.3}, worst {worst:.3} sd; {:.0} CPU s", (squares / f64::from(count)).sqrt(), cpu_seconds());
    Ok(())
}

/// Distances of the quantiles.
fn compare(number: usize, steps: usize) -> Result<Vec<f64>> {
    let Record { grid, values, .. } = Record::new(number, ROWS)?;
    let spec = spec()?;
    let found = fit(&spec, &grid, &[&values], &FitOptions { paths: 2, ..FitOptions::default() })?;
    let drawn = parameter_posterior(&found, &spec, (&grid, &[&values]), true, (DRAWS, 1))?;
    let first = first_parameters(&spec, &grid, &[&values])?;
    let log_posterior = |free: &DVector<f64>| {
        let all: Vec<f64> = first.iter().zip(free.iter()).map(|(p, u)| p.transform.backward(*u)).collect();
        let model = rebuild(&found.model, &all).ok()?;
        let evidence = log_evidence(&model, &grid, &values, &Options::default()).ok()?;
        let prior = first.iter().zip(free.iter()).filter_map(|(p, u)| Some((p.prior?, u)));
        Some(evidence - prior.map(|(prior, u)| 0.5 * ((u - prior.mean) / prior.std).powi(2)).sum::<f64>())
    };
    let free: Vec<DVector<f64>> = drawn
        .draws
        .iter()
        .map(|draw| DVector::from_iterator(5, draw.iter().zip(&first).map(|(v, p)| p.transform.forward(*v))))
        .collect();
    let chain = chain(&free, &drawn, steps, log_posterior)?;
    let mut away = Vec::new();
    for (k, name) in NAMES.iter().enumerate() {
        let (_, sd) = spread(&free, &drawn.weights, k);
        let own: Vec<f64> =
            drawn.quantiles(k, &LEVELS).into_iter().map(|value| first[k].transform.forward(value)).collect();
        let all = quantiles(chain.iter().map(|at| at[k]).collect());
        let parts: Vec<[f64; 3]> = chain
            .chunks(chain.len().div_ceil(PARTS))
            .map(|part| quantiles(part.iter().map(|at| at[k]).collect()))
            .collect();
        let error = |l: usize| {
            let mean = parts.iter().map(|part| part[l]).sum::<f64>() / parts.len() as f64;
            let square: f64 = parts.iter().map(|part| (part[l] - mean).powi(2)).sum();
            (square / (parts.len() * (parts.len() - 1)) as f64).sqrt() / sd
        };
        let apart: Vec<f64> = (0..3).map(|l| (own[l] - all[l]) / sd).collect();
        let shown = |values: &[f64]| values.iter().map(|v| format!("{v:+.2}")).collect::<Vec<_>>().join(", ");
        println!(
            "| {number} | {:.2} | {:.0} of {} | {name} | {} | {} |",
            drawn.k_hat,
            drawn.effective_sample_size,
            drawn.draws.len(),
            shown(&apart),
            shown(&[error(0), error(1), error(2)])
        );
        away.extend(apart);
    }
    Ok(away)
}

/// Weighted mean and standard deviation of coordinate `k`.
fn spread(free: &[DVector<f64>], weights: &[f64], k: usize) -> (f64, f64) {
    let mean: f64 = free.iter().zip(weights).map(|(at, w)| w * at[k]).sum();
    (mean, free.iter().zip(weights).map(|(at, w)| w * (at[k] - mean).powi(2)).sum::<f64>().sqrt())
}

/// States of a Metropolis chain, which begins at the heaviest draw.
fn chain(
    free: &[DVector<f64>],
    drawn: &ParameterPosterior,
    steps: usize,
    log_posterior: impl Fn(&DVector<f64>) -> Option<f64>,
) -> Result<Vec<DVector<f64>>> {
    let n = free[0].len();
    let means: Vec<f64> = (0..n).map(|k| spread(free, &drawn.weights, k).0).collect();
    let mean = DVector::from_vec(means);
    let mut covariance = DMatrix::zeros(n, n);
    for (at, w) in free.iter().zip(&drawn.weights) {
        covariance += (at - &mean) * (at - &mean).transpose() * *w;
    }
    let root = covariance.cholesky().ok_or_else(|| anyhow!("no covariance"))?.l() * (1.7 / (n as f64).sqrt());
    let begin: usize = (0..free.len()).max_by(|&a, &b| drawn.weights[a].total_cmp(&drawn.weights[b])).unwrap_or(0);
    let mut rng = stream(77, 1);
    let (mut at, chi) = (free[begin].clone(), ChiSquared::new(3.0)?);
    let mut value = log_posterior(&at).ok_or_else(|| anyhow!("no evidence at a draw"))?;
    let mut all = Vec::with_capacity(steps);
    for _ in 0..steps {
        let z = DVector::from_fn(n, |_, _| -> f64 { StandardNormal.sample(&mut rng) });
        let stretch: f64 = 3.0 / chi.sample(&mut rng);
        let next = &at + &root * z * stretch.sqrt();
        if let Some(there) = log_posterior(&next).filter(|there| rng.random::<f64>().ln() < there - value) {
            (at, value) = (next, there);
        }
        all.push(at.clone());
    }
    Ok(all.split_off(steps / WARM_UP))
}

fn quantiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    LEVELS.map(|level| values[((values.len() - 1) as f64 * level).round() as usize])
}
