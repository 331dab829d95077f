//! Turn the posterior of a fit into what a user reads: weights, marginals, jumps, intervals and warnings.

use super::found::Found;
use super::judge::Judgement;
use super::solved::Solved;
use super::{Estimate, Fit, FitOptions, PosteriorKind, Spec, fill_value, interval, warnings};
use crate::posterior::{Diagnosis, Evidence, WeightSummary, Weighting, jumps, marginals, normalise};
use crate::series::TimeGrid;
use crate::solve::parameters;
use crate::{Chain, Dimension, Error, ErrorKind, Result, Start};

/// The fit.
///
/// # Errors
/// A result that is not finite.
pub(super) fn complete(
    solved: Solved,
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
) -> Result<Fit> {
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

/// The weights of the paths; equal ones where theirs are set aside.
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
