//! Learn the law of motion: a network of tanh layers over the state and, if wished, time.

use super::mlp::{Shape, Tape};
use super::{Drift, at_least_one, expect_length, pullback_each};
use crate::error::{check, finite, positive};
use crate::parameter::Domain;
use crate::{Error, Result, stream};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// Size and inputs of a [`Neural`] drift.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NeuralSpec {
    /// Dimension of the state, at least 1.
    pub dim: usize,
    /// Units per hidden layer, at least 1.
    pub width: usize,
    /// Hidden layers, at least 1.
    pub depth: usize,
    /// Whether time is an input, after the state.
    pub time_input: bool,
    /// What is subtracted from each input (state, then time if it is one); empty for 0.
    pub centre: Vec<f64>,
    /// What each input is divided by after that, greater than 0; empty for 1. With centre and scale near the mean and
    /// spread of the data the units work in the bend of tanh, where they can learn.
    pub scale: Vec<f64>,
}

impl Default for NeuralSpec {
    /// One dimension, two hidden layers of 32 units, no time, inputs as they are.
    fn default() -> Self {
        Self { dim: 1, width: 32, depth: 2, time_input: false, centre: Vec::new(), scale: Vec::new() }
    }
}

/// A drift dx = f(x, t) dt with f a network: tanh hidden layers, linear output.
///
/// The flow is one explicit midpoint step, x + Δ·f(x + ½Δ·f(x, t), t + ½Δ): second order, two evaluations. Because
/// |tanh| ≤ 1, every output obeys |f_i| ≤ M_i = |bias_i| + Σ_k |weight_ik|, so a step moves a state by at most M_iΔ from
/// wherever it starts: the scheme cannot explode, for any finite state and any parameters, as long as MΔ is finite.
/// (A stiff f, with |∂f/∂x|Δ beyond 2, is followed inaccurately, but boundedly; shorter steps cure it.)
///
/// An input z = (x − centre)/scale beyond ±1e100 enters as ±1e100, with derivative 0; parameters are at most 1e100 in
/// magnitude. So no sum of products can overflow or become NaN. Derivatives multiply the weights of all layers and are
/// finite as long as those products are.
#[derive(Debug, Clone, PartialEq)]
pub struct Neural {
    spec: NeuralSpec,
    shape: Shape,
    parameters: Vec<f64>,
}

/// Largest magnitude of an input or a parameter.
const LARGEST: f64 = 1e100;

/// Stream of the initial weights: far from those of the paths, which count from 0.
const INITIAL_STREAM: u64 = u64::MAX;

impl Neural {
    /// A drift with random initial parameters.
    ///
    /// Hidden weights are normal with variance 1/inputs of the unit, so that signals keep their size from layer to
    /// layer; the first biases are standard normal, which spreads the bends over the input range; other biases are 0.
    /// Output weights have standard deviation 0.01/√width: at first the drift is nearly 0 and the noise explains the
    /// data.
    pub fn new(spec: NeuralSpec, seed: u64) -> Result<Self> {
        let shape = shape(&spec)?;
        let mut rng = stream(seed, INITIAL_STREAM);
        let mut parameters = Vec::with_capacity(shape.count());
        for l in 0..=shape.depth {
            let layer = shape.layer(l);
            let gain = if l == shape.depth { 0.01 } else { 1.0 };
            let (weight_std, bias_std) = (gain / (layer.columns as f64).sqrt(), if l == 0 { 1.0 } else { 0.0 });
            let mut draw = |std: f64| std * rng.sample::<f64, _>(StandardNormal);
            parameters.extend((0..layer.rows * layer.columns).map(|_| draw(weight_std)));
            parameters.extend((0..layer.rows).map(|_| draw(bias_std)));
        }
        Ok(Self { spec, shape, parameters })
    }

    /// A drift with given parameters, in the order of [`Drift::parameters`].
    pub fn from_parameters(spec: NeuralSpec, parameters: &[f64]) -> Result<Self> {
        let shape = shape(&spec)?;
        expect_length("parameters of neural", parameters.len(), shape.count())?;
        let drift = Self { spec, shape, parameters: parameters.to_vec() };
        if let Some(bad) = parameters.iter().position(|v| v.is_nan() || v.abs() > LARGEST) {
            check(&drift.name(bad), parameters[bad], false, "must be a finite number of magnitude at most 1e100")?;
        }
        Ok(drift)
    }

    /// Size and inputs.
    pub fn spec(&self) -> &NeuralSpec {
        &self.spec
    }

    /// The parameters, in the order of [`Drift::parameters`].
    pub fn values(&self) -> &[f64] {
        &self.parameters
    }

    /// The same network with other parameters.
    pub(crate) fn with_values(&self, values: &[f64]) -> Result<Self> {
        Self::from_parameters(self.spec.clone(), values)
    }

    /// The same hidden layers under another output layer: per dimension a weight per unit, then the bias.
    pub(crate) fn with_output(&self, rows: &[f64]) -> Result<Self> {
        let layer = self.shape.layer(self.shape.depth);
        expect_length("output layer", rows.len(), layer.rows * (layer.columns + 1))?;
        let mut values = self.parameters[..layer.start].to_vec();
        let rows = || rows.chunks_exact(layer.columns + 1);
        values.extend(rows().flat_map(|row| &row[..layer.columns]));
        values.extend(rows().map(|row| row[layer.columns]));
        self.with_values(&values)
    }

    /// The same hidden layers without any drift.
    pub(crate) fn still(&self) -> Result<Self> {
        let layer = self.shape.layer(self.shape.depth);
        self.with_output(&vec![0.0; layer.rows * (layer.columns + 1)])
    }

    /// Natural size of every parameter: 1/√inputs of its unit for weights, 1 for biases; in the output layer times the
    /// `units` of the drift.
    pub(crate) fn natural_stds(&self, units: &[f64]) -> Vec<f64> {
        let mut stds = Vec::with_capacity(self.parameters.len());
        for l in 0..=self.shape.depth {
            let layer = self.shape.layer(l);
            let unit = |row: usize| if l == self.shape.depth { units[row] } else { 1.0 };
            let root = (layer.columns as f64).sqrt();
            stds.extend((0..layer.rows * layer.columns).map(|k| unit(k / layer.columns) / root));
            stds.extend((0..layer.rows).map(unit));
        }
        stds
    }

    /// Values of the last hidden layer at some states and the times of their `steps`.
    pub(crate) fn features(&self, steps: &[Step], states: &[f64], out: &mut [f64]) {
        SCRATCH.with_borrow_mut(|Scratch { start_tape, cast, .. }| {
            cast.resize(states.len(), 0.0);
            self.velocity(steps, 0.0, states, start_tape, cast);
            out.copy_from_slice(start_tape.last(&self.shape));
        });
    }

    /// Flows of some states, each over a step of its own.
    pub(crate) fn flows(&self, steps: &[Step], states: &[f64], out: &mut [f64]) {
        SCRATCH.with_borrow_mut(|scratch| self.step(steps, states, out, scratch));
    }

    /// [`Neural::flows`] and the way back, with covectors that depend on the flows: `lambda` writes them, given the flows.
    /// Derivatives in the parameters are summed over the states and added to `by_parameter`, unless that is empty.
    pub(crate) fn pullbacks(
        &self,
        steps: &[Step],
        states: &[f64],
        lambda: &mut dyn FnMut(&[f64], &mut [f64]),
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let mut covectors = vec![0.0; states.len()];
        SCRATCH.with_borrow_mut(|scratch| self.step(steps, states, out, scratch));
        lambda(out, &mut covectors);
        SCRATCH.with_borrow_mut(|scratch| self.step_pullback(steps, &covectors, scratch, by_state, by_parameter));
    }

    /// Name of parameter number `index`.
    fn name(&self, index: usize) -> String {
        let l = (0..self.shape.depth).find(|l| index < self.shape.layer(*l).end()).unwrap_or(self.shape.depth);
        let layer = self.shape.layer(l);
        let place = index - layer.start;
        if place < layer.rows * layer.columns {
            return format!("w{l}[{},{}]", place / layer.columns, place % layer.columns);
        }
        format!("b{l}[{}]", place - layer.rows * layer.columns)
    }

    /// (x − centre)/scale of input `i`.
    fn normalised(&self, i: usize, x: f64) -> f64 {
        (x - self.spec.centre.get(i).unwrap_or(&0.0)) / self.scale(i)
    }

    fn scale(&self, i: usize) -> f64 {
        self.spec.scale.get(i).copied().unwrap_or(1.0)
    }

    /// `out` = f(x, t), t at the given `share` of every step.
    fn velocity(&self, steps: &[Step], share: f64, states: &[f64], tape: &mut Tape, out: &mut [f64]) {
        tape.input.clear();
        for (x, (t, dt)) in states.chunks_exact(self.shape.outputs).zip(steps) {
            let inputs = x.iter().copied().chain(self.spec.time_input.then_some(t + share * dt));
            tape.input.extend(inputs.enumerate().map(|(i, x)| self.normalised(i, x).clamp(-LARGEST, LARGEST)));
        }
        self.shape.forward(&self.parameters, tape, out);
    }

    /// λᵀ∂f/∂x into `by_state`, and λᵀ∂f/∂parameters added, at the evaluation on `tape`.
    fn velocity_pullback(
        &self,
        tape: &Tape,
        lambda: &[f64],
        back: &mut Back,
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let Shape { inputs, outputs, .. } = self.shape;
        back.by_input.resize(tape.input.len(), 0.0);
        self.shape.backward(&self.parameters, tape, lambda, &mut back.work, &mut back.by_input, by_parameter);
        let columns = tape.input.chunks_exact(inputs).zip(back.by_input.chunks_exact(inputs));
        for (by_state, (input, by_input)) in by_state.chunks_exact_mut(outputs).zip(columns) {
            for (i, by_state) in by_state.iter_mut().enumerate() {
                let inside = input[i].abs() < LARGEST;
                *by_state = if inside { by_input[i] / self.scale(i) } else { 0.0 };
            }
        }
    }

    /// The midpoint steps, leaving both evaluations on tape.
    fn step(&self, steps: &[Step], states: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let Scratch { start_tape, middle_tape, middle, .. } = scratch;
        self.velocity(steps, 0.0, states, start_tape, out);
        middle.clear();
        let moves = states.iter().zip(&*out).zip(self.lengths(steps));
        middle.extend(moves.map(|((x, velocity), dt)| x + 0.5 * dt * velocity));
        self.velocity(steps, 0.5, middle, middle_tape, out);
        out.iter_mut().zip(states).zip(self.lengths(steps)).for_each(|((out, x), dt)| *out = x + dt * *out);
    }

    /// Length of the step of every component of every state.
    fn lengths<'a>(&self, steps: &'a [Step]) -> impl Iterator<Item = f64> + use<'a> {
        let dim = self.shape.outputs;
        steps.iter().flat_map(move |(_, dt)| std::iter::repeat_n(*dt, dim))
    }

    /// Way back through the midpoint steps: with m = x + ½Δf(x) and out = x + Δf(m),
    /// μ = Δ(∂f/∂x)(m)ᵀλ is what reaches m, and λ + μ + ½Δ(∂f/∂x)(x)ᵀμ what reaches x.
    fn step_pullback(
        &self,
        steps: &[Step],
        lambda: &[f64],
        scratch: &mut Scratch,
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let Scratch { start_tape, middle_tape, middle, cast, back, .. } = scratch;
        cast.clear();
        cast.extend(lambda.iter().zip(self.lengths(steps)).map(|(lambda, dt)| dt * lambda));
        middle.resize(lambda.len(), 0.0);
        self.velocity_pullback(middle_tape, cast, back, middle, by_parameter);
        cast.clear();
        cast.extend(middle.iter().zip(self.lengths(steps)).map(|(middle, dt)| 0.5 * dt * middle));
        self.velocity_pullback(start_tape, cast, back, by_state, by_parameter);
        by_state.iter_mut().zip(lambda.iter().zip(&*middle)).for_each(|(by, (lambda, middle))| *by += lambda + middle);
    }
}

/// Time and length of a step.
pub(crate) type Step = (f64, f64);

/// Check a spec and give the shape of its network.
fn shape(spec: &NeuralSpec) -> Result<Shape> {
    let outputs = at_least_one("dim", spec.dim)?;
    let width = at_least_one("width", spec.width)?;
    let depth = at_least_one("depth", spec.depth)?;
    let units = width as f64;
    if units * (units * depth as f64 + 2.0 * outputs as f64) > 1e8 {
        let expected = "must be smaller: the network would have more than 100 million parameters";
        return Err(Error::Parameter { name: "width".into(), value: units, expected });
    }
    let inputs = outputs + usize::from(spec.time_input);
    if !spec.centre.is_empty() {
        expect_length("centre", spec.centre.len(), inputs)?;
    }
    if !spec.scale.is_empty() {
        expect_length("scale", spec.scale.len(), inputs)?;
    }
    for (i, centre) in spec.centre.iter().enumerate() {
        finite(&format!("centre[{i}]"), *centre)?;
    }
    for (i, scale) in spec.scale.iter().enumerate() {
        positive(&format!("scale[{i}]"), *scale)?;
    }
    Ok(Shape { inputs, outputs, width, depth })
}

/// Room for the steps of a batch and their way back, kept per thread.
#[derive(Debug, Default)]
struct Scratch {
    start_tape: Tape,
    middle_tape: Tape,
    middle: Vec<f64>,
    cast: Vec<f64>,
    back: Back,
}

/// Room for the way back through one evaluation.
#[derive(Debug, Default)]
struct Back {
    work: [Vec<f64>; 2],
    by_input: Vec<f64>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Drift for Neural {
    fn kind(&self) -> &'static str {
        "neural"
    }

    fn dim(&self) -> usize {
        self.shape.outputs
    }

    /// Layer by layer from the input on, the output last: weights `w0[unit,input]` row by row, then biases `b0[unit]`.
    fn parameters(&self) -> Vec<(String, f64)> {
        self.parameters.iter().enumerate().map(|(index, &value)| (self.name(index), value)).collect()
    }

    fn parameter_count(&self) -> usize {
        self.parameters.len()
    }

    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        Ok(Box::new(Self::from_parameters(self.spec.clone(), values)?))
    }

    fn domains(&self) -> Vec<Domain> {
        vec![Domain { low: -LARGEST, high: LARGEST, ..Domain::REAL }; self.parameters.len()]
    }

    fn is_autonomous(&self) -> bool {
        !self.spec.time_input
    }

    fn flow(&self, t: f64, dt: f64, x: &[f64], out: &mut [f64]) {
        self.flows(&[(t, dt)], x, out);
    }

    fn flow_many(&self, t: f64, dt: f64, states: &[f64], out: &mut [f64]) {
        self.flows(&vec![(t, dt); states.len() / self.dim()], states, out);
    }

    fn flow_jacobian(
        &self,
        t: f64,
        dt: f64,
        x: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let (dim, count) = (self.dim(), self.parameters.len());
        let mut lambda = vec![0.0; dim];
        by_parameter.fill(0.0);
        SCRATCH.with_borrow_mut(|scratch| {
            self.step(&[(t, dt)], x, out, scratch);
            let rows = by_state.chunks_exact_mut(dim).zip(by_parameter.chunks_exact_mut(count));
            for (i, (by_state, by_parameter)) in rows.enumerate() {
                lambda.fill(0.0);
                lambda[i] = 1.0;
                self.step_pullback(&[(t, dt)], &lambda, scratch, by_state, by_parameter);
            }
        });
    }

    fn pullback(
        &self,
        t: f64,
        dt: f64,
        x: &[f64],
        lambda: &[f64],
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let mut given = |_: &[f64], out: &mut [f64]| out.copy_from_slice(lambda);
        self.pullbacks(&[(t, dt)], x, &mut given, out, by_state, by_parameter);
    }

    fn pullback_many(
        &self,
        t: f64,
        dt: f64,
        states: &[f64],
        lambda: &mut dyn FnMut(&[f64], &mut [f64]),
        out: &mut [f64],
        by_state: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        if by_parameter.is_empty() {
            let steps = vec![(t, dt); states.len() / self.dim()];
            return self.pullbacks(&steps, states, lambda, out, by_state, by_parameter);
        }
        pullback_each(self, (t, dt), states, lambda, out, by_state, by_parameter);
    }
}

#[cfg(test)]
#[path = "neural_tests.rs"]
mod tests;
