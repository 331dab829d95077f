//! Collect transitions of sampled paths: what a drift is learned from.

use crate::noise::StepGradient;
use crate::posterior::Paths;
use crate::solve::fisher::tables;
use crate::{Chain, Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Transitions from x to x' over one step, a few paths for every step, in the order of time.
pub(super) struct Transitions<'a> {
    chain: &'a Chain<'a>,
    tables: Vec<Vec<Arc<StepGradient>>>,
    /// Transitions per step.
    pub copies: usize,
    from: Vec<f64>,
    to: Vec<f64>,
    /// Log density of every change without any drift: what all drifts are measured against.
    still: Vec<f64>,
}

/// Transitions that are plenty: they hold the information of the steps, however many paths there are.
const PLENTY: usize = 4000;

impl<'a> Transitions<'a> {
    /// Transitions of `paths` under the noise of `chain`.
    pub fn new(chain: &'a Chain<'a>, paths: &Paths) -> Result<Self> {
        if (0..chain.dim()).any(|i| (1..chain.len()).any(|j| chain.nodes(i, j).variances()[0] == 0.0)) {
            return Err(Error::Numerical {
                what: "learning a drift network",
                why: "this noise has steps without any movement, which reveal the drift exactly; set brownian above 0"
                    .into(),
            });
        }
        let (dim, steps) = (chain.dim(), chain.len() - 1);
        let copies = (PLENTY / steps).clamp(1, 8).min(paths.len());
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let blocks = paths.block_ranges();
        for j in 1..=steps {
            for copy in 0..copies {
                // Another path for every transition, so that no single one decides.
                let path = (j * copies + copy) % paths.len();
                let (block, first, _) = blocks[blocks.partition_point(|(_, first, _)| *first <= path) - 1];
                from.extend_from_slice(paths.state(block, path - first, j - 1));
                to.extend_from_slice(paths.state(block, path - first, j));
            }
        }
        debug_assert_eq!(from.len(), steps * copies * dim);
        let still = from.par_iter().zip(&to).enumerate().map(|(place, (from, to))| {
            let (n, i) = (place / dim, place % dim);
            chain.nodes(i, n / copies + 1).log_density_value(to - from)
        });
        let still = still.collect();
        Ok(Self { chain, tables: tables(chain), copies, from, to, still })
    }

    pub fn dim(&self) -> usize {
        self.chain.dim()
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.chain.len() - 1
    }

    /// Number of transitions.
    pub fn len(&self) -> usize {
        self.steps() * self.copies
    }

    /// Time and length of the step of transition `n`.
    pub fn step(&self, n: usize) -> (f64, f64) {
        let j = n / self.copies + 1;
        (self.chain.times()[j - 1], self.chain.length(j))
    }

    /// [`Transitions::step`] of several transitions.
    pub fn steps_of(&self, range: Range<usize>) -> Vec<(f64, f64)> {
        range.map(|n| self.step(n)).collect()
    }

    /// [`Transitions::from`] of several transitions, one after the other.
    pub fn starts_of(&self, range: Range<usize>) -> &[f64] {
        &self.from[range.start * self.dim()..range.end * self.dim()]
    }

    pub fn from(&self, n: usize) -> &[f64] {
        &self.from[n * self.dim()..(n + 1) * self.dim()]
    }

    pub fn to(&self, n: usize) -> &[f64] {
        &self.to[n * self.dim()..(n + 1) * self.dim()]
    }

    /// ω·r with ω = E[1/S | r]: the push of the residual `r` of transition `n` on the flow in dimension `i`.
    ///
    /// A jump has a large S and pushes hardly at all, so that the drift cannot absorb it.
    pub fn push(&self, n: usize, i: usize, r: f64) -> f64 {
        -self.tables[i][n / self.copies].evaluate(r, &mut [])
    }

    /// What moving by `moved` adds to the log density of transition `n` in dimension `i`.
    pub fn gain(&self, n: usize, i: usize, moved: f64) -> f64 {
        let change = self.to(n)[i] - self.from(n)[i];
        let nodes = self.chain.nodes(i, n / self.copies + 1);
        nodes.log_density_value(change - moved) - self.still[n * self.dim() + i]
    }
}
