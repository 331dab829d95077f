//! Add up how the sampled paths push every parameter: Fisher's identity and Louis's information.
//!
//! Per path, the complete-data score is s = Σ_j ∂ ln p(x_j | x_{j−1}) + Σ_j ∂ ln p(y_j | x_j). Its mean over the posterior
//! is the slope of the log evidence, and the observed information is what a path known exactly would give, −E Σ_j ∂s_j,
//! less what is lost by not knowing it, Cov(s).

use crate::Chain;
use crate::noise::{ScoreTable, length_key, pairs};
use crate::posterior::Paths;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Slope and information of the log evidence in all parameters of the model, as they stand (not on the free scale).
#[derive(Debug, Clone)]
pub struct Score {
    /// Number of the first parameter scored: 0, or the first behind those of the drift.
    pub first: usize,
    /// Mean complete-data score.
    pub slope: DVector<f64>,
    /// Information of a path known exactly: minus the second derivatives of its log-density.
    pub complete: DMatrix<f64>,
    /// The same as products of scores: equal in the mean if the model is right, and never negative.
    pub products: DMatrix<f64>,
    /// Covariance of the score over paths: the information lost.
    pub missing: DMatrix<f64>,
    /// Paths behind the slope, whose covariance is `missing` divided by this; none if the slope is exact.
    pub paths: Option<usize>,
}

/// Scores of the paths, each with its normalised weight, in the order of [`super::parameters`].
pub fn score(chain: &Chain, paths: &Paths, weights: &[f64]) -> Score {
    score_from(0, chain, paths, weights)
}

/// [`score`] of the parameters from number `first` on: 0, or the number of the drift's.
pub(super) fn score_from(first: usize, chain: &Chain, paths: &Paths, weights: &[f64]) -> Score {
    let noise = |dimension: &crate::Dimension| dimension.noise.parameters().len() + 1;
    let drift = chain.drift().parameter_count() - first;
    let size = drift + chain.model().dimensions.iter().map(noise).sum::<usize>();
    let tables = tables(chain);
    let blocks: Vec<BlockScore> = paths
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
    let several: Vec<&BlockScore> = blocks.iter().filter(|b| b.count > 1).collect();
    let weight: f64 = several.iter().map(|b| b.weight).sum();
    let missing = several.iter().fold(zero(), |sum, b| sum + &b.missing) / weight.max(f64::MIN_POSITIVE);
    let BlockScore { complete, products, weight, .. } = &blocks[0];
    let (complete, products) = (complete / *weight, products / *weight);
    Score { first, slope, complete, products, missing, paths: Some(paths.len()) }
}

/// A score table per dimension and step (the one that ends at time j is number j − 1); steps of one length share theirs.
pub(super) fn tables(chain: &Chain) -> Vec<Vec<Arc<ScoreTable>>> {
    (0..chain.dim())
        .map(|i| {
            let mut by_length: HashMap<u64, Arc<ScoreTable>> = HashMap::new();
            let mut table = |j: usize| {
                let shared = by_length.entry(length_key(chain.length(j)));
                shared.or_insert_with(|| Arc::new(ScoreTable::new(chain.nodes(i, j)))).clone()
            };
            (1..chain.len()).map(&mut table).collect()
        })
        .collect()
}

/// Sums over the paths of a block, each with its weight.
struct BlockScore {
    slope: DVector<f64>,
    missing: DMatrix<f64>,
    /// Sums of curvatures and products of scores; only one block has them, because a block is enough.
    complete: DMatrix<f64>,
    products: DMatrix<f64>,
    weight: f64,
    count: usize,
}

/// Times and observed times in a window.
const WINDOW: (usize, usize) = (8, 4);

/// Scores of one block of paths, step by step.
///
/// States far apart in time are independent under the posterior, so Cov(s) is summed over windows of time and their
/// neighbours only: what pairs further apart would add is noise.
struct Worker<'a> {
    chain: &'a Chain<'a>,
    paths: &'a Paths,
    tables: &'a [Vec<Arc<ScoreTable>>],
    block: usize,
    size: usize,
    drift_size: usize,
    /// Per dimension: the place of its noise parameters and, behind them, of its observation noise.
    places: Vec<(usize, usize)>,
    /// Flow of all states of the block.
    ahead: Vec<f64>,
    /// Score of one step of one path.
    score: Vec<f64>,
    /// Scores of all paths within the window so far, and centred ones of the window before.
    window: DMatrix<f64>,
    before: DMatrix<f64>,
    scratch: Scratch,
}

/// Working space of one step of one path.
struct Scratch {
    pushes: Vec<f64>,
    unit: Vec<f64>,
    out: Vec<f64>,
    by_state: Vec<f64>,
    jacobian: Vec<f64>,
    curvature: Vec<f64>,
}

impl<'a> Worker<'a> {
    fn new(
        chain: &'a Chain<'a>,
        paths: &'a Paths,
        tables: &'a [Vec<Arc<ScoreTable>>],
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
            ahead: vec![0.0; count * dim],
            score: vec![0.0; size],
            window: DMatrix::zeros(size, count),
            before: DMatrix::zeros(size, count),
            scratch: Scratch {
                pushes: vec![0.0; dim],
                unit: vec![0.0; dim],
                out: vec![0.0; dim],
                by_state: vec![0.0; dim],
                jacobian: vec![0.0; drift_size],
                curvature: vec![0.0; most],
            },
        }
    }

    /// All steps of all paths; `curved` asks for the information of known paths as well.
    fn run(&mut self, weights: &[f64], curved: bool) -> BlockScore {
        let count = weights.len();
        let zero = || DMatrix::zeros(self.size, self.size);
        let mut sums = BlockScore {
            slope: DVector::zeros(self.size),
            missing: zero(),
            complete: zero(),
            products: zero(),
            weight: weights.iter().sum(),
            count,
        };
        let (mut times, mut observed) = (0, 0);
        for j in 0..self.chain.len() {
            if j > 0 {
                self.chain.flow_many(j, self.paths.block_states(self.block, j - 1), &mut self.ahead);
            }
            for (path, &weight) in weights.iter().enumerate() {
                self.step(path, j);
                for (sum, s) in self.window.column_mut(path).iter_mut().zip(&self.score) {
                    *sum += s;
                }
                if curved {
                    add_product(weight, &self.score, &mut sums.products);
                    self.curve(path, j, weight, &mut sums.complete);
                }
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

    /// Add the window's scores to the slope and its covariance, with itself and with the window before, to what is lost.
    fn close_window(&mut self, weights: &[f64], sums: &mut BlockScore) {
        let weights = DVector::from_row_slice(weights);
        let total = &self.window * &weights;
        let mean = &total / sums.weight;
        sums.slope += total;
        for mut column in self.window.column_iter_mut() {
            column -= &mean;
        }
        for (path, &weight) in weights.iter().enumerate() {
            let (now, before) = (self.window.column(path), self.before.column(path));
            sums.missing.ger(weight, &now, &now, 1.0);
            sums.missing.ger(weight, &now, &before, 1.0);
            sums.missing.ger(weight, &before, &now, 1.0);
        }
        std::mem::swap(&mut self.window, &mut self.before);
        self.window.fill(0.0);
    }

    /// Score of the step of one path that ends at time `j`, with the observation there.
    fn step(&mut self, path: usize, j: usize) {
        let Self { chain, paths, tables, ahead, score, scratch, .. } = self;
        score.fill(0.0);
        let now = paths.state(self.block, path, j);
        if j > 0 {
            let dim = chain.dim();
            for (i, &(first, last)) in self.places.iter().enumerate() {
                // ln p(r), r = x − flow: a change of the flow acts as −∂/∂r.
                let r = now[i] - ahead[path * dim + i];
                scratch.pushes[i] = -tables[i][j - 1].evaluate(r, &mut score[first..last]);
            }
            if self.drift_size > 0 {
                let before = paths.state(self.block, path, j - 1);
                let Scratch { pushes, out, by_state, .. } = scratch;
                let drift = &mut score[..self.drift_size];
                chain.drift().pullback(chain.times()[j - 1], chain.length(j), before, pushes, out, by_state, drift);
            }
        }
        for (i, dimension) in chain.model().dimensions.iter().enumerate() {
            let y = chain.value(i, j);
            if !y.is_nan() {
                // ∂/∂σ of −z²/2 − ln σ, z = (y − x)/σ
                let z = (y - now[i]) / dimension.observation_std;
                score[self.places[i].1] = (z * z - 1.0) / dimension.observation_std;
            }
        }
    }

    /// Add minus the second derivatives of the same step: Gauss–Newton for the drift, whose own bending has mean zero
    /// under the model, as have the terms between drift and noise.
    fn curve(&mut self, path: usize, j: usize, weight: f64, sum: &mut DMatrix<f64>) {
        let Self { chain, paths, tables, ahead, scratch, .. } = self;
        let now = paths.state(self.block, path, j);
        for (i, &(first, last)) in self.places.iter().enumerate() {
            let sigma = chain.model().dimensions[i].observation_std;
            if !chain.value(i, j).is_nan() {
                // ln σ is the axis, as for the scales of the noise.
                let z = (chain.value(i, j) - now[i]) / sigma;
                sum[(last, last)] += weight * 2.0 * z * z / (sigma * sigma);
            }
            if j == 0 {
                continue;
            }
            let r = now[i] - ahead[path * chain.dim() + i];
            let curvature = &mut scratch.curvature[..pairs(last - first).count()];
            let stiffness = tables[i][j - 1].curvature(r, curvature);
            for ((p, q), c) in pairs(last - first).zip(curvature.iter()) {
                sum[(first + p, first + q)] += weight * c;
                if p != q {
                    sum[(first + q, first + p)] += weight * c;
                }
            }
            if self.drift_size > 0 {
                let before = paths.state(self.block, path, j - 1);
                let Scratch { unit, out, by_state, jacobian, .. } = &mut *scratch;
                unit.fill(0.0);
                unit[i] = 1.0;
                jacobian.fill(0.0);
                chain.drift().pullback(chain.times()[j - 1], chain.length(j), before, unit, out, by_state, jacobian);
                add_product(weight * stiffness, jacobian, sum);
            }
        }
    }
}

/// `sum` += `weight`·v vᵀ in the leading rows and columns.
fn add_product(weight: f64, v: &[f64], sum: &mut DMatrix<f64>) {
    for (q, b) in v.iter().enumerate() {
        for (p, a) in v.iter().enumerate() {
            sum[(p, q)] += weight * a * b;
        }
    }
}
