//! Take in rows one by one: particles that carry Gaussian laws of the state are all that is kept of the rows before.
//!
//! What is seen next is a mixture over particles and over the variances of all sources. Its tails are summed, not sampled: the
//! variances that the sources of a gap add to a row are convolved on a logarithmic grid, so that a p-value of 10⁻⁶ needs no
//! particle that has jumped.

use super::chain::GeneralChain;
use super::filter::{Cloud, filter_from};
use super::fit::threshold;
use super::guide::{Guide, Reach};
use super::model::{GeneralModel, Source};
use super::pass::predict_slices;
use crate::posterior::normalise;
use crate::series::TimeGrid;
use crate::{Error, Result, stream};
use nalgebra::{DMatrix, DVector};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// The law of the state after the last row. It can be saved and read back without loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Particles {
    /// Time of the last row.
    pub time: f64,
    /// Rows taken in so far.
    pub rows: u64,
    /// Means, particle after particle.
    means: Vec<f64>,
    /// Covariances, particle after particle.
    covariances: Vec<f64>,
    /// ln of the weights; their mean is 1.
    log_weights: Vec<f64>,
}

/// What one row said, given all rows before it.
#[derive(Debug, Clone, PartialEq)]
pub struct OnlineSeen {
    /// ln p of all its values together; nothing if all are missing.
    pub log_evidence: Option<f64>,
    /// Per observed column: the probability of a value at least as far out on either side, nothing where it is missing.
    pub p_values: Vec<Option<f64>>,
    /// Per source: the probability that it jumped since the row before, its variance in the upper 1% of the prior of a step.
    pub jump_probability: Vec<f64>,
    /// Means of the states, this row included.
    pub means: Vec<f64>,
    /// Their standard deviations.
    pub sds: Vec<f64>,
}

/// A model that takes in rows.
#[derive(Debug)]
pub struct OnlineFilter {
    model: GeneralModel,
    longest: f64,
    seed: u64,
}

impl OnlineFilter {
    /// With latent steps not longer than `longest`.
    ///
    /// # Errors
    /// A source that no observed column shows at once. A jump of it is told only by later rows, when the particles that
    /// could explain them are gone.
    pub fn new(model: GeneralModel, longest: f64, seed: u64) -> Result<Self> {
        let shows = |source: &&Source| model.rows.iter().any(|row| row.weights.dot(&source.direction) != 0.0);
        if let Some(source) = model.sources.iter().find(|source| !shows(source)) {
            let problem = "acts on no observed column directly: a jump shows only in later rows, so rows cannot be taken in \
                           one by one; fit the longer record instead";
            return Err(Error::Series { place: format!("noise {}", source.name), problem: problem.into() });
        }
        Ok(Self { model, longest, seed })
    }

    /// The model; its start is where the last row left it.
    pub fn model(&self) -> &GeneralModel {
        &self.model
    }

    /// Particles at draws of the state at `time`, state fastest.
    ///
    /// # Errors
    /// Draws that are not whole states, or fewer than two.
    pub fn start(&self, time: f64, draws: &[f64]) -> Result<Particles> {
        let dim = self.model.dim();
        let count = draws.len() / dim;
        if count < 2 || count * dim != draws.len() {
            let expected = format!("{dim} per draw, at least two draws");
            return Err(Error::Shape { what: "draws of the state", got: format!("{} numbers", draws.len()), expected });
        }
        let covariances = vec![0.0; count * dim * dim];
        Ok(Particles { time, rows: 0, means: draws.to_vec(), covariances, log_weights: vec![0.0; count] })
    }

    /// Take in a row: one value per observed column, NaN where missing. After an error `state` is as it was.
    ///
    /// # Errors
    /// A time that is not after the last; a gap over which the model cannot be computed; values that no particle explains.
    pub fn advance(&mut self, state: &mut Particles, time: f64, values: &[f64]) -> Result<OnlineSeen> {
        if values.len() != self.model.rows.len() {
            let (got, expected) = (values.len().to_string(), format!("{}, one per row", self.model.rows.len()));
            return Err(Error::Shape { what: "observed columns", got, expected });
        }
        let steps = ((time - state.time) / self.longest - 1e-9).ceil().max(1.0) as usize;
        let grid = TimeGrid::new(&[state.time, time], Some(steps))?;
        (self.model.start_mean, self.model.start_covariance) = state.moments(self.model.dim());
        let chain = GeneralChain::gap(&self.model, &grid, values)?;
        let p_values = p_values(&chain, state, values);
        let guide = Guide::reaching(&chain, Reach::Step)?;
        let start = Cloud {
            means: state.means.clone(),
            covariances: state.covariances.clone(),
            log_weights: state.log_weights.clone(),
            outlook: vec![0.0; state.log_weights.len()],
            nodes: Vec::new(),
            parents: Vec::new(),
        };
        let found = filter_from(&chain, &guide, start, &mut stream(self.seed, u64::MAX - 16 - state.rows), chain.len());
        if !found.log_evidence.is_finite() {
            let why = format!("no particle explains the values at time {time}");
            return Err(Error::Numerical { what: "filter", why });
        }
        let last = &found.clouds[found.clouds.len() - 1];
        let log_weights: Vec<f64> =
            last.log_weights.iter().zip(&last.outlook).map(|(w, outlook)| w - outlook).collect();
        let (log_total, weights) = normalise(&log_weights);
        let mean = log_total - (weights.len() as f64).ln();
        let jump_probability = jumped(&chain, &found.clouds, &weights);
        *state = Particles {
            time,
            rows: state.rows + 1,
            means: last.means.clone(),
            covariances: last.covariances.clone(),
            log_weights: log_weights.iter().map(|log| log - mean).collect(),
        };
        let (means, covariance) = state.moments(self.model.dim());
        let seen = values.iter().any(|value| !value.is_nan());
        Ok(OnlineSeen {
            log_evidence: seen.then_some(found.log_evidence),
            p_values,
            jump_probability,
            means: means.iter().copied().collect(),
            sds: covariance.diagonal().iter().map(|v| v.max(0.0).sqrt()).collect(),
        })
    }
}

impl Particles {
    /// Mean and covariance of the state.
    fn moments(&self, dim: usize) -> (DVector<f64>, DMatrix<f64>) {
        let (_, weights) = normalise(&self.log_weights);
        let mut mean = DVector::zeros(dim);
        for (w, m) in weights.iter().zip(self.means.chunks_exact(dim)) {
            mean += *w * DVector::from_column_slice(m);
        }
        let mut covariance = DMatrix::zeros(dim, dim);
        let laws = self.means.chunks_exact(dim).zip(self.covariances.chunks_exact(dim * dim));
        for (w, (m, p)) in weights.iter().zip(laws) {
            let away = DVector::from_column_slice(m) - &mean;
            covariance += *w * (DMatrix::from_column_slice(dim, dim, p) + &away * away.transpose());
        }
        (mean, covariance)
    }

    /// Draws of the state, state fastest.
    pub fn draws(&self, count: usize, seed: u64) -> Vec<f64> {
        let dim = self.means.len() / self.log_weights.len();
        let (_, weights) = normalise(&self.log_weights);
        let chosen = crate::posterior::systematic(&weights, count, 0.5);
        let mut rng = stream(seed, u64::MAX - 15 - self.rows);
        let mut drawn = Vec::with_capacity(count * dim);
        for i in chosen {
            let p = DMatrix::from_column_slice(dim, dim, &self.covariances[i * dim * dim..(i + 1) * dim * dim]);
            // A covariance may be singular: the square root by eigenvalues, those below 0 by rounding as 0.
            let parts = p.symmetric_eigen();
            let z = DVector::from_fn(dim, |k, _| {
                let z: f64 = StandardNormal.sample(&mut rng);
                z * parts.eigenvalues[k].max(0.0).sqrt()
            });
            let x = &parts.eigenvectors * z;
            drawn.extend(self.means[i * dim..(i + 1) * dim].iter().zip(&x).map(|(m, x)| m + x));
        }
        drawn
    }
}

/// Per source: the weight of particles one of whose ancestors jumped in the gap.
fn jumped(chain: &GeneralChain, clouds: &[Cloud], weights: &[f64]) -> Vec<f64> {
    let sources = chain.model.sources.len();
    let mut found = vec![0.0; sources];
    for (i, weight) in weights.iter().enumerate() {
        let (mut at, mut any) = (i, vec![false; sources]);
        for j in (1..clouds.len()).rev() {
            for (r, any) in any.iter_mut().enumerate() {
                *any |= clouds[j].nodes[at * sources + r] as usize >= threshold(chain.nodes(r, j));
            }
            at = clouds[j].parents[at] as usize;
        }
        found.iter_mut().zip(any).filter(|(_, any)| *any).for_each(|(sum, _)| *sum += weight);
    }
    found
}

/// Two-sided p-values of the columns that are seen.
fn p_values(chain: &GeneralChain, state: &Particles, values: &[f64]) -> Vec<Option<f64>> {
    let (dim, steps) = (chain.dim(), chain.times().len() - 1);
    let (_, weights) = normalise(&state.log_weights);
    // Means and covariances at the end of the gap, before any noise of it.
    let (mut means, mut covariances) = (state.means.clone(), state.covariances.clone());
    for j in 1..=steps {
        let old = (means.clone(), covariances.clone());
        let new = means.chunks_exact_mut(dim).zip(covariances.chunks_exact_mut(dim * dim));
        for (i, (mean, covariance)) in new.enumerate() {
            let law = (&old.0[i * dim..(i + 1) * dim], &old.1[i * dim * dim..(i + 1) * dim * dim]);
            predict_slices(chain.flow(j), law, mean, covariance);
        }
    }
    let one = |(row, value): (&super::model::Row, &f64)| {
        if value.is_nan() {
            return None;
        }
        let added = added_variances(chain, &row.weights);
        let (mut below, mut above) = (0.0, 0.0);
        for (i, weight) in weights.iter().enumerate() {
            let mean: f64 = means[i * dim..(i + 1) * dim].iter().zip(&row.weights).map(|(m, h)| m * h).sum();
            let p = DMatrix::from_column_slice(dim, dim, &covariances[i * dim * dim..(i + 1) * dim * dim]);
            let own = row.weights.dot(&(&p * &row.weights)).max(0.0) + row.std * row.std;
            for &(extra, share) in &added {
                let z = (value - mean) / ((own + extra).sqrt() * SQRT_2);
                below += weight * share * 0.5 * libm::erfc(-z);
                above += weight * share * 0.5 * libm::erfc(z);
            }
        }
        Some((2.0 * below.min(above)).min(1.0))
    };
    chain.model.rows.iter().zip(values).map(one).collect()
}

/// Places per factor of 2 of the grid of variances.
const FINENESS: f64 = 4.0;

/// The law of the variance that all sources of the gap add to hᵀz at its end, as values and their probabilities.
fn added_variances(chain: &GeneralChain, h: &DVector<f64>) -> Vec<(f64, f64)> {
    let mut law = vec![(0.0, 1.0)];
    // h as seen from the end of every step, the last first.
    let mut h = h.clone();
    for j in (1..chain.times().len()).rev() {
        for (r, source) in chain.model.sources.iter().enumerate() {
            let by = h.dot(&source.direction).powi(2);
            if by > 0.0 {
                let nodes = chain.nodes(r, j);
                law = convolved(&law, nodes.variances().iter().map(|v| by * v).zip(nodes.weights().iter().copied()));
            }
        }
        h = chain.flow(j).slope.transpose() * h;
    }
    law
}

/// The law of a sum, gathered at places of a logarithmic grid; each gathers its mean.
fn convolved(law: &[(f64, f64)], with: impl Iterator<Item = (f64, f64)> + Clone) -> Vec<(f64, f64)> {
    let mut sums: std::collections::BTreeMap<i64, (f64, f64)> = std::collections::BTreeMap::new();
    for &(a, p) in law {
        for (b, q) in with.clone().filter(|(_, q)| *q > 0.0) {
            let sum: f64 = a + b;
            let place = if sum > 0.0 { (sum.log2() * FINENESS).floor() as i64 } else { i64::MIN };
            let (mass, total) = sums.entry(place).or_default();
            *mass += p * q;
            *total += p * q * sum;
        }
    }
    sums.into_values().map(|(mass, total)| (total / mass, mass)).collect()
}
