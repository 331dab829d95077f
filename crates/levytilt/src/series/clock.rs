//! Measure business time: how much each kind of step moves the record, estimated from its past.
//!
//! A night moves a price more than an hour of trading and less than seventeen of them; the first hour moves it more than
//! the fourth. A step's *effective length* is the length a plain Lévy process would need for a move of that size.

use super::check_times;
use super::steps::{Sessions, StepKind};
use crate::error::{check, positive};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// How the clock is learned.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClockOptions {
    /// Moves grow like length^{1/index}: 2 where the noise has a variance, α for stable noise.
    pub index: f64,
    /// Moves are measured by the mean of |move|^power: 2 is the variance; smaller values are less sensitive to single
    /// large moves. Must be less than the index of a stable law.
    pub power: f64,
    /// Prior for the clock; `None` to use the record alone.
    pub prior: Option<ClockPrior>,
}

/// A prior for the clock. A month has only about twenty nights, so general knowledge of nights is worth more than its
/// data.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClockPrior {
    /// Effective length of a closed gap, in median open steps.
    pub closed: f64,
    /// Weight of the prior in moves: the pseudo-count κ, which is then not chosen by the record.
    pub weight: f64,
}

impl Default for ClockOptions {
    fn default() -> Self {
        Self { index: 2.0, power: 1.0, prior: None }
    }
}

/// A clock learned from a record.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Clock {
    sessions: Sessions,
    /// The times of the last session of the record, so that counting can continue.
    tail: Vec<f64>,
    /// Effective length per kind: of a whole gap if closed, per calendar time if open.
    #[serde(with = "pairs")]
    lengths: BTreeMap<StepKind, f64>,
    /// The same for kinds that do not occur in the record.
    unseen_open: f64,
    unseen_closed: f64,
    #[serde(skip)]
    train: Vec<f64>,
    shrinkage: f64,
}

/// Pseudo-counts among which the record chooses.
const SHRINKAGES: [f64; 10] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

impl Clock {
    /// Learn from `values` at `times`, in days; the whole record has the same length by this clock as by the calendar.
    ///
    /// Each kind of step has its mean |move|^power, shrunk towards that of related kinds (sessions: all steps of
    /// sessions; nights and weekends: all closed gaps, and these: all steps) as if κ further moves of their size had
    /// been observed. κ maximises the leave-one-out log likelihood (density ∝ exp(−|x/b|^power/power), for which that
    /// mean is the maximum-likelihood b). With a [`ClockPrior`], moves over closed gaps are measured by the length it
    /// gives them, so that all kinds are shrunk towards the prior, and κ is its weight.
    ///
    /// # Errors
    /// Times that do not increase; values that are not finite or not as many; fewer than 3; values that never move.
    pub fn learn(times: &[f64], values: &[f64], options: &ClockOptions) -> Result<Self> {
        check_times(times)?;
        if values.len() != times.len() || values.len() < 3 {
            let (got, expected) = (values.len().to_string(), format!("{}, at least 3", times.len()));
            return Err(Error::Shape { what: "values of the clock", got, expected });
        }
        if let Some(i) = values.iter().position(|value| !value.is_finite()) {
            let problem = format!("value {} is not a finite number; leave missing rows out", values[i]);
            return Err(Error::observation(i, problem));
        }
        let index = check("index", options.index, options.index > 0.0 && options.index <= 2.0, "must be in (0, 2]")?;
        let power = check("power", options.power, options.power > 0.0, "must be greater than 0")?;
        let sessions = Sessions::of(times);
        let closed = match &options.prior {
            None => 1.0,
            Some(prior) => positive("closed", prior.closed)? * sessions.open_step(),
        };
        let steps = measure(&sessions, times, values, (index, power), closed);
        if steps.iter().all(|step| step.size == 0.0) {
            let problem = "all values are equal; there is nothing to learn from".into();
            return Err(Error::Series { place: "record".into(), problem });
        }
        let shrinkage = match &options.prior {
            None => best_shrinkage(&steps, power),
            Some(prior) => positive("weight", prior.weight)?,
        };
        let sizes = Sizes::of(&steps);
        let unit_of = |kind: StepKind| if is_open(kind) { 1.0 } else { closed };
        let raw = |kind| unit_of(kind) * sizes.drawn(kind, shrinkage, None).powf(index / power);
        let total: f64 = steps.iter().map(|step| raw(step.kind) * step.open_length).sum();
        let unit = (times[times.len() - 1] - times[0]) / total;
        let lengths: BTreeMap<StepKind, f64> = sizes.kinds.keys().map(|kind| (*kind, unit * raw(*kind))).collect();
        let mut clock = Self {
            tail: tail(&sessions, times),
            unseen_open: unit * sizes.parent(StepKind::Open(0), shrinkage, None).powf(index / power),
            unseen_closed: unit * closed * sizes.parent(StepKind::Overnight, shrinkage, None).powf(index / power),
            sessions,
            lengths,
            train: vec![],
            shrinkage,
        };
        clock.train = clock.lengths_between(times);
        Ok(clock)
    }

    /// Number of lengths that were learned: one per kind of step, less one, as the whole record keeps its length.
    pub fn learned(&self) -> usize {
        self.lengths.len().saturating_sub(1)
    }

    /// Effective length of every step of the record.
    pub fn train(&self) -> &[f64] {
        &self.train
    }

    /// Effective lengths of the steps from the end of the record to the first of `times`, from there to the second, …
    ///
    /// # Errors
    /// Times that do not increase from the end of the record on.
    pub fn ahead(&self, times: &[f64]) -> Result<Vec<f64>> {
        if times.is_empty() {
            return Ok(vec![]);
        }
        let all: Vec<f64> = self.tail.iter().chain(times).copied().collect();
        check_times(&all)?;
        Ok(self.lengths_between(&all).split_off(self.tail.len() - 1))
    }

    /// Go on to a row at `time`, from which [`Clock::ahead`] counts then; what was learned stays.
    ///
    /// # Errors
    /// A time that is not after the end.
    pub fn go_on(&mut self, time: f64) -> Result<()> {
        let all: Vec<f64> = self.tail.iter().copied().chain([time]).collect();
        check_times(&all)?;
        self.tail = tail(&self.sessions, &all);
        Ok(())
    }

    /// Effective length of every step between `times`, by what was learned from the record.
    ///
    /// # Errors
    /// Times that do not increase.
    pub fn measure(&self, times: &[f64]) -> Result<Vec<f64>> {
        check_times(times)?;
        Ok(self.lengths_between(times))
    }

    /// Effective length of a closed gap, or of a day of open market, of this kind.
    pub fn length(&self, kind: StepKind) -> f64 {
        let unseen = if matches!(kind, StepKind::Open(_)) { self.unseen_open } else { self.unseen_closed };
        self.lengths.get(&kind).copied().unwrap_or(unseen)
    }

    /// The pseudo-count κ that was chosen.
    pub fn shrinkage(&self) -> f64 {
        self.shrinkage
    }

    fn lengths_between(&self, times: &[f64]) -> Vec<f64> {
        let kinds = self.sessions.kinds(times);
        let length = |(kind, pair): (&StepKind, &[f64])| match kind {
            StepKind::Open(_) => self.length(*kind) * (pair[1] - pair[0]),
            _ => self.length(*kind),
        };
        kinds.iter().zip(times.windows(2)).map(length).collect()
    }
}

/// Lengths as a list of pairs: kinds are no keys of JSON.
mod pairs {
    use super::{BTreeMap, StepKind};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(all: &BTreeMap<StepKind, f64>, to: S) -> Result<S::Ok, S::Error> {
        all.iter().collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<StepKind, f64>, D::Error> {
        Ok(Vec::<(StepKind, f64)>::deserialize(from)?.into_iter().collect())
    }
}

/// The times since the last opening, at least one, so that a session can be counted on.
fn tail(sessions: &Sessions, times: &[f64]) -> Vec<f64> {
    let kinds = sessions.kinds(times);
    let closed = kinds.iter().rposition(|kind| !matches!(kind, StepKind::Open(_)));
    let opening = if sessions.close() { closed.map_or(0, |step| step + 1) } else { times.len() - 1 };
    times[opening.min(times.len() - 1)..].to_vec()
}

/// A step as the clock sees it.
struct Step {
    kind: StepKind,
    /// |move|^power over length^{power/index}; the length of a closed gap is its unit.
    size: f64,
    /// Its calendar length if open, 1 if closed.
    open_length: f64,
}

fn measure(sessions: &Sessions, times: &[f64], values: &[f64], (index, power): (f64, f64), closed: f64) -> Vec<Step> {
    let kinds = sessions.kinds(times);
    let one = |i: usize| {
        let open = matches!(kinds[i], StepKind::Open(_));
        let open_length = if open { times[i + 1] - times[i] } else { 1.0 };
        let unit = if open { open_length } else { closed };
        let size = (values[i + 1] - values[i]).abs().powf(power) / unit.powf(power / index);
        Step { kind: kinds[i], size, open_length }
    };
    (0..kinds.len()).map(one).collect()
}

/// Sums of sizes and counts, per kind and over related kinds.
struct Sizes {
    kinds: BTreeMap<StepKind, (f64, f64)>,
    open: (f64, f64),
    closed: (f64, f64),
}

impl Sizes {
    fn of(steps: &[Step]) -> Self {
        let mut sizes = Self { kinds: BTreeMap::new(), open: (0.0, 0.0), closed: (0.0, 0.0) };
        for step in steps {
            let relatives = if is_open(step.kind) { &mut sizes.open } else { &mut sizes.closed };
            for sums in [sizes.kinds.entry(step.kind).or_default(), relatives] {
                *sums = (sums.0 + step.size, sums.1 + 1.0);
            }
        }
        sizes
    }

    /// Mean size of a kind shrunk towards related kinds by `shrinkage`, without the step `left_out`.
    fn drawn(&self, kind: StepKind, shrinkage: f64, left_out: Option<&Step>) -> f64 {
        let own = self.kinds.get(&kind).copied().unwrap_or_default();
        draw(without(own, left_out, true), self.parent(kind, shrinkage, left_out), shrinkage)
    }

    /// Mean size of the related kinds.
    fn parent(&self, kind: StepKind, shrinkage: f64, left_out: Option<&Step>) -> f64 {
        let open = without(self.open, left_out, left_out.is_some_and(|step| is_open(step.kind)));
        let closed = without(self.closed, left_out, left_out.is_some_and(|step| !is_open(step.kind)));
        let all = (open.0 + closed.0) / (open.1 + closed.1);
        draw(if is_open(kind) { open } else { closed }, all, shrinkage)
    }
}

fn is_open(kind: StepKind) -> bool {
    matches!(kind, StepKind::Open(_))
}

fn without(sums: (f64, f64), left_out: Option<&Step>, concerned: bool) -> (f64, f64) {
    match left_out {
        // A sum of the others cannot be negative, whatever the rounding.
        Some(step) if concerned => ((sums.0 - step.size).max(0.0), sums.1 - 1.0),
        _ => sums,
    }
}

fn draw((sum, count): (f64, f64), parent: f64, shrinkage: f64) -> f64 {
    (sum + shrinkage * parent) / (count + shrinkage)
}

/// The pseudo-count with the highest leave-one-out likelihood; the largest of equals.
fn best_shrinkage(steps: &[Step], power: f64) -> f64 {
    let sizes = Sizes::of(steps);
    let likelihood = |shrinkage: f64| -> f64 {
        let one = |step: &Step| {
            let mean = sizes.drawn(step.kind, shrinkage, Some(step));
            // All others are zero: this step carries no information about κ.
            if mean > 0.0 { -(mean.ln() + step.size / mean) / power } else { 0.0 }
        };
        steps.iter().map(one).sum()
    };
    let scored = SHRINKAGES.map(|shrinkage| (likelihood(shrinkage), shrinkage));
    scored.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(_, shrinkage)| shrinkage)
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
