//! Fit a model to a series in one call: guess, learn, and judge the result with fresh random numbers.

mod any_noise;
mod bayes;
mod brownian;
mod choose;
mod complete;
mod draws;
mod exact_fit;
mod fill_value;
mod find;
mod find_neural;
mod finder;
mod found;
mod guess;
mod guess_size;
mod interval;
mod judge;
mod kind;
mod panel;
mod smoothed;
mod solved;
mod spec;
mod start;
#[cfg(test)]
mod stopping_tests;
mod warnings;

pub use crate::series::Scales;
pub use crate::solve::{Estimate, Interval, IntervalSource, NINETY};
pub use any_noise::{AnyNoise, Candidate, Rating, fit_any_noise, fit_any_noise_by, rival_families};
pub use bayes::parameter_posterior;
pub use brownian::BrownianEvidence;
pub use exact_fit::exact_cells;
pub use finder::{OwnPaths, PotentialFinder};
pub use interval::use_draws;
pub use kind::PosteriorKind;
pub use panel::{Panel, Record, SharedFit, fit_panel, learn_shared, learn_shared_with};
pub use spec::{NeuralSize, Spec};
pub use start::first_parameters;

use crate::drift::Neural;
use crate::posterior::{Diagnosis, Evidence, Jump, Marginal, Paths, Potentials, WeightSummary};
use crate::series::{TimeGrid, check_values};
use crate::solve::{Choice, LearnOptions, LearnedBefore, Method, Regularisation};
use crate::{Context, Error, Result, StateSpace};
use complete::complete;
use serde::{Deserialize, Serialize};

/// Most numbers in the paths of a fit: 32 GB.
const MOST_NUMBERS: f64 = 4_294_967_296.0;

/// How to fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitOptions {
    /// Posterior paths, at least 2.
    pub paths: usize,
    /// Seed of all random numbers; the same seed gives the same result for any number of threads.
    pub seed: u64,
    /// Weak priors around the guesses, which hold what the data do not determine; without them maximum likelihood.
    pub priors: bool,
    /// How to learn; its paths and seed are those above.
    pub learn: LearnOptions,
    /// Levels of the posterior quantiles.
    pub quantiles: Vec<f64>,
    /// Size from which a move counts as a jump; the noise model's own definition if it is left out, see [`crate::posterior::jump_table`].
    pub jump_above: Option<f64>,
    /// What [`learn_shared`] learned of the parameters of this series, which is then not learned again where the posterior is
    /// exact.
    pub learned: Option<LearnedBefore>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            paths: 500,
            seed: 1,
            priors: true,
            learn: LearnOptions::default(),
            quantiles: vec![0.05, 0.25, 0.5, 0.75, 0.95],
            jump_above: None,
            learned: None,
        }
    }
}

/// A drift network and how it was held back.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedNeural {
    /// The network, which is the drift of the model.
    pub drift: Neural,
    /// Its penalty, and the evidence for it; nothing where it was learned jointly with the potentials.
    pub regularisation: Option<Regularisation>,
}

/// A model fitted to a series.
#[derive(Debug)]
pub struct Fit {
    /// The model with the values found.
    pub model: StateSpace,
    /// Its parameters.
    pub parameters: Vec<Estimate>,
    /// Covariance of the parameters that are not fixed, on their free scales ([`crate::solve::parameters`]), row after
    /// row; empty where it is not known.
    pub covariance: Vec<f64>,
    /// From their values to the mean of their law, on the same scales: a law that leans has its maximum elsewhere. Empty
    /// where it is not known.
    pub shift: Vec<f64>,
    /// Bound, effective sample size and k̂ of fresh paths.
    pub summary: WeightSummary,
    /// Log evidence: that of the grid if the posterior is exact, else by a particle filter with fresh particles.
    pub evidence: Evidence,
    /// Latent times.
    pub times: Vec<f64>,
    /// Number of values observed.
    pub observations: usize,
    /// Newton steps taken.
    pub iterations: usize,
    /// How the posterior was found, and why so: one choice for all dimensions, or one each where they do not act on
    /// each other.
    pub choices: Vec<Choice>,
    /// What the paths and marginals are, all dimensions together; `choices` says which of them come from the grid.
    pub posterior: PosteriorKind,
    /// The drift network, if the drift is one.
    pub network: Option<FittedNeural>,
    /// Per dimension and time: the posterior law of the state.
    pub marginals: Vec<Vec<Marginal>>,
    /// Per dimension and time up to the last observation: probability that the value observed there is wrong
    /// ([`crate::ErrorLaw::wrong`]), NaN where there is none. Empty if errors are Gaussian.
    pub wrong: Vec<Vec<f64>>,
    /// Per diffusion that was learned: its name, and the log evidence with and without.
    pub brownian: Vec<(String, BrownianEvidence)>,
    /// Per dimension: its jumps in order of time.
    pub jumps: Vec<Vec<Jump>>,
    /// Per dimension: the jumps of every path, as numbers of the path and of the time at which its step ends.
    pub jumped: Vec<Vec<(usize, usize)>>,
    /// Messages from the future that the paths follow; empty if the parameters were learned
    /// without any.
    pub potentials: Potentials,
    /// Fresh posterior paths.
    pub paths: Paths,
    /// Their weights, with sum 1; all equal where weighting would add more noise than it takes away bias.
    pub weights: Vec<f64>,
    /// What a careful reader should know, in sentences.
    pub warnings: Vec<String>,
}

impl Fit {
    /// The verdicts on its paths.
    pub fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(&self.summary, &self.evidence, self.weights.len(), self.observations)
    }

    /// The estimate of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&Estimate> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// States of all paths at the last time, dimension fastest.
    pub fn end_states(&self) -> Vec<f64> {
        self.paths.states(self.times.len() - 1).flatten().copied().collect()
    }
}

/// Fit `spec` to `columns`: for each dimension one value per observation row of `grid`, NaN where missing.
///
/// # Errors
/// Values or parameters outside their domain; too little data to learn from (fewer than two values, or all equal); a
/// result that is not finite.
pub fn fit(spec: &Spec, grid: &TimeGrid, columns: &[&[f64]], options: &FitOptions) -> Result<Fit> {
    fit_with(spec, (grid, columns), options, &Context::silent())
}

/// [`fit`], watched.
///
/// # Errors
/// As for [`fit`].
pub fn fit_with(spec: &Spec, data: (&TimeGrid, &[&[f64]]), options: &FitOptions, context: &Context) -> Result<Fit> {
    solve(spec, data, options, None, context)
}

/// [`fit_with`] with potentials found by `finder`; [`LearnOptions::method`] says what they are called.
///
/// # Errors
/// As for [`fit`].
pub fn fit_by(
    finder: &mut dyn PotentialFinder,
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    context: &Context,
) -> Result<Fit> {
    solve(spec, data, options, Some(finder), context)
}

fn solve(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    finder: Option<&mut dyn PotentialFinder>,
    context: &Context,
) -> Result<Fit> {
    check_options(spec, data.0, options)?;
    check_columns(spec, data.0, data.1)?;
    let solved = choose::posterior(spec, data, options, finder, context)?;
    complete(solved, spec, data, options)
}

/// A number of paths that fits into memory, a size that is one, a method that takes the dimensions.
fn check_options(spec: &Spec, grid: &TimeGrid, options: &FitOptions) -> Result<()> {
    let numbers = options.paths as f64 * grid.times().len() as f64 * spec.dim() as f64;
    if options.paths < 2 || numbers > MOST_NUMBERS {
        return Err(Error::Parameter {
            name: "paths".into(),
            value: options.paths as f64,
            expected: "must be at least 2, and at most 2³² together with times and dimensions",
        });
    }
    if let Some(above) = options.jump_above {
        crate::error::positive("jump_above", above)?;
    }
    if options.learn.method == Method::Grid && spec.dim() > 1 {
        return Err(Error::Shape {
            what: "method grid",
            got: format!("{} dimensions", spec.dim()),
            expected: "1; for several dimensions use method auto".into(),
        });
    }
    Ok(())
}

/// One column per dimension, each with something to explain.
fn check_columns(spec: &Spec, grid: &TimeGrid, columns: &[&[f64]]) -> Result<()> {
    if columns.len() != spec.dim() {
        return Err(Error::Shape {
            what: "columns",
            got: columns.len().to_string(),
            expected: format!("{} (one per named dimension; only a single one needs no name)", spec.dim()),
        });
    }
    for (i, column) in columns.iter().enumerate() {
        grid.spread(column)?;
        let name = spec.names.get(i).map(String::as_str);
        check_values(name.unwrap_or("values"), column)?;
        fill_value::refuse(name.filter(|_| spec.dim() > 1), column)?;
    }
    Ok(())
}
