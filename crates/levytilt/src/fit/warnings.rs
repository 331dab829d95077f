//! Say in sentences what a careful statistician would say about a fit.

use super::{Estimate, can_be_weighed};
use crate::posterior::{Evidence, WeightSummary};

/// What is judged.
pub(super) struct Judged<'a> {
    pub summary: &'a WeightSummary,
    pub evidence: &'a Evidence,
    pub parameters: &'a [Estimate],
    pub observations: usize,
    pub times: usize,
    pub paths: usize,
    /// Distance of a known first state from the value observed there, in errors of observation.
    pub start_miss: f64,
    /// What the solver noted.
    pub noted: Vec<String>,
}

/// A gap between evidence and bound beyond this many nats per thousand observations, and beyond its own noise, is wide.
const WORST_GAP: f64 = 3.0;
/// A first value further than this many errors of observation from a known first state contradicts it.
const WORST_START: f64 = 6.0;
/// Observations per learned parameter below which standard errors are a hope.
const FEWEST: usize = 20;
/// An index above this is the Gaussian limit for all that the data can say.
const GAUSSIAN_INDEX: f64 = 1.98;

/// The gap between evidence and bound, if it is wide.
pub(super) fn wide_gap(summary: &WeightSummary, evidence: &Evidence, observations: usize) -> Option<f64> {
    let gap = evidence.log_evidence - summary.elbo;
    let worst = WORST_GAP * (observations as f64 / 1000.0).max(1.0);
    (gap > worst + 3.0 * (summary.elbo_std_error + evidence.std_error)).then_some(gap)
}

/// The sentences.
pub(super) fn warnings(judged: &Judged) -> Vec<String> {
    let Judged { summary, evidence, parameters, observations, times, paths, start_miss, noted } = judged;
    let mut all = noted.clone();
    if !can_be_weighed(summary, *paths) {
        all.push(format!(
            "the weights of the {paths} paths are worth {:.0} equal ones (k-hat {:.2}): they cannot be trusted, and \
             the posterior is that of the paths without weights",
            summary.effective_sample_size, summary.k_hat
        ));
    }
    if let Some(gap) = wide_gap(summary, evidence, *observations) {
        all.push(format!(
            "the bound is {gap:.1} nats below the evidence: the posterior paths miss part of the posterior{}",
            if 2 * observations < *times { "; fewer latent steps between observations would help" } else { "" }
        ));
    }
    if evidence.std_error > 1.0 {
        all.push(format!("the log evidence has a standard error of {:.1}; use more paths", evidence.std_error));
    }
    if *start_miss > WORST_START {
        all.push(format!(
            "x0 is {start_miss:.0} errors of observation away from the value observed at the first time: give another \
             x0 or leave it out"
        ));
    }
    let learned = parameters.iter().filter(|p| !p.fixed).count();
    if learned > 0 && *observations < FEWEST * learned {
        all.push(format!(
            "{learned} parameters were learned from {observations} observations: read the standard errors as lower \
             limits, or give some parameters"
        ));
    }
    let held: Vec<&str> = parameters.iter().filter(|p| p.held_by_prior).map(|p| p.name.as_str()).collect();
    if !held.is_empty() {
        all.push(format!("the data say little about {}: held by a weak prior around a rough guess", held.join(", ")));
    }
    if parameters.iter().any(|p| !p.fixed && p.name.starts_with("alpha") && p.value > GAUSSIAN_INDEX) {
        all.push("alpha is at its upper end, where the noise is Gaussian: compare with noise gaussian".into());
    }
    all
}
