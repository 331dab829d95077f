//! Score single quantiles and central intervals.

use super::sample::Sample;
use super::{finite_score, finite_truth, level};
use crate::{Error, Result};

/// Quantile (pinball) score of `quantile` at `level`: (1{y < q} − level)(q − y), not negative, smaller is better.
///
/// Twice its integral over all levels is the CRPS.
pub fn pinball(quantile: f64, level: f64, truth: f64) -> Result<f64> {
    let quantile = crate::error::finite("quantile", quantile)?;
    let level = self::level("level", level)?;
    let share = if finite_truth(truth)? < quantile { 1.0 - level } else { -level };
    finite_score("quantile score", share * (quantile - truth))
}

/// Interval score of a central interval with probability `coverage`: its width, plus 2/(1 − coverage) times the distance
/// of a truth outside (Gneiting and Raftery 2007). It is 2/(1 − coverage) times the sum of the two pinball scores.
pub fn interval_score(lower: f64, upper: f64, coverage: f64, truth: f64) -> Result<f64> {
    let (lower, upper) = (crate::error::finite("lower end", lower)?, crate::error::finite("upper end", upper)?);
    if lower > upper {
        let problem = format!("lower end {lower} is above upper end {upper}");
        return Err(Error::Series { place: "interval".into(), problem });
    }
    let coverage = level("coverage", coverage)?;
    let outside = (lower - finite_truth(truth)?).max(truth - upper).max(0.0);
    finite_score("interval score", (upper - lower) + 2.0 / (1.0 - coverage) * outside)
}

impl Sample {
    /// Quantile at 0 < `level` < 1: linear between the draws, of which the k-th stands at level (k − ½)/M (Hazen), and
    /// the outermost draw beyond.
    pub fn quantile(&self, level: f64) -> Result<f64> {
        let level = self::level("level", level)?;
        let (sorted, last) = (self.sorted(), self.len() - 1);
        let place = (level * self.len() as f64 - 0.5).clamp(0.0, last as f64);
        let left = place.floor() as usize;
        let share = place - left as f64;
        let (low, high) = (sorted[left], sorted[(left + 1).min(last)]);
        // Written as two shares, because the difference of huge draws of both signs overflows; between draws that are all but
        // the same rounding leads beyond them.
        Ok((low * (1.0 - share) + high * share).clamp(low, high))
    }

    /// The central interval with probability 0 < `coverage` < 1.
    pub fn interval(&self, coverage: f64) -> Result<(f64, f64)> {
        let half = 0.5 * level("coverage", coverage)?;
        Ok((self.quantile(0.5 - half)?, self.quantile(0.5 + half)?))
    }

    /// [`pinball`] of this sample's quantile.
    pub fn pinball(&self, level: f64, truth: f64) -> Result<f64> {
        pinball(self.quantile(level)?, level, truth)
    }

    /// [`interval_score`] of this sample's central interval.
    pub fn interval_score(&self, coverage: f64, truth: f64) -> Result<f64> {
        let (lower, upper) = self.interval(coverage)?;
        interval_score(lower, upper, coverage, truth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_quantiles_stand_in_the_middle_of_their_share() {
        let sample = Sample::new(&[3.0, 0.0, 1.0, 2.0, 4.0]).unwrap();
        for (level, want) in [(0.05, 0.0), (0.1, 0.0), (0.5, 2.0), (0.6, 2.5), (0.97, 4.0)] {
            assert!((sample.quantile(level).unwrap() - want).abs() < 1e-12, "{level}");
        }
        assert!(Sample::new(&[1.7e308, -1.7e308]).unwrap().quantile(0.5).unwrap().abs() < 1e300);
        for level in (1..100).map(|k| f64::from(k) / 100.0) {
            assert_eq!(Sample::new(&[-818.2; 4]).unwrap().quantile(level).unwrap(), -818.2, "{level}");
        }
    }

    #[test]
    fn identity_interval_score_is_two_pinballs() {
        for truth in [-2.0, 0.3, 5.0] {
            let both = pinball(-1.0, 0.05, truth).unwrap() + pinball(2.0, 0.95, truth).unwrap();
            let whole = interval_score(-1.0, 2.0, 0.9, truth).unwrap();
            assert!((whole - 20.0 * both).abs() < 1e-12, "{truth}: {whole} {both}");
        }
    }

    #[test]
    fn golden_agreement_with_scoringrules() {
        // scoringrules 0.10.0: quantile_score(1.3, 0.4, 0.25), quantile_score(-0.2, 0.4, 0.25),
        // interval_score(obs, -0.7, 1.1, alpha = 0.2) at 0.5, 2 and -3.
        assert!((pinball(0.4, 0.25, 1.3).unwrap() - 0.225).abs() < 1e-15);
        assert!((pinball(0.4, 0.25, -0.2).unwrap() - 0.45).abs() < 1e-15);
        for (truth, want) in [(0.5, 1.8), (2.0, 10.8), (-3.0, 24.8)] {
            assert!((interval_score(-0.7, 1.1, 0.8, truth).unwrap() - want).abs() < 1e-12);
        }
    }

    #[test]
    fn bad_levels_and_ends_are_errors() {
        let sample = Sample::new(&[0.0, 1.0]).unwrap();
        for level in [0.0, 1.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(sample.quantile(level).is_err() && sample.interval(level).is_err(), "{level}");
            assert!(pinball(0.0, level, 0.0).is_err() && interval_score(0.0, 1.0, level, 0.0).is_err(), "{level}");
        }
        assert!(pinball(0.0, 0.5, f64::NAN).is_err() && pinball(f64::NAN, 0.5, 0.0).is_err());
        assert!(interval_score(0.0, 1.0, 0.5, f64::NAN).is_err());
        assert!(interval_score(1.0, 0.0, 0.5, 0.0).unwrap_err().to_string().contains("lower end 1"));
    }
}
