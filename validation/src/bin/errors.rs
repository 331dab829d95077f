//! Measure what gross observation errors do to the states and jumps of an OU process, with Gaussian errors and with outliers.
//!
//! `errors [RECORDS] [STEPS]`: a clean record (stable noise with index 1.5, observation error 0.1) and the same record in which
//! 2% of the values have errors of 20 standard deviations. All parameters are learned, or given: that is the
//! least error that any method can have.

use anyhow::Result;
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{ErrorKind, Start, StateSpace, drift::Ou, noise::Stable, simulate, stream};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

const OBSERVATION_STD: f64 = 0.1;
const STEP: f64 = 0.01;
const GROSS: f64 = 0.02;
const SIZE: f64 = 20.0;

/// What one fit got wrong.
#[derive(Debug, Default, Clone, Copy)]
struct Wrong {
    squares: f64,
    /// Steps called jumps, with probability above one half, whose increment is below 3 observation errors.
    false_jumps: f64,
    steps: f64,
    /// Values with gross errors beyond 5 standard deviations, and those of them found; other values called wrong.
    gross: f64,
    found: f64,
    false_alarms: f64,
}

impl Wrong {
    fn add(&mut self, other: Self) {
        self.squares += other.squares;
        self.false_jumps += other.false_jumps;
        self.steps += other.steps;
        self.gross += other.gross;
        self.found += other.found;
        self.false_alarms += other.false_alarms;
    }
}

fn spec(errors: ErrorKind) -> Spec {
    let (drift, noise) = (DriftFamily::named("ou"), Family::named("stable"));
    Spec::new(drift.expect("a drift of the registry"), noise.expect("a noise of the registry")).with_errors(errors)
}

/// The same with every parameter at its true value.
fn known(errors: ErrorKind) -> Spec {
    let spec = spec(errors).fix("theta", 3.0).fix("mu", 1.0).fix("alpha", 1.5).fix("scale", 2.0);
    let spec = Spec { x0: Some(0.0), ..spec.fix("observation_std", OBSERVATION_STD) };
    match errors {
        ErrorKind::Outliers => spec.fix("outlier_probability", GROSS).fix("outlier_size", (1.0 + SIZE * SIZE).sqrt()),
        _ => spec,
    }
}

fn judge(found: &Fit, path: &[f64], seen: &[f64]) -> Wrong {
    let mut wrong = Wrong { steps: path.len() as f64 - 1.0, ..Wrong::default() };
    for (j, marginal) in found.marginals[0].iter().enumerate() {
        wrong.squares += (marginal.mean - path[j]).powi(2);
        let moved = if j == 0 { 0.0 } else { (path[j] - 1.0 - (path[j - 1] - 1.0) * (-3.0 * STEP).exp()).abs() };
        wrong.false_jumps += f64::from(marginal.jump_probability > 0.5 && moved < 3.0 * OBSERVATION_STD);
        let (gross, called) = (
            (seen[j] - path[j]).abs() > 5.0 * OBSERVATION_STD,
            found.wrong.first().is_some_and(|wrong| wrong[j] > 0.5),
        );
        wrong.gross += f64::from(gross);
        wrong.found += f64::from(gross && called);
        wrong.false_alarms += f64::from(!gross && called);
    }
    wrong
}

fn main() -> Result<()> {
    let argument = |k: usize, usual: usize| std::env::args().nth(k).map_or(Ok(usual), |text| text.parse());
    let (records, steps) = (argument(1, 10)?, argument(2, 1000)?);
    let (drift, noise) = (Ou::new(3.0, 1.0)?, Stable::new(1.5, 2.0)?);
    let model = StateSpace::new(Box::new(drift), Box::new(noise), OBSERVATION_STD, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=steps).map(|j| STEP * j as f64).collect();
    let grid = TimeGrid::new(&times, Some(steps))?;
    let rows = [
        ("clean, gaussian", spec(ErrorKind::Gaussian)),
        ("2% gross, gaussian", spec(ErrorKind::Gaussian)),
        ("2% gross, student", spec(ErrorKind::Student)),
        ("2% gross, outliers", spec(ErrorKind::Outliers)),
        ("clean, gaussian, parameters given", known(ErrorKind::Gaussian)),
        ("2% gross, outliers, parameters given", known(ErrorKind::Outliers)),
    ];
    let mut totals = [Wrong::default(); 6];
    for record in 0..records as u64 {
        let made = simulate(&model, &times, 100 + record)?;
        let mut rng = stream(record, 7);
        let spoil = |y: &f64| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            let gross = rng.random::<f64>() < GROSS;
            if gross { y + SIZE * OBSERVATION_STD * normal } else { *y }
        };
        let spoilt: Vec<f64> = made.observations.iter().map(spoil).collect();
        for (total, (name, spec)) in totals.iter_mut().zip(&rows) {
            let seen = if name.starts_with("clean") { &made.observations } else { &spoilt };
            let options = FitOptions { paths: 200, seed: record, ..FitOptions::default() };
            let found = fit(spec, &grid, &[seen], &options)?;
            total.add(judge(&found, &made.path, seen));
        }
    }
    println!("{records} records of {steps} steps, index 1.5, 2% gross errors of 20 standard deviations\n");
    println!(
        "| record and errors | rms error of states | over clean | false jumps per 1000 steps | gross errors found | false alarms per 1000 |"
    );
    println!("|---|---|---|---|---|---|");
    let rms = |wrong: &Wrong| (wrong.squares / (wrong.steps + records as f64)).sqrt();
    for ((name, _), total) in rows.iter().zip(&totals) {
        let per_thousand = 1000.0 / total.steps;
        println!(
            "| {name} | {:.4} | {:.3} | {:.2} | {} of {} | {:.2} |",
            rms(total),
            rms(total) / rms(&totals[0]),
            total.false_jumps * per_thousand,
            total.found,
            total.gross,
            total.false_alarms * per_thousand
        );
    }
    Ok(())
}
