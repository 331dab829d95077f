//! Evaluate a ReLU network for a batch of inputs, and propagate gradients back through it.

use nalgebra::{DMatrix, DMatrixView, RealField};
use std::ops::Range;

/// Sizes of a network's layers from the input to the (linear) output.
///
/// Its parameters are stored flat: per layer the weights, column by column (a column per input), then the biases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dense {
    sizes: Vec<usize>,
}

/// Input and values of every layer, a column per member of the batch.
#[derive(Debug)]
pub(crate) struct Tape<T> {
    values: Vec<DMatrix<T>>,
}

impl<T> Tape<T> {
    /// The output.
    pub fn output(&self) -> &DMatrix<T> {
        &self.values[self.values.len() - 1]
    }
}

impl Dense {
    /// A network with `depth` hidden layers of `width` units.
    pub fn new(inputs: usize, width: usize, depth: usize, outputs: usize) -> Self {
        let hidden = std::iter::repeat_n(width, depth);
        Self { sizes: std::iter::once(inputs).chain(hidden).chain([outputs]).collect() }
    }

    /// Number of parameters.
    pub fn count(&self) -> usize {
        self.layers().last().map_or(0, |layer| layer.biases.end)
    }

    /// Ranges of the layers among the parameters.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = Layer> + ExactSizeIterator {
        let starts: Vec<usize> = self.sizes.windows(2).scan(0, |start, s| Some(advance(start, s))).collect();
        let sizes: Vec<(usize, usize)> = self.sizes.windows(2).map(|s| (s[0], s[1])).collect();
        sizes.into_iter().zip(starts).map(|((columns, rows), start)| {
            let middle = start + rows * columns;
            Layer { rows, columns, weights: start..middle, biases: middle..middle + rows }
        })
    }

    /// The network at every column of `input`.
    pub fn forward<T: RealField + Copy>(&self, parameters: &[T], input: DMatrix<T>) -> Tape<T> {
        let batch = input.ncols();
        let mut values = vec![input];
        let last = self.sizes.len() - 2;
        for (l, layer) in self.layers().enumerate() {
            let biases = &parameters[layer.biases.clone()];
            let mut out = DMatrix::from_fn(layer.rows, batch, |r, _| biases[r]);
            out.gemm(T::one(), &layer.matrix(parameters), &values[l], T::one());
            if l < last {
                out.iter_mut().for_each(|value| *value = value.max(T::zero()));
            }
            values.push(out);
        }
        Tape { values }
    }

    /// Gradient in the input, given that in the output; the gradient in the parameters is written to `gradient`.
    pub fn backward<T: RealField + Copy>(
        &self,
        parameters: &[T],
        tape: &Tape<T>,
        by_output: DMatrix<T>,
        gradient: &mut [T],
    ) -> DMatrix<T> {
        let mut slopes = by_output;
        for (l, layer) in self.layers().enumerate().rev() {
            let input = &tape.values[l];
            let by_weights = &slopes * input.transpose();
            gradient[layer.weights.clone()].copy_from_slice(by_weights.as_slice());
            let by_biases = slopes.column_sum();
            gradient[layer.biases.clone()].copy_from_slice(by_biases.as_slice());
            slopes = layer.matrix(parameters).transpose() * slopes;
            if l > 0 {
                // An inactive unit has zero gradient.
                slopes.zip_apply(input, |slope, value| {
                    if value <= T::zero() {
                        *slope = T::zero();
                    }
                });
            }
        }
        slopes
    }
}

fn advance(start: &mut usize, sizes: &[usize]) -> usize {
    let here = *start;
    *start += sizes[1] * (sizes[0] + 1);
    here
}

/// Ranges of one layer among the parameters.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub rows: usize,
    pub columns: usize,
    pub weights: Range<usize>,
    pub biases: Range<usize>,
}

impl Layer {
    fn matrix<'a, T: RealField>(&self, parameters: &'a [T]) -> DMatrixView<'a, T> {
        DMatrixView::from_slice(&parameters[self.weights.clone()], self.rows, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Central differences of Σ λ·output, f64: relative 1e-6.
    #[test]
    fn identity_slopes_are_those_of_the_output() {
        let net = Dense::new(3, 7, 2, 2);
        let mut rng = levytilt::stream(1, 0);
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random::<f64>() - 0.5).collect() };
        let parameters = draw(net.count());
        let input = DMatrix::from_vec(3, 5, draw(15));
        let lambda = DMatrix::from_vec(2, 5, draw(10));
        let value = |p: &[f64], x: &DMatrix<f64>| net.forward(p, x.clone()).output().dot(&lambda);
        let tape = net.forward(&parameters, input.clone());
        let mut gradient = vec![0.0; net.count()];
        let by_input = net.backward(&parameters, &tape, lambda.clone(), &mut gradient);
        let h = 1e-6;
        for i in 0..net.count() {
            let moved = |sign: f64| {
                let mut p = parameters.clone();
                p[i] += sign * h;
                value(&p, &input)
            };
            assert!((gradient[i] - (moved(1.0) - moved(-1.0)) / (2.0 * h)).abs() < 1e-6);
        }
        for i in 0..15 {
            let moved = |sign: f64| {
                let mut x = input.clone();
                x[i] += sign * h;
                value(&parameters, &x)
            };
            assert!((by_input[i] - (moved(1.0) - moved(-1.0)) / (2.0 * h)).abs() < 1e-6);
        }
    }
}
