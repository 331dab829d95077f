//! Fit a sum of bumps to a message known at some states: Gauss–Newton steps on its logarithm.

use super::bumps::Bump;
use crate::noise::fast_exp::exp_slice;
use nalgebra::{DMatrix, DVector};

/// States with the logarithm of the message wanted there; weights and ceilings sum to about one.
pub(super) struct Target {
    pub states: Vec<f64>,
    pub log_values: Vec<f64>,
    /// How much it matters that a sum is right there.
    pub weights: Vec<f64>,
    /// How much more it matters that a sum is not too large there: paths would be led astray.
    pub ceilings: Vec<f64>,
}

impl Target {
    /// Add a state at which the message, of logarithm `log_value`, must not be exceeded.
    pub fn add_ceiling(&mut self, state: f64, log_value: f64) {
        self.states.push(state);
        self.log_values.push(log_value);
        self.weights.push(0.0);
        self.ceilings.push(CEILING);
    }

    /// Weight of the square of a residual `wanted − found` at state `i`. A message missed by more than [`LOST`] is lost
    /// whether by a little or a lot more; one exceeded leads paths astray the further the more.
    fn weight(&self, i: usize, residual: f64) -> f64 {
        if residual < 0.0 {
            return self.weights[i] + self.ceilings[i];
        }
        self.weights[i] * (LOST / residual.max(LOST)).powi(2)
    }

    /// Mean and standard deviation by weight of the states without a ceiling of their own; those beyond would drown them.
    pub fn moments(&self) -> (f64, f64) {
        let inner = || (0..self.states.len()).filter(|&k| self.ceilings[k] == 0.0);
        let total: f64 = inner().map(|k| self.weights[k]).sum();
        let mean = |f: &dyn Fn(f64) -> f64| inner().map(|k| self.weights[k] * f(self.states[k])).sum::<f64>() / total;
        let centre = mean(&|x| x);
        (centre, mean(&|x| (x - centre).powi(2)).sqrt())
    }
}

/// Mean square error of the logarithm below which nothing is left to do, and below which only a few steps are tried.
const GOOD: f64 = 1e-7;
const FAIR: f64 = 3e-6;
/// Logarithm of the factor by which a message can be missed at most.
const LOST: f64 = 2.0;
/// Weight of a ceiling that was found to be broken.
const CEILING: f64 = 0.01;
/// Most Gauss–Newton steps, from a poor start and from a fair one.
const STEPS: usize = 30;
const FEW_STEPS: usize = 5;
/// Share of the message below which a bump is left as it is.
const SILENT: f64 = 1e-9;

/// Move weights, firmnesses and centres of `bumps` so that the logarithm of their sum comes closer to the target. Never
/// makes the mean square error larger.
pub(super) fn polish(bumps: &mut Vec<Bump>, target: &Target) {
    let mut fit = Fit::new(bumps, target);
    let mut damping = 1e-4;
    for taken in 0..STEPS {
        if fit.error < GOOD || (fit.error < FAIR && taken >= FEW_STEPS) {
            break;
        }
        let Some(moved) = fit.step(bumps, target, damping) else { break };
        let next = Fit::new(&moved, target);
        if next.error < fit.error {
            *bumps = moved;
            fit = next;
            damping *= 0.3;
        } else {
            damping *= 30.0;
        }
    }
}

/// Shares and residuals of the bumps at the states of a target.
struct Fit {
    /// Share of bump m in the sum at state i, by state.
    shares: Vec<f64>,
    residuals: Vec<f64>,
    weights: Vec<f64>,
    error: f64,
}

impl Fit {
    fn new(bumps: &[Bump], target: &Target) -> Self {
        let mut shares = Vec::with_capacity(bumps.len() * target.states.len());
        let mut residuals = Vec::with_capacity(target.states.len());
        for (x, wanted) in target.states.iter().zip(&target.log_values) {
            let first = shares.len();
            shares.extend(bumps.iter().map(|b| b.log_value(*x)));
            let here = &mut shares[first..];
            let log_sum = turn_into_shares(here);
            residuals.push(wanted - log_sum);
        }
        let weights: Vec<f64> = (0..residuals.len()).map(|i| target.weight(i, residuals[i])).collect();
        let error = residuals.iter().zip(&weights).map(|(r, w)| w * r * r).sum();
        Self { shares, residuals, weights, error }
    }

    /// Bumps after one damped Gauss–Newton step in (ln π, ln a, c·√(2a)).
    fn step(&self, bumps: &[Bump], target: &Target, damping: f64) -> Option<Vec<Bump>> {
        let count = bumps.len();
        let active: Vec<usize> = (0..count)
            .filter(|&m| bumps[m].a > 0.0 && self.shares.iter().skip(m).step_by(count).any(|&s| s > SILENT))
            .collect();
        let size = 3 * active.len();
        let mut matrix = vec![0.0; size * size];
        let mut right = DVector::zeros(size);
        let mut row = vec![0.0; size];
        for (i, &x) in target.states.iter().enumerate() {
            for (place, &m) in active.iter().enumerate() {
                let share = self.shares[i * count + m];
                // (x − c)/width
                let z = (x - bumps[m].c) * (2.0 * bumps[m].a).sqrt();
                row[3 * place] = share;
                row[3 * place + 1] = -0.5 * share * z * z;
                row[3 * place + 2] = share * z;
            }
            let weight = self.weights[i];
            for (k, &value) in row.iter().enumerate() {
                let scaled = weight * value;
                right[k] += scaled * self.residuals[i];
                for (entry, other) in matrix[k * size..k * size + k + 1].iter_mut().zip(&row) {
                    *entry += scaled * other;
                }
            }
        }
        // Lower triangle of the transpose: column-major storage reads row k as column k.
        let mut matrix = DMatrix::from_vec(size, size, matrix).transpose();
        (0..size).for_each(|k| matrix[(k, k)] += damping);
        let change = matrix.cholesky()?.solve(&right);
        let mut moved = bumps.to_vec();
        for (place, &m) in active.iter().enumerate() {
            let bump = &mut moved[m];
            bump.c += change[3 * place + 2] / (2.0 * bump.a).sqrt();
            bump.log_weight += change[3 * place];
            bump.a *= change[3 * place + 1].exp();
        }
        moved.iter().all(|b| b.a.is_finite() && b.c.is_finite() && b.log_weight.is_finite()).then_some(moved)
    }
}

/// Replace logarithms by their shares of the sum and return the logarithm of the sum.
pub(super) fn turn_into_shares(logs: &mut [f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter_mut().for_each(|l| *l -= top);
    exp_slice(logs);
    let total: f64 = logs.iter().sum();
    logs.iter_mut().for_each(|l| *l /= total);
    top + total.ln()
}
