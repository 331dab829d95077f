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
        match away.len() {
            1 => self.meet_in::<1>(away, covariance, b),
            2 => self.meet_in::<2>(away, covariance, b),
            3 => self.meet_in::<3>(away, covariance, b),
            4 => self.meet_in::<4>(away, covariance, b),
            5 => self.meet_in::<5>(away, covariance, b),
            6 => self.meet_in::<6>(away, covariance, b),
            8 => self.meet_in::<8>(away, covariance, b),
            10 => self.meet_in::<10>(away, covariance, b),
            _ => self.meet_anywhere(away, covariance, b, space),
        }
    }

    /// The same in `D` dimensions, which the compiler knows: no bounds to check, and loops over rows in the vector unit.
    fn meet_in<const D: usize>(&self, away: &[f64], covariance: &[f64], b: &[f64]) -> Along {
        let (lambda, covariance) = (self.precision.as_slice().as_chunks::<D>().0, covariance.as_chunks::<D>().0);
        let (mut matrix, mut gradient, mut stiff) = ([[0.0; D]; D], [0.0; D], [0.0; D]);
        let mut log = self.log;
        for (i, row) in lambda.iter().enumerate() {
            gradient[i] = self.pull[i] - dot(row, away);
            stiff[i] = dot(row, b);
            log += 0.5 * away[i] * (self.pull[i] + gradient[i]);
            // Row i of ΛP, with P symmetric.
            for (by, column) in row.iter().zip(covariance) {
                matrix[i].iter_mut().zip(column).for_each(|(sum, p)| *sum += by * p);
            }
            matrix[i][i] += 1.0;
        }
        let mut force = gradient;
        log -= 0.5 * eliminate_in(&mut matrix, &mut force, &mut stiff);
        for (gradient, row) in gradient.iter().zip(covariance) {
            log += 0.5 * gradient * dot(row, &force);
        }
        Along { log, firmness: dot(b, &stiff).max(0.0), force: dot(b, &force) }
    }

    /// The same in any number of dimensions.
    fn meet_anywhere(&self, away: &[f64], covariance: &[f64], b: &[f64], space: &mut Space) -> Along {
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

/// As [`eliminate`], in `D` dimensions.
fn eliminate_in<const D: usize>(matrix: &mut [[f64; D]; D], x: &mut [f64; D], y: &mut [f64; D]) -> f64 {
    let mut det = 1.0;
    let mut log_det = 0.0;
    for c in 0..D {
        let mut pivot = c;
        for i in c + 1..D {
            if matrix[i][c].abs() > matrix[pivot][c].abs() {
                pivot = i;
            }
        }
        if pivot != c {
            matrix.swap(c, pivot);
            x.swap(c, pivot);
            y.swap(c, pivot);
        }
        let (top, at_x, at_y) = (matrix[c], x[c], y[c]);
        det *= top[c].abs();
        // One logarithm for several pivots, before their product leaves the range of numbers.
        if !(1e-100..1e100).contains(&det) {
            log_det += det.ln();
            det = 1.0;
        }
        let inverse = 1.0 / top[c];
        for ((row, x), y) in matrix[c + 1..].iter_mut().zip(&mut x[c + 1..]).zip(&mut y[c + 1..]) {
            let factor = row[c] * inverse;
            row.iter_mut().zip(&top).for_each(|(row, top)| *row -= factor * top);
            *x -= factor * at_x;
            *y -= factor * at_y;
        }
    }
    for i in (0..D).rev() {
        for k in i + 1..D {
            x[i] -= matrix[i][k] * x[k];
            y[i] -= matrix[i][k] * y[k];
        }
        x[i] /= matrix[i][i];
        y[i] /= matrix[i][i];
    }
    log_det + det.ln()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand::RngExt;

    /// The elimination that knows the dimension against the one that does not, at laws from narrow to very wide.
    #[test]
    fn identity_known_dimensions_meet_as_any_do() {
        let mut rng = stream(1, 0);
        for dim in [1, 2, 3, 4, 5, 6, 8, 10] {
            for size in [1e-6, 1.0, 1e6] {
                let mut random = |rows: usize| DMatrix::from_fn(rows, dim, |_, _| rng.random::<f64>() - 0.4);
                let (a, p) = (random(dim + 1), random(dim + 2));
                let covariance = p.transpose() * &p * size;
                let [pull, away, b] = [random(1), random(1), random(1)].map(|v| v.transpose().column(0).into_owned());
                let form = Form { log: 0.3, precision: a.transpose() * &a, pull };
                let (away, covariance, b) = (away.as_slice(), covariance.as_slice(), b.as_slice());
                let got = form.meet(away, covariance, b, &mut Space::default());
                let want = form.meet_anywhere(away, covariance, b, &mut Space::default());
                let close = |a: f64, b: f64| (a - b).abs() < 1e-8 * (1.0 + b.abs());
                assert!(close(got.log, want.log), "{dim} {size}: {got:?} {want:?}");
                assert!(close(got.force, want.force) && close(got.firmness, want.firmness), "{got:?} {want:?}");
            }
        }
    }
}
