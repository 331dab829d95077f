//! Integrate many states over a step by Dormand and Prince's method of order 8, each with its own step sizes.
//!
//! The states are worked on in lanes; a lane that is done takes the next state. No lane looks at another, so that a state
//! moves to the same bits whatever moves beside it.

use super::dop853::{ERROR_3, ERROR_5, STAGES, STEP, TIMES, WEIGHTS};
use super::hyper::{rounding, run_at};
use super::inputs::Segment;
use super::lanes::{Bound, Lane, Lanes};
use super::stiff::{self, LEAST, ROUNDING, Stop, TOLERANCE};
use std::array::from_fn;

/// States integrated at once.
pub(super) const LANES: usize = 16;
/// Most attempts at steps for one state.
pub(super) const PATIENCE: usize = 20_000;
/// Rejections in a row after which rounding is suspected.
const SUSPICIOUS: usize = 5;
/// Accepted steps between two looks at the Jacobian.
const LOOK: usize = 8;
/// A step is stiff where its size times the norm of the Jacobian exceeds this (stability ends near 6, and the step size
/// then hovers at about half of it), and at least so many such steps are left.
const STIFF_SIZE: f64 = 1.5;
const STIFF_STEPS: f64 = 20.0;
/// After so many attempts the Jacobian alone decides: rounding can keep steps below the limit of stability.
const TOO_MANY: usize = 400;
/// What cannot be integrated: the number of the state among those given, and why.
pub(super) type Report<'a> = dyn FnMut(usize, Stop) + 'a;

/// Move all `paths` over the segment. A path is d numbers, followed, if `derivatives` are wanted, by ∂x/∂z for every
/// direction z, d numbers each. A path that cannot be moved, or not with `patience` attempts at steps, becomes NaN and is
/// reported.
pub(super) fn integrate(
    bound: &Bound,
    segment: &Segment,
    (derivatives, patience): (bool, usize),
    paths: &mut [f64],
    report: &mut Report,
) {
    let program = &bound.program;
    let size = if derivatives { program.dim() * (1 + program.directions()) } else { program.dim() };
    if segment.length == 0.0 {
        return;
    }
    // A lone state should not pay for lanes.
    if paths.len() <= 2 * size {
        Work::<1>::new(bound, segment, size, patience).integrate(paths, report);
    } else {
        Work::<LANES>::new(bound, segment, size, patience).integrate(paths, report);
    }
}

/// What is known of the state in one lane.
#[derive(Debug, Clone, Default)]
struct Traveller {
    /// Number of the path; none if the lane is idle.
    path: Option<usize>,
    accepted: usize,
    /// Size of the last accepted step.
    last: f64,
    attempts: usize,
    /// Rejections in a row.
    rejected: usize,
    /// Rounding errors of the right-hand side, once they are suspected.
    rounding: Option<Vec<f64>>,
}

struct Work<'a, const W: usize> {
    bound: &'a Bound,
    segment: &'a Segment,
    size: usize,
    patience: usize,
    lanes: Lanes<W>,
    alone: Lanes<1>,
    travellers: [Traveller; W],
    /// Time since the start of the segment, and the size of the next step.
    time: Lane<W>,
    step: Lane<W>,
    now: Vec<Lane<W>>,
    /// Sizes of late: the largest, halved with every step since that was no shorter than the one before. (Steps become
    /// shorter towards a kink, and what passes through 0 there keeps its size.)
    sizes: Vec<Lane<W>>,
    /// Least sizes that errors are measured by: [`LEAST`] of the largest so far.
    floors: Vec<Lane<W>>,
    next: Vec<Lane<W>>,
    stage: Vec<Lane<W>>,
    /// Slopes: stage by stage.
    slopes: Vec<Lane<W>>,
}

impl<'a, const W: usize> Work<'a, W> {
    fn new(bound: &'a Bound, segment: &'a Segment, size: usize, patience: usize) -> Self {
        let zeros = |count: usize| vec![[0.0; W]; count];
        Self {
            bound,
            segment,
            size,
            patience,
            lanes: Lanes::new(bound),
            alone: Lanes::new(bound),
            travellers: from_fn(|_| Traveller::default()),
            time: [0.0; W],
            step: [0.0; W],
            now: zeros(size),
            sizes: zeros(size),
            floors: zeros(size),
            next: zeros(size),
            stage: zeros(size),
            slopes: zeros(STAGES * size),
        }
    }

    fn integrate(&mut self, paths: &mut [f64], report: &mut Report) {
        let (count, mut waiting) = (paths.len() / self.size, 0);
        loop {
            for w in 0..W {
                if self.travellers[w].path.is_none() && waiting < count {
                    self.board(w, waiting, &paths[waiting * self.size..(waiting + 1) * self.size]);
                    waiting += 1;
                }
            }
            if self.travellers.iter().all(|traveller| traveller.path.is_none()) {
                return;
            }
            self.attempt();
            for w in 0..W {
                if let Some(path) = self.travellers[w].path {
                    let place = &mut paths[path * self.size..(path + 1) * self.size];
                    if let Some(stop) = self.judge(w, place) {
                        place.fill(f64::NAN);
                        report(path, stop);
                        self.travellers[w].path = None;
                    }
                }
            }
        }
    }

    fn board(&mut self, w: usize, path: usize, state: &[f64]) {
        self.travellers[w] = Traveller { path: Some(path), ..Traveller::default() };
        (self.time[w], self.step[w]) = (0.0, self.segment.length);
        for (c, state) in state.iter().enumerate() {
            (self.now[c][w], self.sizes[c][w]) = (*state, state.abs());
            self.floors[c][w] = self.least(c) * state.abs();
        }
    }

    /// Try a step in every lane.
    fn attempt(&mut self) {
        let Self { size, now, next, stage, slopes, step, .. } = self;
        let size = *size;
        let mut at = std::mem::take(stage);
        let (mut slopes_of, step) = (std::mem::take(slopes), *step);
        for s in 0..STAGES {
            let (before, own) = slopes_of.split_at_mut(s * size);
            for c in 0..size {
                at[c] = moved(&now[c], &step, WEIGHTS[s], &before[..], c, size);
            }
            let t = from_fn(|w| self.segment.start + self.time[w] + TIMES[s] * step[w]);
            right_hand_side(&mut self.lanes, self.bound, self.segment, &at, &t, &mut own[..size]);
        }
        for c in 0..size {
            next[c] = moved(&now[c], &step, STEP, &slopes_of, c, size);
        }
        (*stage, *slopes) = (at, slopes_of);
    }

    /// Accept or reject the step of lane `w`; a path that has arrived goes to `place`.
    fn judge(&mut self, w: usize, place: &mut [f64]) -> Option<Stop> {
        let error = self.error(w);
        let rest = self.segment.length - self.time[w];
        let traveller = &mut self.travellers[w];
        traveller.attempts += 1;
        if traveller.attempts > self.patience {
            return Some(self.stop(w, place));
        }
        if error.is_nan() || error > 1.0 {
            traveller.rejected += 1;
            let factor = if error.is_finite() { (0.9 * error.powf(-0.125)).clamp(0.1, 0.7) } else { 0.1 };
            self.step[w] *= factor;
            // A step so small that it would not change the time: the path ends here.
            if self.step[w] < 1e-14 * self.segment.length {
                return Some(self.stop(w, place));
            }
            if self.travellers[w].rejected == SUSPICIOUS {
                self.suspect_rounding(w);
            }
            return None;
        }
        traveller.accepted += 1;
        traveller.rejected = 0;
        let look = traveller.accepted.is_multiple_of(LOOK);
        let kept = if self.step[w] >= traveller.last { 0.5 } else { 1.0 };
        traveller.last = self.step[w];
        for c in 0..self.size {
            let next = self.next[c][w];
            (self.now[c][w], self.sizes[c][w]) = (next, next.abs().max(kept * self.sizes[c][w]));
            self.floors[c][w] = self.floors[c][w].max(self.least(c) * next.abs());
        }
        if self.step[w] >= rest {
            place.iter_mut().zip(&self.now).for_each(|(place, now)| *place = now[w]);
            self.travellers[w].path = None;
            return None;
        }
        self.time[w] += self.step[w];
        if self.travellers[w].rounding.is_some() {
            self.suspect_rounding(w);
        }
        let rest = self.segment.length - self.time[w];
        if look && self.is_stiff(w, rest) {
            return self.finish_stiff(w, place);
        }
        let wish = self.step[w] * if error > 0.0 { (0.9 * error.powf(-0.125)).clamp(0.3, 6.0) } else { 6.0 };
        self.step[w] = if wish >= rest {
            rest
        } else if 2.0 * wish > rest {
            0.5 * rest
        } else {
            wish
        };
        None
    }

    fn least(&self, c: usize) -> f64 {
        LEAST[usize::from(c >= self.bound.program.dim())]
    }

    /// Largest error of the step of lane `w`, in units of what is allowed; NaN if it left the domain.
    fn error(&self, w: usize) -> f64 {
        let (size, h) = (self.size, self.step[w]);
        let estimate = |weights: &[(usize, f64)], c: usize| -> f64 {
            weights.iter().map(|&(s, weight)| weight * self.slopes[s * size + c][w]).sum()
        };
        let rounding = self.travellers[w].rounding.as_deref();
        let mut largest: f64 = 0.0;
        for c in 0..size {
            let (five, three) = (estimate(ERROR_5, c), estimate(ERROR_3, c));
            let next = self.next[c][w];
            if !(next.is_finite() && five.is_finite() && three.is_finite()) {
                return f64::NAN;
            }
            if five == 0.0 {
                continue;
            }
            let error = h * five.abs() * (five.abs() / five.hypot(0.1 * three));
            // A number that passes through 0 is as large as it was just before.
            let scale = self.sizes[c][w].max(next.abs()).max(self.floors[c][w]);
            let noise = rounding.map_or(0.0, |rounding| ROUNDING * h * rounding[c]);
            largest = largest.max(error / (TOLERANCE * scale + noise));
        }
        largest
    }

    /// Find the rounding errors of every number's slope where lane `w` is.
    fn suspect_rounding(&mut self, w: usize) {
        let (bound, dim) = (self.bound, self.bound.program.dim());
        let (state, t): (Vec<f64>, f64) =
            (self.now.iter().map(|lane| lane[w]).collect(), self.segment.start + self.time[w]);
        run_at(bound, &mut self.alone, &state[..dim], t, self.segment);
        self.alone.differentiate(&bound.program);
        let own = rounding(bound, &self.alone);
        // d(∂x_i/∂z)/dt = Σ_j ∂f_i/∂x_j · ∂x_j/∂z + ∂f_i/∂z
        let column = |c: usize| {
            let (z, i) = (c / dim - 1, c % dim);
            let through = (0..dim).map(|j| own[dim + j * dim + i] * state[dim + z * dim + j].abs());
            through.sum::<f64>() + if z < dim { 0.0 } else { own[dim + z * dim + i] }
        };
        let all = (0..self.size).map(|c| if c < dim { own[c] } else { column(c) }).collect();
        self.travellers[w].rounding = Some(all);
    }

    fn is_stiff(&mut self, w: usize, rest: f64) -> bool {
        if rest < STIFF_STEPS * self.step[w] {
            return false;
        }
        let (bound, dim) = (self.bound, self.bound.program.dim());
        let state: Vec<f64> = self.now[..dim].iter().map(|lane| lane[w]).collect();
        run_at(bound, &mut self.alone, &state, self.segment.start + self.time[w], self.segment);
        self.alone.differentiate(&bound.program);
        let row = |&o: &usize| {
            let links = bound.program.links[o].iter().filter(|link| link.direction < dim);
            links.map(|link| self.alone.tangents[link.slot][0].abs()).sum::<f64>()
        };
        let norm = bound.program.outputs.iter().map(row).fold(0.0, f64::max);
        self.step[w] * norm > STIFF_SIZE || (self.travellers[w].attempts > TOO_MANY && rest * norm > STIFF_STEPS)
    }

    /// Take lane `w` to the end of the segment by a method for stiff equations.
    fn finish_stiff(&mut self, w: usize, place: &mut [f64]) -> Option<Stop> {
        place.iter_mut().zip(&self.now).for_each(|(place, now)| *place = now[w]);
        self.travellers[w].path = None;
        stiff::finish(self.bound, self.segment, self.time[w], self.patience, place).err()
    }

    /// Where and when lane `w` could not go on.
    fn stop(&self, w: usize, place: &[f64]) -> Stop {
        let dim = self.bound.program.dim();
        let x: Vec<f64> = self.now[..dim].iter().map(|lane| lane[w]).collect();
        debug_assert_eq!(place.len(), self.size);
        Stop { t: self.segment.start + self.time[w], ahead: self.step[w], x }
    }
}

/// `now` + `step`·Σ weight·slope of one component.
fn moved<const W: usize>(
    now: &Lane<W>,
    step: &Lane<W>,
    weights: &[(usize, f64)],
    slopes: &[Lane<W>],
    c: usize,
    size: usize,
) -> Lane<W> {
    let mut sum = [0.0; W];
    for &(s, weight) in weights {
        let slope = &slopes[s * size + c];
        for w in 0..W {
            sum[w] += weight * slope[w];
        }
    }
    from_fn(|w| now[w] + step[w] * sum[w])
}

/// Slopes of states and, if there are any, of their derivatives.
fn right_hand_side<const W: usize>(
    lanes: &mut Lanes<W>,
    bound: &Bound,
    segment: &Segment,
    at: &[Lane<W>],
    t: &Lane<W>,
    slopes: &mut [Lane<W>],
) {
    let program = &bound.program;
    let dim = program.dim();
    lanes.run(bound, &at[..dim], t, segment);
    for (slope, &o) in slopes.iter_mut().zip(&program.outputs) {
        *slope = lanes.values[o];
    }
    if slopes.len() == dim {
        return;
    }
    lanes.differentiate(program);
    slopes[dim..].fill([0.0; W]);
    for (i, &o) in program.outputs.iter().enumerate() {
        for link in &program.links[o] {
            let tangent = &lanes.tangents[link.slot];
            if link.direction >= dim {
                let slope = &mut slopes[dim + link.direction * dim + i];
                (0..W).for_each(|w| slope[w] += tangent[w]);
                continue;
            }
            for z in 0..program.directions() {
                let (column, slope) = (&at[dim + z * dim + link.direction], &mut slopes[dim + z * dim + i]);
                (0..W).for_each(|w| slope[w] += tangent[w] * column[w]);
            }
        }
    }
}
