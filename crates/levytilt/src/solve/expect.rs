//! Do the E-step of learning: posterior paths at the current parameters, and their weights.
//!
//! Learning needs nothing else, so another way to get posterior paths is another branch of [`expect`].

use super::exact_paths::exact_paths_of;
use super::gaussian_sum::{GaussianSumOptions, gaussian_sum};
use super::linear_gaussian;
use super::method::{Choice, Method};
use super::robust::robust_start;
use super::sweep::{SweepOptions, Swept, sweep};
use crate::posterior::{Paths, Potentials, WeightSummary, walk};
use crate::{Chain, Result, exact};

/// The result of an E-step.
#[derive(Debug)]
pub struct Expected {
    /// The method that was used.
    pub choice: Choice,
    /// Potentials of the paths, from which the next E-step starts. Empty for the grid.
    pub potentials: Potentials,
    /// Posterior paths.
    pub paths: Paths,
    /// Weight of each path in a posterior mean; the weights sum to 1.
    pub weights: Vec<f64>,
    /// ELBO and quality of the paths.
    pub summary: WeightSummary,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Paths of the single sweep from potentials at nearby parameters, which are already close.
const NEARBY_PATHS: usize = 96;
/// Nats per thousand observations (or fewer) that a Gaussian sum must add to the ELBO to be worth its higher cost.
const WORTH: f64 = 2.0;

/// Nats that a Gaussian sum must add to the ELBO of this many observations.
pub(super) fn worth(observations: usize) -> f64 {
    WORTH * (observations as f64 / 1000.0).max(1.0)
}

/// Posterior paths of `chain`; `before` holds potentials at nearby parameters, if there are any.
pub fn expect(chain: &Chain, before: Option<Potentials>, method: Method, options: &SweepOptions) -> Result<Expected> {
    let asked = |method| Choice { method, why: "as requested".into() };
    match method {
        // Networks are trained once the parameters are known; sweeps find the parameters.
        Method::Sweep | Method::Neural | Method::Paper => by_sweeps(chain, before, options, asked(method)),
        Method::GaussianSum => by_sum(chain, options, asked(method)),
        Method::Grid => by_grid(chain, options, asked(method)),
        Method::Auto => choose(chain, before, options),
    }
}

fn by_sweeps(chain: &Chain, before: Option<Potentials>, options: &SweepOptions, choice: Choice) -> Result<Expected> {
    let swept = match before {
        // The robust start is the posterior itself.
        _ if linear_gaussian::applies(chain) => {
            sweep(chain, robust_start(chain)?, &SweepOptions { sweeps: 0, ..*options })?
        }
        Some(potentials) => {
            let (sweeps, paths) = (options.sweeps.min(1), options.paths.min(NEARBY_PATHS));
            let swept = sweep(chain, potentials, &SweepOptions { sweeps, paths, ..*options })?;
            swept.with_paths(chain, options)
        }
        None => sweep(chain, robust_start(chain)?, options)?,
    };
    let Swept { potentials, paths, summary, warnings, .. } = swept;
    Ok(Expected { choice, potentials, weights: equal(&paths), paths, summary, warnings })
}

fn by_sum(chain: &Chain, options: &SweepOptions, choice: Choice) -> Result<Expected> {
    Ok(follow(chain, gaussian_sum(chain, &GaussianSumOptions::default())?, options, choice))
}

/// Paths that follow these potentials.
pub fn follow(chain: &Chain, potentials: Potentials, options: &SweepOptions, choice: Choice) -> Expected {
    let paths = walk(chain, &potentials, options.paths, options.seed);
    let summary = WeightSummary::new(&paths.log_weights());
    Expected { choice, potentials, weights: equal(&paths), paths, summary, warnings: Vec::new() }
}

/// Exact paths: every log weight equals the log evidence, up to the error of the grid.
fn by_grid(chain: &Chain, options: &SweepOptions, choice: Choice) -> Result<Expected> {
    let found = exact_paths_of(chain, &exact::Options::default(), options.paths, options.seed)?;
    let summary = WeightSummary::new(&found.paths.log_weights());
    let (potentials, paths) = (Vec::new(), found.paths);
    Ok(Expected { choice, potentials, weights: equal(&paths), paths, summary, warnings: found.notes })
}

/// Equal weights: the weight of a whole path is a product over all steps and carries little information about any one
/// of them, so weighting would trade a negligible bias for a noticeable variance.
fn equal(paths: &Paths) -> Vec<f64> {
    vec![1.0 / paths.len() as f64; paths.len()]
}

/// Sweeps, if this many of their paths show that nothing could add more than `worth` nats to their ELBO.
pub(super) fn good_enough(swept: &WeightSummary, paths: usize, worth: f64) -> Option<Choice> {
    let missed = swept.missed(paths);
    let why = format!("no other method could add more than about {missed:.1} nats to its ELBO");
    (missed < worth).then_some(Choice { method: Method::Sweep, why })
}

/// Try both approximations on the data and keep sweeps unless the Gaussian sum is clearly better.
fn choose(chain: &Chain, before: Option<Potentials>, options: &SweepOptions) -> Result<Expected> {
    let by = |method| Choice { method, why: String::new() };
    let swept = by_sweeps(chain, before, options, by(Method::Sweep))?;
    let worth = worth(chain.observations());
    if let Some(choice) = good_enough(&swept.summary, options.paths, worth) {
        return Ok(Expected { choice, ..swept });
    }
    // Two sets of paths may not fit into memory; these are redrawn from their potentials and seed.
    let Expected { potentials, summary, warnings, .. } = swept;
    let sum = by_sum(chain, options, by(Method::GaussianSum))?;
    let gain = sum.summary.elbo - summary.elbo;
    if gain > worth {
        let why = format!("its ELBO is {gain:.1} nats above that of sweeps");
        return Ok(Expected { choice: Choice { why, ..sum.choice }, ..sum });
    }
    drop(sum);
    let why = match gain > 0.0 {
        true => format!("a Gaussian sum would raise the ELBO by only {gain:.1} nats"),
        false => "a Gaussian sum would not raise the ELBO".into(),
    };
    let paths = walk(chain, &potentials, options.paths, options.seed);
    let choice = Choice { method: Method::Sweep, why };
    Ok(Expected { choice, potentials, weights: equal(&paths), paths, summary, warnings })
}
