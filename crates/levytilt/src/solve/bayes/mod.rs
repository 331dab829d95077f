//! Draw from the posterior of a one-dimensional model's parameters: heavy-tailed laws that are fitted to it in stages, weighted
//! by the exact evidence times the prior.
//!
//! The first law is a t law around the maximum whose width on either side of each principal axis is that of the posterior there
//! (Geweke 1989). Each later one is a t law with the weighted mean and covariance of all draws so far, and every draw is
//! weighted by the mixture of all laws (adaptive multiple importance sampling, Cornuet, Marin, Mira and Robert 2012). k̂ says
//! whether the weights have a variance.

mod law;
mod stages;
mod target;

use super::parameters::Parameter;
use crate::exact::follow::Follower;
use crate::posterior::{normalise, pareto_k};
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace};
use stages::Drawn;
use target::{Point, Target};

/// Share of the draws that may have no evidence because the model cannot be computed there.
const MOST_REFUSED: f64 = 0.1;

/// Weighted draws of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterPosterior {
    /// Names of the parameters that were learned.
    pub names: Vec<String>,
    /// Draws of their values: one row per draw.
    pub draws: Vec<Vec<f64>>,
    /// Weights of the draws, with sum 1.
    pub weights: Vec<f64>,
    /// Exact log evidence of the draws; −∞ where the model cannot be computed, and the weight is 0.
    pub log_evidences: Vec<f64>,
    /// Draws that equal weights would be worth.
    pub effective_sample_size: f64,
    /// Shape k̂ of the largest weights; above 0.7 they cannot be trusted.
    pub k_hat: f64,
    /// Log of the marginal likelihood: the evidence averaged over the prior. Improper priors leave it undefined: NaN.
    pub log_marginal: f64,
}

impl ParameterPosterior {
    /// Draw `count` values of the parameters that are not fixed.
    ///
    /// `parameters` are those of `model` at the maximum, with their priors; `covariance` is that of the free ones on their
    /// free scales, row after row. Draw k has the stream (`seed`, k), so the result is the same for any number of threads.
    ///
    /// # Errors
    /// Several dimensions; no free parameter; a covariance of another size or not positive definite; a model that cannot be
    /// computed at more than a tenth of the draws.
    pub fn new(
        model: &StateSpace,
        parameters: &[Parameter],
        covariance: &[f64],
        (grid, values): (&TimeGrid, &[f64]),
        (count, seed): (usize, u64),
    ) -> Result<Self> {
        let target = Target::new(model, parameters, Follower::new(model, grid, values)?);
        let drawn = Drawn::new(&target, target.first_law(covariance)?, (count, seed));
        let logs = drawn.log_weights();
        let refused = logs.iter().filter(|l| !l.is_finite()).count();
        if refused as f64 > MOST_REFUSED * count as f64 || count < 2 {
            return Err(Error::Numerical {
                what: "posterior of the parameters",
                why: format!("the log evidence could not be computed at {refused} of {count} draws"),
            });
        }
        let (log_total, weights) = normalise(&logs);
        let proper = target.free.iter().all(|&i| parameters[i].prior.is_some());
        let values = |point: &Point| {
            let all = target.values(&point.free);
            target.free.iter().map(|&i| all[i]).collect()
        };
        Ok(Self {
            names: target.free.iter().map(|&i| parameters[i].name.clone()).collect(),
            draws: drawn.points.iter().map(values).collect(),
            log_evidences: drawn.points.iter().map(|point| point.log_evidence).collect(),
            effective_sample_size: 1.0 / weights.iter().map(|w| w * w).sum::<f64>(),
            k_hat: pareto_k(&logs),
            log_marginal: if proper { log_total - (count as f64).ln() } else { f64::NAN },
            weights,
        })
    }

    /// Posterior mean and standard deviation of parameter number `i`.
    pub fn moments(&self, i: usize) -> (f64, f64) {
        let mean: f64 = self.draws.iter().zip(&self.weights).map(|(draw, w)| w * draw[i]).sum();
        let variance: f64 = self.draws.iter().zip(&self.weights).map(|(draw, w)| w * (draw[i] - mean).powi(2)).sum();
        (mean, variance.sqrt())
    }

    /// Posterior quantiles of parameter number `i` at `levels`, each in (0, 1).
    pub fn quantiles(&self, i: usize, levels: &[f64]) -> Vec<f64> {
        let points = self.draws.iter().zip(&self.weights).map(|(draw, &w)| (draw[i], w)).collect();
        crate::posterior::weighted_marginal(points, levels).quantiles
    }
}
