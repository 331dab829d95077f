//! Measure how well a diffusion beside the jumps and the gain of an input are recovered from simulated records.
//!
//! `inputs brownian SIGMA COUNT` and `inputs gain GAIN COUNT` fit COUNT records each and print estimates, errors and coverage.

use levytilt::drift::{Between, DriftFamily, Formula, Inputs};
use levytilt::fit::{Fit, FitOptions, Spec, fit};
use levytilt::noise::Family;
use levytilt::series::TimeGrid;
use levytilt::simulate;
use std::error::Error;
use std::time::Instant;

/// Observations of a record, and the time between them.
const ROWS: u32 = 500;
const STEP: f64 = 0.1;
/// Half the width of a 90% interval, in standard errors.
const NINETY: f64 = 1.645;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["brownian", sigma, count] => brownian(sigma.parse()?, count.parse()?),
        ["gain", gain, count] => gain_of_input(gain.parse()?, count.parse()?),
        _ => Err("usage: inputs brownian SIGMA COUNT | inputs gain GAIN COUNT".into()),
    }
}

/// Estimates of one parameter over records.
#[derive(Default)]
struct Recovered {
    estimates: Vec<f64>,
    errors: Vec<f64>,
    covered: usize,
    seconds: f64,
}

impl Recovered {
    /// Add an estimate; `log` if its interval is one of the logarithm.
    fn add(&mut self, fit: &Fit, name: &str, truth: f64, log: bool) -> Outcome<()> {
        let p = fit.parameter(name).ok_or("no such parameter")?;
        let error = p.std_error.ok_or("no standard error")?;
        let away = if log { (p.value / truth).ln() * p.value / error } else { (p.value - truth) / error };
        self.covered += usize::from(away.abs() < NINETY);
        self.estimates.push(p.value);
        self.errors.push(error);
        Ok(())
    }

    fn print(&self, name: &str, truth: f64) {
        let count = self.estimates.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let centre = mean(&self.estimates);
        let spread = (self.estimates.iter().map(|e| (e - centre).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        println!(
            "{name}: truth {truth}, mean {centre:.4} (bias {:+.2} of its standard error), sd {spread:.4}, mean standard error \
             {:.4}, 90% intervals cover {} of {count}, {:.1} s per record",
            (centre - truth) / (spread / count.sqrt()),
            mean(&self.errors),
            self.covered,
            self.seconds / count
        );
    }
}

fn times() -> Vec<f64> {
    (0..ROWS).map(|j| STEP * f64::from(j)).collect()
}

fn options() -> FitOptions {
    FitOptions { paths: 20, ..FitOptions::default() }
}

fn family(name: &str) -> Outcome<&'static Family> {
    Family::named(name).ok_or_else(|| format!("no noise {name}").into())
}

/// OU with stable jumps (α = 1.2) and a diffusion of this size.
fn brownian(sigma: f64, count: u64) -> Outcome<()> {
    let ou = DriftFamily::named("ou").ok_or("no drift ou")?;
    let spec = Spec::new(ou, family("stable")?).fix("observation_std", 0.05);
    let truth = spec.clone().fix("theta", 1.0).fix("mu", 0.0).fix("alpha", 1.2).fix("scale", 0.3);
    let truth = Spec { x0: Some(0.0), ..truth.fix("brownian", sigma) };
    let (times, grid) = (times(), TimeGrid::new(&times(), None)?);
    let (mut found, mut told) = (Recovered::default(), 0);
    for seed in 0..count {
        let values = simulate(&truth.model()?, &times, 1000 + seed)?.observations;
        let begin = Instant::now();
        let fit = fit(&spec.clone().with_learned_brownian(), &grid, &[&values], &options())?;
        found.seconds += begin.elapsed().as_secs_f64();
        told += usize::from(fit.brownian[0].1.is_told_apart());
        println!("{seed}: gain {:.2} nats", fit.brownian[0].1.with - fit.brownian[0].1.without);
        if sigma > 0.0 {
            found.add(&fit, "brownian", sigma, true)?;
        }
    }
    println!("told from 0 in {told} of {count} records");
    if sigma > 0.0 {
        found.print("brownian", sigma);
    }
    Ok(())
}

/// OU with stable jumps (α = 1.5), driven by an input that is switched on and off.
fn gain_of_input(gain: f64, count: u64) -> Outcome<()> {
    let (times, grid) = (times(), TimeGrid::new(&times(), None)?);
    let on = |j: u32| if (j / 35).is_multiple_of(2) { 0.0 } else { 1.0 + f64::from(j % 3) };
    let inputs = Inputs::new(times.clone())?.with_column("wind", (0..ROWS).map(on).collect(), Between::Previous)?;
    let formula = Formula::system(&[("x", "theta*(mu - x) + gain*wind")], &["wind"])?.with_inputs(&inputs)?;
    let formula = formula.with_bounds("theta", Some(0.0), None)?;
    let spec = Spec::with_formula(formula, family("stable")?).fix("observation_std", 0.05);
    let truth = spec.clone().fix("theta", 1.0).fix("mu", 0.0).fix("gain", gain);
    let truth = Spec { x0: Some(0.0), ..truth.fix("alpha", 1.5).fix("scale", 0.3) };
    let mut found = Recovered::default();
    for seed in 0..count {
        let values = simulate(&truth.model()?, &times, 2000 + seed)?.observations;
        let begin = Instant::now();
        let fit = fit(&spec, &grid, &[&values], &options())?;
        found.seconds += begin.elapsed().as_secs_f64();
        found.add(&fit, "gain", gain, false)?;
    }
    found.print("gain", gain);
    Ok(())
}
