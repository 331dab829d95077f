//! Solve non-negative least squares from its normal equations.

use nalgebra::{DMatrix, DVector};

/// Added to the squared norm 1 of every column, so that nearly equal columns do not spoil the solution.
const RIDGE: f64 = 1e-10;
/// Exchanges of whole blocks in a row that may fail to reduce the number of wrong signs.
const PATIENCE: usize = 3;
/// Slope, relative to the largest, that counts as none.
const FLAT: f64 = 1e-9;

/// min |Aw − b|² over w ≥ 0 from AᵀA, whose diagonal is 1, and Aᵀb; none if columns are dependent to rounding.
///
/// Whole blocks of columns are exchanged (Kim and Park 2011), which takes few steps; where that goes in circles, columns enter
/// one by one (Lawson and Hanson 1974).
pub(super) fn nonnegative(gram: &DMatrix<f64>, right: &DVector<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    let tolerance = FLAT * right.amax();
    let mut positive = vec![true; n];
    let (mut fewest, mut patience) = (n + 1, PATIENCE);
    loop {
        let active: Vec<usize> = (0..n).filter(|&j| positive[j]).collect();
        let solution = restricted(gram, right, &active)?;
        let mut w = vec![0.0; n];
        active.iter().zip(&solution).for_each(|(&j, v)| w[j] = *v);
        let gradient = |j: usize| right[j] - active.iter().map(|&k| gram[(j, k)] * w[k]).sum::<f64>();
        let wrong: Vec<usize> =
            (0..n).filter(|&j| if positive[j] { w[j] < 0.0 } else { gradient(j) > tolerance }).collect();
        if wrong.is_empty() {
            return Some(w);
        }
        if wrong.len() < fewest {
            (fewest, patience) = (wrong.len(), PATIENCE);
        } else if patience > 0 {
            patience -= 1;
        } else {
            return one_by_one(gram, right);
        }
        wrong.iter().for_each(|&j| positive[j] = !positive[j]);
    }
}

/// Columns enter one by one, the steepest first, until none helps.
fn one_by_one(gram: &DMatrix<f64>, right: &DVector<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    let tolerance = FLAT * right.amax();
    let mut w = vec![0.0; n];
    let mut active: Vec<usize> = Vec::new();
    for _ in 0..3 * n {
        let gradient = |j: usize| right[j] - active.iter().map(|&k| gram[(j, k)] * w[k]).sum::<f64>();
        let best = (0..n)
            .filter(|j| !active.contains(j))
            .map(|j| (j, gradient(j)))
            .fold((usize::MAX, tolerance), |best, next| if next.1 > best.1 { next } else { best });
        if best.0 == usize::MAX {
            break;
        }
        active.push(best.0);
        loop {
            let solution = restricted(gram, right, &active)?;
            if solution.iter().all(|v| *v > 0.0) {
                active.iter().zip(&solution).for_each(|(&j, v)| w[j] = *v);
                break;
            }
            // Go towards the solution until the first weight vanishes.
            let shares = active.iter().zip(&solution).filter(|(_, v)| **v <= 0.0).map(|(&j, v)| w[j] / (w[j] - v));
            let share = shares.fold(1.0, f64::min);
            for (&j, v) in active.iter().zip(&solution) {
                w[j] += share * (v - w[j]);
                if *v <= 0.0 && w[j] <= 1e-15 {
                    w[j] = 0.0;
                }
            }
            active.retain(|&j| w[j] > 0.0);
            if active.is_empty() {
                return None;
            }
        }
    }
    Some(w)
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
        for w in [nonnegative(&gram, &right).unwrap(), one_by_one(&gram, &right).unwrap()] {
            let gradient = &right - &gram * DVector::from_vec(w.clone());
            for (w, slope) in w.iter().zip(gradient.iter()) {
                assert!(*w >= 0.0 && *slope < 1e-8 && (w * slope).abs() < 1e-8, "{w} {slope}");
            }
            assert!(w.contains(&0.0) && w.iter().any(|w| *w > 0.1));
        }
    }
}
