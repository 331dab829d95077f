//! Take the law of a state over the latent steps to the next value, and through that value.

use super::super::forward::pressed;
use super::super::windows::upper;
use super::kernels::Pushed;
use super::law::{Law, MOST_CELLS, Moved};
use super::recent::{Observation, Recent};
use super::stride::{Stride, steps};
use super::{Filter, FilterState, PER_SD, Seen};
use crate::{Error, ErrorLaw, Result};

/// Standard deviations of the observation error kept to either side of a value at first, and at most.
const DEPTH: f64 = 7.0;
const DEEPEST: f64 = 37.0;
/// Probability that the noise of a gap leads beyond the cells of the latent times in it: the first if it takes no more than so
/// many cells to either side, else the second.
const BEYOND: [f64; 2] = [1e-4, 1e-3];
const MANY_CELLS: f64 = 8192.0;

/// What a law becomes at a value.
pub(super) struct Met {
    /// The law given the value, not normalised.
    pub law: Law,
    /// ln p(value | earlier values).
    log_evidence: f64,
    /// P(smaller value | earlier values), and of a larger one.
    below: f64,
    above: f64,
}

impl Filter<'_> {
    /// The state after `seen`, which follows the pending times of `state`.
    pub(super) fn observe(&mut self, state: &FilterState, seen: Observation) -> Result<(FilterState, Seen)> {
        let mut state = state.clone();
        let between = std::mem::take(&mut state.pending);
        let times: Vec<f64> = [state.time].iter().chain(&between).chain([&seen.time]).copied().collect();
        let steps = steps(&times);
        for (_, dt) in &steps {
            self.model.drift.check_step(*dt)?;
        }
        let strides = self.strides(&steps, state.spacing)?;
        let variance = self.narrowest(&state, &strides, seen.error)?;
        while state.spacing > 1.1 * variance.sqrt() / PER_SD {
            state.spacing *= 0.5;
        }
        let grid = (state.origin, state.spacing);
        // The law itself, its part without a jump since the last value, and the parts of recent rows.
        let parts = state.recent.iter().flat_map(Recent::parts);
        let mut law = state.law([state.masses.clone()].into_iter().chain(parts));
        law.refine(grid.1);
        let before = Law { masses: vec![law.all().to_vec()], ..law.clone() };
        let (last, passed) = strides.split_last().expect("a time after the last one");
        let reach = match passed.is_empty() && !self.open() {
            true => 0.0,
            false => self.reach(&steps, &[law.moments().0, seen.value], grid.1)?,
        };
        for stride in passed {
            law = self.pass(&law, (stride, true), grid, ((seen.value, seen.value), reach))?;
        }
        let (moved, moments) = self.along(&law, (last.from, last.dt), grid)?;
        let met = self.meet(&moved, (last, true), seen, grid, (moments, reach))?;
        let Met { mut law, log_evidence, below, above } = met;
        // What belongs to this row goes last.
        let calm = law.masses.remove(1);
        law.masses.extend([calm, self.wrong(&law, seen)]);
        let law = law.trimmed();
        let place = law.masses.len() - 2;
        let (jump, wrong) = (1.0 - law.share(place), law.share(place + 1));
        let mut recent = std::mem::take(&mut state.recent);
        if self.lag > 0 {
            for (recent, parts) in recent.iter_mut().zip(law.masses[1..].chunks_exact(2)) {
                recent.set_parts(parts);
                self.carry_without(recent, &between, seen, grid)?;
            }
            let parts = [place, place + 1].map(|part| law.masses[part].clone());
            recent.push(Recent::new(state.time, before, (seen, &times[1..]), parts, (below, above)));
        }
        let next = FilterState {
            time: seen.time,
            log_evidence: state.log_evidence + log_evidence,
            observations: state.observations + 1,
            first: law.first,
            step: law.step,
            masses: law.all().to_vec(),
            variance,
            recent: if self.lag > 0 { recent } else { Vec::new() },
            ..state
        };
        let (mean, sd) = next.moments();
        let time = seen.time;
        let seen =
            Seen { time, log_evidence, below, above, jump_probability: jump, outlier_probability: wrong, mean, sd };
        Ok((next, seen))
    }

    /// Whether a value leaves states far from it possible.
    fn open(&self) -> bool {
        self.model.dimensions[0].errors.law != ErrorLaw::Gaussian
    }

    /// The part of a law in which the value is wrong.
    fn wrong(&self, law: &Law, seen: Observation) -> Vec<f64> {
        if !self.open() {
            return vec![0.0; law.all().len()];
        }
        let wrong = self.model.dimensions[0].errors.law.wrong_many();
        let total: f64 = law.all().iter().sum();
        let part = |(x, mass): (&f64, &f64)| match *mass > 1e-15 * total {
            true => mass * wrong((x - seen.value) / seen.error),
            false => 0.0,
        };
        law.states().iter().zip(law.all()).map(part).collect()
    }

    /// Take a law to a time without an observation, on cells that hold the values of `span` with a margin; states beyond the
    /// cells count as being at their ends.
    pub(super) fn pass(
        &mut self,
        law: &Law,
        (stride, calm): (&Stride, bool),
        (origin, spacing): (f64, f64),
        (span, reach): ((f64, f64), f64),
    ) -> Result<Law> {
        let Stride { from, dt, .. } = *stride;
        let (moved, moments) = self.along(law, (from, dt), (origin, spacing))?;
        let (first, len) = self.wide(moments, (span, reach), (origin, spacing), from + dt)?;
        let mut pushed = self.kernels.add_noise(&moved, (stride, calm), spacing, (first, len))?;
        pile(&mut pushed);
        Ok(Law { first: origin + first as f64 * spacing, step: spacing, masses: pushed.masses })
    }

    /// Cells around a law with these moments and the values of `span`, with a margin.
    fn wide(
        &self,
        (mean, sd): (f64, f64),
        ((low, high), reach): ((f64, f64), f64),
        (origin, spacing): (f64, f64),
        time: f64,
    ) -> Result<(i64, usize)> {
        let margin = reach + DEPTH * sd.min(reach + DEPTH * self.model.dimensions[0].typical_error());
        let (low, high) = (mean.min(low) - margin, mean.max(high) + margin);
        let cells = (high - low) / spacing;
        if cells.is_nan() || cells > MOST_CELLS {
            let why = format!(
                "states from {low:.6} to {high:.6} at time {time} need {cells:.1e} cells, more than {MOST_CELLS}; leave \
                 the value there empty, or fit with a larger observation_std"
            );
            return Err(Error::Numerical { what: "filter", why });
        }
        let first = ((low - origin) / spacing).floor() as i64;
        Ok((first, (((high - origin) / spacing).ceil() as i64 - first) as usize + 1))
    }

    /// Meet a value at the end of a stride.
    pub(super) fn meet(
        &mut self,
        moved: &[Moved],
        noise: (&Stride, bool),
        seen: Observation,
        (origin, spacing): (f64, f64),
        (moments, reach): ((f64, f64), f64),
    ) -> Result<Met> {
        let Observation { time, value, error } = seen;
        let law = self.model.dimensions[0].errors.law;
        let mut sides = [DEPTH; 2];
        loop {
            let cell = |x: f64| (x - origin) / spacing;
            let (first, len) = match self.open() {
                true => self.wide(moments, ((value, value), reach), (origin, spacing), time)?,
                false => {
                    let first = cell(value - sides[0] * error).floor() as i64;
                    (first, (cell(value + sides[1] * error).ceil() as i64 - first) as usize + 1)
                }
            };
            let mut pushed = self.kernels.add_noise(moved, noise, spacing, (first, len))?;
            let outside = pushed.outside[0];
            let everywhere = pushed.masses[0].iter().sum::<f64>() + outside.0 + outside.1;
            if self.open() {
                pile(&mut pushed);
            }
            let z: Vec<f64> = (first..).take(len).map(|i| (origin + i as f64 * spacing - value) / error).collect();
            let likelihood: Vec<f64> = z.iter().map(|z| law.relative(*z)).collect();
            let given = |masses: &Vec<f64>| masses.iter().zip(&likelihood).map(|(mass, l)| mass * l).collect();
            let masses: Vec<Vec<f64>> = pushed.masses.iter().map(given).collect();
            let wider = pressed(&masses[0]).filter(|_| !self.open() && sides.iter().any(|side| *side < DEEPEST));
            if let Some(pressed) = wider {
                for (side, _) in sides.iter_mut().zip(pressed).filter(|(_, pressed)| *pressed) {
                    *side = (1.6 * *side).min(DEEPEST);
                }
                if (0..2).any(|k| pressed[k] && sides[k] < DEEPEST) {
                    continue;
                }
            }
            let total: f64 = masses[0].iter().sum();
            if !(total > 0.0 && total.is_finite()) {
                return Err(impossible(time, value));
            }
            let beyond = |sign: f64| -> f64 {
                pushed.masses[0].iter().zip(&z).map(|(mass, z)| mass * self.error_tail.above(sign * z)).sum()
            };
            // Where values confine the state, what lies outside the cells is on one side of the value for sure.
            let sure = if self.open() { (0.0, 0.0) } else { outside };
            let log_evidence = (total / everywhere).ln() + law.log_peak() - error.ln();
            return Ok(Met {
                below: ((sure.0 + beyond(1.0)) / everywhere).clamp(0.0, 1.0),
                above: ((sure.1 + beyond(-1.0)) / everywhere).clamp(0.0, 1.0),
                law: Law { first: origin + first as f64 * spacing, step: spacing, masses },
                log_evidence,
            });
        }
    }

    /// How far the noise of all `steps` together leads, with the largest size that it has at one of `states`.
    pub(super) fn reach(&mut self, steps: &[(f64, f64)], states: &[f64], spacing: f64) -> Result<f64> {
        let total: f64 = steps.iter().map(|(_, dt)| dt).sum();
        let mut size = 0.0f64;
        for (x, (t, _)) in states.iter().flat_map(|x| steps.iter().map(move |step| (x, step))) {
            size = size.max(self.model.dimensions[0].size_at(*t, *x)?);
        }
        // By eighths of a doubling, so that few lengths are needed.
        let nodes = self.kernels.nodes(((8.0 * total.log2()).ceil() / 8.0).exp2())?;
        let reach = BEYOND.map(|beyond| size * upper(&nodes, beyond));
        Ok(if reach[0] < MANY_CELLS * spacing { reach[0] } else { reach[1] })
    }

    /// The variance of the narrowest message from the future that the law after these strides and a value with this error may meet,
    /// going by what came before: noise takes P to 1/E[1/(P + γ²S)], a value adds its precision, and a drift takes P to P/a²,
    /// which counts where it narrows. The law itself may be narrower: it is only ever weighed with such messages.
    fn narrowest(&mut self, state: &FilterState, strides: &[Stride], error: f64) -> Result<f64> {
        let dimension = &self.model.dimensions[0];
        let error = error * dimension.errors.law.core();
        let (mut x, mut variance) = (state.moments().0, state.variance);
        for &Stride { from: t, dt, noise, .. } in strides {
            let nodes = self.kernels.nodes(noise)?;
            let mut ahead = [0.0; 3];
            self.model.drift.flow_many(t, dt, &[x - error, x, x + error], &mut ahead);
            let slope = (ahead[2] - ahead[0]) / (2.0 * error);
            let carried = variance / (slope * slope).max(1.0);
            let square = dimension.size_at(t, x)?.powi(2);
            let each = nodes.variances().iter().zip(nodes.weights());
            variance = 1.0 / each.map(|(s, w)| w / (carried + square * s)).sum::<f64>();
            x = ahead[1];
        }
        let variance = 1.0 / (1.0 / variance + 1.0 / (error * error));
        if variance > 0.0 && variance.is_finite() {
            return Ok(variance);
        }
        let why = format!("the drift does not carry the state at time {} on", strides[0].from);
        Err(self.model.drift.failure().unwrap_or(Error::Numerical { what: "filter", why }))
    }
}

/// Count what went beyond the cells as being at their ends.
fn pile(pushed: &mut Pushed) {
    for (masses, (below, above)) in pushed.masses.iter_mut().zip(&pushed.outside) {
        let last = masses.len() - 1;
        masses[0] += below;
        masses[last] += above;
    }
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
