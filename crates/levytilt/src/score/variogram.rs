//! Compute what depends on several columns together: the variogram score, and the sum of equal shares.

use super::{Cloud, all_finite, finite_score};
use crate::{Error, Result};

/// The usual exponent of the variogram score: expectations exist for all but the heaviest tails.
pub const VARIOGRAM_ORDER: f64 = 0.5;

impl Cloud {
    /// Variogram score Σ_i Σ_k (|y_i − y_k|^p − E|X_i − X_k|^p)² of order p > 0, over all pairs of coordinates, each counted
    /// in both orders; 0 in one dimension. The expectation is the mean over the draws. O(M·dim²).
    ///
    /// Unlike the energy score it moves when one coordinate is shifted: give moves, or coordinates of a common level.
    ///
    /// # Errors
    /// A truth of another dimension or not finite; an order that is not positive; sums that overflow.
    pub fn variogram_score(&self, truth: &[f64], order: f64) -> Result<f64> {
        crate::error::positive("order of the variogram score", order)?;
        let dim = self.dim();
        if truth.len() != dim {
            let (got, expected) = (truth.len().to_string(), dim.to_string());
            return Err(Error::Shape { what: "truth of the variogram score", got, expected });
        }
        all_finite("truth", truth)?;
        let power = |distance: f64| if order == 0.5 { distance.sqrt() } else { distance.powf(order) };
        let mut sum = 0.0;
        for i in 0..dim {
            for k in i + 1..dim {
                let total: f64 = self.points().map(|x| power((x[i] - x[k]).abs())).sum();
                sum += 2.0 * (power((truth[i] - truth[k]).abs()) - total / self.len() as f64).powi(2);
            }
        }
        finite_score("variogram score", sum)
    }

    /// The mean of the coordinates of every point: what a portfolio of equal shares would be.
    pub fn equal_shares(&self) -> Vec<f64> {
        self.points().map(|x| x.iter().sum::<f64>() / x.len() as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula word by word, with means over draws taken first.
    #[test]
    fn identity_variogram_score_is_the_direct_formula() {
        let points: Vec<f64> = (0..60).map(|k| f64::from(k * k % 17) - 0.3 * f64::from(k)).collect();
        let (dim, truth) = (4, [0.5f64, -2.0, 3.0, 3.0]);
        let cloud = Cloud::new(points.clone(), dim).unwrap();
        for order in [0.5, 1.0, 1.7] {
            let mut want = 0.0;
            for i in 0..dim {
                for k in 0..dim {
                    let mean =
                        (0..15).map(|m| (points[m * dim + i] - points[m * dim + k]).abs().powf(order)).sum::<f64>();
                    want += ((truth[i] - truth[k]).abs().powf(order) - mean / 15.0).powi(2);
                }
            }
            let got = cloud.variogram_score(&truth, order).unwrap();
            assert!((got - want).abs() < 1e-12 * want, "{order}: {got} {want}");
        }
    }

    #[test]
    fn golden_agreement_with_a_sum_by_hand() {
        // Draws (0, 4) and (0, 0), truth (1, 2), order 1/2: E|X₁ − X₂|^½ = 1, |1 − 2|^½ = 1; truth (0, 9): (3 − 1)², twice.
        let cloud = Cloud::new(vec![0.0, 4.0, 0.0, 0.0], 2).unwrap();
        assert_eq!(cloud.variogram_score(&[1.0, 2.0], VARIOGRAM_ORDER).unwrap(), 0.0);
        assert_eq!(cloud.variogram_score(&[0.0, 9.0], VARIOGRAM_ORDER).unwrap(), 8.0);
        assert_eq!(cloud.equal_shares(), [2.0, 0.0]);
    }

    #[test]
    fn identity_wrong_questions_are_errors() {
        let cloud = Cloud::new(vec![0.0, 4.0], 2).unwrap();
        assert!(cloud.variogram_score(&[1.0], 0.5).is_err() && cloud.variogram_score(&[1.0, 2.0], 0.0).is_err());
        assert!(cloud.variogram_score(&[f64::NAN, 2.0], 0.5).is_err());
    }
}
