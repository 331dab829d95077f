//! Draw from the posterior of a one-dimensional model's parameters: a heavy-tailed law around the maximum, weighted by the
//! exact evidence times the prior.
//!
//! The proposal is a multivariate t law with five degrees of freedom on the free scales, with the covariance that the
//! observed information gives. Its tails are heavier than those of nearly any posterior, so the weights have a variance; k̂
//! says whether they do.

use super::parameters::{Parameter, rebuild};
use crate::exact::follow::{Follower, Memory};
use crate::posterior::{normalise, pareto_k};
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace, stream};
use nalgebra::{DMatrix, DVector};
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use rayon::prelude::*;

/// Degrees of freedom of the proposal.
const DOF: f64 = 5.0;
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
    /// free scales, row after row, and `shift` leads from the maximum to the middle of the proposal, none if empty. Draw k
    /// has the stream (`seed`, k), so the result is the same for any number of threads.
    ///
    /// # Errors
    /// Several dimensions; no free parameter; a covariance of another size or not positive definite; a model that cannot be
    /// computed at more than a tenth of the draws.
    pub fn new(
        model: &StateSpace,
        parameters: &[Parameter],
        (covariance, shift): (&[f64], &[f64]),
        (grid, values): (&TimeGrid, &[f64]),
        (count, seed): (usize, u64),
    ) -> Result<Self> {
        let proposal = Proposal::new(parameters, covariance, shift)?;
        let follower = Follower::new(model, grid, values)?;
        let drawn: Vec<(DVector<f64>, f64, f64)> = (0..count)
            .into_par_iter()
            .map(|k| {
                let (free, log_density) = proposal.draw(seed, k as u64);
                let log_evidence = rebuild(model, &proposal.values(&free))
                    .and_then(|model| follower.log_evidence(&model, &mut Memory::default()));
                let log_evidence = log_evidence.ok().filter(|l| l.is_finite()).unwrap_or(f64::NEG_INFINITY);
                let log_weight = log_evidence + proposal.log_prior(&free) - log_density;
                (free, log_weight, log_evidence)
            })
            .collect();
        let refused = drawn.iter().filter(|(_, l, _)| !l.is_finite()).count();
        if refused as f64 > MOST_REFUSED * count as f64 || count < 2 {
            return Err(Error::Numerical {
                what: "posterior of the parameters",
                why: format!("the log evidence could not be computed at {refused} of {count} draws"),
            });
        }
        let logs: Vec<f64> = drawn.iter().map(|(_, l, _)| *l).collect();
        let (log_total, weights) = normalise(&logs);
        let proper = proposal.free.iter().all(|&i| parameters[i].prior.is_some());
        let value = |free: &DVector<f64>| {
            let all = proposal.values(free);
            proposal.free.iter().map(|&i| all[i]).collect()
        };
        Ok(Self {
            names: proposal.free.iter().map(|&i| parameters[i].name.clone()).collect(),
            draws: drawn.iter().map(|(free, ..)| value(free)).collect(),
            log_evidences: drawn.iter().map(|(.., l)| *l).collect(),
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

/// The law that parameters are drawn from.
struct Proposal<'a> {
    parameters: &'a [Parameter],
    free: Vec<usize>,
    middle: DVector<f64>,
    /// Root of the covariance, lower triangle, and the logarithm of its determinant.
    root: DMatrix<f64>,
    log_determinant: f64,
}

impl<'a> Proposal<'a> {
    fn new(parameters: &'a [Parameter], covariance: &[f64], shift: &[f64]) -> Result<Self> {
        let free: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let n = free.len();
        let root = (n > 0 && covariance.len() == n * n && (shift.is_empty() || shift.len() == n))
            .then(|| DMatrix::from_row_slice(n, n, covariance).cholesky())
            .flatten()
            .ok_or_else(|| Error::Shape {
                what: "covariance of the parameters",
                got: format!("{} entries, or not positive definite", covariance.len()),
                expected: format!("a positive definite {n} by {n} matrix and at least one free parameter"),
            })?
            .l();
        let at = |k: usize| {
            let p = &parameters[free[k]];
            p.transform.forward(p.value) + shift.get(k).copied().unwrap_or(0.0)
        };
        let middle = DVector::from_fn(n, |k, _| at(k));
        let log_determinant = root.diagonal().iter().map(|d| d.ln()).sum();
        Ok(Self { parameters, free, middle, root, log_determinant })
    }

    /// A draw on the free scale, and the logarithm of its density.
    fn draw(&self, seed: u64, k: u64) -> (DVector<f64>, f64) {
        let (mut rng, n) = (stream(seed, k), self.free.len());
        let z = DVector::from_fn(n, |_, _| StandardNormal.sample(&mut rng));
        let chi: f64 = ChiSquared::new(DOF).expect("a positive number").sample(&mut rng);
        let t: DVector<f64> = z * (DOF / chi).sqrt();
        let square = t.norm_squared();
        let n = n as f64;
        let constant =
            libm::lgamma(0.5 * (DOF + n)) - libm::lgamma(0.5 * DOF) - 0.5 * n * (DOF * std::f64::consts::PI).ln();
        let log_density = constant - self.log_determinant - 0.5 * (DOF + n) * (square / DOF).ln_1p();
        (&self.middle + &self.root * t, log_density)
    }

    fn values(&self, free: &DVector<f64>) -> Vec<f64> {
        let mut values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
        for (&i, &u) in self.free.iter().zip(free.iter()) {
            values[i] = self.parameters[i].transform.backward(u);
        }
        values
    }

    /// Log density of the priors on the free scale.
    fn log_prior(&self, free: &DVector<f64>) -> f64 {
        let one = |(&i, &u): (&usize, &f64)| {
            self.parameters[i].prior.map_or(0.0, |prior| {
                let z = (u - prior.mean) / prior.std;
                -0.5 * z * z - prior.std.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
            })
        };
        self.free.iter().zip(free.iter()).map(one).sum()
    }
}
