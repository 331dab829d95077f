//! Say in sentences what a careful statistician would say about a fit.

use super::{Estimate, WORST_K};
use crate::posterior::{Evidence, WeightSummary};

/// What is judged.
pub(super) struct Judged<'a> {
    pub summary: &'a WeightSummary,
    pub evidence: &'a Evidence,
    pub parameters: &'a [Estimate],
    pub observations: usize,
    pub times: usize,
    /// Time from the first observation to the last.
    pub span: f64,
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
/// Effective share of the paths below which the weights of whole paths are no use.
const FEWEST_EFFECTIVE: f64 = 0.1;
/// Observations per learned parameter below which standard errors are a hope.
const FEWEST: usize = 20;
/// An index above this is the Gaussian limit for all that the data can say.
const GAUSSIAN_INDEX: f64 = 1.98;
/// A return is seen if it happened this many times over the record, or if its rate is this many standard errors from none.
const FEWEST_RETURNS: f64 = 10.0;
const CLEAR: f64 = 2.0;

/// The gap between evidence and bound, if it is wide.
pub(super) fn wide_gap(summary: &WeightSummary, evidence: &Evidence, observations: usize) -> Option<f64> {
    let gap = evidence.log_evidence - summary.elbo;
    let worst = WORST_GAP * (observations as f64 / 1000.0).max(1.0);
    (gap > worst + 3.0 * (summary.elbo_std_error + evidence.std_error)).then_some(gap)
}

/// The sentences.
pub(super) fn warnings(judged: &Judged) -> Vec<String> {
    let Judged { summary, evidence, parameters, observations, times, span, paths, start_miss, noted } = judged;
    let mut all = noted.clone();
    if summary.k_hat > WORST_K || summary.effective_sample_size < FEWEST_EFFECTIVE * *paths as f64 {
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
    let restless: Vec<String> = parameters.iter().filter_map(|p| restless(p, *span)).collect();
    if !restless.is_empty() {
        all.push(format!(
            "{}: the record is too short to show a return to a level, and mu says little; compare with drift none",
            restless.join(", ")
        ));
    }
    if parameters.iter().any(|p| !p.fixed && p.name.starts_with("alpha") && p.value > GAUSSIAN_INDEX) {
        all.push("alpha is at its upper end, where the noise is Gaussian: compare with noise gaussian".into());
    }
    all
}

/// A rate of return that cannot be told from none, with its error.
fn restless(p: &Estimate, span: f64) -> Option<String> {
    let is_rate = p.name == "theta" || p.name.starts_with("theta[");
    let error = p.std_error.filter(|_| is_rate && !p.fixed)?;
    let unclear = p.value < CLEAR * error && p.value * span < FEWEST_RETURNS;
    unclear.then(|| format!("{} is {:.2} of its standard errors from 0", p.name, p.value / error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_a_return_is_seen_or_not() {
        let estimate = |name: &str, value: f64, std_error: f64, fixed| Estimate {
            name: name.into(),
            value,
            std_error: Some(std_error),
            fixed,
            held_by_prior: false,
        };
        // A random walk of 1000 steps; a clear rate; noise around a level, which returns within a step; one that is given.
        assert!(restless(&estimate("theta", 0.0025, 0.0023, false), 999.0).unwrap().contains("1.09"));
        assert_eq!(restless(&estimate("theta[A]", 0.02, 0.005, false), 100.0), None);
        assert_eq!(restless(&estimate("theta", 5.3, 7.0, false), 999.0), None);
        assert_eq!(restless(&estimate("theta", 0.0025, 0.0023, true), 999.0), None);
        assert_eq!(restless(&estimate("theta1", 0.1, 0.2, false), 1.0), None);
    }
}
