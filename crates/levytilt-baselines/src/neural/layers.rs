//! Build networks from parameters that our own generator fills.

use super::tape::{Activation, LstmWeights, Tape, Var, lstm_step};
use levytilt::{StreamRng, stream};
use rand::RngExt;

/// Parameters of a network and the generator that fills them; later it draws dropout masks.
pub(crate) struct Parameters {
    values: Vec<f32>,
    shapes: Vec<(usize, usize)>,
    rng: StreamRng,
}

impl Parameters {
    /// No parameters yet. Paths count their streams from 0; networks take the last one.
    pub fn new(seed: u64) -> Self {
        Self { values: Vec::new(), shapes: Vec::new(), rng: stream(seed, u64::MAX) }
    }

    /// Uniform in ±bound.
    pub fn uniform(&mut self, shape: (usize, usize), bound: f64) -> Var {
        let rng = &mut self.rng;
        let one = |_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32;
        self.values.extend((0..shape.0 * shape.1).map(one));
        self.keep(shape)
    }

    /// All the same value.
    pub fn constant(&mut self, shape: (usize, usize), value: f32) -> Var {
        self.values.extend(std::iter::repeat_n(value, shape.0 * shape.1));
        self.keep(shape)
    }

    fn keep(&mut self, shape: (usize, usize)) -> Var {
        self.shapes.push(shape);
        Tape::parameter(self.shapes.len() - 1)
    }

    /// A tape that begins with them, and the generator.
    pub fn into_tape(self) -> (Tape, StreamRng) {
        (Tape::new(self.values, &self.shapes), self.rng)
    }
}

/// y = f(x W + b).
pub(crate) struct Linear {
    pub weight: Var,
    pub bias: Var,
}

impl Linear {
    /// Uniform in ±1/√inputs, as is usual.
    pub fn new(parameters: &mut Parameters, inputs: usize, outputs: usize) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        Self { weight: parameters.uniform((inputs, outputs), bound), bias: parameters.uniform((1, outputs), bound) }
    }

    pub fn apply(&self, tape: &mut Tape, x: Var, activation: Activation) -> Var {
        tape.dense(x, self.weight, self.bias, activation)
    }
}

/// Dense layers with the same activation after each hidden one.
pub(crate) struct Mlp {
    layers: Vec<Linear>,
    hidden: Activation,
    last: Activation,
}

impl Mlp {
    /// Widths from the inputs to the outputs, which are linear.
    pub fn new(parameters: &mut Parameters, widths: &[usize], hidden: Activation) -> Self {
        let layers = widths.windows(2).map(|pair| Linear::new(parameters, pair[0], pair[1])).collect();
        Self { layers, hidden, last: Activation::Linear }
    }

    /// The same with a function after the last layer.
    pub fn ending(self, last: Activation) -> Self {
        Self { last, ..self }
    }

    pub fn apply(&self, tape: &mut Tape, x: Var) -> Var {
        self.apply_with(tape, x, |_, x| x)
    }

    /// The same with `drop` after every hidden layer.
    pub fn apply_with(&self, tape: &mut Tape, x: Var, mut drop: impl FnMut(&mut Tape, Var) -> Var) -> Var {
        let mut x = x;
        for (i, layer) in self.layers.iter().enumerate() {
            x = if i + 1 < self.layers.len() {
                let hidden = layer.apply(tape, x, self.hidden);
                drop(tape, hidden)
            } else {
                layer.apply(tape, x, self.last)
            };
        }
        x
    }
}

/// Set each entry to 0 with probability `share` and scale the others up, so that the mean stays.
pub(crate) fn dropout(tape: &mut Tape, x: Var, share: f64, rng: &mut StreamRng) -> Var {
    let (rows, columns) = tape.shape(x);
    let kept = (1.0 / (1.0 - share)) as f32;
    let one = |_| if rng.random::<f64>() < share { 0.0 } else { kept };
    let mask: Vec<f32> = (0..rows * columns).map(one).collect();
    let mask = tape.constant(columns, &mask);
    tape.times(x, mask)
}

/// A layer of long short-term memory.
pub(crate) struct Lstm {
    input: Linear,
    recurrent: Var,
    width: usize,
}

/// Output and memory, (rows, width) each.
#[derive(Clone)]
pub(crate) struct LstmState {
    h: Vec<f32>,
    c: Vec<f32>,
}

impl LstmState {
    pub fn outputs(&self) -> &[f32] {
        &self.h
    }

    /// The same for many rows, from one.
    pub fn repeated(&self, rows: usize) -> Self {
        Self { h: self.h.repeat(rows), c: self.c.repeat(rows) }
    }
}

impl Lstm {
    /// Uniform in ±1/√width, as is usual.
    pub fn new(parameters: &mut Parameters, inputs: usize, width: usize) -> Self {
        let bound = 1.0 / (width as f64).sqrt();
        let weight = parameters.uniform((inputs, 4 * width), bound);
        let input = Linear { weight, bias: parameters.uniform((1, 4 * width), bound) };
        Self { input, recurrent: parameters.uniform((width, 4 * width), bound), width }
    }

    /// Outputs from rest over a sequence, (times, inputs).
    pub fn run(&self, tape: &mut Tape, sequence: Var) -> Var {
        let before = self.input.apply(tape, sequence, Activation::Linear);
        tape.lstm(before, self.recurrent)
    }

    /// The state after the last time of outputs.
    pub fn state(&self, tape: &Tape, outputs: Var) -> LstmState {
        let h = tape.value(outputs);
        LstmState { h: h[h.len() - self.width..].to_vec(), c: tape.lstm_memory(outputs).to_vec() }
    }

    /// One time further, many rows at once; the outputs.
    pub fn step<'a>(&self, tape: &Tape, x: &[f32], state: &'a mut LstmState) -> &'a [f32] {
        let weights = LstmWeights {
            input: tape.value(self.input.weight),
            bias: tape.value(self.input.bias),
            recurrent: tape.value(self.recurrent),
        };
        lstm_step(&weights, x, &mut state.h, &mut state.c);
        &state.h
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_a_layer_over_a_sequence_is_its_single_steps() {
        // Widths that leave rests in products, and one that is cut into blocks.
        for (width, times) in [(7, 5), (8, 1), (20, 3)] {
            let mut parameters = Parameters::new(3);
            let lstm = Lstm::new(&mut parameters, 2, width);
            let (mut tape, mut rng) = parameters.into_tape();
            let inputs: Vec<f32> = (0..2 * times).map(|_| rng.random::<f32>() - 0.5).collect();
            let sequence = tape.constant(2, &inputs);
            let outputs = lstm.run(&mut tape, sequence);
            let mut state = LstmState { h: vec![0.0; 9 * width], c: vec![0.0; 9 * width] };
            let close = |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
            for t in 0..times {
                let h = lstm.step(&tape, &inputs[2 * t..][..2].repeat(9), &mut state);
                assert!(h.chunks(width).all(|row| close(row, &tape.value(outputs)[t * width..][..width])));
            }
            let last = lstm.state(&tape, outputs).repeated(9);
            assert!(close(&last.h, &state.h) && close(&last.c, &state.c));
        }
    }

    #[test]
    fn identity_dropout_keeps_the_mean_and_its_share() {
        let (mut tape, mut rng) = Parameters::new(1).into_tape();
        let x = tape.constant(100, &vec![1.0; 10_000]);
        let dropped = dropout(&mut tape, x, 0.25, &mut rng);
        let values = tape.value(dropped);
        let kept = values.iter().filter(|x| **x > 0.0).count();
        // Five standard errors of a share of 10⁴.
        assert!((kept as f64 - 7500.0).abs() < 5.0 * 43.3, "{kept}");
        assert!(values.iter().all(|x| *x == 0.0 || (*x - 4.0 / 3.0).abs() < 1e-6));
    }
}
