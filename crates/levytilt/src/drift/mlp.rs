//! Evaluate a small network of tanh layers for a batch of inputs and pull covectors back through it.

use nalgebra::{DMatrixView, DMatrixViewMut};

/// Shape of a network with `depth` hidden tanh layers of `width` units and a linear output.
///
/// Its parameters lie flat, layer by layer from the input on: the weights row by row (a row per unit of the layer), then
/// the biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub inputs: usize,
    pub outputs: usize,
    pub width: usize,
    pub depth: usize,
}

/// Where one layer lies among the parameters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer {
    /// Units.
    pub rows: usize,
    /// Inputs per unit.
    pub columns: usize,
    /// First weight.
    pub start: usize,
}

impl Layer {
    /// Weights, transposed because they lie row by row, and biases.
    fn split<'a>(&self, parameters: &'a [f64]) -> (DMatrixView<'a, f64>, &'a [f64]) {
        let (weights, biases) = parameters[self.start..self.end()].split_at(self.rows * self.columns);
        (DMatrixView::from_slice(weights, self.columns, self.rows), biases)
    }

    fn split_mut<'a>(&self, parameters: &'a mut [f64]) -> (DMatrixViewMut<'a, f64>, &'a mut [f64]) {
        let (weights, biases) = parameters[self.start..self.end()].split_at_mut(self.rows * self.columns);
        (DMatrixViewMut::from_slice(weights, self.columns, self.rows), biases)
    }

    /// One past the last bias.
    pub fn end(&self) -> usize {
        self.start + self.rows * (self.columns + 1)
    }
}

/// Inputs and hidden values of a batch, kept for the way back: a column per member, hidden layers one after the other.
#[derive(Debug, Default)]
pub(super) struct Tape {
    pub input: Vec<f64>,
    hidden: Vec<f64>,
}

impl Tape {
    /// Values of hidden layer `l`, or of the input for 0: what layer `l` is fed with.
    fn fed(&self, shape: &Shape, l: usize) -> DMatrixView<'_, f64> {
        let batch = self.input.len() / shape.inputs;
        if l == 0 {
            return DMatrixView::from_slice(&self.input, shape.inputs, batch);
        }
        let size = shape.width * batch;
        DMatrixView::from_slice(&self.hidden[(l - 1) * size..l * size], shape.width, batch)
    }

    /// Values of the last hidden layer.
    pub fn last(&self, shape: &Shape) -> &[f64] {
        let size = self.hidden.len() / shape.depth;
        &self.hidden[(shape.depth - 1) * size..]
    }
}

impl Shape {
    /// Layer `l` from 0 to `depth`; the last one is the output.
    pub fn layer(&self, l: usize) -> Layer {
        let first = self.width * (self.inputs + 1);
        let start = if l == 0 { 0 } else { first + (l - 1) * self.width * (self.width + 1) };
        let rows = if l == self.depth { self.outputs } else { self.width };
        Layer { rows, columns: if l == 0 { self.inputs } else { self.width }, start }
    }

    /// Number of parameters.
    pub fn count(&self) -> usize {
        self.layer(self.depth).end()
    }

    /// `out` = network(`tape.input`), a column per member of the batch.
    pub fn forward(&self, parameters: &[f64], tape: &mut Tape, out: &mut [f64]) {
        let batch = tape.input.len() / self.inputs;
        let size = self.width * batch;
        tape.hidden.resize(self.depth * size, 0.0);
        for l in 0..self.depth {
            let (done, rest) = tape.hidden.split_at_mut(l * size);
            let input = if l == 0 { &tape.input } else { &done[(l - 1) * size..] };
            let units = &mut rest[..size];
            affine(&self.layer(l), parameters, input, units);
            units.iter_mut().for_each(|unit| *unit = tanh(*unit));
        }
        affine(&self.layer(self.depth), parameters, tape.last(self), out);
    }

    /// `by_input` = λᵀ∂out/∂input at the evaluation on `tape`, a column per member of the batch; λᵀ∂out/∂parameters,
    /// summed over the batch, is added to `by_parameter`, unless that is empty. `work` is scratch space.
    pub fn backward(
        &self,
        parameters: &[f64],
        tape: &Tape,
        lambda: &[f64],
        work: &mut [Vec<f64>; 2],
        by_input: &mut [f64],
        by_parameter: &mut [f64],
    ) {
        let [current, next] = work;
        current.clear();
        current.extend_from_slice(lambda);
        for l in (0..=self.depth).rev() {
            let (layer, fed) = (self.layer(l), tape.fed(self, l));
            let slopes = DMatrixView::from_slice(current, layer.rows, fed.ncols());
            if !by_parameter.is_empty() {
                let (mut by_weight, by_bias) = layer.split_mut(by_parameter);
                by_weight.gemm(1.0, &fed, &slopes.transpose(), 1.0);
                by_bias.iter_mut().zip(slopes.column_sum().iter()).for_each(|(by, sum)| *by += sum);
            }
            next.resize(fed.len(), 0.0);
            let (weights, _) = layer.split(parameters);
            DMatrixViewMut::from_slice(next, layer.columns, fed.ncols()).gemm(1.0, &weights, &slopes, 0.0);
            if l > 0 {
                // tanh' = 1 − tanh², from the value that is already there.
                next.iter_mut().zip(fed.iter()).for_each(|(slope, unit)| *slope *= (1.0 - unit) * (1.0 + unit));
            }
            std::mem::swap(current, next);
        }
        by_input.copy_from_slice(current);
    }
}

/// `out` = weights · `input` + biases, a column per member of the batch.
fn affine(layer: &Layer, parameters: &[f64], input: &[f64], out: &mut [f64]) {
    let (weights, biases) = layer.split(parameters);
    out.chunks_exact_mut(layer.rows).for_each(|column| column.copy_from_slice(biases));
    let batch = out.len() / layer.rows;
    let input = DMatrixView::from_slice(input, layer.columns, batch);
    // A copy in the order of the product, because nalgebra 0.35 reads small views with strides past their end.
    DMatrixViewMut::from_slice(out, layer.rows, batch).gemm(1.0, &weights.transpose(), &input, 1.0);
}

/// tanh x = E/(E + 2) with E = e^{2|x|} − 1 and the sign of x, to about 5e-16 relative; ±1 beyond ±22.
///
/// Free of branches and calls, so that a layer is done in vector instructions (the library's tanh takes most of a
/// network's time otherwise), and the same on every machine. E keeps its digits near 0: with 2|x| = k ln 2 + r it is
/// 2^k (e^r − 1) + (2^k − 1), e^r − 1 by its series.
fn tanh(x: f64) -> f64 {
    // Adding this number rounds to an integer, which is then in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
    // ln 2 in two parts, the first with zeros at its end: k times it is exact.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let y = (2.0 * x.abs()).min(44.0);
    let rounded = y * std::f64::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    let r = (y - k * LN2_HIGH) - k * LN2_LOW;
    let mut series = 1.0 / 87_178_291_200.0;
    for inverse_factorial in [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ] {
        series = series * r + inverse_factorial;
    }
    let change = power * (r + r * r * series) + (power - 1.0);
    (change / (change + 2.0)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_tanh() {
        let mut worst = 0.0f64;
        for i in 0..200_000 {
            let x = 10f64.powf(-20.0 + 22.0 * f64::from(i) / 200_000.0);
            worst = worst.max((tanh(x) / x.tanh() - 1.0).abs());
            assert_eq!(tanh(-x), -tanh(x));
            assert!(tanh(x) <= 1.0);
        }
        assert!(worst < 7e-16, "{worst}");
        assert_eq!([0.0, 22.1, -1e308, f64::INFINITY].map(tanh), [0.0, 1.0, -1.0, 1.0]);
        assert!(tanh(5e-324) > 0.0);
    }

    #[test]
    fn identities_layout() {
        let shape = Shape { inputs: 2, outputs: 1, width: 3, depth: 2 };
        assert_eq!(shape.count(), 3 * 3 + 3 * 4 + 4);
        assert_eq!((shape.layer(0).start, shape.layer(1).start, shape.layer(2).start), (0, 9, 21));
    }

    #[test]
    fn golden_network() {
        // By hand: 0.5 − 2·tanh(0.3·1 + 0.1·(−2) + 0.7) + 3·tanh(−0.4·1 + 0.2·(−2) + 0.05).
        let shape = Shape { inputs: 2, outputs: 1, width: 2, depth: 1 };
        let parameters = [0.3, 0.1, -0.4, 0.2, 0.7, 0.05, -2.0, 3.0, 0.5];
        let mut tape = Tape { input: vec![1.0, -2.0], ..Tape::default() };
        let mut out = [0.0];
        shape.forward(&parameters, &mut tape, &mut out);
        let want = 0.5 - 2.0 * 0.8f64.tanh() - 3.0 * 0.75f64.tanh();
        assert!((out[0] - want).abs() < 1e-15);
    }

    /// A batch is evaluated and pulled back as its members would be alone, up to rounding.
    #[test]
    fn identities_a_batch_is_its_members() {
        let shape = Shape { inputs: 3, outputs: 2, width: 7, depth: 2 };
        let wave = |n: usize, f: f64| (0..n).map(|i| (f * (i + 1) as f64).sin()).collect::<Vec<f64>>();
        let (parameters, batch) = (wave(shape.count(), 1.3), 9);
        let (input, lambda) = (wave(3 * batch, 0.7), wave(2 * batch, 2.1));
        let run = |input: &[f64], lambda: &[f64]| {
            let mut tape = Tape { input: input.to_vec(), ..Tape::default() };
            let (mut out, mut by_input) = (vec![0.0; lambda.len()], vec![0.0; input.len()]);
            let mut by_parameter = vec![0.0; shape.count()];
            shape.forward(&parameters, &mut tape, &mut out);
            shape.backward(&parameters, &tape, lambda, &mut Default::default(), &mut by_input, &mut by_parameter);
            (out, by_input, by_parameter)
        };
        let together = run(&input, &lambda);
        let mut alone = (Vec::new(), Vec::new(), vec![0.0; shape.count()]);
        for (input, lambda) in input.chunks(3).zip(lambda.chunks(2)) {
            let (out, by_input, by_parameter) = run(input, lambda);
            alone.0.extend(out);
            alone.1.extend(by_input);
            alone.2.iter_mut().zip(by_parameter).for_each(|(sum, by)| *sum += by);
        }
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-13 * b.abs().max(1.0));
        assert!(close(&together.0, &alone.0) && close(&together.1, &alone.1) && close(&together.2, &alone.2));
    }
}
