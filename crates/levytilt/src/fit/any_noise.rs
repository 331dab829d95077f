//! Choose the family of the noise by evidence: fit each, and show the table.

use super::{Fit, FitOptions, Spec, fit_with};
use crate::noise::{FAMILIES, Family};
use crate::series::TimeGrid;
use crate::solve::Method;
use crate::{Context, Error, Result};

/// A family of noise and how well it explains the data.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The family.
    pub family: &'static Family,
    /// What its fit gave, or why it gave nothing: an error, or an end that was asked for before it was finished.
    pub outcome: std::result::Result<Rating, String>,
    /// Whether it was stopped before it was finished, or never begun.
    pub unfinished: bool,
}

/// What decides between families.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    /// Log evidence at the parameters found.
    pub log_evidence: f64,
    /// Its standard error.
    pub std_error: f64,
    /// Parameters learned.
    pub learned: usize,
    /// Log evidence less ½ ln(observations) per learned parameter: what is left of it, for long data, when the
    /// parameters are integrated over instead of chosen (Schwarz 1978).
    pub score: f64,
}

/// The fit with the best family, and all that were tried, best first.
#[derive(Debug)]
pub struct AnyNoise<F = Fit> {
    /// The best fit.
    pub fit: F,
    /// Its family.
    pub family: &'static Family,
    /// The table.
    pub candidates: Vec<Candidate>,
}

/// The families that compete by default.
pub fn rival_families() -> Vec<&'static Family> {
    FAMILIES.iter().filter(|family| family.rival).collect()
}

/// Fit `spec` with each of `families` in place of its noise and keep the best. A family whose learning was stopped by the
/// watcher is never ranked; if none was finished, the fit is the one that was stopped.
///
/// # Errors
/// Values given for a parameter of the noise (they would mean something else in every family), or the first family's
/// error if none can be fitted.
pub fn fit_any_noise(
    spec: &Spec,
    families: &[&'static Family],
    grid: &TimeGrid,
    columns: &[&[f64]],
    options: &FitOptions,
    context: &Context,
) -> Result<AnyNoise> {
    // Skewed families are learned on the exact evidence only.
    let exact = matches!(options.learn.method, Method::Auto | Method::Grid);
    let families: Vec<_> = families.iter().copied().filter(|family| exact || !family.is_skewed()).collect();
    fit_any_noise_by(spec, &families, context, |spec, context| fit_with(spec, (grid, columns), options, context))
}

/// [`fit_any_noise`] with another way to fit one family.
pub fn fit_any_noise_by<F: AsRef<Fit>>(
    spec: &Spec,
    families: &[&'static Family],
    context: &Context,
    mut fit: impl FnMut(&Spec, &Context) -> Result<F>,
) -> Result<AnyNoise<F>> {
    check_open(spec, families)?;
    let families = families.iter().copied().filter(|family| is_apart(spec) || !family.is_skewed());
    let mut best: Option<(f64, &'static Family, F)> = None;
    let (mut first_error, mut stopped) = (None, None);
    let mut candidates = Vec::new();
    for family in families {
        if context.stopped() {
            candidates.push(Candidate { family, outcome: Err("unfinished: not begun".into()), unfinished: true });
            continue;
        }
        // Gaussian noise is the diffusion itself.
        let learn_brownian = spec.learn_brownian && family.name != "gaussian";
        let spec = Spec { noise: family, learn_brownian, ..spec.clone() };
        let outcome = match fit(&spec, &context.about(family.name)) {
            Ok(found) if context.stopped() => {
                stopped = Some((family, found));
                Err("unfinished: stopped while it was learned".into())
            }
            Ok(found) => {
                let rating = Rating::of(found.as_ref());
                if best.as_ref().is_none_or(|(score, ..)| rating.score > *score) {
                    best = Some((rating.score, family, found));
                }
                Ok(rating)
            }
            Err(error) => {
                let why = error.to_string();
                first_error.get_or_insert(error);
                Err(why)
            }
        };
        candidates.push(Candidate { family, unfinished: context.stopped(), outcome });
    }
    let score = |c: &Candidate| c.outcome.as_ref().map_or(f64::NEG_INFINITY, |rating| rating.score);
    candidates.sort_by(|a, b| score(b).total_cmp(&score(a)));
    match (best, stopped, first_error) {
        (Some((_, family, fit)), ..) => Ok(AnyNoise { fit, family, candidates }),
        (None, Some((family, fit)), _) => Ok(AnyNoise { fit, family, candidates }),
        (None, None, Some(error)) => Err(error),
        (None, None, None) => {
            Err(Error::Shape { what: "families of noise", got: "none".into(), expected: "at least one".into() })
        }
    }
}

/// Whether the columns do not act on each other: what exact fits need.
fn is_apart(spec: &Spec) -> bool {
    spec.network.is_none() && (spec.dim() == 1 || !spec.drift.coupled)
}

impl AsRef<Fit> for Fit {
    fn as_ref(&self) -> &Fit {
        self
    }
}

impl Rating {
    /// The rating of a log evidence with its standard error, reached with so many `learned` parameters.
    pub fn new(log_evidence: f64, std_error: f64, learned: usize, observations: usize) -> Self {
        Self {
            log_evidence,
            std_error,
            learned,
            score: log_evidence - 0.5 * learned as f64 * (observations as f64).ln(),
        }
    }

    /// The rating of a fit.
    pub fn of(fit: &Fit) -> Self {
        let learned = fit.parameters.iter().filter(|p| !p.fixed).count();
        Self::new(fit.evidence.log_evidence, fit.evidence.std_error, learned, fit.observations)
    }

    /// ½ ln(observations) per learned parameter.
    pub fn penalty(&self) -> f64 {
        self.log_evidence - self.score
    }
}

fn check_open(spec: &Spec, families: &[&'static Family]) -> Result<()> {
    let plain = |name: &str| name.split('[').next().unwrap_or_default().to_string();
    let foreign = |name: &str| families.iter().any(|family| family.parameter(name).is_some());
    match spec.given.iter().find(|(name, _)| foreign(&plain(name))) {
        None => Ok(()),
        Some((name, value)) => Err(Error::Parameter {
            name: name.clone(),
            value: *value,
            expected: "cannot be fixed while the noise family is chosen automatically: choose a family, or leave it \
                       out",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::DriftFamily;
    use std::ops::ControlFlow;

    /// Stopped at once, no family is ranked; stopped in the second, the first is, and the others are unfinished.
    #[test]
    fn identity_what_was_stopped_is_not_ranked() {
        let times: Vec<f64> = (0..40).map(f64::from).collect();
        let values: Vec<f64> = times.iter().map(|t| (1.3 * t).sin() + (0.7 * t * t).cos()).collect();
        let grid = TimeGrid::new(&times, Some(1)).unwrap();
        let families: Vec<&'static Family> = ["student", "nig", "gaussian"].map(|n| Family::named(n).unwrap()).to_vec();
        let spec = Spec::new(DriftFamily::named("none").unwrap(), families[0]);
        let options = FitOptions { paths: 10, ..FitOptions::default() };
        let stop_in = |name: &'static str| {
            let context = Context::watched(move |step| match step.subject == Some(name) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
            fit_any_noise(&spec, &families, &grid, &[&values], &options, &context).unwrap()
        };
        let none = stop_in("student");
        assert!(none.candidates.iter().all(|c| c.unfinished && c.outcome.is_err()), "{:?}", none.candidates);
        assert_eq!(none.family.name, "student");
        let one = stop_in("nig");
        let unfinished: Vec<bool> = one.candidates.iter().map(|c| c.unfinished).collect();
        assert_eq!((one.family.name, unfinished), ("student", vec![false, true, true]));
    }
}
