//! Judge a row again by the rows after it: was it a jump, was it wrong, how far is it from what all others say?
//!
//! Nothing is run backward: events of a past row are parts of the law of the present state, p(x_j, event | y_1 … y_j), which
//! the filter carries on like the law itself. What the others say of value i is the law of a filter that did not see it, with
//! the parts in which a value at i would have been smaller and larger.

use super::recent::{Hindsight, Observation, Recent};
use super::stride::steps;
use super::{Filter, FilterState};
use crate::Result;

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
        let steps = steps(&times);
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
