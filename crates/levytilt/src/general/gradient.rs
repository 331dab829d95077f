//! Differentiate the log evidence of a path's variances in everything the model is made of.
//!
//! By Fisher's identity the gradient of the log evidence is the posterior mean of these. Given the variances the model is
//! Gaussian, and ∂/∂mean and ∂/∂covariance of each predicted law give all derivatives without sampling states.

use super::chain::GeneralChain;
use super::guide::Guide;
use super::pass::{Influence, Variances, backward, forward};
use super::smooth::DrawnPath;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Derivatives of a log evidence.
#[derive(Debug, Clone)]
pub(super) struct Gradient {
    /// In the parameters of the drift.
    pub drift: DVector<f64>,
    /// Per source, in the parameters of its noise as its nodes list them.
    pub noise: Vec<DVector<f64>>,
    /// Per source, in its direction.
    pub directions: Vec<DVector<f64>>,
    /// Per row, in its observation standard deviation.
    pub stds: DVector<f64>,
}

impl Gradient {
    fn zero(chain: &GeneralChain) -> Self {
        let sources = &chain.model.sources;
        Self {
            drift: DVector::zeros(chain.model.drift.parameter_count()),
            noise: (0..sources.len()).map(|r| DVector::zeros(chain.nodes(r, 1).derivatives().len())).collect(),
            directions: sources.iter().map(|source| DVector::zeros(source.direction.len())).collect(),
            stds: DVector::zeros(chain.model.rows.len()),
        }
    }

    fn add(&mut self, other: &Self) {
        self.drift += &other.drift;
        self.stds += &other.stds;
        self.noise.iter_mut().zip(&other.noise).for_each(|(sum, other)| *sum += other);
        self.directions.iter_mut().zip(&other.directions).for_each(|(sum, other)| *sum += other);
    }

    fn scale(&mut self, by: f64) {
        self.drift *= by;
        self.stds *= by;
        self.noise.iter_mut().chain(&mut self.directions).for_each(|part| *part *= by);
    }
}

/// The mean over paths; nothing if a law of the states is singular.
pub(super) fn mean_gradient(chain: &GeneralChain, guide: &Guide, paths: &[DrawnPath]) -> Option<Gradient> {
    let each: Vec<Option<Gradient>> = paths.par_iter().map(|path| of_path(chain, guide, path)).collect();
    let mut sum = Gradient::zero(chain);
    for gradient in each {
        sum.add(&gradient?);
    }
    sum.scale(1.0 / paths.len() as f64);
    Some(sum)
}

/// The derivatives of ln p(variances) + ln p(data | variances) of one path.
fn of_path(chain: &GeneralChain, guide: &Guide, path: &DrawnPath) -> Option<Gradient> {
    let sources = &chain.model.sources;
    let node = |r: usize, j: usize| path.nodes[(j - 1) * sources.len() + r] as usize;
    let values: Vec<f64> = (1..chain.len())
        .flat_map(|j| (0..sources.len()).map(move |r| (j, r)))
        .map(|(j, r)| chain.nodes(r, j).variances()[node(r, j)])
        .collect();
    let variances = Variances { sources: sources.len(), values: &values };
    let ahead = forward(chain, &variances);
    let messages = backward(chain, &variances, &guide.at);
    let mut gradient = Gradient::zero(chain);
    for (j, (predicted, message)) in ahead.predicted.iter().zip(&messages).enumerate() {
        let influence = Influence::new(chain, j, predicted, message, &guide.at[j])?;
        add_seen(chain, j, &influence.smoothed(predicted), &mut gradient.stds);
        if j == 0 {
            continue;
        }
        // Twice ∂/∂covariance.
        let bend = &influence.force * influence.force.transpose() - &influence.stiffness;
        for (r, source) in sources.iter().enumerate() {
            let b = &source.direction;
            let along = &bend * b;
            let nodes = chain.nodes(r, j);
            let k = node(r, j);
            gradient.directions[r].axpy(variances.of(j)[r], &along, 1.0);
            for (sum, by) in gradient.noise[r].iter_mut().zip(nodes.derivatives()) {
                *sum += 0.5 * by.variances[k] * b.dot(&along) + by.weights[k] / nodes.weights()[k];
            }
        }
        let (mean, covariance) = &ahead.filtered[j - 1];
        let flow = chain.flow(j);
        let by_slope: DMatrix<f64> = &influence.force * mean.transpose() + bend * &flow.slope * covariance;
        for (sum, (slope, offset)) in gradient.drift.iter_mut().zip(&flow.by_parameter) {
            *sum += by_slope.dot(slope) + influence.force.dot(offset);
        }
    }
    Some(gradient)
}

/// ∂/∂σ of what is seen at time `j`: (E(y − hᵀz)² − σ²)/σ³.
fn add_seen(
    chain: &GeneralChain,
    j: usize,
    (mean, covariance): &(DVector<f64>, DMatrix<f64>),
    stds: &mut DVector<f64>,
) {
    for &(i, y) in chain.seen_rows(j) {
        let row = &chain.model.rows[i];
        let square = (y - row.weights.dot(mean)).powi(2) + row.weights.dot(&(covariance * &row.weights));
        stds[i] += (square - row.std.powi(2)) / row.std.powi(3);
    }
}
