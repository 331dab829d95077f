//! Look ahead: simulate the model from posterior states at the end of the data, with exact draws of the noise and of the
//! observation noise.

use crate::drift::Drift;
use crate::posterior::{Marginal, systematic, weighted_marginal};
use crate::solve::{ParameterLaw, parameters, rebuild};
use crate::{Error, Result, StateSpace, StreamRng, stream};
use rand::{Rng, RngExt};
use rayon::prelude::*;

/// What a forecast is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// What will be observed: the state plus observation noise.
    Observations,
    /// The state itself, which is never observed without noise.
    States,
}

impl Target {
    /// The word for it in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Observations => "observations",
            Self::States => "states",
        }
    }
}

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
    /// What to forecast. The states under the observations are those that [`Target::States`] gives for the same seed.
    pub target: Target,
}

/// Predictive paths.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Times ahead.
    pub times: Vec<f64>,
    /// Dimension of the states.
    pub dim: usize,
    /// What the paths are of.
    pub target: Target,
    /// One path after the other, one state or observation per time, dimension fastest.
    pub states: Vec<f64>,
    /// Whether the noise has a variance, at all parameters drawn; without one, that of the paths means nothing.
    pub has_variance: bool,
}

impl Forecast {
    /// Number of paths.
    pub fn paths(&self) -> usize {
        self.states.len() / (self.times.len() * self.dim)
    }

    /// The predictive law of dimension `i` at time number `j`, with quantiles at `levels`.
    pub fn marginal(&self, i: usize, j: usize, levels: &[f64]) -> Marginal {
        let weight = 1.0 / self.paths() as f64;
        let states = self.states.iter().skip(j * self.dim + i).step_by(self.times.len() * self.dim);
        weighted_marginal(states.map(|&x| (x, weight)).collect(), levels)
    }
}

/// Most draws of parameters for one forecast. A model costs up to a millisecond, as much as thousands of steps of a path, so
/// paths share them. What they add to the spread is then known to √(2/100) = 14% of itself; it is itself about a tenth.
const MOST_DRAWS: usize = 100;

/// Predictive paths of the `model` at `times`, strictly increasing and after `from`, started from end states (dimension
/// fastest) with weights that sum to 1.
///
/// # Errors
/// Times that are not ahead or not increasing; no end states; a state too large for an `f64`.
pub fn forecast(
    model: &StateSpace,
    ends: (&[f64], &[f64]),
    times: &[f64],
    options: &ForecastOptions,
) -> Result<Forecast> {
    follow(std::slice::from_ref(model), ends, times, options)
}

/// As [`forecast`], with parameters drawn from `law`: each of 100 draws, or as many as there are paths, serves as many
/// paths. The end states stay those at the estimates: what is seen at the end says more of them than the parameters do.
///
/// # Errors
/// As for [`forecast`], and a law so wide that its draws are no models or that their states are too large.
pub fn forecast_drawn(
    law: &ParameterLaw,
    ends: (&[f64], &[f64]),
    times: &[f64],
    options: &ForecastOptions,
) -> Result<Forecast> {
    if law.is_fixed() {
        return forecast(law.model(), ends, times, options);
    }
    check(ends, law.model().dim(), times, options)?;
    let models = law.models(options.paths.min(MOST_DRAWS), options.seed)?;
    follow(&models, ends, times, options).map_err(|error| match error {
        Error::Numerical { what, why } => {
            let why =
                format!("{why}; the parameters were drawn from their posterior: keep them at their estimates instead");
            Error::Numerical { what, why }
        }
        other => other,
    })
}

/// Weighted draws of some of a model's parameters.
#[derive(Debug, Clone, Copy)]
pub struct WeightedDraws<'a> {
    /// Places of the parameters in the order of [`parameters`].
    pub places: &'a [usize],
    /// One row per draw, one value per place.
    pub draws: &'a [Vec<f64>],
    /// One weight per draw, with sum 1.
    pub weights: &'a [f64],
}

/// As [`forecast_drawn`], with parameters resampled from weighted draws instead of a Gaussian law.
///
/// # Errors
/// As for [`forecast`]; no draws, or draws of another size than their places and weights; a draw that is no model.
pub fn forecast_resampled(
    model: &StateSpace,
    drawn: WeightedDraws,
    ends: (&[f64], &[f64]),
    times: &[f64],
    options: &ForecastOptions,
) -> Result<Forecast> {
    check(ends, model.dim(), times, options)?;
    let WeightedDraws { places, draws, weights } = drawn;
    let all: Vec<f64> = parameters(model).iter().map(|p| p.value).collect();
    let sized = !draws.is_empty() && draws.len() == weights.len() && places.iter().all(|&place| place < all.len());
    if !sized || draws.iter().any(|draw| draw.len() != places.len()) {
        return Err(Error::Shape {
            what: "draws of parameters",
            got: format!("{} draws and {} weights of {} parameters", draws.len(), weights.len(), places.len()),
            expected: "a weight and as many values as parameters for every draw, at least one".into(),
        });
    }
    let mut chooser = stream(options.seed, u64::MAX - 5);
    let chosen = systematic(weights, options.paths.min(MOST_DRAWS), chooser.random());
    let model_of = |draw: usize| {
        let mut values = all.clone();
        places.iter().zip(&draws[draw]).for_each(|(&place, &value)| values[place] = value);
        rebuild(model, &values)
    };
    let models = chosen.into_iter().map(model_of).collect::<Result<Vec<StateSpace>>>()?;
    follow(&models, ends, times, options)
}

/// Paths that follow the `models`, at least one and alike but for their parameters, in turn.
fn follow(
    models: &[StateSpace],
    (ends, weights): (&[f64], &[f64]),
    times: &[f64],
    options: &ForecastOptions,
) -> Result<Forecast> {
    let dim = models[0].dim();
    check((ends, weights), dim, times, options)?;
    let mut chooser = stream(options.seed, u64::MAX);
    let starts = systematic(weights, options.paths, chooser.random());
    // The streams of the paths must not be those of the fit, which has the same seed.
    let (seed, errors) = (chooser.next_u64(), chooser.next_u64());
    let walk = |(path, end): (usize, usize)| {
        // Starts come in the order of the end states, so that models that take turns are spread over all of them.
        let model = &models[path % models.len()];
        let start = &ends[end * dim..(end + 1) * dim];
        let mut states = one_path(model, start, times, options, &mut stream(seed, path as u64))?;
        if options.target == Target::Observations {
            observe(model, &mut states, &mut stream(errors, path as u64));
        }
        Ok(states)
    };
    let paths: Result<Vec<Vec<f64>>> = starts.into_par_iter().enumerate().map(walk).collect();
    let has_variance = models.iter().flat_map(|model| &model.dimensions).all(|d| d.noise.has_variance());
    Ok(Forecast { times: times.to_vec(), dim, target: options.target, states: paths?.concat(), has_variance })
}

/// Add observation noise to the states of a path, as for values yet to be seen.
fn observe(model: &StateSpace, states: &mut [f64], rng: &mut StreamRng) {
    for state in states.chunks_exact_mut(model.dim()) {
        for (x, dimension) in state.iter_mut().zip(&model.dimensions) {
            *x += dimension.draw_error(None, rng);
        }
    }
}

fn check((ends, weights): (&[f64], &[f64]), dim: usize, times: &[f64], options: &ForecastOptions) -> Result<()> {
    if ends.is_empty() || ends.len() != weights.len() * dim {
        return Err(Error::Shape {
            what: "end states",
            got: format!("{} numbers and {} weights", ends.len(), weights.len()),
            expected: format!("a weight per state of {dim} numbers, at least 1"),
        });
    }
    check_ahead(times, options)
}

/// Times that lie ahead and increase, and options to get there.
pub(crate) fn check_ahead(times: &[f64], options: &ForecastOptions) -> Result<()> {
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

/// Take the state `x` from `t` to `time` in even steps not longer than `longest`; `kick` adds the noise of a
/// step from t over dt to the state, given what it was before.
///
/// # Errors
/// A step that the drift cannot compute; a state that is not finite.
pub(crate) fn advance(
    drift: &dyn Drift,
    (t, time): (f64, f64),
    longest: f64,
    (x, moved): (&mut [f64], &mut [f64]),
    mut kick: impl FnMut((f64, f64), &[f64], &mut [f64]) -> Result<()>,
) -> Result<()> {
    // A step longer by rounding only stays whole.
    let parts = ((time - t) / (longest * 1.000_001)).ceil().max(1.0);
    let dt = (time - t) / parts;
    drift.check_step(dt)?;
    for part in 0..parts as usize {
        let now = t + part as f64 * dt;
        drift.flow(now, dt, x, moved);
        kick((now, dt), x, moved)?;
        x.copy_from_slice(moved);
    }
    if x.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    let why = format!("a state before time {time} is too large for a floating-point number");
    Err(drift.failure().unwrap_or(Error::Numerical { what: "forecast", why }))
}

fn one_path(
    model: &StateSpace,
    start: &[f64],
    times: &[f64],
    options: &ForecastOptions,
    rng: &mut StreamRng,
) -> Result<Vec<f64>> {
    let (mut x, mut moved, mut t) = (start.to_vec(), start.to_vec(), options.from);
    let mut path = Vec::with_capacity(times.len() * start.len());
    for &time in times {
        advance(
            model.drift.as_ref(),
            (t, time),
            options.longest_step,
            (&mut x, &mut moved),
            |(t, dt), from, moved| {
                for ((x, from), dimension) in moved.iter_mut().zip(from).zip(&model.dimensions) {
                    *x += dimension.size_at(t, *from)? * dimension.noise.sample(dt, rng);
                }
                Ok(())
            },
        )?;
        t = time;
        path.extend_from_slice(&x);
    }
    Ok(path)
}
