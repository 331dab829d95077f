//! Fit a model to a series in one call: guess, learn, and judge the result with fresh random numbers.

mod any_noise;
mod brownian;
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
mod spec;
mod start;
mod warnings;

pub use crate::series::Scales;
pub use crate::solve::{Estimate, Interval, IntervalSource, NINETY};
pub use any_noise::{AnyNoise, Candidate, Rating, fit_any_noise, fit_any_noise_by, rival_families};
pub use brownian::BrownianEvidence;
pub use exact_fit::{exact_cells, parameter_posterior};
pub use finder::{OwnPaths, PotentialFinder};
pub use interval::use_draws;
pub use kind::PosteriorKind;
pub use panel::{Panel, Record, SharedFit, fit_panel, learn_shared, learn_shared_with};
pub use spec::{NeuralSize, Spec};

use crate::chain::only_exact;
use crate::drift::Neural;
use crate::posterior::{
    Diagnosis, Evidence, Jump, Marginal, Paths, Potentials, WeightSummary, Weighting, jumps, marginals, normalise,
};
use crate::series::{TimeGrid, check_values};
use crate::solve::{Choice, LearnOptions, LearnedBefore, Method, Regularisation, SweepOptions, parameters};
use crate::{Chain, Context, Dimension, Error, ErrorKind, Result, Start, StateSpace, stream};
use finder::find_for;
use found::Found;
use judge::{Judgement, judge, judge_own};
use rand::Rng;
use serde::{Deserialize, Serialize};

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
    /// Size from which a move counts as a jump; the noise model's own definition if it is left out, see [`jump_table`].
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
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    finder: Option<&mut dyn PotentialFinder>,
    context: &Context,
) -> Result<Fit> {
    let numbers = options.paths as f64 * grid.times().len() as f64 * spec.dim() as f64;
    if options.paths < 2 || numbers > MOST_NUMBERS {
        return Err(Error::Parameter {
            name: "paths".into(),
            value: options.paths as f64,
            expected: "must be at least 2, and at most 2³² together with times and dimensions",
        });
    }
    check_columns(spec, grid, columns)?;
    if let Some(above) = options.jump_above {
        crate::error::positive("jump_above", above)?;
    }
    // Learning, judging and weighing must not share random numbers: an ELBO on the paths it was tuned on is too high.
    let mut seeds = stream(options.seed, u64::MAX - 1);
    let [sweeps, fresh, particles] = [seeds.next_u64(), seeds.next_u64(), seeds.next_u64()];
    let sweep = SweepOptions { paths: options.paths, seed: sweeps, ..options.learn.sweep };
    if options.learn.method == Method::Grid && spec.dim() > 1 {
        return Err(Error::Shape {
            what: "method grid",
            got: format!("{} dimensions", spec.dim()),
            expected: "1; for several dimensions use method auto".into(),
        });
    }
    let learn = LearnOptions { sweep, ..options.learn };
    let otherwise = |i: usize, alone: &Spec, column: &[f64]| {
        let seeds = [fresh, particles].map(|seed| seed ^ i as u64);
        by_paths(alone, (grid, &[column]), options, (&learn, None), seeds, context)
    };
    let learns_brownian = (0..spec.dim()).any(|i| spec.learns_brownian(i));
    let only_exact_serves =
        spec.noise.is_skewed() || !spec.has_plain_errors() || spec.size.is_some() || learns_brownian;
    let otherwise: Option<&exact_fit::Otherwise> =
        if finder.is_some() || only_exact_serves { None } else { Some(&otherwise) };
    let watched = (context, otherwise);
    let exact = match options.learn.method {
        // Skewed noise is learned on the exact evidence only.
        Method::Grid if spec.noise.is_skewed() => exact_fit::fit_exact(spec, (grid, columns), options, fresh, watched)?,
        Method::Auto => exact_fit::fit_exact(spec, (grid, columns), options, fresh, watched)?,
        Method::Grid if !spec.has_plain_errors() || spec.learn_brownian || spec.size.is_some() => {
            exact_fit::fit_exact(spec, (grid, columns), options, fresh, watched)?
        }
        _ => Err(None),
    };
    let solved = match exact {
        Ok(solved) => solved,
        Err(why_not) if spec.noise.is_skewed() => {
            return Err(only_exact(spec.noise.name, &why_not.unwrap_or_default()));
        }
        Err(why_not) if !spec.has_plain_errors() => return Err(needs_grid(spec, options.learn.method, why_not)),
        Err(why_not) if spec.size.is_some() && !finder.as_ref().is_some_and(|finder| finder.takes_sizes()) => {
            return Err(size_needs_grid(options.learn.method, why_not));
        }
        Err(why_not) if learns_brownian => {
            return Err(brownian::needs_grid(options.learn.method, why_not));
        }
        Err(why_not) => by_paths(spec, (grid, columns), options, (&learn, finder), [fresh, particles], context)?
            .instead_of_exact(why_not),
    };
    let Solved { found, judgement, marginals: known, wrong, brownian } = solved;
    let Found { model, mut estimates, covariance, shift, choices, potentials, iterations, mut noted, network } = found;
    let Judgement { paths, summary, evidence, notes, smoothed } = judgement;
    if spec.errors == ErrorKind::Gaussian {
        let name = |i: usize| spec.names.get(i).filter(|_| spec.dim() > 1).map(String::as_str);
        noted.extend(columns.iter().enumerate().filter_map(|(i, column)| fill_value::warning(name(i), column)));
    }
    noted.extend(brownian.iter().filter_map(|(name, evidence)| evidence.warning(name)));
    let new = notes.into_iter().filter(|note| !noted.contains(note)).collect::<Vec<_>>();
    noted.extend(new);
    check_finite(&summary, &evidence, &estimates)?;
    let all = parameters(&model);
    // Weights of a network come first and are no estimates.
    let transforms: Vec<_> = all[all.len() - estimates.len()..].iter().map(|p| p.transform).collect();
    interval::complete(&mut estimates, &transforms);
    let chain = Chain::new(&model, grid, columns)?;
    let diagnosis = Diagnosis::new(&summary, &evidence, options.paths, chain.observations());
    let weights = match PosteriorKind::is_exact(&choices, &summary) {
        true => vec![1.0 / options.paths as f64; options.paths],
        false => trusted_weights(&paths.log_weights(), diagnosis.weighting),
    };
    let posterior = match smoothed {
        true => PosteriorKind::Smoothed,
        false => PosteriorKind::of(&choices, &summary, &weights),
    };
    let drawn = |i: usize| marginals(&paths, i, &weights, &options.quantiles);
    let marginals = known.into_iter().enumerate().map(|(i, known)| known.unwrap_or_else(|| drawn(i))).collect();
    let both = |i| jumps(&paths, &chain, i, &weights, options.jump_above);
    let (jumps, jumped) = (0..chain.dim()).map(both).unzip();
    let observations = chain.observations();
    let warnings = warnings::warnings(&warnings::Judged {
        spec,
        diagnosis,
        summary: &summary,
        evidence: &evidence,
        parameters: &estimates,
        observations,
        times: chain.len(),
        span: grid.times()[grid.times().len() - 1] - grid.times()[0],
        paths: options.paths,
        start_miss: start_miss(&chain),
        noted,
    });
    drop(chain);
    let times = grid.times().to_vec();
    Ok(Fit {
        model,
        parameters: estimates,
        covariance,
        shift,
        summary,
        evidence,
        times,
        observations,
        iterations,
        choices,
        posterior,
        network,
        marginals,
        wrong,
        brownian,
        jumps,
        jumped,
        potentials,
        paths,
        weights,
        warnings,
    })
}

/// A posterior found: parameters, paths, and per dimension the marginals if they are known better than from the paths.
struct Solved {
    found: Found,
    judgement: Judgement,
    marginals: Vec<Option<Vec<Marginal>>>,
    /// Probabilities that values are wrong, as in [`Fit`].
    wrong: Vec<Vec<f64>>,
    /// As in [`Fit`].
    brownian: Vec<(String, BrownianEvidence)>,
}

impl Solved {
    /// Say why it is not exact, if there is a reason worth saying.
    fn instead_of_exact(mut self, why_not: Option<String>) -> Self {
        if let (Some(why_not), Some(choice)) = (why_not, self.found.choices.first_mut()) {
            choice.why = format!("{}; not exact on a grid, because {why_not}", choice.why);
        }
        self
    }
}

/// The error for observation errors that the exact posterior alone can take, where there is none.
fn needs_grid(spec: &Spec, method: Method, why_not: Option<String>) -> Error {
    let errors = if spec.known_errors.is_empty() { spec.errors.name() } else { "known" };
    let why = match (method, why_not) {
        (Method::Auto | Method::Grid, Some(why)) => format!(
            "it is not possible here: {why}. Mark values that cannot be right as missing, or use gaussian errors"
        ),
        (Method::Auto | Method::Grid, None) => {
            "it is not possible for coupled dimensions or a drift network; use another drift, or gaussian errors".into()
        }
        _ => format!("it is not what method {method} computes; use method grid, or gaussian errors"),
    };
    Error::Numerical { what: "fit", why: format!("{errors} observation errors need the exact posterior, and {why}") }
}

/// The error for noise whose size depends on the state where there is no exact posterior.
fn size_needs_grid(method: Method, why_not: Option<String>) -> Error {
    let what = "noise whose size depends on the state";
    match why_not {
        Some(why) => Error::Numerical { what: "fit", why: format!("{what} needs the exact posterior: {why}") },
        None => {
            Error::Shape { what, got: format!("method {method}"), expected: "the exact posterior: method auto".into() }
        }
    }
}

/// Parameters learned with sampled paths, and fresh paths that judge them.
fn by_paths(
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    (learn, mut finder): (&LearnOptions, Option<&mut dyn PotentialFinder>),
    seeds: [u64; 2],
    context: &Context,
) -> Result<Solved> {
    let mut found = find_for(finder.as_deref_mut(), spec, (grid, columns), options, learn, context)?;
    let chain = Chain::new(&found.model, grid, columns)?;
    let mut own = None;
    if let Some(finder) = finder {
        found.potentials = finder.potentials(&chain, learn)?;
        own = finder.paths(&chain, options)?;
    }
    let judgement = match own {
        None => judge((&chain, columns), &mut found.choices, &found.potentials, options, seeds),
        Some(own) => {
            found.choices.iter_mut().for_each(|choice| choice.why = own.why.clone());
            judge_own(&chain, own, &found.potentials, options, seeds)
        }
    };
    let judgement = chain.unless_failed(judgement)?;
    drop(chain);
    let marginals = vec![None; spec.dim()];
    Ok(Solved { found, judgement, marginals, wrong: Vec::new(), brownian: Vec::new() })
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

/// Most numbers in the paths of a fit: 32 GB.
const MOST_NUMBERS: f64 = 4_294_967_296.0;
fn trusted_weights(log_weights: &[f64], weighting: Weighting) -> Vec<f64> {
    let count = log_weights.len();
    match weighting {
        Weighting::Used => normalise(log_weights).1,
        Weighting::SetAside | Weighting::Untrusted => vec![1.0 / count as f64; count],
    }
}

/// Distance of a known first state from the value observed there, in observation standard deviations; 0 if there is none.
fn start_miss(chain: &Chain) -> f64 {
    let miss = |(i, d): (usize, &Dimension)| match d.start {
        // A value that may be wrong says little about the start.
        Start::Fixed(x0) if !chain.value(i, 0).is_nan() && d.errors.is_plain() => {
            (chain.value(i, 0) - x0).abs() / d.observation_std
        }
        _ => 0.0,
    };
    chain.model().dimensions.iter().enumerate().map(miss).fold(0.0, f64::max)
}

/// No result is better than one that is not a number.
fn check_finite(summary: &WeightSummary, evidence: &Evidence, parameters: &[Estimate]) -> Result<()> {
    let figures = [summary.elbo, summary.elbo_std_error, evidence.log_evidence, evidence.std_error];
    if figures.iter().chain(parameters.iter().map(|p| &p.value)).all(|figure| figure.is_finite()) {
        return Ok(());
    }
    Err(Error::Numerical {
        what: "fit",
        why: "the model gives the data essentially zero probability at the fitted parameters; use a noise with \
              heavier tails or a larger observation_std, or fix fewer parameters"
            .into(),
    })
}
