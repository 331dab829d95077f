//! Draw from the posterior of a model's parameters: heavy-tailed laws that are fitted to it in stages, weighted by the evidence
//! times the prior.
//!
//! The first law is a t law around the maximum whose width on either side of each principal axis is that of the posterior there
//! (Geweke 1989). Each later one is a mixture of t laws fitted to the weighted draws so far (Cappé, Douc, Guillin, Marin and
//! Robert 2008), with a part that looks farther, and every draw is weighted by all laws together (adaptive multiple importance
//! sampling, Cornuet, Marin, Mira and Robert 2012). Stages are added until the weights can be trusted; k̂ says whether they have
//! a variance. Evidence may be an unbiased estimate: weights then vary more, but are still right on average.

mod law;
mod mixture;
mod stages;
mod target;

use super::parameters::Parameter;
use crate::posterior::{normalise, pareto_k, systematic};
use crate::{Error, Result, StateSpace, stream};
use rand::RngExt;
use rand::seq::SliceRandom;
use stages::Drawn;
pub use target::EvidenceOf;
use target::{Point, Target};

/// Share of the draws of the last stage that may have no evidence because the model cannot be computed there, or only at too
/// great a cost.
const MOST_REFUSED: f64 = 0.1;

/// Weighted draws of parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterPosterior {
    /// Names of the parameters that were learned.
    pub names: Vec<String>,
    /// Draws of their values: one row per draw; more than were asked for where these did not suffice.
    pub draws: Vec<Vec<f64>>,
    /// Weights of the draws, with sum 1.
    pub weights: Vec<f64>,
    /// Log evidence of the draws; −∞ where the model cannot be computed, and the weight is 0.
    pub log_evidences: Vec<f64>,
    /// Draws that equal weights would be worth.
    pub effective_sample_size: f64,
    /// Shape k̂ of the largest weights; above 0.7 they cannot be trusted.
    pub k_hat: f64,
    /// Log of the marginal likelihood: the evidence averaged over the prior. Improper priors leave it undefined: NaN.
    pub log_marginal: f64,
}

impl ParameterPosterior {
    /// Draw `count` values of the parameters that are not fixed, and up to five times as many more where they do not suffice.
    ///
    /// `parameters` are those of `model` at the maximum, with their priors; `covariance` is that of the free ones on their
    /// free scales, row after row. Draw k has the stream (`seed`, k), so the result is the same for any number of threads.
    ///
    /// # Errors
    /// No free parameter; a covariance of another size or not positive definite; a model that cannot be computed at more than a
    /// tenth of the draws of the last stage.
    pub fn new(
        model: &StateSpace,
        parameters: &[Parameter],
        covariance: &[f64],
        evidence: &EvidenceOf,
        (count, seed): (usize, u64),
    ) -> Result<Self> {
        let target = Target::new(model, parameters, evidence);
        let drawn = Drawn::new(&target, target.first_law(covariance)?, (count.max(2), seed));
        let logs = drawn.log_weights();
        let (refused, last) = drawn.last_refused();
        if refused as f64 > MOST_REFUSED * last as f64 {
            return Err(Error::Numerical {
                what: "posterior of the parameters",
                why: format!(
                    "the log evidence could not be computed, or only at too great a cost, at {refused} of {last} draws; fix \
                     parameters that the data do not determine, or give them narrower priors"
                ),
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
            log_marginal: if proper { log_total - (logs.len() as f64).ln() } else { f64::NAN },
            weights,
        })
    }

    /// The posteriors of parts that share no parameter and no data as one: `count` rows of equal weight, in each of which every
    /// part has a draw of its own.
    pub fn together(parts: Vec<Self>, (count, seed): (usize, u64)) -> Self {
        let rng = &mut stream(seed, u64::MAX);
        let mut all = Self {
            names: parts.iter().flat_map(|part| part.names.iter().cloned()).collect(),
            draws: vec![Vec::new(); count],
            weights: vec![1.0 / count as f64; count],
            log_evidences: vec![0.0; count],
            effective_sample_size: count as f64,
            k_hat: f64::NEG_INFINITY,
            log_marginal: parts.iter().map(|part| part.log_marginal).sum(),
        };
        for part in &parts {
            let mut chosen = systematic(&part.weights, count, rng.random());
            chosen.shuffle(rng);
            for ((row, sum), i) in all.draws.iter_mut().zip(&mut all.log_evidences).zip(chosen) {
                row.extend(&part.draws[i]);
                *sum += part.log_evidences[i];
            }
            all.effective_sample_size = all.effective_sample_size.min(part.effective_sample_size);
            all.k_hat = all.k_hat.max(part.k_hat);
        }
        all
    }

    /// The same with its parameters in the order of `names`, which are all of them.
    pub fn in_order(self, names: &[&str]) -> Self {
        let places: Vec<usize> =
            names.iter().filter_map(|name| self.names.iter().position(|own| own == name)).collect();
        let draws = self.draws.iter().map(|draw| places.iter().map(|&i| draw[i]).collect()).collect();
        Self { names: places.iter().map(|&i| self.names[i].clone()).collect(), draws, ..self }
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
