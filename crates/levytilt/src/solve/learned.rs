//! Say how to learn, and hold what was learned.

use super::method::{Choice, Method};
use super::parameters::Parameter;
use super::sweep::SweepOptions;
use crate::StateSpace;
use crate::posterior::{Potentials, WeightSummary};
use serde::{Deserialize, Serialize};

/// How to learn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearnOptions {
    /// How to get posterior paths. [`Method::Auto`] climbs by sweeps where they are nearly good enough at the first
    /// parameters, which are only a guess, and is settled at those that they lead to.
    pub method: Method,
    /// How many paths, with which seed, and how to sweep between Newton steps.
    pub sweep: SweepOptions,
    /// Most Newton steps.
    pub iterations: usize,
    /// Stop when the next step would move the parameters by less than this many standard errors, or than what the
    /// sampling of paths hides.
    pub tolerance: f64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self { method: Method::Auto, sweep: SweepOptions::default(), iterations: 30, tolerance: 1e-3 }
    }
}

/// The most probable parameters.
#[derive(Debug)]
pub struct Optimum {
    /// The model with these parameters.
    pub model: StateSpace,
    /// All parameters with their values.
    pub parameters: Vec<Parameter>,
    /// Standard errors, NaN for fixed parameters; from the observed information, prior included.
    pub std_errors: Vec<f64>,
    /// Share of each free parameter's information that comes from the data rather than from its prior.
    pub data_shares: Vec<f64>,
    /// Covariance of the parameters that are not fixed, on their free scales, row after row; empty if unknown.
    pub covariance: Vec<f64>,
    /// How far the mean of their law lies from the values found, which are its maximum, in the same order and on the same
    /// scales; sweeps look for it in the parameters of the drift. Empty if that could not be done.
    pub shift: Vec<f64>,
    /// Newton steps taken.
    pub iterations: usize,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

impl Optimum {
    /// A model with all parameters given: nothing was learned.
    pub fn given(model: StateSpace, parameters: Vec<Parameter>) -> Self {
        let unknown = vec![f64::NAN; parameters.len()];
        Self {
            model,
            parameters,
            std_errors: unknown.clone(),
            data_shares: unknown,
            covariance: Vec::new(),
            shift: Vec::new(),
            iterations: 0,
            warnings: Vec::new(),
        }
    }
}

/// A model learned from posterior paths.
#[derive(Debug)]
pub struct Learned {
    /// The parameters found.
    pub optimum: Optimum,
    /// The method that gave the paths.
    pub choice: Choice,
    /// Messages from the future at the parameters found.
    pub potentials: Potentials,
    /// Bound and quality of the paths that the parameters were learned from.
    pub summary: WeightSummary,
    /// Whether the watcher asked to end.
    pub stopped: bool,
}
