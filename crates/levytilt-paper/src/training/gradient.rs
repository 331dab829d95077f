//! Estimate the gradient of the ELBO in every potential and in the drift, without bias and with low variance.
//!
//! A path is x_j = x̃ + (1 − g)δ + √(S_k g) ε, with a node k of the noise, a component ("bump") m of the potential and
//! a normal ε drawn at each step; g = 1/(1 + 2a_m S_k), δ = c_m − x̃. Its log-weight log W = Σ_j [ℓ_j(x_j) − φ_j(x_j) +
//! ln Z_j(x̃_{j−1})] responds to the component (ln π_m, a_m, c_m) of step j in two ways: the state moves with m, k and
//! ε held (the *pathwise* part), and m and k are drawn from another distribution (the *score-function* part). Both are
//! marginalised over the component m, which given x_j is independent of k and of everything that follows: it was m with
//! probability r_m = π_m e^{−a_m(x_j − c_m)²}/e^{φ(x_j)}, while its prior probability, given x̃, is p_m = π_m Z_m/Z.
//! With one component r = p = 1.
//!
//! With the reward to go W_{≥j} = Σ_{i≥j}(ℓ_i − φ_i) + Σ_{i>j} ln Z_i, less its mean over the other paths, and E_m the
//! mean over the nodes given m,
//!
//! ```text
//! λ_j       = ℓ'_j − φ'_j + flow'(x_j)ᵀ μ_{j+1}                                 gradient of what follows in x_j
//! μ_j       = Σ_m r_m g λ_j + p_m 2aδ E_m(g) + 2aδ(r_m g − p_m E_m(g))·W_{≥j}   and in x̃_{j−1}, before the noise
//! ∂/∂ln π_m = (r_m − p_m)·W_{≥j}
//! ∂/∂c_m    = r_m (1 − g) λ_j − 2aδ(r_m g − p_m E_m(g))·W_{≥j}
//! ∂/∂a_m    = r_m S g (2gδ − √(S g) ε) λ_j + (r_m t − p_m E_m(t))·W_{≥j},        t = −(S g + δ²g²)
//! ∂/∂θ      = Σ_j (∂flow/∂θ)ᵀ μ_{j+1}
//! ```
//!
//! φ and Z are treated as constants where they are only evaluated: their own derivatives in the potential have mean
//! zero and would only add noise ("sticking the landing"; Roeder, Wu and Duvenaud 2017). At the optimum λ and W vanish
//! path by path, and so does the noise of the estimate.

use super::step::{Bump, BumpStep};
use levytilt::internals::Chain;
use levytilt::internals::error::expect_length;
use levytilt::internals::posterior::{BLOCK, Potentials, WeightSummary};
use levytilt::internals::potential::{Potential, Quadratic};
use levytilt::{Error, Result, StreamRng, stream};
use rayon::prelude::*;
use std::ops::Range;

/// The ELBO at some potentials, with its gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundGradient {
    /// ELBO and summary of the log weights.
    pub summary: WeightSummary,
    /// Per dimension, time and component: gradients in ln π, a and c.
    pub potentials: Vec<Vec<Vec<[f64; 3]>>>,
    /// Variance of one path's contribution to those gradients.
    pub variances: Vec<Vec<Vec<[f64; 3]>>>,
    /// Gradient in the parameters of the drift.
    pub drift: Vec<f64>,
}

/// Estimate the gradient with `count` ≥ 2 paths, streams (`seed`, 0), (`seed`, 1), … as in [`levytilt::internals::posterior::walk`].
///
/// # Errors
/// A component with a = 0: it carries no information, and the gradient in its centre is undefined. Potentials that do
/// not all have the same number of components.
pub fn bound_gradient(chain: &Chain, potentials: &Potentials, count: usize, seed: u64) -> Result<BoundGradient> {
    let bumps = bumps(chain, potentials)?;
    let each = bumps.len() / (chain.len() * chain.dim());
    let mut blocks: Vec<Record> = (0..count)
        .step_by(BLOCK)
        .map(|first| Record::new(chain, each, first..count.min(first + BLOCK), seed))
        .collect();
    let share = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
    blocks.par_chunks_mut(share).for_each(|blocks| {
        for j in 0..chain.len() {
            let step = |(i, column): (usize, &Vec<Potential>)| BumpStep::new(chain.nodes(i, j), &column[j]);
            let steps: Vec<BumpStep> = potentials.iter().enumerate().map(step).collect();
            blocks.iter_mut().for_each(|block| block.step(chain, j, &steps));
        }
    });
    let rewards = mean_rewards(&blocks, chain.len(), count);
    let sums: Vec<Sums> = blocks.par_iter().map(|block| block.backward(chain, &bumps, &rewards, count)).collect();
    Ok(collect(chain, &blocks, &sums, count))
}

/// The quadratics of all components, by time, dimension and component.
fn bumps(chain: &Chain, potentials: &Potentials) -> Result<Vec<Quadratic>> {
    let each = potentials[0][0].bumps().len();
    let mut all = Vec::with_capacity(chain.len() * chain.dim() * each);
    for j in 0..chain.len() {
        for column in potentials {
            let bumps = column[j].bumps();
            expect_length("bumps of a potential", bumps.len(), each)?;
            all.extend(bumps.into_iter().map(|(_, quadratic)| quadratic));
        }
    }
    match all.iter().any(|q| q.a() <= 0.0) {
        true => Err(Error::Parameter { name: "a".into(), value: 0.0, expected: "must be positive at every time" }),
        false => Ok(all),
    }
}

/// The record of a block of paths, by time, path and dimension (dimension fastest).
struct Record {
    rngs: Vec<StreamRng>,
    /// States after the noise of each step, and before it.
    states: Vec<f64>,
    ahead: Vec<f64>,
    nodes: Vec<u16>,
    /// The role of each component, `each` of them per entry.
    bumps: Vec<Bump>,
    each: usize,
    /// Σ over dimensions of ℓ − φ and of ln Z, by time and path.
    gains: Vec<f64>,
    log_z: Vec<f64>,
}

/// Sums over the paths of a block.
struct Sums {
    /// By time, dimension and component: gradients in ln π, a and c, and their squares.
    potentials: Vec<[f64; 6]>,
    drift: Vec<f64>,
}

impl Record {
    fn new(chain: &Chain, each: usize, paths: Range<usize>, seed: u64) -> Self {
        let (steps, size) = (paths.len() * chain.len(), paths.len() * chain.len() * chain.dim());
        Self {
            rngs: paths.map(|path| stream(seed, path as u64)).collect(),
            states: vec![0.0; size],
            ahead: vec![0.0; size],
            nodes: vec![0; size],
            bumps: Vec::with_capacity(size * each),
            each,
            gains: vec![0.0; steps],
            log_z: vec![0.0; steps],
        }
    }

    fn step(&mut self, chain: &Chain, j: usize, steps: &[BumpStep]) {
        let (count, dim) = (self.rngs.len(), steps.len());
        let width = count * dim;
        let before = &self.states[j.saturating_sub(1) * width..][..width];
        chain.flow_many(j, before, &mut self.ahead[j * width..][..width]);
        for (path, rng) in self.rngs.iter_mut().enumerate() {
            let (mut gain, mut log_z) = (0.0, 0.0);
            for (i, step) in steps.iter().enumerate() {
                let place = j * width + path * dim + i;
                let taken = step.take(self.ahead[place], rng, &mut self.bumps);
                self.states[place] = taken.state;
                self.nodes[place] = taken.node as u16;
                log_z += taken.log_z;
                gain += chain.log_likelihood(i, j, taken.state) - taken.log_potential;
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
    fn backward(&self, chain: &Chain, bumps: &[Quadratic], rewards: &[f64], paths: usize) -> Sums {
        let (count, dim) = (self.rngs.len(), chain.dim());
        let width = count * dim;
        let mut sums =
            Sums { potentials: vec![[0.0; 6]; bumps.len()], drift: vec![0.0; chain.drift().parameter_count()] };
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
                    mu[i] = self.adjoint(chain, bumps, (i, j), place, carried, surplus, &mut sums);
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

    /// Add one path's gradients in the potential of dimension `i` at time `j`; return μ.
    #[expect(clippy::too_many_arguments, reason = "one step of the recursion, inlined into its loop")]
    #[inline]
    fn adjoint(
        &self,
        chain: &Chain,
        bumps: &[Quadratic],
        (i, j): (usize, usize),
        place: usize,
        carried: f64,
        surplus: f64,
        sums: &mut Sums,
    ) -> f64 {
        let first = (j * chain.dim() + i) * self.each;
        let bumps = bumps[first..][..self.each].iter().zip(&self.bumps[place * self.each..][..self.each]);
        let (x, before) = (self.states[place], self.ahead[place]);
        let variance = chain.nodes(i, j).variances()[self.nodes[place] as usize];
        let potential_slope: f64 = bumps.clone().map(|(q, bump)| bump.share * 2.0 * q.a() * (x - q.c())).sum();
        let lambda = chain.log_likelihood_slope(i, j, x) + potential_slope + carried;
        let mut mu = 0.0;
        for ((q, bump), sum) in bumps.zip(&mut sums.potentials[first..]) {
            let (a, delta) = (q.a(), q.c() - before);
            let Bump { call, share, mean_g, mean_square_g } = *bump;
            let g = 1.0 / (1.0 + 2.0 * a * variance);
            let gain = 2.0 * a * variance * g;
            let noise = x - before - gain * delta;
            let pull = 2.0 * a * delta;
            let state_score = pull * (share * g - call * mean_g);
            let firmness_score = (share * gain - call * (1.0 - mean_g)) / (-2.0 * a)
                - delta * delta * (share * g * g - call * mean_square_g);
            let by_weight = (share - call) * surplus;
            let by_a = share * variance * g * (2.0 * g * delta - noise) * lambda + firmness_score * surplus;
            let by_c = share * gain * lambda - state_score * surplus;
            for (k, slope) in [by_weight, by_a, by_c].into_iter().enumerate() {
                sum[k] += slope;
                sum[k + 3] += slope * slope;
            }
            mu += share * g * lambda + call * pull * mean_g + state_score * surplus;
        }
        mu
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
    let variance = |place: usize, k: usize| (total(place, k + 3) - total(place, k).powi(2) / n) / (n - 1.0);
    let each = blocks[0].each;
    let by_bump = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<Vec<[f64; 3]>>> {
        let one = |i: usize, j: usize, m: usize| [0, 1, 2].map(|k| value((j * dim + i) * each + m, k));
        (0..dim).map(|i| (0..chain.len()).map(|j| (0..each).map(|m| one(i, j, m)).collect()).collect()).collect()
    };
    BoundGradient {
        summary: WeightSummary::new(&logs),
        potentials: by_bump(&|place, k| total(place, k) / n),
        variances: by_bump(&variance),
        drift: (0..chain.drift().parameter_count()).map(|p| sums.iter().map(|s| s.drift[p]).sum::<f64>() / n).collect(),
    }
}
