//! Hold a quadratic message e^{log − ½uᵀΛu + gᵀu}, u the deviation from a reference point, and integrate Gaussians against it.

use nalgebra::{DMatrix, DVector};

/// A quadratic message in deviations u from a point that its owner knows; Λ is positive semidefinite.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub log: f64,
    pub precision: DMatrix<f64>,
    pub pull: DVector<f64>,
}

/// What a message says to a Gaussian law of the state, and how it feels along a direction b.
#[derive(Debug, Clone, Copy)]
pub(super) struct Along {
    /// ln ∫ N(z; m, P) e^{message}.
    pub log: f64,
    /// bᵀΛ̃b with Λ̃ = (I + ΛP)⁻¹Λ.
    pub firmness: f64,
    /// bᵀ(I + ΛP)⁻¹(g − Λ(m − at)).
    pub force: f64,
}

/// Room for one elimination.
#[derive(Debug, Default)]
pub(super) struct Space {
    matrix: Vec<f64>,
    force: Vec<f64>,
    stiff: Vec<f64>,
    gradient: Vec<f64>,
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

    /// ln ∫ N(z; m, P) e^{message} for `away` = m − at and the covariance P (row by row, symmetric), and the same
    /// along `b`.
    ///
    /// With γ = g − Λ·away: −½away ᵀΛ away + gᵀaway − ½ ln|I + ΛP| + ½ γᵀP(I + ΛP)⁻¹γ.
    pub fn meet(&self, away: &[f64], covariance: &[f64], b: &[f64], space: &mut Space) -> Along {
        let dim = away.len();
        let lambda = self.precision.as_slice();
        let Space { matrix, force, stiff, gradient } = space;
        for vector in [&mut *force, stiff, gradient] {
            vector.clear();
            vector.resize(dim, 0.0);
        }
        matrix.clear();
        matrix.resize(dim * dim, 0.0);
        let mut log = self.log;
        for i in 0..dim {
            // Λ is symmetric: its columns are its rows.
            let row = &lambda[i * dim..(i + 1) * dim];
            gradient[i] = self.pull[i] - dot(row, away);
            stiff[i] = dot(row, b);
            log += 0.5 * away[i] * (self.pull[i] + gradient[i]);
            for k in 0..dim {
                matrix[i * dim + k] = dot(row, &covariance[k * dim..(k + 1) * dim]);
            }
            matrix[i * dim + i] += 1.0;
        }
        force.copy_from_slice(gradient);
        log -= 0.5 * eliminate(matrix, force, stiff);
        for i in 0..dim {
            log += 0.5 * gradient[i] * dot(&covariance[i * dim..(i + 1) * dim], force);
        }
        Along { log, firmness: dot(b, stiff).max(0.0), force: dot(b, force) }
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solve the square system with rows in `matrix` for two right-hand sides in place, by elimination with row pivots; the
/// logarithm of the absolute value of its determinant.
fn eliminate(matrix: &mut [f64], x: &mut [f64], y: &mut [f64]) -> f64 {
    let dim = x.len();
    let mut log_det = 0.0;
    for c in 0..dim {
        let pivot = (c..dim).fold(c, |best, i| match matrix[i * dim + c].abs() > matrix[best * dim + c].abs() {
            true => i,
            false => best,
        });
        if pivot != c {
            (c..dim).for_each(|k| matrix.swap(c * dim + k, pivot * dim + k));
            x.swap(c, pivot);
            y.swap(c, pivot);
        }
        let (above, below) = matrix.split_at_mut((c + 1) * dim);
        let top = &above[c * dim..];
        log_det += top[c].abs().ln();
        for (offset, row) in below.chunks_exact_mut(dim).enumerate() {
            let factor = row[c] / top[c];
            if factor != 0.0 {
                row[c + 1..].iter_mut().zip(&top[c + 1..]).for_each(|(row, top)| *row -= factor * top);
                x[c + 1 + offset] -= factor * x[c];
                y[c + 1 + offset] -= factor * y[c];
            }
        }
    }
    for i in (0..dim).rev() {
        let row = &matrix[i * dim..(i + 1) * dim];
        x[i] = (x[i] - dot(&row[i + 1..], &x[i + 1..])) / row[i];
        y[i] = (y[i] - dot(&row[i + 1..], &y[i + 1..])) / row[i];
    }
    log_det
}
