//! Judge a row again by the rows after it: was it a jump, was it wrong, how far is it from what all others say?
//!
//! Nothing is run backward: events of a past row are parts of the law of the present state, p(x_j, event | y_1 … y_j), which
//! the filter carries on like the law itself. What the others say of value i is the law of a filter that did not see it, with
//! the parts in which a value at i would have been smaller and larger.

use super::law::Law;
use super::state::two_sided;
use super::step::Observation;
use super::{Filter, FilterState};
use crate::Result;
use serde::{Deserialize, Serialize};

/// A row that waits for its hindsight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recent {
    /// What was observed.
    seen: Observation,
    /// Rows since.
    rows: usize,
    /// Of the present masses, the part without a jump before this row, and that in which the value is wrong.
    calm: Vec<f64>,
    wrong: Vec<f64>,
    /// P(smaller value | all others), and of a larger one.
    below: f64,
    above: f64,
    /// The law of the state at time `from` without this value; with the parts below and above it once it has passed its time.
    without: Law,
    from: f64,
    /// Latent times from there to this row, which is the last; none once they are passed.
    pending: Vec<f64>,
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
    /// The value `seen` after `state`, whose law is `before` now, with latent times `pending` up to it; `parts` are those of
    /// the law behind it without a jump and with a wrong value.
    pub fn new(
        state: &FilterState,
        before: Law,
        (seen, pending): (Observation, &[f64]),
        [calm, wrong]: [Vec<f64>; 2],
        (below, above): (f64, f64),
    ) -> Self {
        let (pending, from) = (pending.to_vec(), state.time);
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
    fn hindsight(&self) -> Hindsight {
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

impl FilterState {
    /// Count a row, and take out the one that now has `lag` rows after it.
    pub(super) fn ripen(&mut self, lag: usize) -> Option<Hindsight> {
        self.recent.iter_mut().for_each(|recent| recent.rows = recent.rows.saturating_add(1));
        let ripe = self.recent.iter().find(|recent| recent.rows == lag.saturating_add(1)).map(Recent::hindsight);
        self.recent.retain(|recent| recent.rows <= lag);
        ripe
    }
}

impl Filter<'_> {
    /// Take the law without an earlier value on to the observation `next` on a grid; `between` are the latent times since the
    /// last value.
    pub(super) fn carry_without(
        &mut self,
        recent: &mut Recent,
        between: &[f64],
        next: Observation,
        grid: (f64, f64),
    ) -> Result<()> {
        let Observation { value, error, .. } = recent.seen;
        let mut law = recent.without.clone();
        law.refine(grid.1);
        let times: Vec<f64> =
            [recent.from].iter().chain(&recent.pending).chain(between).chain([&next.time]).copied().collect();
        let steps = super::step::steps(&times);
        let reach = self.reach(&steps, &[law.moments().0, value, next.value], grid.1)?;
        let span = (value.min(next.value), value.max(next.value));
        // As far as the row itself, if that is not behind yet, and from there on.
        let (before, after) = steps.split_at(recent.pending.len());
        for stride in self.strides(before, grid.1)? {
            law = self.pass(&law, (&stride, false), grid, (span, reach))?;
        }
        if !before.is_empty() {
            let tail = &self.error_tail;
            let beyond = |sign: f64| {
                let states = law.states();
                let each = states.iter().zip(law.all());
                each.map(|(x, mass)| mass * tail.above(sign * (x - value) / error)).collect::<Vec<f64>>()
            };
            let (below, above) = (beyond(1.0), beyond(-1.0));
            law.masses.extend([below, above]);
        }
        let after = self.strides(after, grid.1)?;
        let (last, passed) = after.split_last().expect("a time after the last one");
        for stride in passed {
            law = self.pass(&law, (stride, false), grid, (span, reach))?;
        }
        let (moved, moments) = self.along(&law, (last.from, last.dt), grid)?;
        let met = self.meet(&moved, (last, false), next, grid, (moments, reach))?;
        recent.without = met.law.trimmed();
        recent.below = recent.without.share(1);
        recent.above = recent.without.share(2);
        recent.pending.clear();
        recent.from = next.time;
        Ok(())
    }
}
