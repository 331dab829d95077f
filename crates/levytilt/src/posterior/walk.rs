//! Walk many paths through a tilted chain, each with its own random stream.

use crate::potential::Potential;
use crate::tilt::{LogSum, StepTable};
use crate::{Chain, StreamRng, stream};
use rayon::prelude::*;

/// Paths stored together.
pub const BLOCK: usize = 64;

/// A potential per dimension and time.
pub type Potentials = Vec<Vec<Potential>>;

/// Paths with their log-weights ln p(x, y) − ln q(x).
#[derive(Debug)]
pub struct Paths {
    dim: usize,
    times: usize,
    blocks: Vec<Block>,
}

/// Some paths: states by time, path and dimension (dimension fastest).
#[derive(Debug)]
struct Block {
    rngs: Vec<StreamRng>,
    sums: Vec<LogSum>,
    states: Vec<f64>,
    /// Whether the step that ends at a time was a jump, in the order of `states`.
    jumps: Vec<bool>,
}

/// Paths drawn elsewhere: states and jumps by time, path and dimension (dimension fastest), the random streams and the log weights by path.
#[derive(Debug)]
pub struct Made {
    /// Random streams.
    pub rngs: Vec<StreamRng>,
    /// Log weights.
    pub sums: Vec<LogSum>,
    /// States.
    pub states: Vec<f64>,
    /// Whether the step that ends there was a jump.
    pub jumps: Vec<bool>,
}

impl Paths {
    /// Paths of a chain of `dim` dimensions, drawn in blocks of [`BLOCK`] in order.
    pub fn from_blocks(dim: usize, times: usize, blocks: Vec<Made>) -> Self {
        let block = |made: Made| Block { rngs: made.rngs, sums: made.sums, states: made.states, jumps: made.jumps };
        Self { dim, times, blocks: blocks.into_iter().map(block).collect() }
    }

    /// Their blocks, to be changed and put together again.
    pub(crate) fn into_blocks(self) -> Vec<Made> {
        let made = |block: Block| Made { rngs: block.rngs, sums: block.sums, states: block.states, jumps: block.jumps };
        self.blocks.into_iter().map(made).collect()
    }

    /// Paths of several dimensions from as many of one, which were drawn independently; at least one, all of one shape.
    pub(crate) fn join(dimensions: &[Self]) -> Self {
        let blocks = (0..dimensions[0].blocks.len()).map(|b| {
            let parts: Vec<&Block> = dimensions.iter().map(|paths| &paths.blocks[b]).collect();
            let log_weight = |path: usize| {
                let mut sum = LogSum::default();
                parts.iter().for_each(|part| sum.add(part.sums[path].value()));
                sum
            };
            let size = parts[0].states.len();
            Block {
                rngs: parts[0].rngs.clone(),
                sums: (0..parts[0].sums.len()).map(log_weight).collect(),
                states: (0..size).flat_map(|k| parts.iter().map(move |part| part.states[k])).collect(),
                jumps: (0..size).flat_map(|k| parts.iter().map(move |part| part.jumps[k])).collect(),
            }
        });
        Self { dim: dimensions.len(), times: dimensions[0].times, blocks: blocks.collect() }
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.sums.len()).sum()
    }

    /// Whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Dimension of the states.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of times.
    pub fn times(&self) -> usize {
        self.times
    }

    /// Log-weight of each path.
    pub fn log_weights(&self) -> Vec<f64> {
        self.blocks.iter().flat_map(|b| b.sums.iter().map(LogSum::value)).collect()
    }

    /// States of all paths at time `j`, dimension fastest, block by block.
    pub fn states(&self, j: usize) -> impl Iterator<Item = &[f64]> {
        self.blocks.iter().map(move |b| b.at(j, self.dim))
    }

    /// Blocks of paths as (block, first path, number of paths), for work that is done block by block.
    pub(crate) fn block_ranges(&self) -> Vec<(usize, usize, usize)> {
        self.blocks.iter().enumerate().map(|(b, block)| (b, b * BLOCK, block.sums.len())).collect()
    }

    /// State at time `j` of a path counted within its block.
    pub(crate) fn state(&self, block: usize, path: usize, j: usize) -> &[f64] {
        &self.blocks[block].at(j, self.dim)[path * self.dim..(path + 1) * self.dim]
    }

    /// States at time `j` of a block's paths, dimension fastest.
    pub(crate) fn block_states(&self, block: usize, j: usize) -> &[f64] {
        self.blocks[block].at(j, self.dim)
    }

    /// The value of dimension `i` at time `j`, path by path.
    pub fn column(&self, i: usize, j: usize) -> impl Iterator<Item = f64> {
        self.states(j).flat_map(move |s| s.iter().skip(i).step_by(self.dim).copied())
    }

    /// Whether the step that ends at time `j` was a jump in dimension `i`, path by path.
    pub fn jumps(&self, i: usize, j: usize) -> impl Iterator<Item = bool> {
        self.blocks.iter().flat_map(move |b| {
            let width = b.sums.len() * self.dim;
            b.jumps[j * width..(j + 1) * width].iter().skip(i).step_by(self.dim).copied()
        })
    }
}

impl Block {
    fn new(first: usize, count: usize, seed: u64, chain: &Chain) -> Self {
        let size = count * chain.dim() * chain.len();
        Self {
            rngs: (first..first + count).map(|path| stream(seed, path as u64)).collect(),
            sums: vec![LogSum::default(); count],
            states: vec![0.0; size],
            jumps: vec![false; size],
        }
    }

    fn at(&self, j: usize, dim: usize) -> &[f64] {
        let width = self.sums.len() * dim;
        &self.states[j * width..(j + 1) * width]
    }

    /// Take every path over the step that ends at time `j`.
    fn step(&mut self, chain: &Chain, j: usize, tables: &[StepTable], thresholds: &[usize]) {
        let dim = chain.dim();
        let width = self.sums.len() * dim;
        let (past, now) = self.states.split_at_mut(j * width);
        let now = &mut now[..width];
        chain.flow_many(j, &past[past.len().saturating_sub(width)..], now);
        let jumps = &mut self.jumps[j * width..(j + 1) * width];
        for (path, (rng, sum)) in self.rngs.iter_mut().zip(&mut self.sums).enumerate() {
            for (i, table) in tables.iter().enumerate() {
                let place = path * dim + i;
                let (node, x) = table.advance(now[place], rng, sum);
                now[place] = x;
                jumps[place] = node >= thresholds[i];
                sum.add(chain.log_likelihood(i, j, x) - table.log_potential(x));
            }
        }
    }
}

/// Draw `count` paths from the chain tilted by `potentials`, with streams (`seed`, 0), (`seed`, 1), …
///
/// The same for any number of threads: a path depends only on its stream and on the potentials.
pub fn walk(chain: &Chain, potentials: &Potentials, count: usize, seed: u64) -> Paths {
    let (dim, times) = (chain.dim(), chain.len());
    let mut blocks: Vec<Block> =
        (0..count).step_by(BLOCK).map(|first| Block::new(first, BLOCK.min(count - first), seed, chain)).collect();
    // One task per thread, which takes all its blocks over a step before the next one, with tables of its own: building
    // them twice costs less than moving them between cores.
    let share = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
    blocks.par_chunks_mut(share).for_each(|blocks| {
        for j in 0..times {
            let tables = tables(chain, potentials, j);
            let thresholds: Vec<usize> = (0..dim).map(|i| jump_threshold(chain, i, j)).collect();
            for block in blocks.iter_mut() {
                block.step(chain, j, &tables, &thresholds);
            }
        }
    });
    Paths { dim, times, blocks }
}

/// The step that ends at time `j`, tilted, per dimension.
pub(super) fn tables(chain: &Chain, potentials: &Potentials, j: usize) -> Vec<StepTable> {
    (0..chain.dim()).map(|i| StepTable::new(chain.nodes(i, j), &potentials[i][j])).collect()
}

/// First node of the upper tail of the prior. The start never jumps.
pub(crate) fn jump_threshold(chain: &Chain, i: usize, j: usize) -> usize {
    upper_tail(chain.nodes(i, j).weights())
}

/// First node of the upper tail: the nodes from it on hold less than 1% together.
pub(crate) fn upper_tail(weights: &[f64]) -> usize {
    let mut tail = 0.0;
    let in_tail = weights.iter().rev().take_while(|&&w| {
        tail += w;
        tail < 0.01
    });
    weights.len() - in_tail.count()
}
