//! Print the tables of docs/validation/dimensions.md: evidence and cost of several dimensions, and a drift network in ten.
//!
//! `scripts/validate dimensions`

use levytilt::drift::{Drift, DriftFamily, Linear};
use levytilt::internals::exact;
use levytilt::internals::fit::{Fit, FitOptions, NeuralSize, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Stable};
use levytilt::{Dimension, Result, Start, StateSpace, simulate};
use levytilt_validation::memory::memory;
use nalgebra::{DMatrix, DVector};
use std::time::Instant;

const STEPS: usize = 1000;

fn main() -> Result<()> {
    let what = std::env::args().nth(1);
    let wanted = |name: &str| what.as_deref().is_none_or(|what| what == name);
    let times: Vec<f64> = (0..=STEPS).map(|j| 0.01 * j as f64).collect();
    let grid = TimeGrid::new(&times, Some(STEPS))?;
    if wanted("network") {
        network(&grid)?;
    }
    if wanted("evidence") {
        evidence(&grid)?;
    }
    if wanted("cost") {
        cost(&grid)?;
    }
    Ok(())
}

fn names(dim: usize) -> Vec<String> {
    (0..dim).map(|i| format!("x{i}")).collect()
}

/// `dim` OU processes with stable noise that do not act on each other, seen with errors of 0.1.
fn strangers(dim: usize) -> Spec {
    let spec = Spec::new(DriftFamily::named("ou").unwrap_or(DriftFamily::none()), stable());
    let spec = spec.fix("mu", 1.0).fix("scale", 2.0).fix("observation_std", 0.1);
    (0..dim).fold(Spec { names: names(dim), x0: Some(0.0), ..spec }, |spec, i| {
        let (theta, alpha) = (1.0 + 0.5 * i as f64, 1.3 + 0.05 * i as f64);
        spec.fix(&format!("theta[x{i}]"), theta).fix(&format!("alpha[x{i}]"), alpha)
    })
}

fn stable() -> &'static Family {
    Family::named("stable").unwrap_or(&levytilt::noise::FAMILIES[0])
}

fn columns(model: &StateSpace, grid: &TimeGrid, seed: u64) -> Result<Vec<Vec<f64>>> {
    let seen = simulate(model, grid.times(), seed)?;
    Ok((0..model.dim()).map(|i| seen.column(i)).collect())
}

fn slices(columns: &[Vec<f64>]) -> Vec<&[f64]> {
    columns.iter().map(Vec::as_slice).collect()
}

/// Evidence of strangers: particles of all dimensions against the sum of the exact ones.
fn evidence(grid: &TimeGrid) -> Result<()> {
    println!("\n## Evidence of dimensions that do not act on each other\n");
    println!(
        "| dimensions | sum of exact | particle filter | standard error | deviation in standard errors |\n|---|---|---|---|---|"
    );
    for dim in [1, 2, 5, 10] {
        let spec = strangers(dim);
        let seen = columns(&spec.model()?, grid, 1)?;
        let found = fit(&spec, grid, &slices(&seen), &FitOptions::default())?;
        let mut exact = 0.0;
        for (i, values) in seen.iter().enumerate() {
            let alone = strangers(dim);
            let alone = Spec { names: vec![format!("x{i}")], ..alone };
            let given =
                alone.given.iter().filter(|(name, _)| !name.contains('[') || name.ends_with(&format!("[x{i}]")));
            let alone = Spec { given: given.cloned().collect(), ..alone.clone() };
            exact += exact::log_evidence(&alone.model()?, grid, values, &exact::Options::default())?;
        }
        let (got, error) = (found.evidence.log_evidence, found.evidence.std_error);
        println!("| {dim} | {exact:.2} | {got:.2} | {error:.2} | {:.1} |", (got - exact) / error);
    }
    Ok(())
}

/// Cost of learning strangers.
fn cost(grid: &TimeGrid) -> Result<()> {
    println!("\n## Cost of a fit, everything learned, {STEPS} steps, 500 paths\n");
    println!("| dimensions | seconds | seconds per dimension |\n|---|---|---|");
    for dim in [1, 2, 5, 10] {
        let seen = columns(&strangers(dim).model()?, grid, 1)?;
        let spec = Spec { given: vec![], ..strangers(dim) };
        let started = Instant::now();
        fit(&spec, grid, &slices(&seen), &FitOptions::default())?;
        let seconds = started.elapsed().as_secs_f64();
        println!("| {dim} | {seconds:.2} | {:.2} |", seconds / dim as f64);
    }
    Ok(())
}

/// A ring of ten: each is pulled to its neighbour, with heavy-tailed noise.
fn ring(dim: usize) -> Result<StateSpace> {
    let matrix = DMatrix::from_fn(dim, dim, |i, j| match (dim + j - i) % dim {
        0 => -3.0,
        1 => 2.0,
        _ => 0.0,
    });
    let mut dimensions = Vec::new();
    for _ in 0..dim {
        dimensions.push(Dimension {
            noise: Box::new(Stable::new(1.7, 1.0)?),
            size: None,
            observation_std: 0.05,
            errors: levytilt::internals::Errors::default(),
            start: Start::Fixed(0.0),
        });
    }
    StateSpace::multivariate(Box::new(Linear::new(matrix, DVector::zeros(dim))?), dimensions)
}

/// A network of width 32 for the ring, and what it costs.
fn network(grid: &TimeGrid) -> Result<()> {
    println!("\n## A drift network of width 32 in ten dimensions, {STEPS} steps, 500 paths\n");
    let truth = ring(10)?;
    let seen = columns(&truth, grid, 1)?;
    let spec = Spec { names: names(10), x0: Some(0.0), ..Spec::neural(NeuralSize::default(), stable()) };
    let started = Instant::now();
    let found = fit(&spec, grid, &slices(&seen), &FitOptions::default())?;
    let seconds = started.elapsed().as_secs_f64();
    let memory = memory("VmHWM").map_or("unknown".into(), |bytes| format!("{:.0}", bytes / 1_048_576.0));
    println!("| figure | value |\n|---|---|");
    println!("| seconds | {seconds:.2} |");
    println!("| largest memory (VmHWM), MB | {memory} |");
    let Some(held) = found.network.as_ref().and_then(|network| network.regularisation) else { return Ok(()) };
    println!("| strength of the penalty | {} |", held.strength);
    println!("| held-out gain over zero drift, nats | {:.1} ± {:.1} |", held.gain, held.std_error);
    println!("| relative error of the drift over the visited states | {:.2} |", drift_error(&found, &truth, &seen));
    println!("| log evidence | {:.1} ± {:.1} |", found.evidence.log_evidence, found.evidence.std_error);
    let none = fit(&Spec { network: None, ..spec.clone() }, grid, &slices(&seen), &FitOptions::default())?;
    println!("| without drift | {:.1} ± {:.1} |", none.evidence.log_evidence, none.evidence.std_error);
    Ok(())
}

/// Root mean square error of the drift over the root mean square of the true one.
fn drift_error(found: &Fit, truth: &StateSpace, seen: &[Vec<f64>]) -> f64 {
    let (dim, dt) = (seen.len(), 1e-4);
    let velocity = |drift: &dyn Drift, x: &[f64]| -> Vec<f64> {
        let mut out = vec![0.0; dim];
        drift.flow(0.0, dt, x, &mut out);
        out.iter().zip(x).map(|(out, x)| (out - x) / dt).collect()
    };
    let (mut error, mut size) = (0.0, 0.0);
    for j in 0..seen[0].len() {
        let x: Vec<f64> = seen.iter().map(|column| column[j]).collect();
        let pairs = velocity(found.model.drift.as_ref(), &x).into_iter().zip(velocity(truth.drift.as_ref(), &x));
        for (got, want) in pairs {
            error += (got - want).powi(2);
            size += want.powi(2);
        }
    }
    (error / size).sqrt()
}
