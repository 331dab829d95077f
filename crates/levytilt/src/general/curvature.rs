//! Invert and update curvatures of a log evidence that may not be those of a maximum.

use nalgebra::{DMatrix, DVector};

/// The inverse of a curvature, and in which parameters it is that of a maximum. Where it is not, the parameter that the
/// flattest or most wrongly bent direction is made of is held, until the rest is; its row and column are 0.
pub(super) fn invert(curvature: &DMatrix<f64>) -> (DMatrix<f64>, Vec<bool>) {
    let count = curvature.nrows();
    let mut kept: Vec<usize> = (0..count).collect();
    loop {
        let part = DMatrix::from_fn(kept.len(), kept.len(), |i, k| curvature[(kept[i], kept[k])]);
        if let Some(root) = part.clone().cholesky() {
            let inverse = root.inverse();
            let mut covariance = DMatrix::zeros(count, count);
            for (i, &l) in kept.iter().enumerate() {
                kept.iter().enumerate().for_each(|(k, &m)| covariance[(l, m)] = inverse[(i, k)]);
            }
            return (covariance, (0..count).map(|l| kept.contains(&l)).collect());
        }
        let scale = part.diagonal().map(|entry| entry.abs().sqrt().max(1e-150));
        let scaled = DMatrix::from_fn(kept.len(), kept.len(), |i, k| part[(i, k)] / (scale[i] * scale[k]));
        let eigen = scaled.symmetric_eigen();
        kept.remove(eigen.eigenvectors.column(eigen.eigenvalues.imin()).iamax());
    }
}

/// A symmetric matrix made positive definite: eigenvalues by their size, none far below the largest.
pub(super) struct Definite {
    values: DVector<f64>,
    vectors: DMatrix<f64>,
    scale: DVector<f64>,
}

pub(super) fn definite(matrix: &DMatrix<f64>) -> Definite {
    let scale = DVector::from_fn(matrix.nrows(), |l, _| matrix[(l, l)].abs().sqrt().max(1e-150));
    let scaled = DMatrix::from_fn(matrix.nrows(), matrix.nrows(), |i, k| matrix[(i, k)] / (scale[i] * scale[k]));
    let eigen = scaled.symmetric_eigen();
    let vectors = DMatrix::from_fn(matrix.nrows(), matrix.nrows(), |i, k| eigen.eigenvectors[(i, k)] / scale[i]);
    Definite { values: eigen.eigenvalues.map(|value| value.abs().max(1e-3)), vectors, scale }
}

impl Definite {
    pub(super) fn matrix(&self) -> DMatrix<f64> {
        let count = self.values.len();
        let whole = DMatrix::from_fn(count, count, |i, k| self.vectors[(i, k)] * self.scale[i].powi(2));
        &whole * DMatrix::from_diagonal(&self.values) * whole.transpose()
    }

    pub(super) fn solve(&self, gradient: &DVector<f64>) -> DVector<f64> {
        let along = self.vectors.transpose() * gradient;
        &self.vectors * along.component_div(&self.values)
    }

    /// √ of entry `l` of the diagonal of the inverse.
    pub(super) fn std(&self, l: usize) -> f64 {
        (0..self.values.len()).map(|k| self.vectors[(l, k)].powi(2) / self.values[k]).sum::<f64>().sqrt()
    }
}

/// Powell's damped BFGS update of the curvature with the step s and the fall y of the gradient.
pub(super) fn update(curvature: &mut DMatrix<f64>, s: &DVector<f64>, y: &DVector<f64>) {
    let pressed = &*curvature * s;
    let (expected, seen) = (s.dot(&pressed), s.dot(y));
    if expected.is_nan() || expected <= 0.0 {
        return;
    }
    let share = if seen >= 0.2 * expected { 1.0 } else { 0.8 * expected / (expected - seen) };
    let y = y * share + &pressed * (1.0 - share);
    curvature.ger(1.0 / s.dot(&y), &y, &y, 1.0);
    curvature.ger(-1.0 / expected, &pressed, &pressed, 1.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The saddle's parameter is held, and the others get the inverse of what is left.
    #[test]
    fn identity_what_is_not_identified_is_named() {
        let curvature = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, -0.5]);
        let (covariance, identified) = invert(&curvature);
        assert_eq!(identified, [true, true, false]);
        assert!((covariance[(0, 0)] - 2.0 / 7.0).abs() < 1e-12 && covariance[(2, 2)] == 0.0, "{covariance}");
        assert_eq!(invert(&DMatrix::from_row_slice(1, 1, &[-1.0])).1, [false]);
    }
}
