//! Take the law of a state over the latent steps to the next value, and through that value.

use super::super::flow_table::Landing;
use super::super::forward::pressed;
use super::super::lagrange::POINTS;
use super::super::marginal::Marginal;
use super::super::transition::touched;
use super::super::windows::upper;
use super::{Filter, FilterState, PER_SD, Seen};
use crate::exact::convolve::Way;
use crate::series::length_key;
use crate::{Error, Result};
use std::f64::consts::{PI, SQRT_2};

/// Standard deviations of the observation error kept to either side of a value at first, and at most.
const DEPTH: f64 = 7.0;
const DEEPEST: f64 = 37.0;
/// Probability that the noise of a gap leads beyond the cells of the latent times in it.
const BEYOND: f64 = 1e-3;
/// Most cells of one latent time.
const MOST_CELLS: f64 = 262_144.0;
/// Share of the largest mass below which cells at the ends are dropped.
const DROPPED: f64 = 1e-17;

/// Masses at cells, and of these the part that came without a jump.
struct Law {
    first: f64,
    step: f64,
    all: Vec<f64>,
    calm: Vec<f64>,
}

/// A step on its way: masses moved along the drift, on the grid from cell `first` on.
struct Moved {
    first: i64,
    all: Vec<f64>,
    calm: Vec<f64>,
}

/// Masses at cells of the grid, and what went below and above them.
struct Pushed {
    all: Vec<f64>,
    calm: Vec<f64>,
    outside: (f64, f64),
}

impl Filter<'_> {
    /// The state after `value` at `time`, which follows the pending times of `state`.
    pub(super) fn observe(&mut self, state: &FilterState, time: f64, value: f64) -> Result<(FilterState, Seen)> {
        let mut state = state.clone();
        let times: Vec<f64> = [state.time].into_iter().chain(state.pending.drain(..)).chain([time]).collect();
        let steps: Vec<(f64, f64)> = times.windows(2).map(|pair| (pair[0], length(pair[0], pair[1]))).collect();
        for (_, dt) in &steps {
            self.model.drift.check_step(*dt)?;
        }
        let variance = self.narrowest(&state, &steps)?;
        while state.spacing > 1.1 * variance.sqrt() / PER_SD {
            state.refine();
        }
        let grid = (state.origin, state.spacing);
        let mut law =
            Law { first: state.first, step: state.step, all: state.masses.clone(), calm: state.masses.clone() };
        let (last, between) = steps.split_last().expect("a time after the last one");
        if !between.is_empty() {
            let reach = self.reach(&steps)?;
            for step in between {
                law = self.pass(law, *step, grid, (value, reach))?;
            }
        }
        let moved = self.along(&law, *last, grid)?;
        self.meet(&state, moved, (time, last.1), value, variance)
    }

    /// Masses moved along the drift onto the grid.
    fn along(&self, law: &Law, (t, dt): (f64, f64), (origin, spacing): (f64, f64)) -> Result<Moved> {
        let states: Vec<f64> = (0..law.all.len()).map(|i| law.first + i as f64 * law.step).collect();
        let mut ahead = vec![0.0; states.len()];
        self.model.drift.flow_many(t, dt, &states, &mut ahead);
        let landings: Vec<Landing> = ahead.iter().map(|x| Landing::new((x - origin) / spacing)).collect();
        let targets = landings.iter().map(|landing| landing.target);
        let (lo, hi) = targets.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
        if targets.clone().any(|t| !t.is_finite()) || lo.abs().max(hi.abs()) > 1e15 || hi - lo > 4.0 * MOST_CELLS {
            let why = format!("the drift spreads the states at time {t} over {:.3e} cells; use shorter steps", hi - lo);
            return Err(self.model.drift.failure().unwrap_or(Error::Numerical { what: "filter", why }));
        }
        let (first, len) = touched(lo, hi);
        let mut moved = Moved { first, all: vec![0.0; len], calm: vec![0.0; len] };
        for ((landing, all), calm) in landings.iter().zip(&law.all).zip(&law.calm) {
            let from = (landing.first() - first) as usize;
            for (k, weight) in landing.weights.iter().enumerate().take(POINTS) {
                moved.all[from + k] += weight * all;
                moved.calm[from + k] += weight * calm;
            }
        }
        Ok(moved)
    }

    /// Add the noise of a step; results at `len` cells from `first` on.
    fn add_noise(&mut self, moved: &Moved, dt: f64, spacing: f64, (first, len): (i64, usize)) -> Result<Pushed> {
        let (tables, share) = self.tables(dt, spacing)?;
        let (mut all, mut calm) = (vec![0.0; len], vec![0.0; len]);
        tables.all.apply(Way::Forward, dt, (moved.first, &moved.all), (first, &mut all))?;
        tables.calm.apply(Way::Forward, dt, (moved.first, &moved.calm), (first, &mut calm))?;
        calm.iter_mut().for_each(|mass| *mass *= share);
        let count = len + moved.all.len() + (moved.first - first).unsigned_abs() as usize + 1;
        let [down, up] = tables.tails(dt, count)?;
        let move_by = |out: &[f64], back: &[f64], distance: i64| match distance {
            1.. => out[distance as usize - 1],
            _ => 1.0 - back[(-distance) as usize],
        };
        let end = first + len as i64;
        let mut outside = (0.0, 0.0);
        for (cell, mass) in (moved.first..).zip(&moved.all) {
            outside.0 += mass * move_by(down, up, cell - first + 1);
            outside.1 += mass * move_by(up, down, end - cell);
        }
        Ok(Pushed { all, calm, outside })
    }

    /// Take a law to a time without an observation; states beyond the cells count as being at their ends.
    fn pass(
        &mut self,
        law: Law,
        step: (f64, f64),
        (origin, spacing): (f64, f64),
        (value, reach): (f64, f64),
    ) -> Result<Law> {
        let moved = self.along(&law, step, (origin, spacing))?;
        let (mean, sd) = marginal((moved.first as f64, 1.0), &moved.all).moments();
        let (mean, sd) = (origin + mean * spacing, sd * spacing);
        let margin = reach + DEPTH * sd.min(reach + DEPTH * self.model.dimensions[0].observation_std);
        let (lo, hi) = (mean.min(value) - margin, mean.max(value) + margin);
        let cells = (hi - lo) / spacing;
        if cells.is_nan() || cells > MOST_CELLS {
            return Err(Error::Numerical {
                what: "filter",
                why: format!(
                    "states from {lo:.6} to {hi:.6} at time {} need {:.1e} cells, more than {MOST_CELLS}",
                    step.0 + step.1,
                    cells
                ),
            });
        }
        let first = ((lo - origin) / spacing).floor() as i64;
        let len = (((hi - origin) / spacing).ceil() as i64 - first) as usize + 1;
        let mut pushed = self.add_noise(&moved, step.1, spacing, (first, len))?;
        pushed.all[0] += pushed.outside.0;
        pushed.all[len - 1] += pushed.outside.1;
        Ok(Law { first: origin + first as f64 * spacing, step: spacing, all: pushed.all, calm: pushed.calm })
    }

    /// Meet a value at the end of a step of length `dt`.
    fn meet(
        &mut self,
        state: &FilterState,
        moved: Moved,
        (time, dt): (f64, f64),
        value: f64,
        variance: f64,
    ) -> Result<(FilterState, Seen)> {
        let FilterState { origin, spacing, .. } = *state;
        let error = self.model.dimensions[0].observation_std;
        let mut sides = [DEPTH; 2];
        loop {
            let cell = |x: f64| (x - origin) / spacing;
            let first = cell(value - sides[0] * error).floor() as i64;
            let len = (cell(value + sides[1] * error).ceil() as i64 - first) as usize + 1;
            let pushed = self.add_noise(&moved, dt, spacing, (first, len))?;
            let z: Vec<f64> = (first..).take(len).map(|i| (origin + i as f64 * spacing - value) / error).collect();
            let posterior: Vec<f64> = pushed.all.iter().zip(&z).map(|(mass, z)| mass * (-0.5 * z * z).exp()).collect();
            let wider = pressed(&posterior).filter(|_| sides.iter().any(|side| *side < DEEPEST));
            if let Some(pressed) = wider {
                for (side, _) in sides.iter_mut().zip(pressed).filter(|(_, pressed)| *pressed) {
                    *side = (1.6 * *side).min(DEEPEST);
                }
                if (0..2).any(|k| pressed[k] && sides[k] < DEEPEST) {
                    continue;
                }
            }
            let total: f64 = posterior.iter().sum();
            let calm: f64 = pushed.calm.iter().zip(&z).map(|(mass, z)| mass * (-0.5 * z * z).exp()).sum();
            let everywhere = pushed.all.iter().sum::<f64>() + pushed.outside.0 + pushed.outside.1;
            if !(total > 0.0 && total.is_finite()) {
                return Err(impossible(time, value));
            }
            let share = |sign: f64| -> f64 {
                pushed.all.iter().zip(&z).map(|(mass, z)| mass * 0.5 * libm::erfc(sign * z / SQRT_2)).sum()
            };
            let log_evidence = (total / everywhere).ln() - 0.5 * (2.0 * PI).ln() - error.ln();
            let next = settled(state, (time, log_evidence), (origin + first as f64 * spacing, posterior), variance);
            let (mean, sd) = next.moments();
            let seen = Seen {
                time,
                log_evidence,
                below: ((pushed.outside.0 + share(1.0)) / everywhere).clamp(0.0, 1.0),
                above: ((pushed.outside.1 + share(-1.0)) / everywhere).clamp(0.0, 1.0),
                // Rounding may leave a little less than nothing.
                jump_probability: (1.0 - calm / total).clamp(0.0, 1.0),
                mean,
                sd,
            };
            return Ok((next, seen));
        }
    }

    /// How far the noise of all `steps` together leads.
    fn reach(&mut self, steps: &[(f64, f64)]) -> Result<f64> {
        let total: f64 = steps.iter().map(|(_, dt)| dt).sum();
        // By eighths of a doubling, so that few lengths are needed.
        Ok(upper(&*self.nodes(((8.0 * total.log2()).ceil() / 8.0).exp2())?, BEYOND))
    }

    /// The variance of the narrowest law after these steps and a value: a step takes P to 1/E[1/(a²P + S)], a value adds its
    /// precision.
    fn narrowest(&mut self, state: &FilterState, steps: &[(f64, f64)]) -> Result<f64> {
        let error = self.model.dimensions[0].observation_std;
        let (mut x, mut variance) = (state.moments().0, state.variance);
        for &(t, dt) in steps {
            let nodes = self.nodes(dt)?;
            let mut ahead = [0.0; 3];
            self.model.drift.flow_many(t, dt, &[x - error, x, x + error], &mut ahead);
            let slope = (ahead[2] - ahead[0]) / (2.0 * error);
            let carried = slope * slope * variance;
            let each = nodes.variances().iter().zip(nodes.weights());
            variance = 1.0 / each.map(|(s, w)| w / (carried + s)).sum::<f64>();
            x = ahead[1];
        }
        let variance = 1.0 / (1.0 / variance + 1.0 / (error * error));
        if variance > 0.0 && variance.is_finite() {
            return Ok(variance);
        }
        let why = format!("the drift does not carry the state at time {} on", steps[0].0);
        Err(self.model.drift.failure().unwrap_or(Error::Numerical { what: "filter", why }))
    }
}

/// The state after a value, with the cells that matter.
fn settled(
    state: &FilterState,
    (time, log_evidence): (f64, f64),
    (first, posterior): (f64, Vec<f64>),
    variance: f64,
) -> FilterState {
    let largest = posterior.iter().copied().fold(0.0, f64::max);
    let kept = |mass: &f64| mass.abs() > DROPPED * largest;
    let from = posterior.iter().position(kept).unwrap_or(0);
    let to = posterior.iter().rposition(kept).unwrap_or(posterior.len() - 1);
    let total: f64 = posterior[from..=to].iter().sum();
    FilterState {
        time,
        log_evidence: state.log_evidence + log_evidence,
        observations: state.observations + 1,
        first: first + from as f64 * state.spacing,
        step: state.spacing,
        masses: posterior[from..=to].iter().map(|mass| mass / total).collect(),
        variance,
        pending: Vec::new(),
        ..*state
    }
}

fn marginal((first, spacing): (f64, f64), masses: &[f64]) -> Marginal<'_> {
    Marginal { first, spacing, masses, outside: (0.0, 0.0) }
}

/// Length of a step, without the digits that its ends do not have, as the one that stands for all with its key: the same
/// for the same times, whatever steps came before.
fn length(from: f64, to: f64) -> f64 {
    let coarsest = 8.0 * f64::EPSILON * from.abs().max(to.abs());
    let unit = coarsest.log2().ceil().exp2();
    let rounded = ((to - from) / unit).round() * unit;
    let length = if rounded > 0.0 { rounded } else { to - from };
    f64::from_bits(length_key(length) << 12)
}

fn impossible(time: f64, value: f64) -> Error {
    Error::Numerical {
        what: "filter",
        why: format!(
            "at time {time} the model gives the value {value} essentially zero probability; use a noise with heavier tails \
             or a larger observation_std"
        ),
    }
}
