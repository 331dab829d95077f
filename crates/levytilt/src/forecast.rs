//! Look ahead: simulate the model from posterior states at the end of the data, with exact draws of the noise.

use crate::posterior::{Marginal, weighted_marginal};
use crate::{Error, Model, Result, StreamRng, stream};
use rand::{Rng, RngExt};
use rayon::prelude::*;

/// Where and how far to look.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastOptions {
    /// Time of the end states.
    pub from: f64,
    /// Longest step of the simulation: the latent step of the fit, so that both speak of the same discretised model.
    pub longest_step: f64,
    /// Number of paths, at least 1.
    pub paths: usize,
    /// Seed of all random numbers; the same for any number of threads.
    pub seed: u64,
}

/// Predictive paths of the state.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Times ahead.
    pub times: Vec<f64>,
    /// One path after the other, one state per time.
    pub states: Vec<f64>,
}

impl Forecast {
    /// Number of paths.
    pub fn paths(&self) -> usize {
        self.states.len() / self.times.len()
    }

    /// The predictive law at time number `j`, with quantiles at `levels`.
    pub fn marginal(&self, j: usize, levels: &[f64]) -> Marginal {
        let weight = 1.0 / self.paths() as f64;
        let points = self.states.iter().skip(j).step_by(self.times.len()).map(|&x| (x, weight)).collect();
        weighted_marginal(points, levels)
    }
}

/// Predictive paths of the one-dimensional `model` at `times`, strictly increasing and after `from`, started from end
/// states with weights that sum to 1.
///
/// # Errors
/// Times that are not ahead or not increasing; no end states; a state too large for an `f64`.
pub fn forecast(
    model: &Model,
    (ends, weights): (&[f64], &[f64]),
    times: &[f64],
    options: &ForecastOptions,
) -> Result<Forecast> {
    model.only_dimension()?;
    check(ends, weights, times, options)?;
    let mut chooser = stream(options.seed, u64::MAX);
    let starts = systematic(ends, weights, options.paths, chooser.random());
    // The streams of the paths must not be those of the fit, which has the same seed.
    let seed = chooser.next_u64();
    let walk = |(path, x): (usize, f64)| one_path(model, x, times, options, &mut stream(seed, path as u64));
    let paths: Result<Vec<Vec<f64>>> = starts.into_par_iter().enumerate().map(walk).collect();
    Ok(Forecast { times: times.to_vec(), states: paths?.concat() })
}

fn check(ends: &[f64], weights: &[f64], times: &[f64], options: &ForecastOptions) -> Result<()> {
    if ends.is_empty() || ends.len() != weights.len() {
        return Err(Error::Shape {
            what: "end states",
            got: format!("{} states and {} weights", ends.len(), weights.len()),
            expected: "as many weights as states, at least 1".into(),
        });
    }
    crate::error::positive("longest step", options.longest_step)?;
    crate::error::positive("paths", options.paths as f64)?;
    crate::error::finite("from", options.from)?;
    let before = std::iter::once(&options.from).chain(times);
    match before.zip(times).find(|(before, time)| !(time > before && time.is_finite())) {
        None if times.is_empty() => Err(series("forecast times", "there are none".into())),
        None => Ok(()),
        Some((before, time)) => Err(series(
            "forecast times",
            format!("time {time} follows {before}; expected increasing times after the end of the data"),
        )),
    }
}

fn series(place: &str, problem: String) -> Error {
    Error::Series { place: place.into(), problem }
}

/// `count` states in proportion to their weights, with as little luck as possible.
fn systematic(states: &[f64], weights: &[f64], count: usize, offset: f64) -> Vec<f64> {
    let mut index = 0;
    let mut sum = weights[0];
    (0..count)
        .map(|k| {
            let target = (k as f64 + offset) / count as f64;
            while sum < target && index + 1 < states.len() {
                index += 1;
                sum += weights[index];
            }
            states[index]
        })
        .collect()
}

fn one_path(
    model: &Model,
    start: f64,
    times: &[f64],
    options: &ForecastOptions,
    rng: &mut StreamRng,
) -> Result<Vec<f64>> {
    let noise = model.dimensions[0].noise.as_ref();
    let (mut x, mut t) = ([start], options.from);
    let mut path = Vec::with_capacity(times.len());
    for &time in times {
        // A step longer by rounding only stays whole.
        let parts = ((time - t) / (options.longest_step * 1.000_001)).ceil().max(1.0);
        let dt = (time - t) / parts;
        model.drift.check_step(dt)?;
        for part in 0..parts as usize {
            let mut moved = [0.0];
            model.drift.flow(t + part as f64 * dt, dt, &x, &mut moved);
            x = [moved[0] + noise.sample(dt, rng)];
        }
        if !x[0].is_finite() {
            let why = format!("a state before time {time} is too large for a floating-point number");
            return Err(Error::Numerical { what: "forecast", why });
        }
        t = time;
        path.push(x[0]);
    }
    Ok(path)
}
