//! Add up how the sampled paths push every parameter: Fisher's identity and Louis's information.
//!
//! Per path, the complete-data gradient is s = Σ_j ∂ ln p(x_j | x_{j−1}) + Σ_j ∂ ln p(y_j | x_j). Its mean over the posterior
//! is the slope of the log evidence, and the observed information is what a path known exactly would give, −E Σ_j ∂s_j,
//! less what is lost by not knowing it, Cov(s).

use super::expect::Expected;
use super::gradient::Gradient;
use super::linear_gaussian;
use super::parameters::Parameter;
use crate::noise::{StepGradient, pairs};
use crate::posterior::Paths;
use crate::{Chain, Result};
use nalgebra::{DMatrix, DVector, Dyn, Matrix, StorageMut};
use rayon::prelude::*;
use std::sync::Arc;

/// Gradients of the paths, each with its normalised weight, in the order of [`super::parameters`].
pub fn gradient(chain: &Chain, paths: &Paths, weights: &[f64]) -> Gradient {
    gradient_from(0, chain, paths, weights)
}

/// The gradient that an E-step gives, of what is free among `parameters` at least: exact where there is a formula.
pub(super) fn gradient_of(chain: &Chain, parameters: &[Parameter], expected: &Expected) -> Result<Gradient> {
    if linear_gaussian::applies(chain) {
        return linear_gaussian::gradient(chain);
    }
    // A drift that is held fixed (a network has thousands of weights) needs no gradient.
    let drift = chain.drift().parameter_count();
    let first = if parameters[..drift].iter().all(|p| p.fixed) { drift } else { 0 };
    Ok(gradient_from(first, chain, &expected.paths, &expected.weights))
}

/// [`gradient`] of the parameters from number `first` on: 0, or the number of the drift's.
fn gradient_from(first: usize, chain: &Chain, paths: &Paths, weights: &[f64]) -> Gradient {
    let noise = |dimension: &crate::Dimension| dimension.noise.parameters().len() + 1;
    let drift = chain.drift().parameter_count() - first;
    let size = drift + chain.model().dimensions.iter().map(noise).sum::<usize>();
    let tables = tables(chain);
    let blocks: Vec<BlockGradient> = paths
        .block_ranges()
        .into_par_iter()
        .map(|(block, first, count)| {
            let mut worker = Worker::new(chain, paths, &tables, (block, count), size, drift);
            worker.run(&weights[first..first + count], block == 0)
        })
        .collect();
    let zero = || DMatrix::zeros(size, size);
    let slope = blocks.iter().fold(DVector::zeros(size), |sum, b| sum + &b.slope);
    // One path alone has no covariance; blocks share one window after the other, so any of them is a fair sample.
    let several: Vec<&BlockGradient> = blocks.iter().filter(|b| b.count > 1).collect();
    let weight: f64 = several.iter().map(|b| b.weight).sum();
    let missing = several.iter().fold(zero(), |sum, b| sum + &b.missing) / weight.max(f64::MIN_POSITIVE);
    let BlockGradient { complete, products, weight, .. } = &blocks[0];
    let (complete, products) = (complete / *weight, products / *weight);
    Gradient { first, slope, complete, products, missing, paths: Some(paths.len()) }
}

/// Gradients per dimension and step (the one that ends at time j is number j − 1); steps share tables where they can.
pub(super) fn tables(chain: &Chain) -> Vec<Vec<Arc<StepGradient>>> {
    (0..chain.dim())
        .map(|i| StepGradient::of_steps((1..chain.len()).map(|j| (chain.length(j), chain.nodes(i, j)))))
        .collect()
}

/// Sums over the paths of a block, each with its weight.
struct BlockGradient {
    slope: DVector<f64>,
    missing: DMatrix<f64>,
    /// Sums of curvatures and products of gradients; only one block has them, because a block is enough.
    complete: DMatrix<f64>,
    products: DMatrix<f64>,
    weight: f64,
    count: usize,
}

/// Times and observed times in a window.
const WINDOW: (usize, usize) = (8, 4);

/// Gradients of one block of paths, step by step.
///
/// States far apart in time are independent under the posterior, so Cov(s) is summed over windows of time and their
/// neighbours only: what pairs further apart would add is noise.
struct Worker<'a> {
    chain: &'a Chain<'a>,
    paths: &'a Paths,
    tables: &'a [Vec<Arc<StepGradient>>],
    block: usize,
    size: usize,
    drift_size: usize,
    /// Per dimension: the place of its noise parameters and, behind them, of its observation noise.
    places: Vec<(usize, usize)>,
    /// Increments x_j − flow(x_{j−1}) of all paths of the block, dimension fastest.
    increments: Vec<f64>,
    /// Gradients of one step: a column per path.
    gradients: DMatrix<f64>,
    /// Gradients of all paths within the window so far, and centred ones of the window before.
    window: DMatrix<f64>,
    before: DMatrix<f64>,
    scratch: Scratch,
}

/// Working space of one step.
struct Scratch {
    /// Flows of all paths, and derivatives in the states, which nobody asks for.
    ahead: Vec<f64>,
    by_state: Vec<f64>,
    /// Derivatives in the drift's parameters: a row per path.
    by_drift: Vec<f64>,
    curvature: Vec<f64>,
}

impl<'a> Worker<'a> {
    fn new(
        chain: &'a Chain<'a>,
        paths: &'a Paths,
        tables: &'a [Vec<Arc<StepGradient>>],
        (block, count): (usize, usize),
        size: usize,
        drift_size: usize,
    ) -> Self {
        let dim = chain.dim();
        let mut next = drift_size;
        let places: Vec<(usize, usize)> = chain
            .model()
            .dimensions
            .iter()
            .map(|dimension| {
                let first = next;
                next += dimension.noise.parameters().len() + 1;
                (first, next - 1)
            })
            .collect();
        let most = places.iter().map(|(first, last)| pairs(last - first).count()).max().unwrap_or(0);
        Self {
            chain,
            paths,
            tables,
            block,
            size,
            drift_size,
            places,
            increments: vec![0.0; count * dim],
            gradients: DMatrix::zeros(size, count),
            window: DMatrix::zeros(size, count),
            before: DMatrix::zeros(size, count),
            scratch: Scratch {
                ahead: vec![0.0; count * dim],
                by_state: vec![0.0; count * dim],
                by_drift: vec![0.0; count * drift_size],
                curvature: vec![0.0; most],
            },
        }
    }

    /// All steps of all paths; `curved` asks for the information of known paths as well.
    fn run(&mut self, weights: &[f64], curved: bool) -> BlockGradient {
        let count = weights.len();
        let zero = || DMatrix::zeros(self.size, self.size);
        let mut sums = BlockGradient {
            slope: DVector::zeros(self.size),
            missing: zero(),
            complete: zero(),
            products: zero(),
            weight: weights.iter().sum(),
            count,
        };
        let (mut times, mut observed) = (0, 0);
        for j in 0..self.chain.len() {
            self.step(j);
            self.window += &self.gradients;
            if curved {
                add_products(weights, &self.gradients, &self.gradients, &mut sums.products);
                self.curve(j, weights, &mut sums.complete);
            }
            times += 1;
            observed += usize::from((0..self.chain.dim()).any(|i| !self.chain.value(i, j).is_nan()));
            if (times >= WINDOW.0 && observed >= WINDOW.1) || j + 1 == self.chain.len() {
                self.close_window(weights, &mut sums);
                (times, observed) = (0, 0);
            }
        }
        // Deviations from the mean of n paths are too small by 1 − 1/n.
        if count > 1 {
            sums.missing *= count as f64 / (count - 1) as f64;
        }
        sums
    }

    /// Add the window's gradients to the slope and its covariance, with itself and with the window before, to what is lost.
    fn close_window(&mut self, weights: &[f64], sums: &mut BlockGradient) {
        let weights = DVector::from_row_slice(weights);
        let total = &self.window * &weights;
        let mean = &total / sums.weight;
        sums.slope += total;
        for mut column in self.window.column_iter_mut() {
            column -= &mean;
        }
        add_products(weights.as_slice(), &self.window, &self.window, &mut sums.missing);
        let mut across = DMatrix::zeros(self.size, self.size);
        add_products(weights.as_slice(), &self.window, &self.before, &mut across);
        sums.missing += across.transpose() + across;
        std::mem::swap(&mut self.window, &mut self.before);
        self.window.fill(0.0);
    }

    /// Gradients of the step that ends at time `j`, with the observation there.
    fn step(&mut self, j: usize) {
        self.gradients.fill(0.0);
        if j > 0 {
            self.step_gradients(j);
        }
        let states = self.paths.block_states(self.block, j);
        for (i, dimension) in self.chain.model().dimensions.iter().enumerate() {
            let y = self.chain.value(i, j);
            if y.is_nan() {
                continue;
            }
            let (inverse, place) = (1.0 / dimension.observation_std, self.places[i].1);
            for (path, x) in states.iter().skip(i).step_by(self.chain.dim()).enumerate() {
                // ∂/∂σ of −z²/2 − ln σ, z = (y − x)/σ
                let z = (y - x) * inverse;
                self.gradients[(place, path)] = (z * z - 1.0) * inverse;
            }
        }
    }

    /// Gradients of ln p(r), r = x_j − flow(x_{j−1}): a change of the flow acts as −∂/∂r.
    fn step_gradients(&mut self, j: usize) {
        let Self { chain, paths, tables, increments, gradients, places, size, drift_size, scratch, .. } = self;
        let dim = chain.dim();
        let (before, now) = (paths.block_states(self.block, j - 1), paths.block_states(self.block, j));
        let columns = gradients.as_mut_slice();
        let mut pushes = |ahead: &[f64], pushes: &mut [f64]| {
            for (place, push) in pushes.iter_mut().enumerate() {
                let (path, i) = (place / dim, place % dim);
                let (first, last) = places[i];
                increments[place] = now[place] - ahead[place];
                let gradient = &mut columns[path * *size + first..path * *size + last];
                *push = -tables[i][j - 1].evaluate(increments[place], gradient);
            }
        };
        let Scratch { ahead, by_state, by_drift, .. } = scratch;
        if *drift_size == 0 {
            chain.flow_many(j, before, ahead);
            pushes(ahead, by_state);
            return;
        }
        by_drift.fill(0.0);
        let (t, dt) = (chain.times()[j - 1], chain.length(j));
        chain.drift().pullback_many(t, dt, before, &mut pushes, ahead, by_state, by_drift);
        for (mut column, row) in gradients.column_iter_mut().zip(by_drift.chunks_exact(*drift_size)) {
            column.rows_mut(0, *drift_size).copy_from_slice(row);
        }
    }

    /// Add minus the second derivatives of the same step: Gauss–Newton for the drift, whose own bending has mean zero
    /// under the model, as have the terms between drift and noise.
    fn curve(&mut self, j: usize, weights: &[f64], sum: &mut DMatrix<f64>) {
        for i in 0..self.chain.dim() {
            self.curve_observation(i, j, weights, sum);
            if j > 0 {
                self.curve_step(i, j, weights, sum);
            }
        }
    }

    /// ln σ is the axis, as for the scales of the noise.
    fn curve_observation(&self, i: usize, j: usize, weights: &[f64], sum: &mut DMatrix<f64>) {
        let y = self.chain.value(i, j);
        if y.is_nan() {
            return;
        }
        let (precision, place) = (self.chain.model().dimensions[i].observation_std.powi(-2), self.places[i].1);
        let states = self.paths.block_states(self.block, j).iter().skip(i).step_by(self.chain.dim());
        let squares: f64 = states.zip(weights).map(|(x, weight)| weight * (y - x).powi(2)).sum();
        sum[(place, place)] += 2.0 * squares * precision * precision;
    }

    fn curve_step(&mut self, i: usize, j: usize, weights: &[f64], sum: &mut DMatrix<f64>) {
        let Self { chain, paths, tables, increments, places, drift_size, scratch, .. } = self;
        let (dim, (first, last)) = (chain.dim(), places[i]);
        let Scratch { ahead, by_state, by_drift, curvature } = scratch;
        if *drift_size > 0 {
            let mut unit = |_: &[f64], unit: &mut [f64]| {
                unit.iter_mut().skip(i).step_by(dim).for_each(|unit| *unit = 1.0);
            };
            by_drift.fill(0.0);
            let (t, dt, before) = (chain.times()[j - 1], chain.length(j), paths.block_states(self.block, j - 1));
            chain.drift().pullback_many(t, dt, before, &mut unit, ahead, by_state, by_drift);
        }
        let curvature = &mut curvature[..pairs(last - first).count()];
        let mut stiffnesses = Vec::with_capacity(weights.len());
        for (path, weight) in weights.iter().enumerate() {
            let stiffness = tables[i][j - 1].curvature(increments[path * dim + i], curvature);
            for ((p, q), c) in pairs(last - first).zip(curvature.iter()) {
                sum[(first + p, first + q)] += weight * c;
                if p != q {
                    sum[(first + q, first + p)] += weight * c;
                }
            }
            stiffnesses.push(weight * stiffness);
        }
        let slopes = DMatrix::from_column_slice(*drift_size, weights.len(), by_drift);
        add_products(&stiffnesses, &slopes, &slopes, &mut sum.view_mut((0, 0), (*drift_size, *drift_size)));
    }
}

/// `sum` += Σ_p weight_p·a_p b_pᵀ over the columns p of two matrices.
fn add_products<S>(weights: &[f64], a: &DMatrix<f64>, b: &DMatrix<f64>, sum: &mut Matrix<f64, Dyn, Dyn, S>)
where
    S: StorageMut<f64, Dyn, Dyn>,
{
    let mut scaled = a.clone();
    scaled.column_iter_mut().zip(weights).for_each(|(mut column, weight)| column *= *weight);
    sum.gemm(1.0, &scaled, &b.transpose(), 1.0);
}
