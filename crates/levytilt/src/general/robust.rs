//! Find variances of all jumps by a robust smoother: smooth, put 1/E[1/S | jump²] in the place of each, and repeat.

use super::chain::GeneralChain;
use super::disturbance::Trace;
use super::form::dot;
use super::pass::Variances;
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;
use crate::{Error, Result};
use nalgebra::DVector;
use std::collections::HashMap;
use std::sync::Arc;

/// Where the robust smoother ends: variances of all jumps, and the mean of the state per time.
#[derive(Debug)]
pub(super) struct Robust {
    /// Step after step, source fastest.
    pub variances: Vec<f64>,
    pub means: Vec<DVector<f64>>,
}

const ITERATIONS: usize = 25;
/// Mean change of the logarithms of the variances at which the smoother has converged.
const CONVERGED: f64 = 0.01;
/// Share of the prior below the variance that jumps start with: high enough that none of them holds the path still.
const FIRST: f64 = 0.9;
/// Smallest variance relative to the median one, so that a node that cannot move does not freeze a step.
const FLOOR: f64 = 1e-6;

/// Smooth and re-estimate.
///
/// # Errors
/// A step whose messages are singular.
pub(super) fn robust(chain: &GeneralChain) -> Result<Robust> {
    let sources = chain.model.sources.len();
    let places = || (1..chain.len()).flat_map(|j| (0..sources).map(move |r| (j, r)));
    let mut values: Vec<f64> = places().map(|(j, r)| quantile(chain.nodes(r, j), FIRST)).collect();
    let dim = chain.dim();
    let (tables, numbers) = tables(chain);
    let (mut means, mut room) = (Vec::new(), Vec::new());
    for _ in 0..ITERATIONS {
        let variances = Variances { sources, values: &values };
        let trace = Trace::new(chain, &variances);
        let mut next = values.clone();
        let mut smoothed = vec![DVector::zeros(dim); chain.len()];
        trace.back(chain, |j, influence| {
            let (mean, covariance) = trace.predicted(j, dim);
            let moved = covariance.chunks_exact(dim).map(|column| dot(column, influence.force));
            smoothed[j] = DVector::from_iterator(dim, moved.zip(mean).map(|(by, mean)| mean + by));
            for r in (0..sources).filter(|_| j > 0) {
                let b = chain.model.sources[r].direction.as_slice();
                let v = variances.of(j)[r];
                let mean = v * dot(b, influence.force);
                let firm: f64 = influence.stiffness.chunks_exact(dim).zip(b).map(|(n, b_k)| b_k * dot(n, b)).sum();
                let spread = v - v * v * firm;
                let place = (j - 1) * sources + r;
                next[place] = tables[numbers[place]].harmonic(mean * mean + spread.max(0.0), &mut room);
            }
        });
        if !next.iter().all(|v| v.is_finite()) || !smoothed.iter().flatten().all(|x| x.is_finite()) {
            let lost = smoothed.iter().position(|state| state.iter().any(|x| !x.is_finite()));
            return Err(singular(chain, lost.unwrap_or(0)));
        }
        let change: f64 = values.iter().zip(&next).map(|(old, new)| (new / old).ln().abs()).sum();
        let converged = change < CONVERGED * values.len() as f64;
        (values, means) = (next, smoothed);
        if converged {
            break;
        }
    }
    Ok(Robust { variances: values, means })
}

fn singular(chain: &GeneralChain, j: usize) -> Error {
    let why = format!(
        "the law of the states given the data cannot be computed at time {}; a state that nothing observes needs a \
         start or a drift that ties it to what is seen, and a drift must not multiply states beyond all numbers in a step",
        chain.times()[j]
    );
    Error::Numerical { what: "smoother", why }
}

/// The variance below which a share of the prior lies, at least a floor above 0.
pub(super) fn quantile(nodes: &Arc<Nodes>, share: f64) -> f64 {
    let at = |share: f64| {
        let mut sum = 0.0;
        let place = nodes.weights().iter().position(|w| {
            sum += w;
            sum >= share
        });
        nodes.variances()[place.unwrap_or(nodes.len() - 1)]
    };
    at(share).max(floor(nodes))
}

/// The floor: relative to the middle of the variances above 0.
fn floor(nodes: &Nodes) -> f64 {
    let positive: Vec<f64> = nodes.variances().iter().copied().filter(|s| *s > 0.0).collect();
    positive.get(positive.len() / 2).map_or(f64::MIN_POSITIVE, |s| FLOOR * s)
}

/// What 1/E[1/S | jump²] of a step needs of its nodes.
struct Table {
    /// ln w − ½ ln S, every S at least the floor.
    logs: Vec<f64>,
    /// 1/S.
    precisions: Vec<f64>,
}

impl Table {
    fn new(nodes: &Nodes) -> Self {
        let floor = floor(nodes);
        let variances = || nodes.variances().iter().map(|s| s.max(floor));
        Self {
            logs: variances().zip(nodes.log_weights()).map(|(s, log)| log - 0.5 * s.ln()).collect(),
            precisions: variances().map(f64::recip).collect(),
        }
    }

    /// 1/E[1/S | jump² = `square`]; `room` for a number per node.
    fn harmonic(&self, square: f64, room: &mut Vec<f64>) -> f64 {
        room.clear();
        room.extend(self.logs.iter().zip(&self.precisions).map(|(log, precision)| log - 0.5 * square * precision));
        let top = room.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        room.iter_mut().for_each(|log| *log -= top);
        exp_slice(room);
        room.iter().sum::<f64>() / dot(room, &self.precisions)
    }
}

/// The tables of all steps and sources: the different ones, and the number of that of each step, source fastest.
fn tables(chain: &GeneralChain) -> (Vec<Table>, Vec<usize>) {
    let (mut all, mut known) = (Vec::new(), HashMap::new());
    let mut number = |nodes: &Arc<Nodes>| {
        *known.entry(Arc::as_ptr(nodes)).or_insert_with(|| {
            all.push(Table::new(nodes));
            all.len() - 1
        })
    };
    let sources = 0..chain.model.sources.len();
    let numbers =
        (1..chain.len()).flat_map(|j| sources.clone().map(move |r| (r, j))).map(|(r, j)| number(chain.nodes(r, j)));
    let numbers = numbers.collect();
    (all, numbers)
}
