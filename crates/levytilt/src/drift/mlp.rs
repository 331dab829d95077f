//! Evaluate a small network of tanh layers and pull a covector back through it.

use super::add_scaled;

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
    /// Weights and biases.
    fn split<'a>(&self, parameters: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        parameters[self.start..self.end()].split_at(self.rows * self.columns)
    }

    fn split_mut<'a>(&self, parameters: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
        parameters[self.start..self.end()].split_at_mut(self.rows * self.columns)
    }

    /// One past the last bias.
    pub fn end(&self) -> usize {
        self.start + self.rows * (self.columns + 1)
    }
}

/// Input and hidden values of one evaluation, kept for the way back.
#[derive(Debug, Default)]
pub(super) struct Tape {
    pub input: Vec<f64>,
    hidden: Vec<f64>,
}

impl Tape {
    /// Values of the last hidden layer.
    pub fn last(&self, shape: &Shape) -> &[f64] {
        &self.hidden[(shape.depth - 1) * shape.width..shape.depth * shape.width]
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

    /// `out` = network(`tape.input`).
    pub fn forward(&self, parameters: &[f64], tape: &mut Tape, out: &mut [f64]) {
        tape.hidden.resize(self.depth * self.width, 0.0);
        for l in 0..self.depth {
            let (done, rest) = tape.hidden.split_at_mut(l * self.width);
            let input = if l == 0 { &tape.input } else { &done[(l - 1) * self.width..] };
            let units = &mut rest[..self.width];
            affine(&self.layer(l), parameters, input, units);
            units.iter_mut().for_each(|unit| *unit = tanh(*unit));
        }
        affine(&self.layer(self.depth), parameters, &tape.hidden[(self.depth - 1) * self.width..], out);
    }

    /// `by_input` = λᵀ∂out/∂input at the evaluation on `tape`; λᵀ∂out/∂parameters is added to `by_parameter`, unless that
    /// is empty.
    /// `work` is scratch space.
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
            let layer = self.layer(l);
            let input = if l == 0 { &tape.input } else { &tape.hidden[(l - 1) * self.width..l * self.width] };
            let (weights, _) = layer.split(parameters);
            if !by_parameter.is_empty() {
                let (by_weight, by_bias) = layer.split_mut(by_parameter);
                for ((row, by_bias), &lambda) in by_weight.chunks_exact_mut(layer.columns).zip(by_bias).zip(&*current) {
                    add_scaled(lambda, input, row);
                    *by_bias += lambda;
                }
            }
            next.clear();
            next.resize(layer.columns, 0.0);
            for (&lambda, row) in current.iter().zip(weights.chunks_exact(layer.columns)) {
                add_scaled(lambda, row, next);
            }
            if l > 0 {
                // tanh' = 1 − tanh², from the value that is already there.
                next.iter_mut().zip(input).for_each(|(lambda, unit)| *lambda *= (1.0 - unit) * (1.0 + unit));
            }
            std::mem::swap(current, next);
        }
        by_input.copy_from_slice(current);
    }
}

/// `out` = weights · `input` + biases.
fn affine(layer: &Layer, parameters: &[f64], input: &[f64], out: &mut [f64]) {
    let (weights, biases) = layer.split(parameters);
    for ((out, row), bias) in out.iter_mut().zip(weights.chunks_exact(layer.columns)).zip(biases) {
        *out = bias + dot(row, input);
    }
}

/// Scalar product in four partial sums, which the compiler turns into vector instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
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

    #[test]
    fn identities_dot_of_every_length() {
        for n in 0..12 {
            let a: Vec<f64> = (0..n).map(|i| f64::from(i) + 1.0).collect();
            let want: f64 = a.iter().map(|v| v * v).sum();
            assert_eq!(dot(&a, &a), want);
        }
    }
}
