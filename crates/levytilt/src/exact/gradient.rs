//! Compute the evidence with its slope in every parameter, from one pass in each direction.
//!
//! With the filtered masses f_j and the message b_{j+1} = ℓ_{j+1} β_{j+1}, the evidence is Σ f_j (T_j b_{j+1}) at every j,
//! where T_j carries over a step. So its slope is the sum over steps of Σ f_j (∂T_j/∂p) b_{j+1}, divided by it: for the noise
//! through the kernel ([`super::pairs`]), for the drift through the place where T_j reads the convolved message, and for the
//! observation error through E[(x − y)²] at the observations. This is the derivative of what is computed, not an estimate.

use super::backward::Message;
use super::convolve::Rounding;
use super::flow_table::at_cells;
use super::forward::{Past, pressed};
use super::layout::Layout;
use super::likelihood::{Sums, sums};
use super::problem::Problem;
use super::transition::{Read, Transition};
use crate::Result;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Tasks that sum the slopes, and the fewest steps of one; fixed, so that sums do not depend on the number of threads.
const TASKS: usize = 8;
const FEWEST: usize = 512;
/// Cells whose flow is differentiated at once.
const CELLS: usize = 256;

/// The log evidence and its slope.
#[derive(Debug)]
pub(crate) struct Gradient {
    pub log_evidence: f64,
    /// ∂/∂p for the parameters of the drift, those of the noise and of its size, the observation standard deviation, and the other parameters
    /// of the observation errors.
    pub slope: Vec<f64>,
    /// ∂/∂p of the noise's parameters by key of the step length.
    pub by_length: Vec<(u64, Vec<f64>)>,
    pub judged: Judged,
}

/// What a run says about its windows.
#[derive(Debug, Default, Clone)]
pub(crate) struct Judged {
    /// Observed times whose window is too small below or above.
    pub pressed: Vec<(usize, [bool; 2])>,
    /// Error of the log evidence to expect from states below and above the windows of other times.
    pub beyond: Vec<(usize, [f64; 2])>,
    /// Difference of the log evidence from the past and from the future: the size of rounding.
    pub rounding: f64,
}

/// The message before a step, as a function of the state after the drift and at the cells of the next time.
struct Behind {
    source: Vec<f64>,
    read: Read,
}

/// The evidence alone, from the past.
pub(crate) fn evidence(
    problem: &Problem,
    layout: &Layout,
    max_cells: usize,
    rounding: Rounding,
) -> Result<(f64, Judged)> {
    let mut transition = Transition::new(problem, layout, max_cells, rounding);
    let mut past = Past::start(&transition)?;
    let mut judged = Judged::default();
    for j in 0..problem.end {
        past = past.step(&mut transition, j)?;
        judged.press(problem, j + 1, &past.filtered.values);
    }
    Ok((past.filtered.values.iter().sum::<f64>().ln() + past.filtered.log_scale, judged))
}

/// The evidence with its slope.
pub(crate) fn gradient(problem: &Problem, layout: &Layout, max_cells: usize, rounding: Rounding) -> Result<Gradient> {
    let (past, future) = rayon::join(
        || forward(&mut Transition::new(problem, layout, max_cells, rounding)),
        || backward(&mut Transition::new(problem, layout, max_cells, rounding)),
    );
    let (past, (future, first)) = (past?, future?);
    let log_evidence = last(&past);
    let begin: f64 = past[0].values.iter().zip(&first.values).map(|(f, beta)| f * beta).sum();
    let other = begin.ln() + past[0].log_scale + first.log_scale;
    let task = problem.end.div_ceil(TASKS).max(FEWEST);
    let tasks: Vec<usize> = (0..problem.end).step_by(task).collect();
    let parts: Vec<Part> = tasks
        .into_par_iter()
        .map(|from| {
            let mut part = Part::new(Transition::new(problem, layout, max_cells, rounding));
            for j in from..(from + task).min(problem.end) {
                part.step(j, &past[j].values, &future[j])?;
            }
            part.add_flow();
            Ok(part)
        })
        .collect::<Result<_>>()?;
    let mut total = Sum::new(problem);
    parts.into_iter().for_each(|part| total.add(part));
    let end = problem.end;
    total.observe(problem, end, layout.points(end), &past[end].values);
    total.judged.press(problem, end, &past[end].values);
    let ones = vec![1.0; past[end].values.len()];
    total.judged.measure(problem, end, layout.points(end), &past[end].values, &ones);
    total.judged.rounding = (other - log_evidence).abs();
    Ok(total.finish(problem, log_evidence))
}

fn last(past: &[Message]) -> f64 {
    let end = &past[past.len() - 1];
    end.values.iter().sum::<f64>().ln() + end.log_scale
}

/// Filtered masses of every time up to the last observation.
fn forward(transition: &mut Transition) -> Result<Vec<Message>> {
    let mut past = Past::start(transition)?;
    let mut all = Vec::with_capacity(transition.problem.end + 1);
    for j in 0..transition.problem.end {
        let next = past.step(transition, j)?;
        all.push(std::mem::replace(&mut past, next).filtered);
    }
    all.push(past.filtered);
    Ok(all)
}

/// What each step is read from, and the message at the first time.
fn backward(transition: &mut Transition) -> Result<(Vec<Behind>, Message)> {
    let (problem, layout) = (transition.problem, transition.layout);
    let why = "no state consistent with the later observations reaches the observation";
    let ones = vec![1.0; layout.support(problem.end).len];
    let mut message = Message { values: ones, log_scale: 0.0, floor: 0.0 };
    let mut all = Vec::with_capacity(problem.end);
    for j in (0..problem.end).rev() {
        let Message { mut values, log_scale, .. } = message;
        let constant = problem.observe(j + 1, layout.points(j + 1), &mut values);
        let source =
            Message::scaled(values, log_scale + constant, 0.0).ok_or_else(|| problem.impossible(j + 1, why))?;
        let (values, read) = transition.pull_ahead(j, &source.values)?;
        message = Message::scaled(values, source.log_scale, 0.0).ok_or_else(|| problem.impossible(j, why))?;
        all.push(Behind { source: source.values, read });
    }
    all.reverse();
    Ok((all, message))
}

/// Slopes summed over some of the steps.
struct Part<'a> {
    transition: Transition<'a>,
    sum: Sum,
    /// By step length: one of its steps, and the slope of the log evidence in where each cell of the layout lands, of all.
    moved: BTreeMap<u64, (usize, Vec<f64>)>,
}

/// Sums over steps.
struct Sum {
    drift: Vec<f64>,
    /// In the parameters of the size of the noise.
    size: Vec<f64>,
    by_length: Vec<(u64, Vec<f64>)>,
    /// In the observation standard deviation, and in the parameters of the error law.
    error: f64,
    error_law: Vec<f64>,
    judged: Judged,
}

impl<'a> Part<'a> {
    fn new(transition: Transition<'a>) -> Self {
        let sum = Sum::new(transition.problem);
        Self { transition, sum, moved: BTreeMap::new() }
    }

    /// Add what the drift owes to the cells of all steps.
    fn add_flow(&mut self) {
        let Transition { problem, layout, .. } = self.transition;
        for (j, slopes) in std::mem::take(&mut self.moved).into_values() {
            for (block, slopes) in slopes.chunks(CELLS).enumerate().filter(|(_, s)| s.iter().any(|s| *s != 0.0)) {
                let first = layout.range().first + (block * CELLS) as i64;
                self.sum.move_flow(problem, j, &at_cells(layout, first, slopes.len()), slopes);
            }
        }
    }

    /// Add what step `j` says, given the masses before it and the message behind it.
    fn step(&mut self, j: usize, masses: &[f64], behind: &Behind) -> Result<()> {
        let transition = &mut self.transition;
        let (problem, layout) = (transition.problem, transition.layout);
        let landings = transition.landings(j);
        let future = behind.read.values(&landings);
        let joint: Vec<f64> = masses.iter().zip(&future).map(|(f, beta)| f * beta).collect();
        let evidence: f64 = joint.iter().sum();
        self.sum.observe(problem, j, layout.points(j), &joint);
        self.sum.judged.press(problem, j, &joint);
        self.sum.judged.measure(problem, j, layout.points(j), &joint, &future);
        let after = (layout.support(j + 1).first, behind.source.as_slice());
        transition.pair(j, masses, after, evidence)?;
        if !self.sum.size.is_empty() {
            let (by_size, by_parameter) = (behind.read.size_slopes(&landings), transition.log_size_slopes(j)?);
            for ((mass, slope), row) in masses.iter().zip(&by_size).zip(&by_parameter) {
                self.sum.size.iter_mut().zip(row).for_each(|(sum, by)| *sum += mass * slope * by / evidence);
            }
        }
        if problem.model.drift.parameter_count() > 0 {
            let weights = transition.slopes(j, &landings);
            let slopes = behind.read.slopes(&landings, &weights);
            let scale = 1.0 / (evidence * layout.spacing);
            let slopes = masses.iter().zip(slopes).map(|(f, slope)| f * slope * scale);
            match transition.shared_flow(j) {
                Some((key, part)) => {
                    let moved = self.moved.entry(key).or_insert_with(|| (j, vec![0.0; layout.range().len]));
                    moved.1[part].iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
                }
                None => {
                    let (first, spacing) = layout.points(j);
                    let states: Vec<f64> = (0..masses.len()).map(|i| first + i as f64 * spacing).collect();
                    self.sum.move_flow(problem, j, &states, &slopes.collect::<Vec<f64>>());
                }
            }
        }
        Ok(())
    }
}

impl Sum {
    fn new(problem: &Problem) -> Self {
        let drift = vec![0.0; problem.model.drift.parameter_count()];
        let error_law = vec![0.0; problem.law().values().len()];
        let size = vec![0.0; problem.dimension.size.as_ref().map_or(0, |size| size.parameters().len())];
        Self { drift, size, by_length: Vec::new(), error: 0.0, error_law, judged: Judged::default() }
    }

    fn add(&mut self, mut part: Part) {
        self.drift.iter_mut().zip(&part.sum.drift).for_each(|(sum, d)| *sum += d);
        self.size.iter_mut().zip(&part.sum.size).for_each(|(sum, d)| *sum += d);
        self.error += part.sum.error;
        self.error_law.iter_mut().zip(&part.sum.error_law).for_each(|(sum, d)| *sum += d);
        self.by_length.extend(part.transition.contract());
        self.judged.pressed.extend(part.sum.judged.pressed);
        self.judged.beyond.extend(part.sum.judged.beyond);
    }

    /// ∂ ln (f(z)/σ)/∂σ = (z² E[1/S | z] − 1)/σ with z = (x − y)/σ, under the masses at time `j`; E[1/S | z] is 1 for Gaussian
    /// errors. And the slopes of ln f in its own parameters.
    fn observe(&mut self, problem: &Problem, j: usize, (first, spacing): (f64, f64), joint: &[f64]) {
        let (y, std, law) = (problem.values[j], problem.std(j), problem.law());
        if y.is_nan() {
            return;
        }
        let Sums { total, squares, slopes } = sums(&law, ((first - y) / std, spacing / std), joint);
        self.error += (squares / total - 1.0) / problem.dimension.observation_std;
        for ((sum, slope), constant) in self.error_law.iter_mut().zip(slopes).zip(law.constant_slopes()) {
            *sum += slope / total + constant;
        }
    }

    /// Add Σ_x slope(x) ∂flow(x)/∂p over `states` at time `j`.
    fn move_flow(&mut self, problem: &Problem, j: usize, states: &[f64], slopes: &[f64]) {
        let n = slopes.len();
        let (mut out, mut by_state) = (vec![0.0; n], vec![0.0; n]);
        let mut rows = vec![0.0; n * self.drift.len()];
        let (t, dt) = (problem.grid.times()[j], problem.grid.step(j));
        let mut covectors = |_: &[f64], lambda: &mut [f64]| lambda.copy_from_slice(slopes);
        problem.model.drift.pullback_many(t, dt, states, &mut covectors, &mut out, &mut by_state, &mut rows);
        for row in rows.chunks_exact(self.drift.len()) {
            self.drift.iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
        }
    }

    fn finish(self, problem: &Problem, log_evidence: f64) -> Gradient {
        let mut noise = vec![0.0; problem.dimension.noise.parameters().len()];
        for (_, slopes) in &self.by_length {
            noise.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
        }
        let own = self.drift.into_iter().chain(noise).chain(self.size);
        let slope = own.chain([self.error]).chain(self.error_law).collect();
        Gradient { log_evidence, slope, by_length: self.by_length, judged: self.judged }
    }
}

impl Judged {
    /// Look for mass at the edges of an observation's window.
    fn press(&mut self, problem: &Problem, j: usize, masses: &[f64]) {
        if let Some(sides) =
            (j == 0 && !problem.values[j].is_nan() || !problem.open(j)).then(|| pressed(masses)).flatten()
        {
            self.pressed.push((j, sides));
        }
    }

    /// Judge from the mass at the ends of a time without an observation what the states beyond change, as in
    /// [`super::forward`]: they count as being at the end, which is wrong by as much as the message changes there.
    fn measure(&mut self, problem: &Problem, j: usize, (first, spacing): (f64, f64), joint: &[f64], future: &[f64]) {
        let n = joint.len();
        if j == 0 || !problem.open(j) || n < 4 {
            return;
        }
        let seen = |i: usize| future[i].abs() * problem.likelihood(j, first + i as f64 * spacing);
        let total: f64 = joint.iter().sum();
        let losses = [(0, n / 4), (n - 1, n - 1 - n / 4)].map(|(end, halfway)| {
            let (here, there) = (seen(end), seen(halfway));
            let change = 1.0 - here.min(there) / here.max(there).max(1e-300);
            (joint[end] / total).abs() * change * (1.0 + 2.0 * change) / 3.0
        });
        self.beyond.push((j, losses));
    }
}
