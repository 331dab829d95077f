//! Say in sentences what a careful statistician would say about a fit.

use super::{Estimate, Spec};
use crate::parameter::LearnedValue;
use crate::posterior::{Diagnosis, Evidence, WeightSummary, Weighting};

/// What is judged.
pub(super) struct Judged<'a> {
    pub spec: &'a Spec,
    pub diagnosis: Diagnosis,
    pub summary: &'a WeightSummary,
    pub evidence: &'a Evidence,
    pub parameters: &'a [Estimate],
    pub observations: usize,
    pub times: usize,
    /// Time from the first observation to the last.
    pub span: f64,
    pub paths: usize,
    /// Distance of a known first state from the value observed there, in observation standard deviations.
    pub start_miss: f64,
    /// What the solver noted.
    pub noted: Vec<String>,
}

/// A first value further than this many observation standard deviations from a known first state contradicts it.
const WORST_START: f64 = 6.0;
/// Observations per learned parameter below which standard errors are too small.
const FEWEST: usize = 20;
/// The sentences.
pub(super) fn warnings(judged: &Judged) -> Vec<String> {
    let Judged { spec, diagnosis, summary, evidence, parameters, observations, times, span, paths, start_miss, noted } =
        judged;
    let mut all = noted.clone();
    if diagnosis.weighting == Weighting::Untrusted {
        all.push(format!(
            "the importance weights of the {paths} paths are unreliable (effective sample size {:.0}, k-hat {:.2}), \
             so the posterior uses the paths unweighted; trust it only if the ELBO is close to the log evidence",
            summary.effective_sample_size, summary.k_hat
        ));
    }
    if diagnosis.gap.is_wide() {
        let gap = diagnosis.gap.nats;
        all.push(format!(
            "the ELBO is {gap:.1} nats below the log evidence: the sampled paths miss part of the posterior{}",
            if 2 * observations < *times { "; use fewer latent steps between observations" } else { "" }
        ));
    }
    if evidence.std_error > 1.0 {
        all.push(format!("the log evidence has a standard error of {:.1}; use more paths", evidence.std_error));
    }
    if *start_miss > WORST_START {
        all.push(format!(
            "x0 is {start_miss:.0} observation standard deviations away from the first observed value: change x0 or \
             leave it out"
        ));
    }
    let learned = parameters.iter().filter(|p| !p.fixed).count();
    if learned > 0 && *observations < FEWEST * learned {
        all.push(format!(
            "{learned} parameters were learned from only {observations} observations: the standard errors are \
             probably too small; fix some parameters or use more data"
        ));
    }
    let held: Vec<&str> = parameters.iter().filter(|p| p.held_by_prior).map(|p| p.name.as_str()).collect();
    if !held.is_empty() {
        all.push(format!(
            "the data say little about {}, which a weak prior holds near a rough guess; fix a value or use more data",
            held.join(", ")
        ));
    }
    all.extend(doubts(spec, parameters, *span));
    all
}

/// What learned values at a limit of their family mean, each meaning once.
fn doubts(spec: &Spec, parameters: &[Estimate], span: f64) -> Vec<String> {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for p in parameters.iter().filter(|p| !p.fixed) {
        let learned = LearnedValue { value: p.value, std_error: p.std_error, span };
        let Some(meaning) = spec.entry(&p.name).and_then(|entry| entry.doubt(&learned)) else { continue };
        let error = p.std_error.map_or(String::new(), |error| format!(" ± {}", short(error)));
        let found = format!("{} = {}{error}", p.name, short(p.value));
        match all.iter_mut().find(|(known, _)| *known == meaning) {
            Some((_, subjects)) => subjects.push(found),
            None => all.push((meaning, vec![found])),
        }
    }
    all.into_iter().map(|(meaning, subjects)| format!("{}: {meaning}", subjects.join(", "))).collect()
}

/// Three significant digits.
fn short(value: f64) -> String {
    let digits = value.abs().log10().floor();
    if (-4.0..5.0).contains(&digits) {
        format!("{value:.*}", (2.0 - digits).max(0.0) as usize)
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::DriftFamily;
    use crate::noise::Family;

    #[test]
    fn golden_a_return_is_seen_or_not() {
        let doubt = |name: &str, value: f64, std_error: f64, fixed, span| {
            let spec = |drift| Spec::new(DriftFamily::named(drift).unwrap(), Family::named("stable").unwrap());
            let p = Estimate {
                name: name.into(),
                value,
                std_error: Some(std_error),
                fixed,
                held_by_prior: false,
                interval: None,
            };
            doubts(&spec(if name == "theta1" { "double-well" } else { "ou" }), &[p], span).pop()
        };
        // A random walk of 1000 steps; a clear rate; noise around a level, which returns within a step; one that is given.
        let walk = doubt("theta", 0.0025, 0.0023, false, 999.0).unwrap();
        assert!(walk.starts_with("theta = 0.00250 ± 0.00230: not clearly above 0"), "{walk}");
        assert_eq!(doubt("theta[A]", 0.02, 0.005, false, 100.0), None);
        assert_eq!(doubt("theta", 5.3, 7.0, false, 999.0), None);
        assert_eq!(doubt("theta", 0.0025, 0.0023, true, 999.0), None);
        assert_eq!(doubt("theta1", 0.1, 0.2, false, 1.0), None);
        assert!(doubt("alpha[A]", 1.99, 0.2, false, 1.0).unwrap().contains("noise gaussian"));
        assert_eq!(doubt("alpha", 1.5, 0.2, false, 1.0), None);
        assert_eq!([short(1234.6), short(0.5), short(1e-7)], ["1235", "0.500", "1.00e-7"]);
    }
}
