//! Hold the draws of a univariate forecast, checked and sorted once so that every score is cheap.

use super::all_finite;
use crate::{Error, Result};

/// Draws of a univariate forecast, in increasing order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// Check and sort the draws, O(M log M). No draws, or one that is not finite, is an error.
    pub fn new(draws: &[f64]) -> Result<Self> {
        if draws.is_empty() {
            return Err(Error::Shape {
                what: "forecast sample",
                got: "no draws".into(),
                expected: "at least 1".into(),
            });
        }
        all_finite("draw", draws)?;
        let mut sorted = draws.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Ok(Self { sorted })
    }

    /// The draws in increasing order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Number M of draws, at least 1.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Never true: there is at least one draw.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Mean of the draws. It exists for a finite sample even where the distribution has no mean.
    pub fn mean(&self) -> f64 {
        // Divide each term first, so that a sum of huge draws of both signs does not overflow.
        let count = self.len() as f64;
        self.sorted.iter().map(|x| x / count).sum()
    }

    /// Median of the draws.
    pub fn median(&self) -> f64 {
        let half = self.len() / 2;
        let upper = self.sorted[half];
        if self.len() % 2 == 1 { upper } else { 0.5 * self.sorted[half - 1] + 0.5 * upper }
    }

    /// (mean − truth)²: averaged over targets it is the mean squared error (MSE).
    pub fn squared_error(&self, truth: f64) -> Result<f64> {
        super::finite_score("squared error", (self.mean() - super::finite_truth(truth)?).powi(2))
    }

    /// |median − truth|: averaged over targets it is the mean absolute error (MAE). The median is the number that makes
    /// it smallest in expectation.
    pub fn absolute_error(&self, truth: f64) -> Result<f64> {
        super::finite_score("absolute error", (self.median() - super::finite_truth(truth)?).abs())
    }

    /// Number of draws below `truth` and number equal to it.
    pub(super) fn rank(&self, truth: f64) -> (usize, usize) {
        let below = self.sorted.partition_point(|x| *x < truth);
        (below, self.sorted[below..].partition_point(|x| *x == truth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_mean_median_and_errors_by_hand() {
        let even = Sample::new(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((even.mean(), even.median()), (2.5, 2.5));
        let odd = Sample::new(&[10.0, 1.0, 4.0]).unwrap();
        assert_eq!((odd.mean(), odd.median()), (5.0, 4.0));
        assert_eq!((odd.squared_error(3.0).unwrap(), odd.absolute_error(3.0).unwrap()), (4.0, 1.0));
        assert_eq!(Sample::new(&[1.0, 2.0, 2.0, 3.0]).unwrap().rank(2.0), (1, 2));
        let huge = Sample::new(&[1.7e308, 1.7e308, -1.7e308]).unwrap();
        assert!(huge.mean().is_finite() && huge.squared_error(0.0).is_err());
    }

    #[test]
    fn unusable_draws_are_named() {
        assert!(Sample::new(&[]).unwrap_err().to_string().contains("no draws"));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let message = Sample::new(&[0.0, bad]).unwrap_err().to_string();
            assert!(message.contains("draw 2") && message.contains("not a finite number"), "{message}");
            assert!(Sample::new(&[0.0]).unwrap().squared_error(bad).unwrap_err().to_string().contains("truth"));
            assert!(Sample::new(&[0.0]).unwrap().absolute_error(bad).is_err());
        }
    }
}
