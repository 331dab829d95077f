//! Compute the posterior of one increment beyond the drift.

use super::summary::weighted_marginal;
use super::walk::Paths;
use crate::Chain;

/// The posterior of one increment J_j = x_j − flow(x_{j−1}).
#[derive(Debug, Clone, PartialEq)]
pub struct JumpLaw {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Quantiles at the levels asked for.
    pub quantiles: Vec<f64>,
    /// Probability that the step was a jump: its variance in the upper 1% of the prior.
    pub probability: f64,
    /// Quantiles at the same levels given that it was a jump; none if no path with a weight jumped.
    pub quantiles_given_jump: Option<Vec<f64>>,
}

/// The law of the increment of dimension `i` that ends at time `j`, for paths of `chain` with normalised `weights`.
///
/// For `j` = 0 the increment is the distance from the start's mean, which is never a jump.
pub fn jump_law(paths: &Paths, chain: &Chain, i: usize, j: usize, weights: &[f64], levels: &[f64]) -> JumpLaw {
    let increments = increments(paths, chain, i, j);
    let points: Vec<(f64, f64)> = increments.into_iter().zip(weights.iter().copied()).collect();
    let mut jumped: Vec<(f64, f64)> =
        points.iter().copied().zip(paths.jumps(i, j)).filter(|(_, jump)| *jump).map(|(point, _)| point).collect();
    let probability: f64 = jumped.iter().map(|(_, w)| w).sum();
    jumped.iter_mut().for_each(|(_, w)| *w /= probability);
    let all = weighted_marginal(points, levels);
    JumpLaw {
        mean: all.mean,
        sd: all.sd,
        quantiles: all.quantiles,
        // A sum of weights may exceed 1 by rounding.
        probability: probability.min(1.0),
        quantiles_given_jump: (probability > 0.0).then(|| weighted_marginal(jumped, levels).quantiles),
    }
}

/// x_j − flow(x_{j−1}) of dimension `i`, path by path.
pub(super) fn increments(paths: &Paths, chain: &Chain, i: usize, j: usize) -> Vec<f64> {
    // The start ignores the states that it is given.
    let before: Vec<f64> = paths.states(j.saturating_sub(1)).flatten().copied().collect();
    let mut ahead = vec![0.0; before.len()];
    chain.flow_many(j, &before, &mut ahead);
    paths.column(i, j).zip(ahead.iter().skip(i).step_by(paths.dim())).map(|(x, moved)| x - moved).collect()
}
