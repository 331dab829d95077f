//! Fit a model with directions in one call: learn its parameters, then filter and smooth with fresh random numbers.

use super::chain::GeneralChain;
use super::filter::FilterOptions;
use super::guide::{Guide, Reach};
use super::kalman;
use super::learn::{Learned, Search};
use super::model::GeneralModel;
use super::nonlinear::{self, NonlinearGuide};
use super::smooth::{Smoothed, smooth};
use super::spec::GeneralSpec;
use crate::noise::Nodes;
use crate::posterior::{Marginal, weighted_marginal};
use crate::series::TimeGrid;
use crate::solve::{Estimate, Interval};
use crate::{Context, Error, Result, stream};
use rand::Rng;
use rayon::prelude::*;

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralOptions {
    /// Posterior paths, at least 2.
    pub paths: usize,
    /// Seed of all random numbers; results do not depend on threads.
    pub seed: u64,
    /// Levels of the posterior quantiles.
    pub quantiles: Vec<f64>,
}

impl Default for GeneralOptions {
    fn default() -> Self {
        Self { paths: 500, seed: 1, quantiles: vec![0.05, 0.25, 0.5, 0.75, 0.95] }
    }
}

/// A model with directions fitted to a table.
#[derive(Debug)]
pub struct GeneralFit {
    /// The model with the values found.
    pub model: GeneralModel,
    /// Its parameters.
    pub parameters: Vec<Estimate>,
    /// Covariance of the learned ones on their free scales, row after row; 0 for those that are not identified.
    pub covariance: Vec<f64>,
    /// Latent times.
    pub times: Vec<f64>,
    /// Number of values observed.
    pub observations: usize,
    /// Steps of the search.
    pub iterations: usize,
    /// Whether evidence and marginals are exact: the drift is affine and every noise Gaussian.
    pub exact: bool,
    /// Evidence, and paths of equal weight.
    pub smoothed: Smoothed,
    /// Per state and time: the posterior law.
    pub marginals: Vec<Vec<Marginal>>,
    /// Per source and time but the first: the probability that it jumped, its variance in the upper 1% of the prior.
    pub jump_probability: Vec<Vec<f64>>,
    /// Every jump of every path: numbers of the path, of the time at which its step ends, and of the source.
    pub jumped: Vec<[usize; 3]>,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// Final filters.
const FILTERS: usize = 10;

/// The filters from which `paths` paths are drawn: one particle for five paths, between 50 and 2,000; twice as many where
/// particles carry states.
pub(crate) fn final_filters(paths: usize, seed: u64) -> FilterOptions {
    FilterOptions { filters: FILTERS, particles: (paths / 5).clamp(50, 2000), seed }
}

/// Per step and source, the first node whose variance counts as that of a jump.
pub(crate) fn upper_nodes(chain: &GeneralChain) -> Vec<Vec<usize>> {
    let sources = 0..chain.model.sources.len();
    (1..chain.len()).map(|j| sources.clone().map(|r| threshold(chain.nodes(r, j))).collect()).collect()
}

/// Fit `spec` to `columns`: one value per row of the spec and observation row of `grid`, NaN where missing.
///
/// # Errors
/// A model whose parts do not fit together; a state that nothing observes; columns from which nothing can be learned.
pub fn fit_general(
    spec: &GeneralSpec,
    grid: &TimeGrid,
    columns: &[&[f64]],
    options: &GeneralOptions,
) -> Result<GeneralFit> {
    fit_general_with(spec, (grid, columns), options, &Context::silent())
}

/// [`fit_general`], watched.
pub fn fit_general_with(
    spec: &GeneralSpec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &GeneralOptions,
    context: &Context,
) -> Result<GeneralFit> {
    if options.paths < 2 {
        let (name, value) = ("paths".into(), options.paths as f64);
        return Err(Error::Parameter { name, value, expected: "must be at least 2" });
    }
    if columns.len() != spec.rows.len() {
        let (got, expected) = (columns.len().to_string(), format!("{}, one per row", spec.rows.len()));
        return Err(Error::Shape { what: "observed columns", got, expected });
    }
    let mut seeds = stream(options.seed, u64::MAX - 2);
    let [learning, fresh] = [seeds.next_u64(), seeds.next_u64()];
    let parameters = spec.parameters(grid, columns)?;
    let times: Vec<f64> = (0..grid.len()).filter(|&j| grid.observation(j).is_some()).map(|j| grid.times()[j]).collect();
    let starts = spec.starts(&parameters, &times, columns)?;
    // A model that cannot be built says so before anything is learned.
    let first = spec.model(&parameters, &starts)?;
    let affine = spec.drift.is_affine();
    let exact = affine && GeneralChain::new(&first, grid, columns)?.is_gaussian();
    let reach = match affine {
        _ if exact => None,
        true => Some(Guide::new(&GeneralChain::new(&first, grid, columns)?)?.reach),
        false => Some(NonlinearGuide::new(&GeneralChain::without_flows(&first, grid, columns)?).reach),
    };
    let search = Search { spec, grid, columns, parameters, starts: starts.clone(), seed: learning, reach, context };
    let learned = if affine { search.run()? } else { nonlinear::learn(search)? };
    let model = spec.model(&learned.parameters, &starts)?;
    let filters = final_filters(options.paths, fresh);
    let chain;
    let smoothed = if exact {
        chain = GeneralChain::new(&model, grid, columns)?;
        let filters = FilterOptions { filters: 2, particles: 2, ..filters };
        smooth(&chain, &Guide::reaching(&chain, Reach::Step)?, options.paths, &filters)?
    } else if affine {
        chain = GeneralChain::new(&model, grid, columns)?;
        // The choice of the reach does not depend on random numbers of this fit.
        let guide = match reach {
            Some(reach) if learned.is_settled() => Guide::reaching(&chain, reach)?,
            _ => Guide::new(&chain)?,
        };
        smooth(&chain, &guide, options.paths, &filters)?
    } else {
        chain = GeneralChain::without_flows(&model, grid, columns)?;
        let filters = FilterOptions { particles: 2 * filters.particles, ..filters };
        nonlinear::smooth(&chain, &NonlinearGuide::new(&chain), options.paths, &filters)?
    };
    let marginals = match exact {
        true => kalman::marginals(&chain, &options.quantiles)?,
        false => (0..model.dim()).map(|i| state_marginals(&chain, &smoothed, i, &options.quantiles)).collect(),
    };
    let sources = model.sources.len();
    let (mut jump_probability, mut jumps) = (vec![Vec::new(); sources], Vec::new());
    for (r, shares) in jump_probability.iter_mut().enumerate() {
        for j in 1..chain.len() {
            let here = jumped(&chain, &smoothed, &[r], j);
            shares.push(here.len() as f64 / smoothed.paths.len() as f64);
            jumps.extend(here.into_iter().map(|path| [path, j, r]));
        }
    }
    let observations = chain.observations();
    drop(chain);
    let parameters = estimates(&learned);
    let mut warnings = warnings(&learned, &parameters, &smoothed);
    warnings.extend(path_warnings(&model, &smoothed));
    Ok(GeneralFit {
        model,
        covariance: learned.covariance.iter().copied().collect(),
        parameters,
        times: grid.times().to_vec(),
        observations,
        iterations: learned.iterations,
        exact,
        smoothed,
        marginals,
        jump_probability,
        jumped: jumps,
        warnings,
    })
}

fn estimates(learned: &Learned) -> Vec<Estimate> {
    let mut place = 0;
    let estimate = |parameter: &super::spec::Parameter| {
        let (mut std_error, mut held_by_prior) = (None, false);
        if !parameter.fixed {
            let slope = parameter.transform.slope(parameter.value);
            std_error = learned.identified[place].then(|| learned.covariance[(place, place)].sqrt() * slope);
            held_by_prior = learned.prior_share[place] > 0.5;
            place += 1;
        }
        Estimate {
            name: parameter.name.clone(),
            value: parameter.value,
            std_error,
            fixed: parameter.fixed,
            held_by_prior,
            interval: std_error.map(|error| Interval::gaussian(parameter.value, error, parameter.transform)),
        }
    };
    learned.parameters.iter().map(estimate).collect()
}

fn warnings(learned: &Learned, parameters: &[Estimate], smoothed: &Smoothed) -> Vec<String> {
    let mut all = Vec::new();
    if learned.stopped {
        all.push(format!(
            "stopped on request after {} iterations: the parameters may not have converged and have no standard errors",
            learned.iterations
        ));
    } else if !learned.converged {
        all.push("learning stopped before the parameters converged; give guesses, or fix some parameters".into());
    }
    for p in parameters.iter().filter(|p| !p.fixed && p.std_error.is_none() && !learned.stopped) {
        all.push(format!(
            "{}: the log evidence has no maximum in it, so these data do not identify it; it has no \
             standard error, and those of the others take it as known. Fix it, or give it a prior",
            p.name
        ));
    }
    for p in parameters.iter().filter(|p| p.held_by_prior) {
        all.push(format!(
            "{}: the data say less about it than its prior; treat it as not identified, or fix it",
            p.name
        ));
    }
    if smoothed.evidence.std_error > 1.0 {
        let error = smoothed.evidence.std_error;
        all.push(format!(
            "the log evidence is uncertain by {error:.1} nats; the paths may miss modes of the \
         posterior"
        ));
    }
    all
}

/// What is special about paths of particles that carry states.
fn path_warnings(model: &GeneralModel, smoothed: &Smoothed) -> Vec<String> {
    let mut all = Vec::new();
    let (different, paths) = (smoothed.effective_paths, smoothed.paths.len());
    if different < FEW * paths as f64 {
        all.push(format!(
            "at one time only {different:.0} of the {paths} paths are distinct: credible bands there are \
             unreliable; use more paths"
        ));
    }
    if smoothed.lost > 0.0 {
        let share = 100.0 * smoothed.lost;
        let why = model.drift.failure().map_or(String::new(), |error| format!(" ({error})"));
        all.push(format!(
            "{share:.2}% of the particles' steps left the states in which the drift can be computed, and count as \
             impossible{why}"
        ));
    }
    all
}

/// Share of the paths below which those that differ are few.
const FEW: f64 = 0.2;

/// The posterior law of state `i` at every time; it jumps when a source that moves it does.
fn state_marginals(chain: &GeneralChain, smoothed: &Smoothed, i: usize, levels: &[f64]) -> Vec<Marginal> {
    let dim = chain.dim();
    let movers: Vec<usize> =
        (0..chain.model.sources.len()).filter(|&r| chain.model.sources[r].direction[i] != 0.0).collect();
    let weight = 1.0 / smoothed.paths.len() as f64;
    let share = |paths: Vec<usize>| paths.len() as f64 / smoothed.paths.len() as f64;
    let law = |j: usize| {
        let points = smoothed.paths.iter().map(|path| (path.states[j * dim + i], weight)).collect();
        let jump_probability = if j == 0 { 0.0 } else { share(jumped(chain, smoothed, &movers, j)) };
        Marginal { jump_probability, ..weighted_marginal(points, levels) }
    };
    (0..chain.len()).into_par_iter().map(law).collect()
}

/// The paths on which one of these sources jumped in the step that ends at time `j`.
fn jumped(chain: &GeneralChain, smoothed: &Smoothed, movers: &[usize], j: usize) -> Vec<usize> {
    let sources = chain.model.sources.len();
    let thresholds: Vec<(usize, usize)> = movers.iter().map(|&r| (r, threshold(chain.nodes(r, j)))).collect();
    let jumps = |path: &super::smooth::DrawnPath| {
        thresholds.iter().any(|&(r, first)| path.nodes[(j - 1) * sources + r] as usize >= first)
    };
    (0..smoothed.paths.len()).filter(|&path| jumps(&smoothed.paths[path])).collect()
}

/// First node of the upper tail of the prior: the nodes from it on hold less than 1% together.
pub(super) fn threshold(nodes: &Nodes) -> usize {
    let mut tail = 0.0;
    let in_tail = nodes.weights().iter().rev().take_while(|&&w| {
        tail += w;
        tail < 0.01
    });
    nodes.len() - in_tail.count()
}
