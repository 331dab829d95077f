//! Estimate the slope of the bound in every potential and in the drift, without bias and with little noise.
//!
//! A path is x_j = x̃ + (1 − g_k)δ + √(S_k g_k) ε with a node k and a normal ε drawn at each step. Its log-weight
//! log W = Σ_j [ℓ_j(x_j) − φ_j(x_j) + ln Z_j(x̃_{j−1})] responds to the potential (a, c) of step j in two ways: the state moves
//! with k and ε held (the *pathwise* part), and k itself is drawn from another law (the *score* part). With the reward to
//! go W_{≥j} = Σ_{i≥j}(ℓ_i − φ_i) + Σ_{i>j} ln Z_i, less its mean over the other paths,
//!
//! ```text
//! λ_j   = ℓ'_j − φ'_j + flow'(x_j)ᵀ μ_{j+1}                               slope of what follows in x_j
//! μ_j   = g_k λ_j + 2aδ E_q(g) + 2aδ(g_k − E_q(g))·W_{≥j}                  and in x̃_{j−1}, before the noise
//! ∂/∂c  = (1 − g_k) λ_j − 2aδ(g_k − E_q(g))·W_{≥j}
//! ∂/∂a  = S_k g_k (2g_k δ − √(S_k g_k) ε) λ_j + (t_k − E_q t)·W_{≥j},        t = −(S g + δ²g²)
//! ∂/∂θ  = Σ_j (∂flow/∂θ)ᵀ μ_{j+1}
//! ```
//!
//! φ and Z are held where they are only evaluated: their own derivatives in the potential have mean zero and would only
//! add noise ("sticking the landing"; Roeder, Wu and Duvenaud 2017). At the optimum λ and W vanish path by path, and so
//! does the noise of the estimate.

use crate::posterior::{BLOCK, WeightSummary};
use crate::potential::Quadratic;
use crate::tilt::{LogSum, Moments, TiltTable};
use crate::{Chain, Error, Result, StreamRng, stream};
use rayon::prelude::*;

/// The bound at some potentials, with its slopes.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundGradient {
    /// Bound and spread of the log-weights.
    pub summary: WeightSummary,
    /// Per dimension and time: slopes in a and c.
    pub potentials: Vec<Vec<[f64; 2]>>,
    /// Variance of one path's contribution to those slopes.
    pub variances: Vec<Vec<[f64; 2]>>,
    /// Slopes in the parameters of the drift.
    pub drift: Vec<f64>,
}

/// Estimate the gradient with `count` ≥ 2 paths, streams (`seed`, 0), (`seed`, 1), … as in [`crate::posterior::walk`].
///
/// # Errors
/// A potential with a = 0: it says nothing, and the slope in its centre is not defined.
pub fn bound_gradient(chain: &Chain, potentials: &[Vec<Quadratic>], count: usize, seed: u64) -> Result<BoundGradient> {
    if potentials.iter().flatten().any(|q| q.a() <= 0.0) {
        return Err(Error::Parameter { name: "a".into(), value: 0.0, expected: "must be positive at every time" });
    }
    let mut blocks: Vec<Record> =
        (0..count).step_by(BLOCK).map(|first| Record::new(chain, first, BLOCK.min(count - first), seed)).collect();
    let share = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
    blocks.par_chunks_mut(share).for_each(|blocks| {
        for j in 0..chain.len() {
            let table = |(i, column): (usize, &Vec<Quadratic>)| TiltTable::new(chain.nodes(i, j).clone(), column[j]);
            let tables: Vec<TiltTable> = potentials.iter().enumerate().map(table).collect();
            blocks.iter_mut().for_each(|block| block.step(chain, j, &tables));
        }
    });
    let rewards = mean_rewards(&blocks, chain.len(), count);
    let sums: Vec<Sums> = blocks.par_iter().map(|block| block.backward(chain, potentials, &rewards, count)).collect();
    Ok(collect(chain, &blocks, &sums, count))
}

/// What a block of paths did: everything by time, path and dimension (dimension fastest).
struct Record {
    rngs: Vec<StreamRng>,
    /// States after the noise of each step, and before it.
    states: Vec<f64>,
    ahead: Vec<f64>,
    nodes: Vec<u16>,
    mean_g: Vec<f64>,
    mean_square_g: Vec<f64>,
    /// Σ over dimensions of ℓ − φ and of ln Z, by time and path.
    gains: Vec<f64>,
    log_z: Vec<f64>,
}

/// Sums over the paths of a block.
struct Sums {
    /// By time and dimension: slope in a, in c, and their squares.
    potentials: Vec<[f64; 4]>,
    drift: Vec<f64>,
}

impl Record {
    fn new(chain: &Chain, first: usize, count: usize, seed: u64) -> Self {
        let (steps, size) = (count * chain.len(), count * chain.len() * chain.dim());
        Self {
            rngs: (first..first + count).map(|path| stream(seed, path as u64)).collect(),
            states: vec![0.0; size],
            ahead: vec![0.0; size],
            nodes: vec![0; size],
            mean_g: vec![0.0; size],
            mean_square_g: vec![0.0; size],
            gains: vec![0.0; steps],
            log_z: vec![0.0; steps],
        }
    }

    fn step(&mut self, chain: &Chain, j: usize, tables: &[TiltTable]) {
        let (count, dim) = (self.rngs.len(), tables.len());
        let width = count * dim;
        let before = &self.states[j.saturating_sub(1) * width..][..width];
        chain.flow_many(j, before, &mut self.ahead[j * width..][..width]);
        for (path, rng) in self.rngs.iter_mut().enumerate() {
            let (mut gain, mut log_z) = (0.0, 0.0);
            for (i, table) in tables.iter().enumerate() {
                let place = j * width + path * dim + i;
                let ahead = self.ahead[place];
                let moments = table.moments(ahead);
                let (node, x) = table.advance(ahead, rng, &mut LogSum::default());
                self.states[place] = x;
                self.nodes[place] = node as u16;
                Moments { log_z: _, mean_g: self.mean_g[place], mean_square_g: self.mean_square_g[place] } = moments;
                log_z += moments.log_z;
                gain += chain.log_likelihood(i, j, x) - table.potential().log_value(x);
            }
            self.gains[j * count + path] = gain;
            self.log_z[j * count + path] = log_z;
        }
    }

    fn log_weights(&self) -> Vec<f64> {
        let count = self.rngs.len();
        let mut sums = vec![0.0; count];
        for (gains, log_z) in self.gains.chunks_exact(count).zip(self.log_z.chunks_exact(count)) {
            for ((sum, gain), log_z) in sums.iter_mut().zip(gains).zip(log_z) {
                *sum += gain + log_z;
            }
        }
        sums
    }

    /// Carry the adjoint of every path of the block from the last time to the first.
    fn backward(&self, chain: &Chain, potentials: &[Vec<Quadratic>], rewards: &[f64], paths: usize) -> Sums {
        let (count, dim) = (self.rngs.len(), chain.dim());
        let width = count * dim;
        let mut sums =
            Sums { potentials: vec![[0.0; 4]; chain.len() * dim], drift: vec![0.0; chain.drift().parameter_count()] };
        // W less its mean over the *other* paths is this multiple of W less its mean over all.
        let others = paths as f64 / (paths - 1) as f64;
        let mut to_go = vec![0.0; count];
        // flow'ᵀμ of the step that follows.
        let mut carried = vec![0.0; width];
        let (mut mu, mut ahead) = (vec![0.0; dim], vec![0.0; dim]);
        for j in (0..chain.len()).rev() {
            for path in 0..count {
                to_go[path] += self.gains[j * count + path];
                let surplus = others * (to_go[path] - rewards[j]);
                for i in 0..dim {
                    let carried = carried[path * dim + i];
                    let place = j * width + path * dim + i;
                    mu[i] = self.adjoint(chain, potentials[i][j], (i, j), place, carried, surplus, &mut sums);
                }
                if j > 0 {
                    let place = (j - 1) * width + path * dim;
                    let x = &self.states[place..place + dim];
                    let out = &mut carried[path * dim..(path + 1) * dim];
                    let (t, dt) = (chain.times()[j - 1], chain.length(j));
                    chain.drift().pullback(t, dt, x, &mu, &mut ahead, out, &mut sums.drift);
                }
                to_go[path] += self.log_z[j * count + path];
            }
        }
        sums
    }

    /// Add one path's slopes in the potential of dimension `i` at time `j`; return μ.
    #[expect(clippy::too_many_arguments, reason = "one step of the recursion, inlined into its loop")]
    #[inline]
    fn adjoint(
        &self,
        chain: &Chain,
        potential: Quadratic,
        (i, j): (usize, usize),
        place: usize,
        carried: f64,
        surplus: f64,
        sums: &mut Sums,
    ) -> f64 {
        let (a, c) = (potential.a(), potential.c());
        let (x, before) = (self.states[place], self.ahead[place]);
        let variance = chain.nodes(i, j).variances()[self.nodes[place] as usize];
        let (mean_g, mean_square_g) = (self.mean_g[place], self.mean_square_g[place]);
        let delta = c - before;
        let g = 1.0 / (1.0 + 2.0 * a * variance);
        let gain = 2.0 * a * variance * g;
        let lambda = chain.log_likelihood_slope(i, j, x) + 2.0 * a * (x - c) + carried;
        let noise = x - before - gain * delta;
        let pull = 2.0 * a * delta;
        let state_score = pull * (g - mean_g);
        let firmness_score = (gain - (1.0 - mean_g)) / (-2.0 * a) - delta * delta * (g * g - mean_square_g);
        let by_a = variance * g * (2.0 * g * delta - noise) * lambda + firmness_score * surplus;
        let by_c = gain * lambda - state_score * surplus;
        let sum = &mut sums.potentials[j * chain.dim() + i];
        sum[0] += by_a;
        sum[1] += by_c;
        sum[2] += by_a * by_a;
        sum[3] += by_c * by_c;
        g * lambda + pull * mean_g + state_score * surplus
    }
}

/// Mean over all paths of the reward to go W_{≥j}.
fn mean_rewards(blocks: &[Record], times: usize, paths: usize) -> Vec<f64> {
    let mut rewards = vec![0.0; times];
    let mut to_go = 0.0;
    for j in (0..times).rev() {
        let sum = |pick: fn(&Record) -> &[f64]| -> f64 {
            blocks.iter().map(|b| pick(b)[j * b.rngs.len()..][..b.rngs.len()].iter().sum::<f64>()).sum()
        };
        to_go += sum(|b| &b.gains) / paths as f64;
        rewards[j] = to_go;
        to_go += sum(|b| &b.log_z) / paths as f64;
    }
    rewards
}

/// Means and variances over all blocks, in their order.
fn collect(chain: &Chain, blocks: &[Record], sums: &[Sums], paths: usize) -> BoundGradient {
    let (dim, n) = (chain.dim(), paths as f64);
    let logs: Vec<f64> = blocks.iter().flat_map(Record::log_weights).collect();
    let total = |place: usize, k: usize| sums.iter().map(|s| s.potentials[place][k]).sum::<f64>();
    let by_place = |f: &dyn Fn(usize) -> [f64; 2]| -> Vec<Vec<[f64; 2]>> {
        (0..dim).map(|i| (0..chain.len()).map(|j| f(j * dim + i)).collect()).collect()
    };
    let variance = |place: usize, k: usize| (total(place, k + 2) - total(place, k).powi(2) / n) / (n - 1.0);
    BoundGradient {
        summary: WeightSummary::new(&logs),
        potentials: by_place(&|place| [total(place, 0) / n, total(place, 1) / n]),
        variances: by_place(&|place| [variance(place, 0), variance(place, 1)]),
        drift: (0..chain.drift().parameter_count()).map(|p| sums.iter().map(|s| s.drift[p]).sum::<f64>() / n).collect(),
    }
}
