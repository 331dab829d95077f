//! Compute gradient and information without sampling where the posterior is Gaussian: a linear drift with Gaussian
//! noise.
//!
//! There Fisher's identity is closed form in the moments of the Kalman smoother, as is the complete-data information,
//! and the observed information is minus the derivative of that gradient, by central differences.

use super::gradient::Gradient;
use super::parameters::{parameters, rebuild};
use crate::exact::kalman::{self, Smoothed, Step};
use crate::noise::NodeCache;
use crate::{Chain, Result, StateSpace};
use nalgebra::{DMatrix, DVector};

/// Whether the posterior of the chain is Gaussian: one dimension, a flow linear in the state, one variance per step.
pub(super) fn applies(chain: &Chain) -> bool {
    chain.dim() == 1 && chain.drift().is_affine() && (0..chain.len()).all(|j| chain.nodes(0, j).len() == 1)
}

/// Exact gradient and information of the log evidence.
pub(super) fn gradient(chain: &Chain) -> Result<Gradient> {
    let model = chain.model();
    let values: Vec<f64> = parameters(model).iter().map(|p| p.value).collect();
    let size = values.len();
    let (slope, complete) = slope_and_complete(chain, model)?;
    let mut information = DMatrix::zeros(size, size);
    for i in 0..size {
        // The cube root of the rounding error balances it against the third derivative.
        let h = 1e-5 * values[i].abs().max(1e-3);
        let at = |value: f64| {
            let mut moved = values.clone();
            moved[i] = value;
            slope_and_complete(chain, &rebuild(model, &moved)?).map(|(slope, _)| slope)
        };
        information.set_column(i, &((at(values[i] - h)? - at(values[i] + h)?) / (2.0 * h)));
    }
    let missing = &complete - 0.5 * (&information + information.transpose());
    Ok(Gradient { first: 0, slope, products: complete.clone(), complete, missing, paths: None })
}

/// E Σ_j ∂ ln p(x_j | x_{j−1}) + E Σ_j ∂ ln p(y_j | x_j) of `model` on the times and values of `chain`, and the
/// complete-data information: Gauss–Newton for the drift, and ln S and ln σ as the coordinates of variances, so that it
/// is never negative.
fn slope_and_complete(chain: &Chain, model: &StateSpace) -> Result<(DVector<f64>, DMatrix<f64>)> {
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
    let size = drift_size + dimension.noise.parameters().len() + 1;
    let (mut slope, mut complete) = (DVector::zeros(size), DMatrix::zeros(size, size));
    for (j, (step, line)) in steps.iter().zip(&lines).enumerate() {
        let Moments { miss, square, with_state } = Moments::new(&found, step, j);
        let push = |(offset, factor): &(f64, f64)| offset + factor * found.mean[j];
        for (p, by) in line.by_parameter.iter().enumerate() {
            // E[r (offset + factor·x)]/S
            slope[p] += (miss * push(by) + by.1 * with_state) / step.variance;
            for (q, other) in line.by_parameter.iter().enumerate() {
                let both = push(by) * push(other) + by.1 * other.1 * found.sd[j].powi(2);
                complete[(p, q)] += both / step.variance;
            }
        }
        let by_noise: Vec<f64> = nodes[j].derivatives().iter().map(|d| d.variances[0] / step.variance).collect();
        for (p, by) in by_noise.iter().enumerate() {
            slope[drift_size + p] += 0.5 * by * (square / step.variance - 1.0);
            for (q, other) in by_noise.iter().enumerate() {
                complete[(drift_size + p, drift_size + q)] += 0.5 * by * other * square / step.variance;
            }
        }
    }
    let sigma = dimension.observation_std;
    let last = size - 1;
    for (j, y) in chain.values(0).iter().enumerate().filter(|(_, y)| !y.is_nan()) {
        let square = (y - found.mean[j]).powi(2) + found.sd[j].powi(2);
        slope[last] += (square / (sigma * sigma) - 1.0) / sigma;
        complete[(last, last)] += 2.0 * square / sigma.powi(4);
    }
    Ok((slope, complete))
}

/// Flow and its parameter derivatives over one step, each offset + factor·x.
struct Lines {
    flow: (f64, f64),
    by_parameter: Vec<(f64, f64)>,
}

impl Lines {
    fn new(chain: &Chain, model: &StateSpace, j: usize) -> Self {
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
