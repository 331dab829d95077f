//! Estimate the evidence without bias by a twisted particle filter.
//!
//! Particles move by the tilted steps. After the step to time j a particle's weight grows by
//! ℓ_j(x_j) − φ_j(x_j) + ln Z_{j+1}(flow(x_j)), which is constant when the potentials are exact; particles are
//! resampled when their weights become uneven.

use super::walk::{Potentials, tables};
use super::weights::{normalise, systematic};
use crate::tilt::{LogSum, StepTable};
use crate::{Chain, StreamRng, stream};
use rand::RngExt;
use rayon::prelude::*;

/// A log evidence with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Estimate of ln p(y); its exponential is unbiased.
    pub log_evidence: f64,
    /// Standard error of the estimate, from the spread of independent filters; the error to expect where a grid gave it.
    pub std_error: f64,
    /// How often particles were resampled, per filter.
    pub resamplings: f64,
}

/// Independent filters: enough to estimate their standard deviation to a fifth.
const FILTERS: usize = 16;

/// Run 16 independent filters with `count` particles in all (at least 32 each) and average their evidences.
pub fn log_evidence(chain: &Chain, potentials: &Potentials, count: usize, seed: u64) -> Evidence {
    let size = count.div_ceil(FILTERS).max(32);
    let mut filters: Vec<Filter> =
        (0..FILTERS).map(|f| Filter::new(chain, size, (f * (size + 1)) as u64, seed)).collect();
    // One task per thread: its filters share the tables of a step.
    let share = FILTERS.div_ceil(rayon::current_num_threads());
    filters.par_chunks_mut(share).for_each(|filters| {
        for j in 0..chain.len() {
            let tables = tables(chain, potentials, j);
            for filter in filters.iter_mut() {
                filter.look_ahead(j, &tables);
                filter.resample_if_uneven();
                filter.step(j, &tables);
            }
        }
    });
    let estimates: Vec<f64> = filters.iter().map(Filter::estimate).collect();
    let (log_total, shares) = normalise(&estimates);
    // Relative variance of the mean of the evidences, which is the variance of its logarithm.
    let n = FILTERS as f64;
    let variance = shares.iter().map(|s| (n * s - 1.0).powi(2)).sum::<f64>() / (n * (n - 1.0));
    Evidence {
        log_evidence: log_total - n.ln(),
        std_error: variance.sqrt(),
        resamplings: filters.iter().map(|f| f.resamplings as f64).sum::<f64>() / n,
    }
}

struct Filter<'a> {
    chain: &'a Chain<'a>,
    rngs: Vec<StreamRng>,
    chooser: StreamRng,
    /// States before the noise of the coming step, dimension fastest.
    ahead: Vec<f64>,
    states: Vec<f64>,
    log_weights: Vec<f64>,
    log_evidence: f64,
    resamplings: usize,
}

impl<'a> Filter<'a> {
    /// A filter that takes its streams from `first` on.
    fn new(chain: &'a Chain<'a>, count: usize, first: u64, seed: u64) -> Self {
        let size = count * chain.dim();
        Self {
            chain,
            rngs: (0..count).map(|p| stream(seed, first + p as u64)).collect(),
            chooser: stream(seed, first + count as u64),
            ahead: vec![0.0; size],
            states: vec![0.0; size],
            log_weights: vec![0.0; count],
            log_evidence: 0.0,
            resamplings: 0,
        }
    }

    /// Move along the drift into the step that ends at `j` and weight by its normaliser.
    fn look_ahead(&mut self, j: usize, tables: &[StepTable]) {
        self.chain.flow_many(j, &self.states, &mut self.ahead);
        for (x, weight) in self.ahead.chunks_exact(tables.len()).zip(&mut self.log_weights) {
            *weight += x.iter().zip(tables).map(|(x, table)| table.log_z(*x)).sum::<f64>();
        }
    }

    fn step(&mut self, j: usize, tables: &[StepTable]) {
        let dim = tables.len();
        let places = self.ahead.chunks_exact(dim).zip(self.states.chunks_exact_mut(dim));
        for ((ahead, state), (rng, weight)) in places.zip(self.rngs.iter_mut().zip(&mut self.log_weights)) {
            for (i, table) in tables.iter().enumerate() {
                let mut unused = LogSum::default();
                state[i] = table.advance(ahead[i], rng, &mut unused).1;
                *weight += self.chain.log_likelihood(i, j, state[i]) - table.log_potential(state[i]);
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
        let parents = systematic(&weights, count, self.chooser.random());
        let dim = self.chain.dim();
        self.ahead = parents.iter().flat_map(|&p| self.ahead[p * dim..(p + 1) * dim].to_vec()).collect();
        self.log_weights.fill(0.0);
    }

    fn estimate(&self) -> f64 {
        let (log_total, weights) = normalise(&self.log_weights);
        self.log_evidence + log_total - (weights.len() as f64).ln()
    }
}
