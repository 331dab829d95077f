//! Find variances of all jumps by a robust smoother: smooth, put 1/E[1/S | jump²] in the place of each, and repeat.

use super::chain::GeneralChain;
use super::disturbance::Trace;
use super::form::dot;
use super::pass::Variances;
use crate::noise::Nodes;
use crate::{Error, Result};
use nalgebra::DVector;
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
    let mut means = Vec::new();
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
                next[(j - 1) * sources + r] = harmonic(chain.nodes(r, j), mean * mean + spread.max(0.0));
            }
        });
        if !next.iter().all(|v| v.is_finite()) || !smoothed.iter().flatten().all(|x| x.is_finite()) {
            return Err(singular(chain, 0));
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
         start or a drift that ties it to what is seen",
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

/// 1/E[1/S | jump² = `square`], every S at least the floor.
fn harmonic(nodes: &Nodes, square: f64) -> f64 {
    let floor = floor(nodes);
    let log = |(s, l): (&f64, &f64)| {
        let s = s.max(floor);
        (l - 0.5 * (s.ln() + square / s), s)
    };
    let terms: Vec<(f64, f64)> = nodes.variances().iter().zip(nodes.log_weights()).map(log).collect();
    let top = terms.iter().map(|(l, _)| *l).fold(f64::NEG_INFINITY, f64::max);
    let (total, precision) = terms.iter().fold((0.0, 0.0), |(total, sum), (l, s)| {
        let share = (l - top).exp();
        (total + share, sum + share / s)
    });
    total / precision
}
