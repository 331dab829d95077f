//! Hold a row that waits for the rows after it, and what they say about it.

use super::law::Law;
use serde::{Deserialize, Serialize};

/// A value at a time, with the standard deviation or scale of its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Observation {
    pub time: f64,
    pub value: f64,
    pub error: f64,
}

/// A row that waits for its hindsight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recent {
    /// What was observed.
    pub(super) seen: Observation,
    /// Rows since.
    pub(super) rows: usize,
    /// Of the present masses, the part without a jump before this row, and that in which the value is wrong.
    calm: Vec<f64>,
    wrong: Vec<f64>,
    /// P(smaller value | all others), and of a larger one.
    pub(super) below: f64,
    pub(super) above: f64,
    /// The law of the state at time `from` without this value; with the parts below and above it once it has passed its time.
    pub(super) without: Law,
    pub(super) from: f64,
    /// Latent times from there to this row, which is the last; none once they are passed.
    pub(super) pending: Vec<f64>,
}

/// What later rows say about a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hindsight {
    /// Its time.
    pub time: f64,
    /// P(smaller value | all other values so far).
    pub below: f64,
    /// P(larger value | all other values so far).
    pub above: f64,
    /// Probability that a jump led to it, given all values so far.
    pub jump_probability: f64,
    /// Probability that it is wrong, given all values so far; 0 for Gaussian errors.
    pub outlier_probability: f64,
}

impl Hindsight {
    /// Probability of a value at least as far out on either side, given all other values: 2 min(`below`, `above`).
    pub fn p_value(&self) -> f64 {
        two_sided(self.below, self.above)
    }
}

impl Recent {
    /// The value `seen`, the law before which is `before` at time `from`, with latent times `pending` up to it; `parts` are those of
    /// the law behind it without a jump and with a wrong value.
    pub fn new(
        from: f64,
        before: Law,
        (seen, pending): (Observation, &[f64]),
        [calm, wrong]: [Vec<f64>; 2],
        (below, above): (f64, f64),
    ) -> Self {
        let pending = pending.to_vec();
        Self { seen, rows: 0, calm, wrong, below, above, without: before, from, pending }
    }

    /// The time of the law without the value.
    pub fn from(&self) -> f64 {
        self.from
    }

    /// The parts of the present law.
    pub fn parts(&self) -> [Vec<f64>; 2] {
        [self.calm.clone(), self.wrong.clone()]
    }

    /// The same with new parts.
    pub fn set_parts(&mut self, parts: &[Vec<f64>]) {
        self.calm.clone_from(&parts[0]);
        self.wrong.clone_from(&parts[1]);
    }

    /// What is known so far.
    pub fn hindsight(&self) -> Hindsight {
        let sum = |part: &[f64]| part.iter().sum::<f64>().clamp(0.0, 1.0);
        Hindsight {
            time: self.seen.time,
            below: self.below,
            above: self.above,
            jump_probability: 1.0 - sum(&self.calm),
            outlier_probability: sum(&self.wrong),
        }
    }

    /// Whether a filter can have left it beside `cells` masses at `time`.
    pub fn is_sound(&self, cells: usize, time: f64) -> bool {
        let parts =
            [&self.calm, &self.wrong].iter().all(|part| part.len() == cells && part.iter().all(|m| m.is_finite()));
        let times: Vec<f64> = [self.from].into_iter().chain(self.pending.iter().copied()).collect();
        let ordered = times.windows(2).all(|pair| pair[0] < pair[1]) && times[times.len() - 1] == time;
        let figures = [self.seen.time, self.seen.value, self.seen.error, self.below, self.above, self.from];
        // The parts below and above the value are there once its time is passed.
        let marked = self.without.masses.len() == if self.pending.is_empty() { 3 } else { 1 };
        parts
            && ordered
            && marked
            && self.without.is_sound()
            && figures.iter().all(|x| x.is_finite())
            && self.seen.error > 0.0
    }
}

/// Probability of what is at least as far out on either side.
pub(super) fn two_sided(below: f64, above: f64) -> f64 {
    (2.0 * below.min(above)).min(1.0)
}
