//! Hold a quadratic message e^{log − ½uᵀΛu + gᵀu}, u the deviation from a reference point.

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
        self.precision.ger(1.0 / variance, h, h, 1.0);
        self.pull.axpy(miss / variance, h, 1.0);
    }

    /// Integrated over a Gaussian jump of variance `v` along `b`.
    pub fn pull_back(&mut self, b: &DVector<f64>, v: f64) {
        let stiff = &self.precision * b;
        let grown = 1.0 + v * b.dot(&stiff);
        let force = b.dot(&self.pull);
        self.log += 0.5 * (v * force * force / grown - grown.ln());
        self.pull.axpy(-v * force / grown, &stiff, 1.0);
        self.precision.ger(-v / grown, &stiff, &stiff, 1.0);
    }

    /// Seen from before the flow: a function of the state z there with u = F(z − `from`) + `miss`.
    pub fn before(&self, slope: &DMatrix<f64>, miss: &DVector<f64>) -> Self {
        let stiff = &self.precision * miss;
        let precision = slope.transpose() * &self.precision * slope;
        Self {
            log: self.log + self.pull.dot(miss) - 0.5 * miss.dot(&stiff),
            precision: 0.5 * (&precision + precision.transpose()),
            pull: slope.transpose() * (&self.pull - stiff),
        }
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

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
