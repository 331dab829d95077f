//! Learn parameters by Newton steps on the bound, with the information of the sampled paths.

use super::expect::{Expected, expect};
use super::method::{Choice, Method};
use super::newton::System;
use super::parameters::{Parameter, rebuild};
use super::score::{Score, score};
use super::sweep::SweepOptions;
use crate::posterior::{Potentials, WeightSummary};
use crate::series::TimeGrid;
use crate::{Chain, Model, Result};

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How to get posterior paths; [`Method::Auto`] is settled at the first parameters.
    pub method: Method,
    /// How many paths, with which seed, and how to sweep between Newton steps.
    pub sweep: SweepOptions,
    /// Most Newton steps.
    pub iterations: usize,
    /// Stop when the next step would move the parameters by less than this many standard errors.
    pub tolerance: f64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self { method: Method::Auto, sweep: SweepOptions::default(), iterations: 30, tolerance: 0.03 }
    }
}

/// A model learned.
#[derive(Debug)]
pub struct Learned {
    /// The model with the parameters found.
    pub model: Model,
    /// All parameters with their values.
    pub parameters: Vec<Parameter>,
    /// Standard errors, NaN for fixed parameters; from the observed information, prior included.
    pub std_errors: Vec<f64>,
    /// Share of each free parameter's information that comes from the data rather than from its prior.
    pub data_shares: Vec<f64>,
    /// The method that gave the paths.
    pub choice: Choice,
    /// Messages from the future at the parameters found.
    pub potentials: Potentials,
    /// Bound and quality of the paths that the parameters were learned from.
    pub summary: WeightSummary,
    /// Newton steps taken.
    pub iterations: usize,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// What is learned from.
struct Task<'a> {
    parameters: &'a [Parameter],
    grid: &'a TimeGrid,
    columns: &'a [&'a [f64]],
    options: &'a LearnOptions,
}

/// A state of the search. The paths behind the score are not kept: two sets of them may not fit into memory.
struct Place {
    model: Model,
    values: Vec<f64>,
    choice: Choice,
    potentials: Potentials,
    summary: WeightSummary,
    score: Score,
    warnings: Vec<String>,
    /// Bound plus log prior.
    objective: f64,
}

/// Learn the free parameters of a model; `parameters` (see [`super::parameters`]) says which are fixed and which have
/// priors, and its values are the start.
pub fn learn(
    model: Model,
    parameters: &[Parameter],
    grid: &TimeGrid,
    columns: &[&[f64]],
    options: &LearnOptions,
) -> Result<Learned> {
    let task = Task { parameters, grid, columns, options };
    let values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
    let model = rebuild(&model, &values)?;
    let mut place = task.place(model, values, options.method, None)?;
    let mut iterations = 0;
    let mut warnings = Vec::new();
    let mut system = task.system(&place);
    while !system.is_empty() && iterations < options.iterations {
        if system.length() < system.floor(options.tolerance) {
            break;
        }
        let Some(next) = task.advance(&place, &system)? else {
            warnings.push(format!(
                "no step improved the bound after {iterations} iterations; the parameters are as good as {} paths can tell",
                options.sweep.paths
            ));
            break;
        };
        place = next;
        iterations += 1;
        system = task.system(&place);
    }
    if iterations == options.iterations && !system.is_empty() && system.length() >= system.floor(options.tolerance) {
        warnings.push(format!(
            "stopped after {iterations} iterations with {:.2} standard errors to go; allow more iterations",
            system.length()
        ));
    }
    let (std_errors, data_shares) = system.errors(parameters, &place.values);
    let Place { model, values, choice, potentials, summary, warnings: noted, .. } = place;
    let parameters = parameters.iter().zip(values).map(|(p, value)| Parameter { value, ..p.clone() }).collect();
    warnings.extend(noted);
    Ok(Learned { model, parameters, std_errors, data_shares, choice, potentials, summary, iterations, warnings })
}

/// Halvings of a Newton step before it is given up.
const HALVINGS: usize = 4;

impl Task<'_> {
    fn place(&self, model: Model, values: Vec<f64>, method: Method, before: Option<&Potentials>) -> Result<Place> {
        let chain = Chain::new(&model, self.grid, self.columns)?;
        let expected = expect(&chain, before, method, &self.options.sweep)?;
        let score = score(&chain, &expected.paths, &expected.weights);
        drop(chain);
        let Expected { choice, potentials, summary, warnings, .. } = expected;
        let objective = summary.elbo + log_prior(self.parameters, &values);
        Ok(Place { model, values, choice, potentials, summary, score, warnings, objective })
    }

    fn system(&self, place: &Place) -> System {
        System::new(&place.score, self.parameters, &place.values, self.options.sweep.paths)
    }

    /// The first of the Newton step and its halves that does not lower the objective beyond its noise.
    fn advance(&self, place: &Place, system: &System) -> Result<Option<Place>> {
        let mut share = 1.0;
        for _ in 0..=HALVINGS {
            let values = system.moved(self.parameters, &place.values, share);
            if let Ok(model) = rebuild(&place.model, &values) {
                let next = self.place(model, values, place.choice.method, Some(&place.potentials))?;
                let next = Place { choice: place.choice.clone(), ..next };
                let noise = next.summary.elbo_std_error.max(place.summary.elbo_std_error);
                if next.objective > place.objective - noise {
                    return Ok(Some(next));
                }
            }
            share *= 0.5;
        }
        Ok(None)
    }
}

/// Sum of the log priors, without constants.
fn log_prior(parameters: &[Parameter], values: &[f64]) -> f64 {
    parameters
        .iter()
        .zip(values)
        .filter_map(|(p, &v)| p.prior.map(|prior| -0.5 * ((p.transform.forward(v) - prior.mean) / prior.std).powi(2)))
        .sum()
}
