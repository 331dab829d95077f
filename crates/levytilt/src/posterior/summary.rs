//! Summarise weighted paths time by time.

use super::walk::Paths;

/// Weighted marginal of one dimension at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Marginal {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Quantiles at the levels asked for.
    pub quantiles: Vec<f64>,
    /// Probability that the step that ends here was a jump: its variance in the upper 1% of the prior.
    pub jump_probability: f64,
}

/// Marginals of dimension `i` at every time, for normalised path weights.
pub fn marginals(paths: &Paths, i: usize, weights: &[f64], levels: &[f64]) -> Vec<Marginal> {
    use rayon::prelude::*;
    (0..paths.times()).into_par_iter().map(|j| marginal(paths, i, j, weights, levels)).collect()
}

/// The same at time `j`.
pub(crate) fn marginal(paths: &Paths, i: usize, j: usize, weights: &[f64], levels: &[f64]) -> Marginal {
    let points = paths.column(i, j).zip(weights.iter().copied()).collect();
    Marginal { jump_probability: jump_probability(paths, i, j, weights), ..weighted_marginal(points, levels) }
}

/// Probability that the step of dimension `i` that ends at time `j` was a jump.
pub(crate) fn jump_probability(paths: &Paths, i: usize, j: usize, weights: &[f64]) -> f64 {
    let probability = paths.jumps(i, j).zip(weights).filter(|(jump, _)| *jump).map(|(_, w)| w).sum::<f64>();
    // A sum of weights may exceed 1 by rounding.
    probability.min(1.0)
}

/// Marginal of points (value, weight) with weights that sum to 1; nothing is known about jumps.
pub(crate) fn weighted_marginal(mut points: Vec<(f64, f64)>, levels: &[f64]) -> Marginal {
    let mean: f64 = points.iter().map(|(x, w)| w * x).sum();
    let variance: f64 = points.iter().map(|(x, w)| w * (x - mean).powi(2)).sum();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Marginal { mean, sd: variance.sqrt(), quantiles: quantiles(&points, levels), jump_probability: 0.0 }
}

/// Quantiles of sorted weighted points, linear between the middles of their weights.
fn quantiles(points: &[(f64, f64)], levels: &[f64]) -> Vec<f64> {
    let mut before = 0.0;
    let middles: Vec<f64> = points
        .iter()
        .map(|(_, w)| {
            before += w;
            before - 0.5 * w
        })
        .collect();
    levels
        .iter()
        .map(|&level| {
            let right = middles.partition_point(|&m| m < level);
            if right == 0 || right == points.len() {
                return points[right.min(points.len() - 1)].0;
            }
            let (low, high) = (middles[right - 1], middles[right]);
            let share = if high > low { (level - low) / (high - low) } else { 0.0 };
            points[right - 1].0 + share * (points[right].0 - points[right - 1].0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_quantiles_of_even_points() {
        let points: Vec<(f64, f64)> = (0..5).map(|i| (f64::from(i), 0.2)).collect();
        let got = quantiles(&points, &[0.0, 0.1, 0.5, 0.6, 1.0]);
        assert!(got.iter().zip([0.0, 0.0, 2.0, 2.5, 4.0]).all(|(got, want)| (got - want).abs() < 1e-12), "{got:?}");
    }
}
