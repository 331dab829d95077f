//! Estimate the evidence without bias: a particle filter whose particles already know the future.
//!
//! Particles move by the tilted steps. After the step to time j a particle's weight grows by
//! ℓ_j(x_j) − φ_j(x_j) + ln Z_{j+1}(flow(x_j)), which is constant when the potentials are exact; particles are
//! resampled when their weights become uneven.

use super::walk::Potentials;
use super::weights::normalise;
use crate::tilt::{LogSum, TiltTable};
use crate::{Chain, StreamRng, stream};
use rand::RngExt;

/// A log evidence with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Estimate of ln p(y); its exponential is unbiased.
    pub log_evidence: f64,
    /// Standard error of the estimate, from the spread of the families of the first particles (Lee and Whiteley 2018).
    pub std_error: f64,
    /// How often particles were resampled.
    pub resamplings: usize,
}

/// Run the filter with `count` particles.
pub fn log_evidence(chain: &Chain, potentials: &Potentials, count: usize, seed: u64) -> Evidence {
    let mut filter = Filter::new(chain, count, seed);
    let mut tables = filter.tables(potentials, 0);
    filter.look_ahead(0, &tables);
    for j in 0..chain.len() {
        filter.resample_if_uneven();
        filter.step(j, &tables);
        if j + 1 < chain.len() {
            tables = filter.tables(potentials, j + 1);
            filter.look_ahead(j + 1, &tables);
        }
    }
    filter.finish()
}

struct Filter<'a> {
    chain: &'a Chain<'a>,
    rngs: Vec<StreamRng>,
    chooser: StreamRng,
    /// States before the noise of the coming step, dimension fastest.
    ahead: Vec<f64>,
    states: Vec<f64>,
    log_weights: Vec<f64>,
    /// First ancestor of each particle.
    families: Vec<usize>,
    log_evidence: f64,
    resamplings: usize,
}

impl<'a> Filter<'a> {
    fn new(chain: &'a Chain<'a>, count: usize, seed: u64) -> Self {
        let size = count * chain.dim();
        Self {
            chain,
            rngs: (0..count).map(|p| stream(seed, p as u64)).collect(),
            chooser: stream(seed, u64::MAX),
            ahead: vec![0.0; size],
            states: vec![0.0; size],
            log_weights: vec![0.0; count],
            families: (0..count).collect(),
            log_evidence: 0.0,
            resamplings: 0,
        }
    }

    fn tables(&self, potentials: &Potentials, j: usize) -> Vec<TiltTable> {
        (0..self.chain.dim()).map(|i| TiltTable::new(self.chain.nodes(i, j).clone(), potentials[i][j])).collect()
    }

    /// Move along the drift into the step that ends at `j` and weigh by its normaliser.
    fn look_ahead(&mut self, j: usize, tables: &[TiltTable]) {
        self.chain.flow_many(j, &self.states, &mut self.ahead);
        for (x, weight) in self.ahead.chunks_exact(tables.len()).zip(&mut self.log_weights) {
            *weight += x.iter().zip(tables).map(|(x, table)| table.log_z(*x)).sum::<f64>();
        }
    }

    fn step(&mut self, j: usize, tables: &[TiltTable]) {
        let dim = tables.len();
        let places = self.ahead.chunks_exact(dim).zip(self.states.chunks_exact_mut(dim));
        for ((ahead, state), (rng, weight)) in places.zip(self.rngs.iter_mut().zip(&mut self.log_weights)) {
            for (i, table) in tables.iter().enumerate() {
                let mut unused = LogSum::default();
                state[i] = table.advance(ahead[i], rng, &mut unused).1;
                *weight += self.chain.log_likelihood(i, j, state[i]) - table.potential().log_value(state[i]);
            }
        }
    }

    fn resample_if_uneven(&mut self) {
        let (log_total, weights) = normalise(&self.log_weights);
        let count = weights.len();
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        if effective > 0.5 * count as f64 {
            return;
        }
        self.log_evidence += log_total - (count as f64).ln();
        self.resamplings += 1;
        let parents = systematic(&weights, self.chooser.random());
        let dim = self.chain.dim();
        self.ahead = parents.iter().flat_map(|&p| self.ahead[p * dim..(p + 1) * dim].to_vec()).collect();
        self.families = parents.iter().map(|&p| self.families[p]).collect();
        self.log_weights.fill(0.0);
    }

    fn finish(self) -> Evidence {
        let (log_total, weights) = normalise(&self.log_weights);
        let count = weights.len();
        let mut shares = vec![0.0; count];
        for (&family, w) in self.families.iter().zip(&weights) {
            shares[family] += w;
        }
        // Var(ln Ẑ) ≈ Σ_f share_f² − 1/N for one generation; with resampling the factor (N/(N−1))^{r+1} enters and
        // families carry the dependence: V = 1 − (N/(N−1))^{r+1} (1 − Σ share²).
        let n = count as f64;
        let squares: f64 = shares.iter().map(|s| s * s).sum();
        let variance = 1.0 - (n / (n - 1.0)).powi(self.resamplings as i32 + 1) * (1.0 - squares);
        Evidence {
            log_evidence: self.log_evidence + log_total - n.ln(),
            std_error: variance.max(0.0).sqrt(),
            resamplings: self.resamplings,
        }
    }
}

/// Systematic resampling: one uniform number, evenly spaced pointers.
fn systematic(weights: &[f64], uniform: f64) -> Vec<usize> {
    let count = weights.len();
    let (mut sum, mut parent) = (weights[0], 0);
    (0..count)
        .map(|i| {
            let pointer = (i as f64 + uniform) / count as f64;
            while sum < pointer && parent + 1 < count {
                parent += 1;
                sum += weights[parent];
            }
            parent
        })
        .collect()
}
