//! Hold what a filter knows at one time, and what it saw at a value.

use super::super::marginal::Marginal;
use super::law::Law;
use super::recent::{Recent, two_sided};
use crate::{Error, Result, stream};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The law of the state at the last observation, given all observations so far. It can be saved and read back without loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilterState {
    /// Time of the last observation.
    pub time: f64,
    /// ln p of all observations so far.
    pub log_evidence: f64,
    /// Number of observations so far.
    pub observations: usize,
    /// State of the first cell.
    pub(super) first: f64,
    /// Distance between the cells.
    pub(super) step: f64,
    /// Probability of each cell.
    pub(super) masses: Vec<f64>,
    /// A state at a cell of the grid that the next steps use, and its spacing.
    pub(super) origin: f64,
    pub(super) spacing: f64,
    /// Variance of the narrowest law that past observations can leave.
    pub(super) variance: f64,
    /// Latent times since then, without an observation.
    pub(super) pending: Vec<f64>,
    /// Rows that wait for their hindsight, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) recent: Vec<Recent>,
}

/// What was seen at one value, given all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// Its time.
    pub time: f64,
    /// ln p(value | earlier values).
    pub log_evidence: f64,
    /// P(smaller value | earlier values), the PIT.
    pub below: f64,
    /// P(larger value | earlier values); not 1 − `below` to the last digit, but accurate where it is small.
    pub above: f64,
    /// Probability that one of the latent steps since the last observation was a jump: its variance in the upper 1% of the
    /// prior, or its increment beyond the limit given.
    pub jump_probability: f64,
    /// Probability that the value is wrong; 0 for Gaussian errors.
    pub outlier_probability: f64,
    /// Mean of the state, this value included.
    pub mean: f64,
    /// Standard deviation of the state, this value included.
    pub sd: f64,
}

impl Seen {
    /// Probability of a value at least as far out on either side: 2 min(`below`, `above`).
    pub fn p_value(&self) -> f64 {
        two_sided(self.below, self.above)
    }
}

impl FilterState {
    /// The last time taken in, whether or not a value was seen there.
    pub fn end(&self) -> f64 {
        self.pending.last().copied().unwrap_or(self.time)
    }

    /// The first time from which the filter will carry a state on: that of the last value, or of a row that waits for its
    /// hindsight.
    pub fn since(&self) -> f64 {
        self.recent.iter().map(Recent::from).fold(self.time, f64::min)
    }

    /// Mean and standard deviation of the state at the last observation.
    pub fn moments(&self) -> (f64, f64) {
        self.marginal().moments()
    }

    /// Quantiles of the state at the last observation at `levels`, each in (0, 1).
    pub fn quantiles(&self, levels: &[f64]) -> Vec<f64> {
        self.marginal().quantiles(levels)
    }

    /// `count` states with the law at the last observation, evenly through it, in an order drawn with `seed`.
    pub fn states(&self, count: usize, seed: u64) -> Vec<f64> {
        let levels: Vec<f64> = (0..count).map(|k| (k as f64 + 0.5) / count as f64).collect();
        let mut states = self.quantiles(&levels);
        let mut rng = stream(seed, 0);
        for k in (1..count).rev() {
            states.swap(k, rng.random_range(0..=k));
        }
        states
    }

    /// Refuse a state that no filter left.
    ///
    /// # Errors
    /// Numbers that are not finite, no cells, or latent times out of order.
    pub fn check(&self) -> Result<()> {
        let figures = [self.time, self.log_evidence, self.first, self.origin];
        let finite = figures.iter().chain(&self.masses).all(|x| x.is_finite());
        let lengths = [self.step, self.spacing, self.variance].iter().all(|x| *x > 0.0 && x.is_finite());
        let total: f64 = self.masses.iter().sum();
        let times: Vec<f64> = [self.time].into_iter().chain(self.pending.iter().copied()).collect();
        let recent = self.recent.iter().all(|recent| recent.is_sound(self.masses.len(), self.time));
        let law = (total - 1.0).abs() < 1e-6;
        if finite && lengths && law && recent && times.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        Err(Error::Numerical { what: "filter state", why: "its numbers are no law of a state; fit again".into() })
    }

    /// The law of the state with these parts.
    pub(super) fn law(&self, parts: impl IntoIterator<Item = Vec<f64>>) -> Law {
        let masses = [self.masses.clone()].into_iter().chain(parts).collect();
        Law { first: self.first, step: self.step, masses }
    }

    fn marginal(&self) -> Marginal<'_> {
        Marginal { first: self.first, spacing: self.step, masses: &self.masses, outside: (0.0, 0.0) }
    }
}
