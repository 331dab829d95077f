//! Integrate the exponential of a matrix, keeping the digits of slow modes beside fast ones.

use nalgebra::DMatrix;

/// e^{AΔ} and ∫₀^Δ e^{As} ds.
pub(super) struct Integral {
    /// e^{AΔ}.
    pub exponential: DMatrix<f64>,
    /// ∫₀^Δ e^{As} ds.
    pub sum: DMatrix<f64>,
}

/// Compute [`Integral`] for the matrix A and the length Δ ≥ 0, for A of any norm and normality.
///
/// Scaling and doubling: over Δ/2^s, where ‖AΔ‖/2^s ≤ ½, the series Σ (AΔ)^k/(k+1)! needs 15 terms. With
/// C = e^{AΔ} − 1 and F the integral, doubling the length maps C → C² + 2C and F → CF + 2F. Squaring e^{AΔ} itself would
/// double the relative error of a mode near 1 at each of the s steps; in this form each mode keeps its own digits, and a
/// large norm that comes from an off-diagonal entry does no harm. Only where all of e^{AΔ} has decayed (2^s ‖e^{AΔ}‖ < 1)
/// is the squared exponential the better one, because 1 + C cancels. Entries that overflow come out infinite or NaN.
pub(super) fn integrate(a: &DMatrix<f64>, dt: f64) -> Integral {
    let n = a.nrows();
    let length = norm(a) * dt;
    if !length.is_finite() {
        let lost = DMatrix::from_element(n, n, f64::NAN);
        return Integral { exponential: lost.clone(), sum: lost };
    }
    // A norm below the largest floating number needs at most 1025 halvings.
    let halvings = (2.0 * length).log2().ceil().max(0.0) as i32;
    let fraction = 0.5f64.powi(halvings);
    let x = a * dt * fraction;
    let identity = DMatrix::<f64>::identity(n, n);
    let mut sum = identity.clone();
    for k in (2..=15).rev() {
        sum = &x * sum / f64::from(k) + &identity;
    }
    let mut change = &x * &sum;
    let mut squared = &change + &identity;
    sum *= fraction;
    for _ in 0..halvings {
        sum = &change * &sum + sum * 2.0;
        change = &change * &change + change * 2.0;
        squared = &squared * &squared;
    }
    let decayed = norm(&squared) < fraction;
    Integral { exponential: if decayed { squared } else { change + identity }, sum: sum * dt }
}

/// Largest column sum of magnitudes.
pub(super) fn norm(a: &DMatrix<f64>) -> f64 {
    a.column_iter().map(|column| column.iter().map(|v| v.abs()).sum()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative error of a matrix in the largest-column-sum norm.
    fn error(got: &DMatrix<f64>, want: &DMatrix<f64>) -> f64 {
        norm(&(got - want)) / norm(want)
    }

    /// Independent values from mpmath at 200 digits: name, dimension, Δ, A, e^{AΔ}, ∫₀^Δ e^{As} ds, row by row.
    #[test]
    fn golden_exponentials() {
        type Row = (&'static str, usize, f64, &'static [f64], &'static [f64], &'static [f64]);
        let rows: &[Row] = &include!("integral_golden.in");
        for &(name, n, dt, a, exponential, sum) in rows {
            let matrix = |values| DMatrix::from_row_slice(n, n, values);
            let (a, exponential, sum) = (matrix(a), matrix(exponential), matrix(sum));
            let got = integrate(&a, dt);
            let errors = [error(&got.exponential, &exponential), error(&got.sum, &sum)];
            // Most agree to 3e-16; cond(exp) ≈ ‖AΔ‖ ≈ 100 to 200 of two of them leaves 2e-14. (nalgebra's `exp` has errors of
            // 1e-11 and 3e-11 on the two stiff ones.)
            assert!(errors.iter().all(|e| *e < 3e-14), "{name}: {errors:?}");
        }
    }

    #[test]
    fn identities_zero_and_overflow() {
        let zero = integrate(&DMatrix::zeros(2, 2), 3.0);
        assert_eq!(zero.exponential, DMatrix::identity(2, 2));
        assert_eq!(zero.sum, DMatrix::identity(2, 2) * 3.0);
        let still = integrate(&DMatrix::from_element(2, 2, 1e300), 0.0);
        assert_eq!((still.exponential, still.sum), (DMatrix::identity(2, 2), DMatrix::zeros(2, 2)));
        assert!(!integrate(&DMatrix::from_element(1, 1, 1e300), 1e10).sum[0].is_finite());
        assert!(!integrate(&DMatrix::from_element(1, 1, 1e10), 1e10).sum[0].is_finite());
        let gone = integrate(&DMatrix::from_element(1, 1, -1e290), 1e10);
        assert_eq!(gone.exponential[0], 0.0);
        assert!((gone.sum[0] * 1e290 - 1.0).abs() < 1e-14);
    }
}
