//! Solve for the output layer of a network: weighted least squares with a penalty, in closed form.
//!
//! With fixed hidden layers h(x), the drift is linear in the output layer: x' − x ≈ Δ(W·h(x) + b) + noise.

use super::transitions::Transitions;
use crate::drift::Neural;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Transitions evaluated together.
const BATCH: usize = 64;

/// Hidden values h(x) of every transition, 1 behind them.
pub(super) struct Features {
    width: usize,
    values: Vec<f64>,
}

impl Features {
    pub fn new(network: &Neural, data: &Transitions) -> Self {
        let hidden = network.spec().width;
        let width = hidden + 1;
        let mut values = vec![1.0; width * data.len()];
        values.par_chunks_mut(width * BATCH).enumerate().for_each(|(b, rows)| {
            let batch = b * BATCH..b * BATCH + rows.len() / width;
            let mut found = vec![0.0; hidden * batch.len()];
            network.features(&data.steps_of(batch.clone()), data.starts_of(batch), &mut found);
            for (row, found) in rows.chunks_exact_mut(width).zip(found.chunks_exact(hidden)) {
                row[..hidden].copy_from_slice(found);
            }
        });
        Self { width, values }
    }

    pub fn row(&self, n: usize) -> &[f64] {
        &self.values[n * self.width..(n + 1) * self.width]
    }
}

/// Drift of transition `n` under an output layer (rows of weights and a bias).
pub(super) fn drift(features: &Features, output: &[f64], n: usize, i: usize) -> f64 {
    let row = &output[i * features.width..(i + 1) * features.width];
    features.row(n).iter().zip(row).map(|(h, w)| h * w).sum()
}

/// An output layer found before, and what its flow moves beyond Δ times its drift at the start of each step.
pub(super) struct Before {
    pub output: Vec<f64>,
    bend: Vec<f64>,
}

impl Before {
    pub fn new(network: &Neural, features: &Features, output: Vec<f64>, data: &Transitions) -> Self {
        let dim = data.dim();
        let mut bend = vec![0.0; dim * data.len()];
        bend.par_chunks_mut(dim * BATCH).enumerate().for_each(|(b, bend)| {
            let batch = b * BATCH..b * BATCH + bend.len() / dim;
            network.flows(&data.steps_of(batch.clone()), data.starts_of(batch.clone()), bend);
            for (n, bend) in batch.zip(bend.chunks_exact_mut(dim)) {
                for (i, (bend, x)) in bend.iter_mut().zip(data.from(n)).enumerate() {
                    *bend -= x + data.step(n).1 * drift(features, &output, n, i);
                }
            }
        });
        Self { output, bend }
    }
}

/// Σ ωΔ² hhᵀ and Σ ωΔ h(x' − x) of one dimension, per step of time.
pub(super) struct Normal {
    matrix: DMatrix<f64>,
    right: DVector<f64>,
}

impl Normal {
    /// The sums over the transitions of `range`. With an `output` before, ω comes from its residuals, and `bend`, what its
    /// flow moves beyond Δ times its drift at the start of the step, is allowed for.
    pub fn new(
        data: &Transitions,
        features: &Features,
        i: usize,
        range: std::ops::Range<usize>,
        before: Option<&Before>,
    ) -> Self {
        let width = features.width;
        let (mut matrix, mut right) = (DMatrix::zeros(width, width), DVector::zeros(width));
        for n in range {
            let dt = data.step(n).1;
            let bend = before.map_or(0.0, |before| before.bend[n * data.dim() + i]);
            let change = data.to(n)[i] - data.from(n)[i] - bend;
            let residual = change - before.map_or(0.0, |before| dt * drift(features, &before.output, n, i));
            let weight = if residual == 0.0 { 0.0 } else { data.push(n, i, residual) / residual };
            let row = nalgebra::DVectorView::from_slice(features.row(n), width);
            let share = weight * dt / data.copies as f64;
            matrix.syger(share * dt, &row, &row, 1.0);
            right.axpy(share * change, &row, 1.0);
        }
        Self { matrix, right }
    }

    pub fn sum<'a>(parts: impl Iterator<Item = &'a Self>) -> Option<Self> {
        parts.fold(None, |sum: Option<Self>, part| match sum {
            None => Some(Self { matrix: part.matrix.clone(), right: part.right.clone() }),
            Some(sum) => Some(Self { matrix: sum.matrix + &part.matrix, right: sum.right + &part.right }),
        })
    }

    /// The output row with the penalty ½·`strength`·Σ(w/s)²; s is `unit`/√width for weights and `unit` for the bias.
    pub fn solve(&self, strength: f64, unit: f64) -> Option<DVector<f64>> {
        let hidden = self.right.len() - 1;
        let std = |k: usize| if k == hidden { unit } else { unit / (hidden as f64).sqrt() };
        let mut matrix = self.matrix.clone();
        for k in 0..=hidden {
            matrix[(k, k)] += strength / std(k).powi(2);
        }
        matrix.cholesky().map(|factor| factor.solve(&self.right))
    }
}
