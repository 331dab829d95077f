//! Choose how far particles look ahead, by short filters.

use super::chain::GeneralChain;
use super::filter::{FilterOptions, filter_until};
use super::guide::{Guide, Reach};
use super::robust::robust;
use crate::Result;
use rayon::prelude::*;

impl Guide {
    /// With the reach that promises the smaller error for the same work, by short filters.
    ///
    /// # Errors
    /// A law of the states that cannot be computed.
    pub fn new(chain: &GeneralChain) -> Result<Self> {
        let found = robust(chain)?;
        let [near, far] =
            [Self::from_robust(chain, Reach::Step, &found), Self::from_robust(chain, Reach::Record, &found)];
        Ok(if near.cost(chain) < far.cost(chain) { near } else { far })
    }

    /// Variance of the log evidence of a short filter times the work it takes.
    fn cost(&self, chain: &GeneralChain) -> f64 {
        const PILOTS: u64 = 6;
        let times = self.pilot_times(chain);
        let options = FilterOptions { filters: PILOTS as usize, particles: 50, seed: 7 };
        let logs: Vec<f64> =
            (0..PILOTS).into_par_iter().map(|k| filter_until(chain, self, &options, k, times).log_evidence).collect();
        let mean = logs.iter().sum::<f64>() / PILOTS as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (PILOTS - 1) as f64;
        variance * self.work(chain, times)
    }

    /// How many times a short filter takes: all, unless that were much work.
    fn pilot_times(&self, chain: &GeneralChain) -> usize {
        const MOST: f64 = 2e7;
        let mut left = MOST;
        let enough = (1..chain.len()).find(|&j| {
            left -= self.work_of(chain, j, FORMS);
            left < 0.0
        });
        enough.unwrap_or(chain.len())
    }

    /// Operations per particle over the first `times` times, roughly.
    fn work(&self, chain: &GeneralChain, times: usize) -> f64 {
        (1..times).map(|j| self.work_of(chain, j, self.stages[j - 1].len())).sum()
    }

    /// The same of the step that ends at time `j`, with so many copies of a message.
    fn work_of(&self, chain: &GeneralChain, j: usize, forms: usize) -> f64 {
        let dim = chain.dim() as f64;
        let sources = chain.model.sources.len();
        let nodes: f64 = (0..sources).map(|r| 20.0 * chain.nodes(r, j).len() as f64).sum();
        let each = 3.0 * dim.powi(3) + sources as f64 * dim * dim + nodes;
        200.0 + 4.0 * dim.powi(3) + forms as f64 * each
    }
}

/// Copies of a message that looks far ahead, usually: both reaches are tried over the same times.
const FORMS: usize = 4;
