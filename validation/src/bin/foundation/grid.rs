//! The exact reference: equal to the Kalman smoother, and unmoved by a finer grid.

use crate::noise::title;
use crate::{raise, table};
use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::exact::kalman::{self, Step};
use levytilt::internals::exact::{Options, log_evidence, smooth};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Gaussian, Noise, PlusBrownian};
use levytilt::{Result, Start, StateSpace, simulate};

fn even(steps: usize, span: f64) -> Vec<f64> {
    (0..=steps).map(|j| j as f64 * span / steps as f64).collect()
}

/// Every `every`-th value, NaN elsewhere.
fn thin(values: &[f64], every: usize) -> Vec<f64> {
    values.iter().enumerate().map(|(j, &y)| if j % every == 0 { y } else { f64::NAN }).collect()
}

/// Largest differences to the Kalman smoother for Gaussian noise and OU drift.
pub fn kalman() -> Result<()> {
    table(
        "Grid against Kalman smoother, OU drift, Gaussian noise",
        &["data", "log evidence", "difference", "largest difference of means", "of sds"],
    );
    let (theta, mu, scale, std) = (1.5, 0.4, 1.2, 0.1);
    let start = Start::Gaussian { mean: -0.2, std: 0.7 };
    let wavy: Vec<f64> = (0..150).map(|i| 0.05 * f64::from(i) + 0.02 * (7.3 * f64::from(i)).sin()).collect();
    let cases = [
        ("1001 observations", even(1000, 10.0), 1),
        ("every 20th of 401 times", even(400, 4.0), 20),
        ("150 irregular times", wavy, 1),
    ];
    for (name, times, every) in cases {
        let model = StateSpace::new(Box::new(Ou::new(theta, mu)?), Box::new(Gaussian::new(scale)?), std, start)?;
        let values = thin(&simulate(&model, &times, 3)?.observations, every);
        let grid = TimeGrid::new(&times, Some(times.len() - 1))?;
        let found = smooth(&model, &grid, &values, &Options::default())?;
        let steps: Vec<Step> = (0..grid.steps())
            .map(|j| {
                let slope = (-theta * grid.step(j)).exp();
                Step { slope, offset: mu * (1.0 - slope), variance: scale * scale * grid.step(j) }
            })
            .collect();
        let expected = kalman::smooth(start, &steps, &grid.spread(&values)?, std)?;
        let [mut mean, mut sd] = [0.0; 2];
        for j in 0..grid.len() {
            raise(&mut mean, found.mean[j] - expected.mean[j]);
            raise(&mut sd, found.sd[j] - expected.sd[j]);
        }
        let off = (found.log_evidence - expected.log_evidence).abs();
        println!("| {name} | {:.6} | {off:.1e} | {mean:.1e} | {sd:.1e} |", expected.log_evidence);
    }
    Ok(())
}

/// Change of the log evidence when the spacing the reference has chosen is halved.
pub fn halving() -> Result<()> {
    table(
        "Halving the grid spacing, 200 steps over 2 units of time, observation noise 0.1",
        &["noise", "ou, all observed", "ou, every 10th", "double well, all observed", "double well, every 10th"],
    );
    let times = even(200, 2.0);
    let grid = TimeGrid::new(&times, Some(200))?;
    for noise in noises()? {
        let mut changes = Vec::new();
        let drifts: [Box<dyn Drift>; 2] = [Box::new(Ou::new(3.0, 1.0)?), Box::new(DoubleWell::new(4.0, 1.0)?)];
        for drift in drifts {
            let model = StateSpace::new(drift, copy(noise.as_ref())?, 0.1, Start::Fixed(0.5))?;
            let dense = simulate(&model, &times, 5)?.observations;
            for every in [1, 10] {
                let values = thin(&dense, every);
                let found = smooth(&model, &grid, &values, &Options::default())?;
                let half =
                    Options { spacing: Some(0.5 * found.spacing), domain: Some(found.domain), ..Options::default() };
                let change = log_evidence(&model, &grid, &values, &half)? - found.log_evidence;
                changes.push(format!("{:.1e}", change.abs()));
            }
        }
        println!("| {} | {} |", title(noise.as_ref()), changes.join(" | "));
    }
    Ok(())
}

fn copy(noise: &dyn Noise) -> Result<Box<dyn Noise>> {
    let values: Vec<f64> = noise.parameters().iter().map(|(_, value)| *value).collect();
    noise.with_parameters(&values)
}

fn noises() -> Result<Vec<Box<dyn Noise>>> {
    let chosen: [(&str, &[f64]); 10] = [
        ("stable", &[1.1, 1.0]),
        ("stable", &[1.5, 2.0]),
        ("stable", &[1.9, 1.0]),
        ("truncated-stable", &[1.5, 1.0, 0.05, 1.0]),
        ("tempered-stable", &[1.5, 1.0, 0.5]),
        ("variance-gamma", &[1.0, 0.2]),
        ("nig", &[1.0, 1.0]),
        ("student", &[3.0, 1.0]),
        ("compound-poisson", &[3.0, 2.0]),
        ("gaussian", &[1.0]),
    ];
    let build = |name: &str, values: &[f64]| Family::named(name).expect("a family of the library").build(values);
    let mut noises = chosen.iter().map(|(name, values)| build(name, values)).collect::<Result<Vec<_>>>()?;
    noises.push(Box::new(PlusBrownian::new(build("compound-poisson", &[3.0, 2.0])?, 0.3)?));
    Ok(noises)
}
