//! Compare drifts written as formulas with the built-in drifts: evidence at given values, estimates, and CPU time of a fit.
//!
//! `formula COUNT [ROWS]` fits COUNT records of ROWS values (1000) per drift, with the default priors and without.

use levytilt::drift::{DriftFamily, Formula};
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, simulate};
use levytilt_validation::cpu::cpu_seconds;
use std::error::Error;

/// Drift, true values, formula.
const DRIFTS: [(&str, [f64; 2], &str); 2] =
    [("ou", [1.2, 0.4], "theta*(mu - x)"), ("double-well", [1.0, 0.5], "theta1*x - theta2*x^3")];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (count, rows) = match arguments.as_slice() {
        [count] => (count.parse()?, 1000),
        [count, rows] => (count.parse()?, rows.parse()?),
        _ => return Err("usage: formula COUNT [ROWS]".into()),
    };
    println!(
        "| formula | priors | evidence at given values, largest difference | estimates, largest difference in standard \
         errors | CPU time over built-in |\n|---|---|---|---|---|"
    );
    for (name, truth, text) in DRIFTS {
        for priors in [true, false] {
            println!("{}", compare(name, &truth, text, priors, (count, rows))?);
        }
    }
    Ok(())
}

fn compare(
    name: &str,
    truth: &[f64],
    text: &str,
    priors: bool,
    (count, rows): (u64, u32),
) -> Result<String, Box<dyn Error>> {
    let stable = Family::named("stable").ok_or("no stable noise")?;
    let family = DriftFamily::named(name).ok_or("no such drift")?;
    let formula = Formula::parse(text)?;
    let times: Vec<f64> = (0..rows).map(|k| 0.1 * f64::from(k)).collect();
    let grid = TimeGrid::new(&times, None)?;
    let (mut evidence, mut estimates, mut seconds) = (0.0f64, 0.0f64, [0.0; 2]);
    for seed in 0..count {
        let model = StateSpace::new(family.build(truth)?, stable.build(&[1.6, 0.7])?, 0.1, Start::Fixed(0.5))?;
        let values = simulate(&model, &times, seed)?.observations;
        let options = FitOptions { paths: 20, priors, ..FitOptions::default() };
        let timed = |spec: &Spec| -> Result<(Fit, f64), Box<dyn Error>> {
            let start = cpu_seconds();
            let found = fit(spec, &grid, &[&values], &options)?;
            Ok((found, cpu_seconds() - start))
        };
        let both = [Spec::new(family, stable), Spec::with_formula(formula.clone(), stable)];
        let [named, written] = [timed(&both[0])?, timed(&both[1])?];
        seconds = [seconds[0] + named.1, seconds[1] + written.1];
        for (a, b) in named.0.parameters.iter().zip(&written.0.parameters) {
            estimates = estimates.max((a.value - b.value).abs() / a.std_error.ok_or("no standard error")?);
        }
        let given = named.0.parameters.iter().map(|p| (p.name.clone(), p.value));
        let held = given.collect::<Vec<_>>();
        let at = |spec: &Spec| -> Result<f64, Box<dyn Error>> {
            let spec = held.iter().fold(spec.clone(), |spec, (name, value)| spec.fix(name, *value));
            Ok(fit(&spec, &grid, &[&values], &options)?.evidence.log_evidence)
        };
        evidence = evidence.max((at(&both[0])? - at(&both[1])?).abs());
    }
    let priors = if priors { "default" } else { "none" };
    Ok(format!("| `{text}` | {priors} | {evidence:.0e} | {estimates:.4} | {:.2} |", seconds[1] / seconds[0]))
}
