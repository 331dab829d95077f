//! Start from a robust smoother: a Kalman smoother whose step variances are re-estimated until the jumps are in place.
//!
//! A Gaussian scale mixture is Gaussian once its variance is known. So smooth with a variance per step, put
//! 1/E[1/S | residual] in its place, and repeat; a step that must have jumped gets a large variance and stops pulling.

use crate::exact::kalman::{self, Step};
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;
use crate::posterior::Potentials;
use crate::potential::{Potential, Quadratic};
use crate::{Chain, Result};
use std::collections::HashMap;
use std::sync::Arc;

const ITERATIONS: usize = 25;

/// What the robust smoother ends with.
pub(super) struct Robust {
    /// Mean per dimension and time.
    pub means: Vec<Vec<f64>>,
    /// Standard deviation per dimension and time.
    pub sds: Vec<Vec<f64>>,
    /// The linear Gaussian steps, per dimension.
    steps: Vec<Vec<Step>>,
}

/// Potentials of the linear Gaussian model that the robust smoother ends with.
pub fn robust_start(chain: &Chain) -> Result<Potentials> {
    chain.check_symmetric()?;
    chain.model().plain_errors("robust start")?;
    let robust = robust_smooth(chain)?;
    (0..chain.dim()).map(|i| backward(chain, i, &robust.steps[i])).collect()
}

/// Smooth, re-estimate the variances of the steps, and repeat.
pub(super) fn robust_smooth(chain: &Chain) -> Result<Robust> {
    let (dim, times) = (chain.dim(), chain.len());
    let mut means: Vec<Vec<f64>> = (0..dim).map(|i| interpolate(chain, i)).collect();
    // Mean square residual of each step under the current smoother; index 0 is the start and stays unused.
    let mut residuals: Vec<Vec<f64>> = Vec::new();
    for i in 0..dim {
        let flow = linear_steps(chain, &means, i);
        residuals.push((0..times).map(|j| if j == 0 { 0.0 } else { flow[j - 1].miss(&means[i], j).powi(2) }).collect());
    }
    let mut steps: Vec<Vec<Step>> = vec![Vec::new(); dim];
    let mut sds = vec![Vec::new(); dim];
    let mut harmonics: Vec<HarmonicMeans> = (0..dim).map(|i| HarmonicMeans::new(chain, i)).collect();
    for _ in 0..ITERATIONS {
        for i in 0..dim {
            let dimension = &chain.model().dimensions[i];
            let lines = linear_steps(chain, &means, i);
            steps[i] = (1..times)
                .map(|j| Step {
                    slope: lines[j - 1].slope,
                    offset: lines[j - 1].offset,
                    variance: harmonics[i].variance(j, residuals[i][j]),
                })
                .collect();
            let smoothed = kalman::smooth(dimension.start, &steps[i], chain.values(i), dimension.observation_std)?;
            for j in 1..times {
                let slope = steps[i][j - 1].slope;
                let miss = smoothed.mean[j] - slope * smoothed.mean[j - 1] - steps[i][j - 1].offset;
                let spread = smoothed.sd[j].powi(2) + (slope * smoothed.sd[j - 1]).powi(2)
                    - 2.0 * slope * smoothed.covariance[j - 1];
                residuals[i][j] = miss * miss + spread.max(0.0);
            }
            means[i] = smoothed.mean;
            sds[i] = smoothed.sd;
        }
    }
    Ok(Robust { means, sds, steps })
}

/// The flow of one dimension over one step, linear around the current means.
struct Line {
    slope: f64,
    offset: f64,
}

impl Line {
    fn miss(&self, means: &[f64], j: usize) -> f64 {
        means[j] - self.slope * means[j - 1] - self.offset
    }
}

fn linear_steps(chain: &Chain, means: &[Vec<f64>], i: usize) -> Vec<Line> {
    let dim = chain.dim();
    let (mut out, mut by_state) = (vec![0.0; dim], vec![0.0; dim]);
    let mut pick = |_: &[f64], pick: &mut [f64]| pick[i] = 1.0;
    (1..chain.len())
        .map(|j| {
            let x: Vec<f64> = means.iter().map(|m| m[j - 1]).collect();
            let (t, dt) = (chain.times()[j - 1], chain.length(j));
            chain.drift().pullback_many(t, dt, &x, &mut pick, &mut out, &mut by_state, &mut []);
            Line { slope: by_state[i], offset: out[i] - by_state[i] * x[i] }
        })
        .collect()
}

/// 1/E[1/S | residual²] of the steps of one dimension, with every S at least a floor so that a node that cannot move does
/// not freeze them.
struct HarmonicMeans {
    /// Per step, the number of its kind.
    kinds: Vec<usize>,
    /// Per kind, ln w − ½ ln S and 1/S of every node.
    nodes: Vec<(Vec<f64>, Vec<f64>)>,
    space: Vec<f64>,
}

impl HarmonicMeans {
    fn new(chain: &Chain, i: usize) -> Self {
        let floor = (1e-3 * chain.model().dimensions[i].observation_std).powi(2);
        let mut nodes = Vec::new();
        let mut known = HashMap::new();
        let kind = |j: usize| {
            *known.entry(Arc::as_ptr(chain.nodes(i, j))).or_insert_with(|| {
                nodes.push(floored(chain.nodes(i, j), floor));
                nodes.len() - 1
            })
        };
        Self { kinds: (0..chain.len()).map(kind).collect(), nodes, space: Vec::new() }
    }

    /// For the step that ends at time `j`.
    fn variance(&mut self, j: usize, square: f64) -> f64 {
        let (logs, precisions) = &self.nodes[self.kinds[j]];
        let shares = &mut self.space;
        shares.clear();
        shares.extend(logs.iter().zip(precisions).map(|(l, p)| l - 0.5 * square * p));
        let top = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shares.iter_mut().for_each(|l| *l -= top);
        exp_slice(shares);
        let (total, precision) =
            shares.iter().zip(precisions).fold((0.0, 0.0), |(total, sum), (w, p)| (total + w, sum + w * p));
        total / precision
    }
}

/// ln w − ½ ln S and 1/S of every node, S at least `floor`.
fn floored(nodes: &Nodes, floor: f64) -> (Vec<f64>, Vec<f64>) {
    let variances = || nodes.variances().iter().map(|s| s.max(floor));
    let logs = nodes.log_weights().iter().zip(variances()).map(|(l, s)| l - 0.5 * s.ln()).collect();
    (logs, variances().map(|s| 1.0 / s).collect())
}

/// Messages of a linear Gaussian model: through a step, a' = slope²·a/(1 + 2a·variance) and c' = (c − offset)/slope.
fn backward(chain: &Chain, i: usize, steps: &[Step]) -> Result<Vec<Potential>> {
    let times = chain.len();
    // Natural parameters: a and the product a·c, so that a message that says nothing needs no centre.
    let (mut a, mut pull) = (0.0, 0.0);
    let mut potentials = Vec::with_capacity(times);
    for j in (0..times).rev() {
        if j + 1 < times {
            let step = &steps[j];
            let shrink = step.slope / (1.0 + 2.0 * a * step.variance);
            // a·c first: (c − offset)·a·slope/(1 + 2a·variance)
            pull = shrink * (pull - a * step.offset);
            a *= shrink * step.slope;
        }
        if let Some((firmness, y)) = chain.observation(i, j) {
            a += firmness;
            pull += firmness * y;
        }
        potentials.push(from_natural(a, pull)?.into());
    }
    potentials.reverse();
    Ok(potentials)
}

/// A potential from a and a·c.
pub fn from_natural(a: f64, pull: f64) -> Result<Quadratic> {
    Quadratic::new(a, if a > 0.0 { pull / a } else { 0.0 })
}

/// Observed values joined by straight lines, level before the first and after the last.
pub fn interpolate(chain: &Chain, i: usize) -> Vec<f64> {
    let seen: Vec<(f64, f64)> =
        chain.times().iter().copied().zip(chain.values(i).iter().copied()).filter(|p| !p.1.is_nan()).collect();
    let Some(&(_, first)) = seen.first() else {
        return vec![chain.model().dimensions[i].start.mean(); chain.len()];
    };
    chain
        .times()
        .iter()
        .map(|&t| {
            let right = seen.partition_point(|p| p.0 < t);
            match (right.checked_sub(1).map(|l| seen[l]), seen.get(right)) {
                (Some((t0, y0)), Some(&(t1, y1))) => y0 + (y1 - y0) * (t - t0) / (t1 - t0),
                (None, Some(&(_, y))) | (Some((_, y)), None) => y,
                (None, None) => first,
            }
        })
        .collect()
}
