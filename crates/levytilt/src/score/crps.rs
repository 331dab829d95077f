//! Compute the continuous ranked probability score of a sample, whole or restricted to a tail.

use super::sample::Sample;
use super::{finite_score, finite_truth};
use crate::{Error, Result};

/// How the expected distance between two independent draws is estimated from M of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Mean over the M(M−1) pairs of different draws: its expectation is the score of the distribution behind the
    /// draws, for any M ≥ 2. A single score may be negative.
    #[default]
    Fair,
    /// Mean over all M² pairs, each draw with itself included: the score of the empirical distribution, never negative,
    /// larger than the fair one by half the mean absolute difference over M.
    VStatistic,
}

/// The tail that a threshold-weighted score covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tail {
    /// Above the threshold; −∞ is the whole line.
    Above(f64),
    /// Below the threshold; +∞ is the whole line.
    Below(f64),
}

impl Tail {
    /// Check the threshold: NaN, and the infinity that leaves nothing to score, are errors.
    fn check(self) -> Result<Self> {
        let empty = match self {
            Tail::Above(threshold) => threshold.is_nan() || threshold == f64::INFINITY,
            Tail::Below(threshold) => threshold.is_nan() || threshold == f64::NEG_INFINITY,
        };
        let (Tail::Above(value) | Tail::Below(value)) = self;
        let expected = "the threshold leaves nothing to score";
        if empty { Err(Error::Parameter { name: "threshold".into(), value, expected }) } else { Ok(self) }
    }

    /// Everything outside the tail is moved to its edge.
    fn chain(self, x: f64) -> f64 {
        match self {
            Tail::Above(threshold) => x.max(threshold),
            Tail::Below(threshold) => x.min(threshold),
        }
    }
}

impl Sample {
    /// Continuous ranked probability score ∫ (F(z) − 1{z ≥ y})² dz = E|X − y| − ½ E|X − X'|, in the unit of the draws;
    /// smaller is better. O(M) after the sort.
    ///
    /// # Errors
    /// A truth that is not finite; [`Estimator::Fair`] with a single draw; sums that overflow.
    pub fn crps(&self, truth: f64, estimator: Estimator) -> Result<f64> {
        self.chained(truth, estimator, |x| x)
    }

    /// Threshold-weighted CRPS ∫_tail (F(z) − 1{z ≥ y})² dz (Gneiting and Ranjan 2011): proper, and independent of
    /// everything outside the tail. It is the CRPS after moving draws and truth outside the tail to its edge (Allen,
    /// Ginsbourger and Ziegel 2023). Scores of disjoint tails add up: above t plus below t is the CRPS.
    pub fn tail_crps(&self, truth: f64, tail: Tail, estimator: Estimator) -> Result<f64> {
        let tail = tail.check()?;
        self.chained(truth, estimator, |x| tail.chain(x))
    }

    /// CRPS after a non-decreasing map, which leaves the draws sorted.
    fn chained(&self, truth: f64, estimator: Estimator, map: impl Fn(f64) -> f64) -> Result<f64> {
        let truth = map(finite_truth(truth)?);
        let count = self.len() as f64;
        let pairs = match estimator {
            Estimator::VStatistic => count * count,
            Estimator::Fair if self.len() < 2 => {
                let (got, expected) = ("1 draw".to_string(), "at least 2 for the fair CRPS".to_string());
                return Err(Error::Shape { what: "forecast sample", got, expected });
            }
            Estimator::Fair => count * (count - 1.0),
        };
        let distance: f64 = self.sorted().iter().map(|x| (map(*x) - truth).abs() / count).sum();
        // ½ Σ |x_i − x_j| by gaps: the gap after i draws lies between i(M − i) pairs. All terms are positive, so
        // nothing cancels, wherever the sample lies.
        let spread: f64 = (1..self.len())
            .map(|i| (map(self.sorted()[i]) - map(self.sorted()[i - 1])) * (i as f64 * (count - i as f64) / pairs))
            .sum();
        finite_score("CRPS", distance - spread)
    }
}

/// CRPS of `points` that carry `weights`, such as posterior paths with importance weights; the V-statistic.
///
/// The weights are part of the forecast, as for a weighted posterior; they are not meant for downweighting large draws.
///
/// # Errors
/// As [`Sample::crps`]; weights that are negative, not finite, sum to 0, or are not as many as points.
pub fn weighted_crps(points: &[f64], weights: &[f64], truth: f64) -> Result<f64> {
    let truth = finite_truth(truth)?;
    Sample::new(points)?;
    if weights.len() != points.len() {
        let (got, expected) = (weights.len().to_string(), format!("{} (one per point)", points.len()));
        return Err(Error::Shape { what: "weights", got, expected });
    }
    weights.iter().try_for_each(|w| crate::error::non_negative("weight", *w).map(drop))?;
    let total = crate::error::positive("sum of the weights", weights.iter().sum())?;
    let mut pairs: Vec<(f64, f64)> = points.iter().zip(weights).map(|(x, w)| (*x, w / total)).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let distance: f64 = pairs.iter().map(|(x, w)| w * (x - truth).abs()).sum();
    let mut below = 0.0;
    let mut spread = 0.0;
    for pair in pairs.windows(2) {
        below += pair[0].1;
        spread += (pair[1].0 - pair[0].0) * below * (1.0 - below);
    }
    finite_score("CRPS", distance - spread)
}

#[cfg(test)]
#[path = "crps_tests.rs"]
mod tests;
