//! Filter backwards with sums of bumps: what sparse data need, where one quadratic cannot be flat far away and curved near
//! its target at once.
//!
//! No sampling and no iteration. Per dimension, from the last time to the first:
//! 1. multiply the message by the observation (exact);
//! 2. spread it by the noise of the step before: every bump times every node (exact);
//! 3. merge bumps that look alike;
//! 4. pull it back through the drift's flow.

mod bumps;
mod merge;

use super::robust::{Robust, robust_smooth};
use crate::posterior::Potentials;
use crate::potential::{GaussianSum, Potential, Quadratic};
use crate::{Chain, Result};
use bumps::{Bump, spread};
use merge::merge;

/// How to filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianSumOptions {
    /// Bumps are merged when ln a differs by less than this and centres by less than this many widths.
    pub width: f64,
    /// Most bumps per potential; `width` grows where they would be more.
    pub bumps: usize,
}

impl Default for GaussianSumOptions {
    fn default() -> Self {
        Self { width: 0.7, bumps: 24 }
    }
}

/// Gaussian-sum potentials of a chain.
pub fn gaussian_sum(chain: &Chain, options: &GaussianSumOptions) -> Result<Potentials> {
    let robust = robust_smooth(chain)?;
    (0..chain.dim()).map(|i| filter(chain, i, &robust, options)).collect()
}

fn filter(chain: &Chain, i: usize, robust: &Robust, options: &GaussianSumOptions) -> Result<Vec<Potential>> {
    let precision = 0.5 / chain.model().dimensions[i].observation_std.powi(2);
    let mut message = vec![Bump { log_weight: 0.0, a: 0.0, c: 0.0 }];
    let mut potentials = Vec::with_capacity(chain.len());
    let reach = reaches(chain, i, robust);
    for j in (0..chain.len()).rev() {
        if j + 1 < chain.len() {
            let wide = spread(&message, chain.nodes(i, j + 1));
            let flat = 0.5 / (30.0 * reach[j]).powi(2);
            let mut width = options.width;
            message = merge(&wide, width, flat);
            while message.len() > options.bumps {
                width *= 1.25;
                message = merge(&wide, width, flat);
            }
            pull_back(chain, i, j, robust, &mut message);
        }
        let y = chain.value(i, j);
        if !y.is_nan() {
            message.iter_mut().for_each(|bump| *bump = bump.times(precision, y));
        }
        drop_negligible(&mut message);
        potentials.push(potential(&message)?);
    }
    potentials.reverse();
    Ok(potentials)
}
fn drop_negligible(message: &mut Vec<Bump>) {
    let top = message.iter().map(|b| b.log_weight).fold(f64::NEG_INFINITY, f64::max);
    message.iter_mut().for_each(|b| b.log_weight -= top);
    message.retain(|b| b.log_weight > -60.0);
}
fn reaches(chain: &Chain, i: usize, robust: &Robust) -> Vec<f64> {
    let n = chain.len();
    let values = chain.values(i);
    let mut prev = vec![robust.means[i][0]; n];
    let mut next = vec![robust.means[i][n - 1]; n];
    for j in 0..n {
        if !values[j].is_nan() {
            prev[j] = values[j]
        } else if j > 0 {
            prev[j] = prev[j - 1]
        }
    }
    for j in (0..n).rev() {
        if !values[j].is_nan() {
            next[j] = values[j]
        } else if j + 1 < n {
            next[j] = next[j + 1]
        }
    }
    (0..n)
        .map(|j| (prev[j] - next[j]).abs() + 10.0 * robust.sds[i][j] + chain.model().dimensions[i].observation_std)
        .collect()
}
fn pull_back(chain: &Chain, i: usize, j: usize, robust: &Robust, message: &mut [Bump]) {
    let dim = chain.dim();
    let (mut out, mut by_state) = (vec![0.0; dim], vec![0.0; dim]);
    let mut unused = vec![0.0; chain.drift().parameter_count()];
    let mut pick = vec![0.0; dim];
    pick[i] = 1.0;
    let mut x: Vec<f64> = robust.means.iter().map(|m| m[j]).collect();
    let t = chain.times()[j];
    let dt = chain.length(j + 1);
    let m = x[i];
    for bump in message {
        x[i] = m;
        for _ in 0..8 {
            chain.drift().pullback(t, dt, &x, &pick, &mut out, &mut by_state, &mut unused);
            let next = x[i] + (bump.c - out[i]) / by_state[i];
            if next.abs() > 1e3 {
                break;
            }
            x[i] = next;
        }
        chain.drift().pullback(t, dt, &x, &pick, &mut out, &mut by_state, &mut unused);
        bump.c = x[i] + (bump.c - out[i]) / by_state[i];
        bump.a *= by_state[i] * by_state[i];
    }
}

fn potential(message: &[Bump]) -> Result<Potential> {
    let quadratic = |b: &Bump| Quadratic::new(b.a, b.c);
    if let [bump] = message {
        return Ok(quadratic(bump)?.into());
    }
    let parts = message.iter().map(|b| Ok((b.log_weight, quadratic(b)?))).collect::<Result<Vec<_>>>()?;
    Ok(GaussianSum::new(parts)?.into())
}
