//! Measure how well a diffusion beside the jumps, the gain of an input and the size of the noise are recovered from simulated
//! records.
//!
//! `inputs brownian ALPHA SCALE SIGMA ROWS COUNT`, `inputs gain GAIN COUNT` and `inputs size S ROWS COUNT` fit COUNT records each
//! and print estimates, errors and coverage.

use levytilt::drift::{Between, DriftFamily, Formula, Inputs};
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::simulate;
use levytilt_validation::recovered::Recovered;
use std::error::Error;
use std::time::Instant;

/// Observations of a record, and the time between them.
const ROWS: u32 = 500;
const STEP: f64 = 0.1;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["brownian", alpha, scale, sigma, rows, count] => {
            brownian([alpha.parse()?, scale.parse()?, sigma.parse()?], rows.parse()?, count.parse()?)
        }
        ["gain", gain, count] => gain_of_input(gain.parse()?, count.parse()?),
        ["size", size, rows, count] => size_of_noise(size.parse()?, rows.parse()?, count.parse()?),
        _ => Err(
            "usage: inputs brownian ALPHA SCALE SIGMA ROWS COUNT | inputs gain GAIN COUNT | inputs size S ROWS COUNT"
                .into(),
        ),
    }
}

fn times(rows: u32) -> Vec<f64> {
    (0..rows).map(|j| STEP * f64::from(j)).collect()
}

fn options() -> FitOptions {
    FitOptions { paths: 20, ..FitOptions::default() }
}

fn family(name: &str) -> Outcome<&'static Family> {
    Family::named(name).ok_or_else(|| format!("no noise {name}").into())
}

/// OU with stable jumps of index `alpha` and scale `scale`, and a diffusion of size `sigma`.
fn brownian([alpha, scale, sigma]: [f64; 3], rows: u32, count: u64) -> Outcome<()> {
    let ou = DriftFamily::named("ou").ok_or("no drift ou")?;
    let spec = Spec::new(ou, family("stable")?).fix("observation_std", 0.05);
    let truth = spec.clone().fix("theta", 1.0).fix("mu", 0.0).fix("alpha", alpha).fix("scale", scale);
    let truth = Spec { x0: Some(0.0), ..truth.fix("brownian", sigma) };
    let times = times(rows);
    let grid = TimeGrid::new(&times, None)?;
    let (mut found, mut told) = (Recovered::default(), 0);
    for seed in 0..count {
        let values = simulate(&truth.model()?, &times, 1000 + seed)?.observations;
        let begin = Instant::now();
        let fit = fit(&spec.clone().with_learned_brownian(), &grid, &[&values], &options())?;
        found.seconds += begin.elapsed().as_secs_f64();
        told += usize::from(fit.brownian[0].1.is_told_apart());
        found.add(&fit, "brownian", sigma);
    }
    print(&found, "brownian", sigma);
    println!("told from 0 in {told} of {count} records");
    Ok(())
}

/// OU with stable jumps (α = 1.5), driven by an input that is switched on and off.
fn gain_of_input(gain: f64, count: u64) -> Outcome<()> {
    let times = times(ROWS);
    let grid = TimeGrid::new(&times, None)?;
    let on = |j: u32| if (j / 35).is_multiple_of(2) { 0.0 } else { 1.0 + f64::from(j % 3) };
    let inputs = Inputs::new(times.clone())?.with_column("wind", (0..ROWS).map(on).collect(), Between::Previous)?;
    let formula = Formula::system(&[("x", "theta*(mu - x) + gain*wind")], &["wind"])?.with_inputs(&inputs)?;
    let formula = formula.with_bounds("theta", Some(0.0), None)?;
    let spec = Spec::with_formula(formula, family("stable")?).fix("observation_std", 0.05);
    let truth = spec.clone().fix("theta", 1.0).fix("mu", 0.0).fix("gain", gain);
    let truth = Spec { x0: Some(0.0), ..truth.fix("alpha", 1.5).fix("scale", 0.3) };
    recover((&spec, &truth), (&times, &grid), ("gain", gain), count)
}

/// OU with stable jumps (α = 1.7) of the size 1 + s·|x|.
fn size_of_noise(size: f64, rows: u32, count: u64) -> Outcome<()> {
    let times = times(rows);
    let grid = TimeGrid::new(&times, None)?;
    let formula = Formula::parse("1 + s*abs(x)")?.with_bounds("s", Some(0.0), None)?;
    let ou = DriftFamily::named("ou").ok_or("no drift ou")?;
    let spec = Spec::new(ou, family("stable")?).with_size(formula).fix("observation_std", 0.05);
    let truth = spec.clone().fix("theta", 1.0).fix("mu", 0.0).fix("alpha", 1.7).fix("scale", 0.3).fix("s", size);
    recover((&spec, &Spec { x0: Some(0.0), ..truth }), (&times, &grid), ("s", size), count)
}

fn recover(
    (spec, truth): (&Spec, &Spec),
    (times, grid): (&[f64], &TimeGrid),
    (name, value): (&str, f64),
    count: u64,
) -> Outcome<()> {
    let mut found = Recovered::default();
    for seed in 0..count {
        let values = simulate(&truth.model()?, times, 2000 + seed)?.observations;
        let begin = Instant::now();
        let fit = fit(spec, grid, &[&values], &options())?;
        found.seconds += begin.elapsed().as_secs_f64();
        found.add(&fit, name, value);
    }
    print(&found, name, value);
    Ok(())
}

fn print(found: &Recovered, name: &str, truth: f64) {
    println!("{}\n{}", Recovered::HEAD, found.row(name, truth));
}
