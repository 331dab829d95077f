//! Slope and information without sampling where the posterior is Gaussian: a linear drift with Gaussian noise.
//!
//! There Fisher's identity is closed form in the moments of the Kalman smoother, and the observed information is minus
//! the derivative of that slope, by central differences.

use super::parameters::{parameters, rebuild};
use super::score::Score;
use crate::exact::kalman::{self, Smoothed, Step};
use crate::noise::NodeCache;
use crate::{Chain, Model, Result};
use nalgebra::{DMatrix, DVector};

/// Whether the posterior of the chain is Gaussian: one dimension, a flow linear in the state, one variance per step.
pub(super) fn applies(chain: &Chain) -> bool {
    chain.dim() == 1 && chain.drift().is_affine() && (0..chain.len()).all(|j| chain.nodes(0, j).len() == 1)
}

/// Exact slope and information of the log evidence.
pub(super) fn score(chain: &Chain) -> Result<Score> {
    let model = chain.model();
    let values: Vec<f64> = parameters(model).iter().map(|p| p.value).collect();
    let size = values.len();
    let slope = slope(chain, model)?;
    let mut information = DMatrix::zeros(size, size);
    for i in 0..size {
        // The cube root of the rounding error balances it against the third derivative.
        let h = 1e-5 * values[i].abs().max(1e-3);
        let at = |value: f64| {
            let mut moved = values.clone();
            moved[i] = value;
            self::slope(chain, &rebuild(model, &moved)?)
        };
        information.set_column(i, &((at(values[i] - h)? - at(values[i] + h)?) / (2.0 * h)));
    }
    let information = 0.5 * (&information + information.transpose());
    let missing = DMatrix::zeros(size, size);
    Ok(Score { first: 0, slope, products: information.clone(), complete: information, missing, paths: None })
}

/// E Σ_j ∂ ln p(x_j | x_{j−1}) + E Σ_j ∂ ln p(y_j | x_j) of `model` on the times and values of `chain`.
fn slope(chain: &Chain, model: &Model) -> Result<DVector<f64>> {
    let drift_size = model.drift.parameter_count();
    let dimension = &model.dimensions[0];
    let mut cache = NodeCache::new(dimension.noise.as_ref());
    let nodes = (1..chain.len()).map(|j| cache.nodes(chain.length(j))).collect::<Result<Vec<_>>>()?;
    let lines: Vec<Lines> = (1..chain.len()).map(|j| Lines::new(chain, model, j)).collect();
    let step = |(line, nodes): (&Lines, &std::sync::Arc<crate::noise::Nodes>)| Step {
        slope: line.flow.1,
        offset: line.flow.0,
        variance: nodes.variances()[0],
    };
    let steps: Vec<Step> = lines.iter().zip(&nodes).map(step).collect();
    let found = kalman::smooth(dimension.start, &steps, chain.values(0), dimension.observation_std)?;
    let mut slope = DVector::zeros(drift_size + dimension.noise.parameters().len() + 1);
    for (j, (step, line)) in steps.iter().zip(&lines).enumerate() {
        let Moments { miss, square, with_state } = Moments::new(&found, step, j);
        for (sum, (offset, factor)) in slope.iter_mut().zip(&line.by_parameter) {
            // E[r (offset + factor·x)]/S
            *sum += (miss * (offset + factor * found.mean[j]) + factor * with_state) / step.variance;
        }
        for (sum, derivative) in slope.iter_mut().skip(drift_size).zip(nodes[j].derivatives()) {
            *sum += derivative.variances[0] * (square / step.variance - 1.0) / (2.0 * step.variance);
        }
    }
    let sigma = dimension.observation_std;
    let last = slope.len() - 1;
    for (j, y) in chain.values(0).iter().enumerate().filter(|(_, y)| !y.is_nan()) {
        let square = (y - found.mean[j]).powi(2) + found.sd[j].powi(2);
        slope[last] += (square / (sigma * sigma) - 1.0) / sigma;
    }
    Ok(slope)
}

/// Flow and its parameter derivatives over one step, each offset + factor·x.
struct Lines {
    flow: (f64, f64),
    by_parameter: Vec<(f64, f64)>,
}

impl Lines {
    fn new(chain: &Chain, model: &Model, j: usize) -> Self {
        let at = |x: f64| {
            let (mut out, mut by_state) = ([0.0], [0.0]);
            let mut by_parameter = vec![0.0; model.drift.parameter_count()];
            let (t, dt) = (chain.times()[j - 1], chain.length(j));
            model.drift.pullback(t, dt, &[x], &[1.0], &mut out, &mut by_state, &mut by_parameter);
            (out[0], by_state[0], by_parameter)
        };
        let (offset, slope, zero) = at(0.0);
        let (_, _, one) = at(1.0);
        Self { flow: (offset, slope), by_parameter: zero.iter().zip(&one).map(|(z, o)| (*z, o - z)).collect() }
    }
}

/// Posterior moments of the residual r = x' − flow(x) of a step.
struct Moments {
    miss: f64,
    square: f64,
    /// Cov(r, x).
    with_state: f64,
}

impl Moments {
    fn new(found: &Smoothed, step: &Step, j: usize) -> Self {
        let miss = found.mean[j + 1] - step.slope * found.mean[j] - step.offset;
        let (now, next, both) = (found.sd[j].powi(2), found.sd[j + 1].powi(2), found.covariance[j]);
        let spread = next - 2.0 * step.slope * both + step.slope * step.slope * now;
        Self { miss, square: miss * miss + spread, with_state: both - step.slope * now }
    }
}
