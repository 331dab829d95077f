//! The E-step of learning: paths of the posterior at the parameters as they stand, and how much each of them counts.
//!
//! Learning asks for nothing else, so another way to get posterior paths is another branch of [`expect`].

use super::robust::robust_start;
use super::sweep::{SweepOptions, Swept, sweep};
use crate::posterior::{Paths, Potentials, WeightSummary};
use crate::{Chain, Result};

/// What an E-step hands to the step that moves the parameters.
#[derive(Debug)]
pub struct Expected {
    /// Messages from the future that the paths follow; they are a start for the next E-step.
    pub potentials: Potentials,
    /// Posterior paths.
    pub paths: Paths,
    /// How much each path counts in a mean over the posterior; the sum is 1.
    pub weights: Vec<f64>,
    /// Bound and quality of the paths.
    pub summary: WeightSummary,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
}

/// Sweeps from the potentials of a place nearby, which are close already.
const NEARBY_SWEEPS: usize = 2;

/// Posterior paths of `chain`; `before` holds the potentials at parameters nearby, if there are any.
pub fn expect(chain: &Chain, before: Option<&Potentials>, options: &SweepOptions) -> Result<Expected> {
    let swept = match before {
        Some(potentials) => sweep(chain, potentials.clone(), &SweepOptions { sweeps: NEARBY_SWEEPS, ..*options })?,
        None => sweep(chain, robust_start(chain)?, options)?,
    };
    let Swept { potentials, paths, summary, warnings, .. } = swept;
    // Every path counts the same: the weight of a whole path is a product over all steps and says little about any one
    // of them, so that weighting would trade a bias that cannot be seen for a variance that can.
    let weights = vec![1.0 / paths.len() as f64; paths.len()];
    Ok(Expected { potentials, paths, weights, summary, warnings })
}
