//! Add up how the sampled paths push every parameter: Fisher's identity and Louis's information.
//!
//! Per path, the complete-data score is s = Σ_j ∂ ln p(x_j | x_{j−1}) + Σ_j ∂ ln p(y_j | x_j). Its mean over the posterior
//! is the slope of the log evidence, and the observed information is what a path known exactly would give,
//! E Σ_j s_j s_jᵀ, less what is lost by not knowing it, Cov(s).

use crate::Chain;
use crate::noise::ScoreTable;
use crate::noise::length_key;
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
    /// Information of a path known exactly.
    pub complete: DMatrix<f64>,
    /// Covariance of the score over paths: the information lost.
    pub missing: DMatrix<f64>,
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
    let blocks: Vec<(Vec<f64>, DMatrix<f64>)> = paths
        .block_ranges()
        .into_par_iter()
        .map(|(block, first, count)| {
            let mut totals = vec![0.0; count * size];
            let mut complete = DMatrix::zeros(size, size);
            let mut worker = Worker::new(chain, size, drift);
            for j in 0..chain.len() {
                for path in 0..count {
                    worker.step(chain, paths, &tables, block, path, j);
                    let weight = weights[first + path];
                    complete.ger(weight, &worker.score, &worker.score, 1.0);
                    for (total, s) in totals[path * size..(path + 1) * size].iter_mut().zip(worker.score.iter()) {
                        *total += s;
                    }
                }
            }
            (totals, complete)
        })
        .collect();
    let totals: Vec<DVector<f64>> =
        blocks.iter().flat_map(|b| b.0.chunks_exact(size).map(DVector::from_row_slice)).collect();
    let slope = totals.iter().zip(weights).fold(DVector::zeros(size), |sum, (s, w)| sum + s * *w);
    let mut missing = DMatrix::zeros(size, size);
    for (s, w) in totals.iter().zip(weights) {
        let d = s - &slope;
        missing.ger(*w, &d, &d, 1.0);
    }
    Score { first, slope, complete: blocks.iter().fold(DMatrix::zeros(size, size), |sum, b| sum + &b.1), missing }
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

/// Working space for the score of one step of one path.
struct Worker {
    score: DVector<f64>,
    ahead: Vec<f64>,
    by_state: Vec<f64>,
    pushes: Vec<f64>,
    drift_size: usize,
    /// Per dimension: the place of its noise parameters and, behind them, of its observation noise.
    places: Vec<(usize, usize)>,
}

impl Worker {
    fn new(chain: &Chain, size: usize, drift_size: usize) -> Self {
        let dim = chain.dim();
        let mut next = drift_size;
        let places = chain
            .model()
            .dimensions
            .iter()
            .map(|dimension| {
                let first = next;
                next += dimension.noise.parameters().len() + 1;
                (first, next - 1)
            })
            .collect();
        Self {
            score: DVector::zeros(size),
            ahead: vec![0.0; dim],
            by_state: vec![0.0; dim],
            pushes: vec![0.0; dim],
            drift_size,
            places,
        }
    }

    fn step(
        &mut self,
        chain: &Chain,
        paths: &Paths,
        tables: &[Vec<Arc<ScoreTable>>],
        block: usize,
        path: usize,
        j: usize,
    ) {
        self.score.fill(0.0);
        let scores = self.score.as_mut_slice();
        let now = paths.state(block, path, j);
        if j > 0 {
            let before = paths.state(block, path, j - 1);
            let (t, dt) = (chain.times()[j - 1], chain.length(j));
            chain.drift().flow(t, dt, before, &mut self.ahead);
            for (i, &(first, last)) in self.places.iter().enumerate() {
                // ln p(r), r = x − flow: a change of the flow acts as −∂/∂r.
                self.pushes[i] = -tables[i][j - 1].evaluate(now[i] - self.ahead[i], &mut scores[first..last]);
            }
            if self.drift_size > 0 {
                let drift_scores = &mut scores[..self.drift_size];
                chain.drift().pullback(t, dt, before, &self.pushes, &mut self.ahead, &mut self.by_state, drift_scores);
            }
        }
        for (i, dimension) in chain.model().dimensions.iter().enumerate() {
            let y = chain.value(i, j);
            if !y.is_nan() {
                // ∂/∂σ of −z²/2 − ln σ, z = (y − x)/σ
                let z = (y - now[i]) / dimension.observation_std;
                scores[self.places[i].1] = (z * z - 1.0) / dimension.observation_std;
            }
        }
    }
}
