//! Find the posterior of a fit: exactly where that is possible, else with sampled paths.

use super::finder::{PotentialFinder, find_for};
use super::judge::{judge, judge_own};
use super::solved::Solved;
use super::{FitOptions, Spec, brownian, exact_fit};
use crate::chain::only_exact;
use crate::series::TimeGrid;
use crate::solve::{LearnOptions, Method, SweepOptions};
use crate::{Chain, Context, Error, Result, stream};
use rand::Rng;

/// The exact posterior where the method asks for it and it can be had, else paths; what only the exact posterior can take is
/// refused where there is none.
pub(super) fn posterior(
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    finder: Option<&mut dyn PotentialFinder>,
    context: &Context,
) -> Result<Solved> {
    let method = options.learn.method;
    // Learning, judging and weighing must not share random numbers: an ELBO on the paths it was tuned on is too high.
    let mut seeds = stream(options.seed, u64::MAX - 1);
    let [sweeps, fresh, particles] = [seeds.next_u64(), seeds.next_u64(), seeds.next_u64()];
    let sweep = SweepOptions { paths: options.paths, seed: sweeps, ..options.learn.sweep };
    let learn = LearnOptions { sweep, ..options.learn };
    let learns_brownian = (0..spec.dim()).any(|i| spec.learns_brownian(i));
    let only_grid = spec.noise.is_skewed() || !spec.has_plain_errors() || spec.size.is_some();
    let otherwise = |i: usize, alone: &Spec, column: &[f64]| {
        let seeds = [fresh, particles].map(|seed| seed ^ i as u64);
        by_paths(alone, (grid, &[column]), options, (&learn, None), seeds, context)
    };
    let otherwise: Option<&exact_fit::Otherwise> =
        if finder.is_some() || only_grid || learns_brownian { None } else { Some(&otherwise) };
    let exact = match method {
        Method::Auto => true,
        Method::Grid => only_grid || spec.learn_brownian,
        _ => false,
    };
    let attempt = match exact {
        true => exact_fit::fit_exact(spec, (grid, columns), options, fresh, (context, otherwise))?,
        false => Err(None),
    };
    let why_not = match attempt {
        Ok(solved) => return Ok(solved),
        Err(why_not) => why_not,
    };
    if spec.noise.is_skewed() {
        return Err(only_exact(spec.noise.name, &why_not.unwrap_or_default()));
    }
    if !spec.has_plain_errors() {
        return Err(needs_grid(spec, method, why_not));
    }
    if spec.size.is_some() && !finder.as_ref().is_some_and(|finder| finder.takes_sizes()) {
        return Err(size_needs_grid(method, why_not));
    }
    if learns_brownian {
        return Err(brownian::needs_grid(method, why_not));
    }
    let solved = by_paths(spec, (grid, columns), options, (&learn, finder), [fresh, particles], context)?;
    Ok(solved.instead_of_exact(why_not))
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
