//! Whether normal scores are standard normal: their mean, their spread, and the largest distance of their ranks from
//! uniform ones.

use spec_math::NormDist;

/// What the scores of one quantity show.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    pub count: usize,
    /// Mean, in its own standard errors.
    pub bias: f64,
    /// Root mean square of the scores: above one if posteriors are too narrow.
    pub spread: f64,
    /// Distance of the mean square from one, in its own standard errors.
    pub spread_error: f64,
    /// Largest distance of the distribution of the ranks from the uniform one, as a share of the 99% band.
    pub distance: f64,
}

/// Half the width of the band that holds the distribution of `count` uniform ranks with probability 99% (Kolmogorov).
pub fn band(count: usize) -> f64 {
    1.628 / (count as f64).sqrt()
}

impl Verdict {
    pub fn new(scores: &[f64]) -> Self {
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        let square = scores.iter().map(|z| z * z).sum::<f64>() / n;
        let apart = differences(scores).iter().fold(0.0, |most: f64, (_, d)| most.max(d.abs()));
        Self {
            count: scores.len(),
            bias: mean * n.sqrt(),
            spread: square.sqrt(),
            spread_error: (square - 1.0) / (2.0 / n).sqrt(),
            distance: apart / band(scores.len()),
        }
    }
}

/// Distribution of the ranks minus the uniform one, at every rank.
pub fn differences(scores: &[f64]) -> Vec<(f64, f64)> {
    let mut ranks: Vec<f64> = scores.iter().map(|z| z.norm_cdf()).collect();
    ranks.sort_by(f64::total_cmp);
    let n = ranks.len() as f64;
    ranks.iter().enumerate().map(|(k, u)| (*u, (k as f64 + 0.5) / n - u)).collect()
}
