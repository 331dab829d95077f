//! Encode time as an average of learned embeddings, weighted by the proximity of their reference times.
//!
//! e(t) = Σ_i p_i(t) E_i with p(t) = softmax_i(−s|t − τ_i|): reference times τ, embeddings E and the sharpness s are
//! learned, so that references can concentrate where the message changes fast.

use nalgebra::{DMatrix, DMatrixView, RealField, convert};

/// Sizes: `references` times with embeddings of `features` numbers. Parameters are stored flat: τ, ln s, E column by
/// column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoder {
    pub references: usize,
    pub features: usize,
}

/// What the backward pass needs.
#[derive(Debug)]
pub(crate) struct EncoderTape<T> {
    /// p_i(t): a column per time.
    weights: DMatrix<T>,
    times: Vec<T>,
}

impl Encoder {
    /// Number of parameters.
    pub fn count(&self) -> usize {
        self.references + 1 + self.references * self.features
    }

    fn embeddings<'a, T: RealField>(&self, parameters: &'a [T]) -> DMatrixView<'a, T> {
        DMatrixView::from_slice(&parameters[self.references + 1..self.count()], self.features, self.references)
    }

    /// e(t) for every time, a column each.
    pub fn forward<T: RealField + Copy>(&self, parameters: &[T], times: &[f64]) -> (DMatrix<T>, EncoderTape<T>) {
        let times: Vec<T> = times.iter().map(|&t| convert(t)).collect();
        let (references, sharpness) = (&parameters[..self.references], parameters[self.references].exp());
        let mut weights =
            DMatrix::from_fn(self.references, times.len(), |i, j| -sharpness * (times[j] - references[i]).abs());
        for mut column in weights.column_iter_mut() {
            // Relative to the nearest reference, whose weight is then 1, so the sum cannot underflow.
            let top = column.max();
            column.apply(|v| *v = (*v - top).exp());
            let total = column.sum();
            column.apply(|v| *v /= total);
        }
        (self.embeddings(parameters) * &weights, EncoderTape { weights, times })
    }

    /// Write the gradient in the parameters to `gradient`, given that in e(t).
    pub fn backward<T: RealField + Copy>(
        &self,
        parameters: &[T],
        tape: &EncoderTape<T>,
        by_output: &DMatrix<T>,
        gradient: &mut [T],
    ) {
        let (references, sharpness) = (&parameters[..self.references], parameters[self.references].exp());
        let by_embeddings = by_output * tape.weights.transpose();
        gradient[self.references + 1..self.count()].copy_from_slice(by_embeddings.as_slice());
        let mut by_weights = self.embeddings(parameters).transpose() * by_output;
        let (by_times, rest) = gradient.split_at_mut(self.references);
        by_times.fill(T::zero());
        let mut by_log_sharpness = T::zero();
        for (j, mut column) in by_weights.column_iter_mut().enumerate() {
            let weights = tape.weights.column(j);
            let mean = column.dot(&weights);
            for i in 0..self.references {
                // Gradient in the logit −s|t − τ|.
                let slope = weights[i] * (column[i] - mean);
                let distance = tape.times[j] - references[i];
                // There is a kink at the reference itself; 0 is the mean of the gradients on both sides.
                if !distance.is_zero() {
                    by_times[i] += slope * sharpness * distance.signum();
                }
                by_log_sharpness -= slope * sharpness * distance.abs();
                column[i] = slope;
            }
        }
        rest[0] = by_log_sharpness;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// Central differences of Σ λ·e(t), f64: 1e-6. No time sits on a reference, where |t − τ| has a corner.
    #[test]
    fn identity_slopes_are_those_of_the_encoding() {
        let encoder = Encoder { references: 4, features: 3 };
        let mut rng = levytilt::stream(2, 0);
        let mut parameters: Vec<f64> = (0..encoder.count()).map(|_| rng.random::<f64>() - 0.5).collect();
        parameters[..4].copy_from_slice(&[0.0, 0.31, 0.62, 1.0]);
        parameters[4] = 1.2;
        let times = [0.05, 0.2, 0.5, 0.9, 1.3];
        let lambda = DMatrix::from_fn(3, 5, |_, _| rng.random::<f64>() - 0.5);
        let value = |p: &[f64]| encoder.forward(p, &times).0.dot(&lambda);
        let (_, tape) = encoder.forward(&parameters, &times);
        let mut gradient = vec![0.0; encoder.count()];
        encoder.backward(&parameters, &tape, &lambda, &mut gradient);
        for i in 0..encoder.count() {
            let h = 1e-6;
            let moved = |sign: f64| {
                let mut p = parameters.clone();
                p[i] += sign * h;
                value(&p)
            };
            let want = (moved(1.0) - moved(-1.0)) / (2.0 * h);
            assert!((gradient[i] - want).abs() < 1e-6, "{i}: {} {want}", gradient[i]);
        }
    }

    #[test]
    fn identity_far_from_every_reference_the_nearest_speaks() {
        let encoder = Encoder { references: 2, features: 1 };
        let (encoded, _) = encoder.forward(&[0.0f32, 1.0, 100f32.ln(), 5.0, 7.0], &[-1e6, 1e6]);
        assert_eq!((encoded[0], encoded[1]), (5.0, 7.0));
    }
}
