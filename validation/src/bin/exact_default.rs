//! Measure the exact posterior that one dimension gets by default: accuracy, cost against sweeps, and whether what is learned
//! is the maximum of the evidence, for every family of noise.

use levytilt::internals::exact::{Options, log_evidence};
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Method, parameters, rebuild};
use levytilt::noise::Family;
use levytilt::{Result, Start, StateSpace, drift, simulate};
use levytilt_validation::truths::SYMMETRIC;
use std::time::Instant;

fn main() -> Result<()> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if !files.is_empty() {
        return files.iter().try_for_each(|file| real(file));
    }
    println!(
        "| drift | α | observed | log evidence | difference to the reference | ESS of 500 | k̂ | exact fit, s | sweep fit, s | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for drift in ["ou", "double-well"] {
        for alpha in [1.1, 1.5, 1.8] {
            for every in [1, 5, 20] {
                speed(drift, alpha, every)?;
            }
        }
    }
    println!();
    println!("| drift | noise | learned, truth in brackets | way to the maximum, in standard errors | seconds |");
    println!("|---|---|---|---|---|");
    for drift in ["ou", "double-well"] {
        for (family, values) in SYMMETRIC {
            maximum(drift, family, values)?;
        }
    }
    Ok(())
}

fn model(kind: &str, family: &str, values: &[f64]) -> Result<StateSpace> {
    let drift: Box<dyn drift::Drift> = match kind {
        "ou" => Box::new(drift::Ou::new(3.0, 1.0)?),
        _ => Box::new(drift::DoubleWell::new(4.0, 2.0)?),
    };
    let noise = Family::named(family).expect("a family").build(values)?;
    StateSpace::new(drift, noise, 0.1, Start::Fixed(0.0))
}

fn spec(kind: &str, family: &str) -> Spec {
    Spec::new(drift::DriftFamily::named(kind).expect("a drift"), Family::named(family).expect("a family"))
}

/// A record of `steps` steps of 0.01, one time in `every` observed.
fn record(model: &StateSpace, steps: usize, every: usize, seed: u64) -> Result<(TimeGrid, Vec<f64>)> {
    let times: Vec<f64> = (0..=steps).map(|j| 0.01 * j as f64).collect();
    let mut seen = simulate(model, &times, seed)?.observations;
    seen.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, y)| *y = f64::NAN);
    Ok((TimeGrid::new(&times, None)?, seen))
}

fn fitted(kind: &str, family: &str, data: (&TimeGrid, &[f64]), method: Method) -> Result<(Fit, f64)> {
    let spec = spec(kind, family);
    let options = FitOptions { learn: LearnOptions { method, ..Default::default() }, ..Default::default() };
    let started = Instant::now();
    let found = fit(&spec, data.0, &[data.1], &options)?;
    Ok((found, started.elapsed().as_secs_f64()))
}

fn speed(kind: &str, alpha: f64, every: usize) -> Result<()> {
    let (grid, seen) = record(&model(kind, "stable", &[alpha, 2.0])?, 1000, every, 1)?;
    let (exact, seconds) = fitted(kind, "stable", (&grid, &seen), Method::Auto)?;
    let (_, sweep) = fitted(kind, "stable", (&grid, &seen), Method::Sweep)?;
    let reference = log_evidence(&exact.model, &grid, &seen, &Options::default())?;
    println!(
        "| {kind} | {alpha} | every {every} | {reference:.3} | {:+.1e} | {:.1} | {:.2} | {seconds:.2} | {sweep:.2} | {:.2} |",
        exact.evidence.log_evidence - reference,
        exact.summary.effective_sample_size,
        exact.summary.k_hat,
        seconds / sweep
    );
    Ok(())
}

/// √(gᵀ C g) with the slope g of the reference's log evidence, by differences of a tenth of a standard error, and without
/// priors.
fn maximum(kind: &str, family: &str, values: &[f64]) -> Result<()> {
    let truth = model(kind, family, values)?;
    let (grid, seen) = record(&truth, 300, 1, 2)?;
    let spec = spec(kind, family);
    let started = Instant::now();
    let found = fit(&spec, &grid, &[&seen], &FitOptions { priors: false, ..Default::default() })?;
    let seconds = started.elapsed().as_secs_f64();
    let all = parameters(&found.model);
    let n = all.len();
    let mut slope = Vec::new();
    for (k, p) in all.iter().enumerate() {
        let step = 0.1 * found.covariance[k * n + k].sqrt();
        let at = |step: f64| {
            let mut values: Vec<f64> = all.iter().map(|p| p.value).collect();
            values[k] = p.transform.backward(p.transform.forward(p.value) + step);
            log_evidence(&rebuild(&found.model, &values)?, &grid, &seen, &Options::default())
        };
        slope.push((at(step)? - at(-step)?) / (2.0 * step));
    }
    let way: f64 = (0..n * n).map(|i| slope[i / n] * found.covariance[i] * slope[i % n]).sum();
    let truths = parameters(&truth);
    let learned: Vec<String> = found
        .parameters
        .iter()
        .zip(&truths)
        .map(|(p, t)| format!("{} {:.3} ± {:.3} ({})", p.name, p.value, p.std_error.unwrap_or(f64::NAN), t.value))
        .collect();
    println!("| {kind} | {family} | {} | {:.4} | {seconds:.2} |", learned.join(", "), way.max(0.0).sqrt());
    Ok(())
}

/// Fit a file given as path:drift:column, the times in column 0; dates count as rows.
fn real(file: &str) -> Result<()> {
    let parts: Vec<&str> = file.split(':').collect();
    let [path, kind, column] = parts[..] else { panic!("expected path:drift:column, got {file}") };
    let column: usize = column.parse().expect("the number of a column");
    let text = std::fs::read_to_string(path).expect("a readable file");
    let mut rows: Vec<(f64, f64)> = text
        .lines()
        .skip(1)
        .enumerate()
        .map(|(i, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            (fields[0].parse().unwrap_or(i as f64), fields[column].parse().unwrap_or(f64::NAN))
        })
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (times, values): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
    let grid = TimeGrid::new(&times, None)?;
    let (found, seconds) = fitted(kind, "stable", (&grid, &values), Method::Auto)?;
    let learned: Vec<String> = found
        .parameters
        .iter()
        .map(|p| format!("{} {:.4} ± {:.4}", p.name, p.value, p.std_error.unwrap_or(f64::NAN)))
        .collect();
    println!("{path}: {seconds:.1} s, {} steps, log evidence {:.3}", found.iterations, found.evidence.log_evidence);
    println!("  {} posterior ({})", found.posterior, found.choices[0].why);
    println!("  ESS {:.1}, k̂ {:.2}", found.summary.effective_sample_size, found.summary.k_hat);
    println!("  {}", learned.join(", "));
    found.warnings.iter().for_each(|warning| println!("  {warning}"));
    Ok(())
}
