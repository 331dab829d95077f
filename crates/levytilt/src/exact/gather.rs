//! Leave out times without an observation where the law over the whole gap between two observations is known.
//!
//! With an affine drift the state after a gap is a·x + c + Σ_k a_k J_k, where a_k is what is left of a unit at the end of
//! step k when the gap ends. For a stable law Σ_k a_k J_k has the law of one step of length Σ_k Δ_k |a_k|^α, and for Brownian
//! motion the same with α = 2. Without a drift all a_k are 1, and steps of any process with independent, stationary
//! increments add up. So the evidence of the chain, and of what it learns, needs the times of observations only.

use super::problem::Problem;
use crate::drift::Drift;
use crate::noise::Lengths;
use crate::series::TimeGrid;
use crate::series::length_key;
use crate::{Chain, Result, StateSpace};
use std::collections::BTreeMap;

/// A series reduced to some of its times: the first, those of observations, and others if they are worth it.
#[derive(Debug)]
pub(crate) struct Gathered {
    grid: TimeGrid,
    values: Vec<f64>,
    /// Row of each observation in the full series.
    rows: Vec<Option<usize>>,
    /// Place of each time in the full series.
    kept: Vec<usize>,
    /// Steps of the full grid that each step gathers, as their lengths and the time from their end to that of the gap.
    steps: Vec<Vec<(f64, f64)>>,
}

/// What the length of a gathered step owes to parameters: ∂ ln Δ/∂p for the parameters of the drift, and for the index.
#[derive(Debug, Clone)]
pub(crate) struct LengthSlope {
    pub drift: Vec<f64>,
    pub index: f64,
}

/// The exponent α of Σ_k Δ_k |a_k|^α for a model whose steps can be gathered; none if they cannot. Where all a_k are 1 any does.
pub(crate) fn index(model: &StateSpace) -> Option<f64> {
    let dimension = model.only_dimension().ok().filter(|dimension| dimension.size.is_none())?;
    let drift = model.drift.as_ref();
    match dimension.noise.lengths() {
        Lengths::Additive | Lengths::SelfSimilar { .. } if drift.is_still() => Some(1.0),
        Lengths::SelfSimilar { index, .. } if drift.is_affine() && drift.is_autonomous() => Some(index),
        _ => None,
    }
}

impl Gathered {
    /// The observations of a series; `None` if no time would be left out.
    pub fn new(grid: &TimeGrid, values: &[f64]) -> Result<Option<Self>> {
        let spread = grid.spread(values)?;
        let kept: Vec<usize> = (0..grid.len()).filter(|&j| j == 0 || !spread[j].is_nan()).collect();
        if kept.len() < 2 || kept.len() == grid.len() {
            return Ok(None);
        }
        Ok(Some(Self::only(grid, &spread, kept)))
    }

    /// The latent times `kept` of a series with one value per latent time: at least two in increasing order, with the first and all
    /// that are observed.
    pub fn only(grid: &TimeGrid, spread: &[f64], kept: Vec<usize>) -> Self {
        let lengths = |from: usize, to: usize| {
            let mut rest = 0.0;
            let step = |j: usize| {
                let dt = grid.step(j);
                rest += dt;
                (dt, rest - dt)
            };
            (from..to).rev().map(step).collect()
        };
        Self {
            grid: grid.only(&kept),
            rows: kept.iter().map(|&j| grid.observation(j)).collect(),
            values: kept.iter().map(|&j| spread[j]).collect(),
            steps: kept.windows(2).map(|pair| lengths(pair[0], pair[1])).collect(),
            kept,
        }
    }

    /// The model on the times that are left, for drawing paths.
    pub fn chain<'a>(&'a self, problem: &Problem<'a>) -> Result<Chain<'a>> {
        Chain::new(problem.model, &self.grid, &[&self.values])?.with_noise_lengths(&problem.lengths)
    }

    /// The times that are left.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Steps that step number `k` gathers, in order of time: their lengths, and the time from the end of each to that of the gap.
    pub fn steps(&self, k: usize) -> impl Iterator<Item = (f64, f64)> {
        self.steps[k].iter().rev().copied()
    }

    /// The reduced problem of a model with this `index`.
    pub fn problem<'a>(&'a self, model: &'a StateSpace, index: f64) -> Result<Problem<'a>> {
        let mut problem = Problem::of_rows(model, &self.grid, &self.values, &self.rows)?;
        let drift = model.drift.as_ref();
        problem.lengths = self
            .steps
            .iter()
            .map(|steps| steps.iter().map(|&(dt, rest)| dt * multiplier(drift, rest).0.abs().powf(index)).sum())
            .collect();
        Ok(problem)
    }

    /// By key of the length of a step of `problem`: what that length owes to the parameters.
    pub fn slopes(&self, problem: &Problem, index: f64) -> BTreeMap<u64, LengthSlope> {
        let drift = problem.model.drift.as_ref();
        let mut all = BTreeMap::new();
        for (steps, &length) in self.steps.iter().zip(&problem.lengths) {
            all.entry(length_key(length)).or_insert_with(|| {
                let mut slope = LengthSlope { drift: vec![0.0; drift.parameter_count()], index: 0.0 };
                for &(dt, rest) in steps {
                    let (a, by_parameter) = multiplier(drift, rest);
                    let share = dt * a.abs().powf(index) / length;
                    slope.index += if a == 0.0 { 0.0 } else { share * a.abs().ln() };
                    slope.drift.iter_mut().zip(by_parameter).for_each(|(sum, by)| *sum += share * index * by / a);
                }
                slope
            });
        }
        all
    }
}

/// What is left of a unit of the state after time `dt` under an affine drift, and its derivatives in the parameters.
pub(super) fn multiplier(drift: &dyn Drift, dt: f64) -> (f64, Vec<f64>) {
    let p = drift.parameter_count();
    let [(zero, at_zero), (one, at_one)] = [0.0, 1.0].map(|x| {
        let (mut out, mut by_state, mut by_parameter) = ([0.0], [0.0], vec![0.0; p]);
        drift.flow_jacobian(0.0, dt, &[x], &mut out, &mut by_state, &mut by_parameter);
        (by_state[0], by_parameter)
    });
    // Affine: the slope in the state is the same everywhere.
    debug_assert!((zero - one).abs() <= 1e-9 * zero.abs().max(1.0));
    (zero, at_one.iter().zip(&at_zero).map(|(one, zero)| one - zero).collect())
}
