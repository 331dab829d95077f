//! Differentiate the log evidence of a path's variances in everything the model is made of.
//!
//! By Fisher's identity the gradient of the log evidence is the posterior mean of these. Given the variances the model is
//! Gaussian, and ∂/∂mean and ∂/∂covariance of each predicted law give all derivatives without sampling states.

use super::chain::{Flow, GeneralChain};
use super::disturbance::{Influence, Trace};
use super::form::dot;
use super::pass::Variances;
use nalgebra::DVector;
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

/// The mean over paths with these nodes, as a sum of so many `blocks` of time.
pub(super) fn mean_gradients(chain: &GeneralChain, paths: &[Vec<u16>], blocks: usize) -> Vec<Gradient> {
    let each: Vec<Vec<Gradient>> = paths.par_iter().map(|nodes| path_gradients(chain, nodes, blocks).1).collect();
    let mut sums = vec![Gradient::zero(chain); blocks];
    for gradients in each {
        sums.iter_mut().zip(&gradients).for_each(|(sum, gradient)| sum.add(gradient));
    }
    sums.iter_mut().for_each(|sum| sum.scale(1.0 / paths.len() as f64));
    sums
}

/// ln p(data | variances) of one path, and the derivatives of ln p(variances) + ln p(data | variances) by block of time.
pub(super) fn path_gradients(chain: &GeneralChain, nodes: &[u16], blocks: usize) -> (f64, Vec<Gradient>) {
    let (sources, dim) = (&chain.model.sources, chain.dim());
    let node = |r: usize, j: usize| nodes[(j - 1) * sources.len() + r] as usize;
    let values: Vec<f64> = (1..chain.len())
        .flat_map(|j| (0..sources.len()).map(move |r| (j, r)))
        .map(|(j, r)| chain.nodes(r, j).variances()[node(r, j)])
        .collect();
    let variances = Variances { sources: sources.len(), values: &values };
    let trace = Trace::new(chain, &variances);
    let mut all = vec![Gradient::zero(chain); blocks];
    let (mut along, mut columns, mut moved) = (vec![0.0; dim], vec![0.0; dim * dim], vec![0.0; dim]);
    trace.back(chain, |j, influence| {
        let gradient = &mut all[j * blocks / chain.len()];
        for &(i, twice) in influence.seen {
            gradient.stds[i] += chain.model.rows[i].std * twice;
        }
        if j == 0 {
            return;
        }
        for (r, source) in sources.iter().enumerate() {
            let b = source.direction.as_slice();
            influence.bend(b, &mut along);
            let (nodes, k, v) = (chain.nodes(r, j), node(r, j), variances.of(j)[r]);
            gradient.directions[r].iter_mut().zip(&along).for_each(|(sum, along)| *sum += v * along);
            let bend = dot(b, &along);
            for (sum, by) in gradient.noise[r].iter_mut().zip(nodes.derivatives()) {
                *sum += 0.5 * by.variances[k] * bend + by.weights[k] / nodes.weights()[k];
            }
        }
        let room = (&mut columns[..], &mut moved[..]);
        add_flow(chain.flow(j), influence, trace.filtered(j - 1, dim), room, &mut gradient.drift);
    });
    (trace.log_evidence, all)
}

/// Derivatives in the parameters of the flow from a law: ∂/∂F = r·meanᵀ + (rrᵀ − N)·F·covariance, ∂/∂offset = r.
///
/// `columns` is room for a matrix, of which only the columns that are asked for are computed.
fn add_flow(
    flow: &Flow,
    influence: &Influence,
    (mean, covariance): (&[f64], &[f64]),
    (columns, moved): (&mut [f64], &mut [f64]),
    drift: &mut DVector<f64>,
) {
    let dim = mean.len();
    let mut known = 0u64;
    for (sum, (by_slope, by_offset)) in drift.iter_mut().zip(&flow.by_parameter) {
        *sum += dot(influence.force, by_offset.as_slice());
        for &([i, k], by) in by_slope {
            let column = &mut columns[k * dim..(k + 1) * dim];
            if k >= 64 || known & (1 << k) == 0 {
                known |= if k < 64 { 1 << k } else { 0 };
                moved.fill(0.0);
                for (f, p) in flow.slope.as_slice().chunks_exact(dim).zip(&covariance[k * dim..(k + 1) * dim]) {
                    moved.iter_mut().zip(f).for_each(|(moved, f)| *moved += f * p);
                }
                influence.bend(moved, column);
                column.iter_mut().zip(influence.force).for_each(|(bent, r)| *bent += r * mean[k]);
            }
            *sum += by * column[i];
        }
    }
}
