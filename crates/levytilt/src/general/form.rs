//! Hold a quadratic message e^{log − ½uᵀΛu + gᵀu}, u the deviation from a reference point.

use super::chain::Flow;
use nalgebra::{DMatrix, DVector};

/// A quadratic message in deviations u from a point that its owner knows; Λ is positive semidefinite.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub log: f64,
    pub precision: DMatrix<f64>,
    pub pull: DVector<f64>,
}

impl Form {
    /// The message that says nothing.
    pub fn flat(dim: usize) -> Self {
        Self { log: 0.0, precision: DMatrix::zeros(dim, dim), pull: DVector::zeros(dim) }
    }

    /// Times the likelihood of seeing y = hᵀz + ε at reference point `at`, ε of this variance.
    pub fn see(&mut self, (h, y, variance): (&DVector<f64>, f64, f64), at: &DVector<f64>) {
        let miss = y - h.dot(at);
        self.log -= 0.5 * (miss * miss / variance + (std::f64::consts::TAU * variance).ln());
        add_square(self.precision.as_mut_slice(), 1.0 / variance, h.as_slice());
        self.pull.axpy(miss / variance, h, 1.0);
    }

    /// Integrated over a Gaussian jump of variance `v` along `b`.
    pub fn pull_back(&mut self, b: &DVector<f64>, v: f64) {
        with_room(b.len(), |stiff| {
            self.stiffness_along(b, stiff);
            self.pull_back_along(b, stiff, v);
        });
    }

    /// Λb, into zeros.
    pub fn stiffness_along(&self, b: &DVector<f64>, stiff: &mut [f64]) {
        for (column, b) in self.precision.as_slice().chunks_exact(b.len()).zip(b).filter(|(_, b)| **b != 0.0) {
            stiff.iter_mut().zip(column).for_each(|(sum, entry)| *sum += entry * b);
        }
    }

    /// The same as [`Form::pull_back`], given Λb.
    pub fn pull_back_along(&mut self, b: &DVector<f64>, stiff: &[f64], v: f64) {
        let grown = 1.0 + v * dot(b.as_slice(), stiff);
        let force = b.dot(&self.pull);
        self.log += 0.5 * (v * force * force / grown - grown.ln());
        self.pull.iter_mut().zip(stiff).for_each(|(pull, stiff)| *pull -= v * force / grown * stiff);
        add_square(self.precision.as_mut_slice(), -v / grown, stiff);
    }

    /// Seen from before a flow: a function of the state z there with u = F(z − from) + `miss`.
    pub fn before(&self, flow: &Flow, miss: &DVector<f64>) -> Self {
        let stiff = &self.precision * miss;
        let log = self.log + self.pull.dot(miss) - 0.5 * miss.dot(&stiff);
        let (mut pull, mut precision, mut room) = (&self.pull - stiff, self.precision.clone(), miss.clone());
        congruence_back(flow, pull.as_mut_slice(), precision.as_mut_slice(), room.as_mut_slice());
        Self { log, precision: 0.5 * (&precision + precision.transpose()), pull }
    }

    /// The height of its peak above its value at the reference point, ½gᵀΛ⁺g.
    pub fn peak(&self) -> f64 {
        let eigen = self.precision.clone().symmetric_eigen();
        let least = 1e-13 * eigen.eigenvalues.amax();
        let part = |(k, &lambda): (usize, &f64)| match lambda > least {
            true => 0.5 * eigen.eigenvectors.column(k).dot(&self.pull).powi(2) / lambda,
            false => 0.0,
        };
        eigen.eigenvalues.iter().enumerate().map(part).sum()
    }

    /// The copy of width √`tau` about the same peak, of height 1.
    pub fn widened(&self, tau: f64, peak: f64) -> Self {
        Self { log: -peak / tau, precision: &self.precision / tau, pull: &self.pull / tau }
    }
}

/// M ← M + by·vvᵀ.
pub(super) fn add_square(matrix: &mut [f64], by: f64, v: &[f64]) {
    for (column, v_k) in matrix.chunks_exact_mut(v.len()).zip(v).filter(|(_, v)| **v != 0.0) {
        column.iter_mut().zip(v).for_each(|(entry, v)| *entry += by * v_k * v);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// r ← Fᵀr and N ← FᵀNF for the flow of a step, with room for a vector.
pub(super) fn congruence_back(flow: &Flow, force: &mut [f64], stiffness: &mut [f64], room: &mut [f64]) {
    let dim = force.len();
    if flow.diagonal {
        let slope = flow.slope.diagonal();
        force.iter_mut().zip(&slope).for_each(|(force, f)| *force *= f);
        for (column, by) in stiffness.chunks_exact_mut(dim).zip(&slope) {
            column.iter_mut().zip(&slope).for_each(|(entry, f)| *entry *= f * by);
        }
        return;
    }
    let f = flow.slope.as_slice();
    room.copy_from_slice(force);
    force.iter_mut().zip(f.chunks_exact(dim)).for_each(|(force, column)| *force = dot(column, room));
    with_room(2 * dim * dim, |room| {
        let (half, whole) = room.split_at_mut(dim * dim);
        // Column k of N·F is the sum of the columns of N with the entries of column k of F.
        for (half, f) in half.chunks_exact_mut(dim).zip(f.chunks_exact(dim)) {
            for (n, f) in stiffness.chunks_exact(dim).zip(f) {
                half.iter_mut().zip(n).for_each(|(half, n)| *half += n * f);
            }
        }
        for (whole, half) in whole.chunks_exact_mut(dim).zip(half.chunks_exact(dim)) {
            whole.iter_mut().zip(f.chunks_exact(dim)).for_each(|(whole, f)| *whole = dot(f, half));
        }
        stiffness.copy_from_slice(whole);
    });
}

/// Run `work` with room for `size` numbers, on the stack where they are few.
pub(super) fn with_room<T>(size: usize, work: impl FnOnce(&mut [f64]) -> T) -> T {
    match size {
        0..=32 => work(&mut [0.0; 32][..size]),
        33..=200 => work(&mut [0.0; 200][..size]),
        _ => work(&mut vec![0.0; size]),
    }
}
