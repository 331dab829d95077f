//! Solve non-negative least squares from its normal equations, by block principal pivoting.

use nalgebra::{DMatrix, DVector};

/// Added to the squared norm 1 of every column, so that nearly equal columns do not spoil the solution.
const RIDGE: f64 = 1e-10;
/// Exchanges of whole blocks that may fail to reduce the number of wrong signs before single ones are exchanged.
const PATIENCE: usize = 3;
/// Most exchanges.
const EXCHANGES: usize = 2000;

/// min |Aw − b|² over w ≥ 0 from AᵀA, whose diagonal is 1, and Aᵀb (Kim and Park 2011); none if it does not converge.
pub(super) fn nonnegative(gram: &DMatrix<f64>, right: &DVector<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    let tolerance = 1e-9 * right.amax();
    let mut positive = vec![true; n];
    let (mut fewest, mut patience) = (n + 1, PATIENCE);
    for _ in 0..EXCHANGES {
        let active: Vec<usize> = (0..n).filter(|&j| positive[j]).collect();
        let solution = restricted(gram, right, &active)?;
        let mut w = vec![0.0; n];
        active.iter().zip(&solution).for_each(|(&j, v)| w[j] = *v);
        let gradient = |j: usize| right[j] - active.iter().map(|&k| gram[(j, k)] * w[k]).sum::<f64>();
        let wrong: Vec<usize> =
            (0..n).filter(|&j| if positive[j] { w[j] < 0.0 } else { gradient(j) > tolerance }).collect();
        let Some(last) = wrong.last() else { return Some(w) };
        if wrong.len() < fewest {
            (fewest, patience) = (wrong.len(), PATIENCE);
        } else if patience > 0 {
            patience -= 1;
        } else {
            // One at a time, always the last, cannot go in circles (Murty 1974).
            positive[*last] = !positive[*last];
            continue;
        }
        wrong.iter().for_each(|&j| positive[j] = !positive[j]);
    }
    None
}

/// Least squares on some of the columns; none if they are linearly dependent to rounding.
pub(super) fn restricted(gram: &DMatrix<f64>, right: &DVector<f64>, active: &[usize]) -> Option<Vec<f64>> {
    let size = active.len();
    let part = DMatrix::from_fn(size, size, |i, j| gram[(active[i], active[j])] + if i == j { RIDGE } else { 0.0 });
    let solution = part.cholesky()?.solve(&DVector::from_fn(size, |i, _| right[active[i]]));
    Some(solution.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_solutions_meet_the_conditions_of_a_minimum() {
        let matrix = DMatrix::from_fn(30, 12, |i, j| (-0.5 * (f64::from(i as i32) / 2.0 - j as f64).powi(2)).exp());
        let norms: Vec<f64> = matrix.column_iter().map(|c| c.norm()).collect();
        let matrix = DMatrix::from_fn(30, 12, |i, j| matrix[(i, j)] / norms[j]);
        let target = DVector::from_fn(30, |i, _| (0.7 * i as f64).sin());
        let (gram, right) = (matrix.tr_mul(&matrix), matrix.tr_mul(&target));
        let w = nonnegative(&gram, &right).unwrap();
        let gradient = &right - &gram * DVector::from_vec(w.clone());
        for (w, slope) in w.iter().zip(gradient.iter()) {
            assert!(*w >= 0.0 && *slope < 1e-8 && (w * slope).abs() < 1e-8, "{w} {slope}");
        }
        assert!(w.iter().any(|w| *w == 0.0) && w.iter().any(|w| *w > 0.1));
    }
}
