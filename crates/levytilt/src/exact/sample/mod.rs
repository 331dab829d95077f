//! Draw whole paths from the exact posterior: forward in time, each step steered by the message from the future.
//!
//! From the state before the noise, x̃ = flow(x_j), the next state has the density p(x' − x̃) b(x') / Z(x̃) with b = ℓβ of
//! the next time. It is drawn by rejection from a bound that [`draw`] cuts to fit x̃ — or from p itself where b leaves most of it — with p from the table of
//! [`increment`] and b from the interpolant of [`target`]: states are continuous, not cells. A path-step costs some tens
//! of look-ups and one or two evaluations of p and b, growing with the logarithm of the number of cells; a step of all
//! paths together adds one sum over the cells and one convolution for Z. So the whole is linear in steps and in paths.
//!
//! The log-weight of a path, ln p(x, y) − ln q(x), is a sum of ln Z(x̃_j) − ln β(x_{j+1}), each computed for itself: Z by
//! convolution, as in the backward run, and interpolation at x̃, β by interpolation at x. It would be the log evidence for
//! every path if the grid were perfect; what it varies shows how good the grid is.
//!
//! At a time without an observation β counts as constant beyond the domain, as it does for the evidence, but a path that
//! leaves the domain is drawn from the tail of p itself and goes on from where it landed, so its increments have the right
//! law and its weight says what the constant was worth. After the last observation paths follow the prior.

mod draw;
mod increment;
mod scaled;
mod target;

use super::backward::{Backward, Message};
use super::convolve::Rounding;
use super::layout::Layout;
use super::levels::{Rung, stretches};
use super::problem::Problem;
use super::transition::{Ahead, Transition, touched};
use crate::posterior::{BLOCK, Made, Paths, jump_threshold};
use crate::series::length_key;
use crate::tilt::LogSum;
use crate::{Chain, Error, ErrorLaw, Result, Start, stream};
use draw::Pieces;
use increment::Increment;
use rand::RngExt;
use rayon::prelude::*;
use scaled::Scaled;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use target::{Likelihood, Target};

/// Step lengths whose tables are kept at once (about 100 kB each).
const KEPT: usize = 256;
/// Cells around the next support, in multiples of it, for which one convolution serves all paths.
const AROUND: f64 = 2.0;

/// Draw `count` paths from the posterior of `chain`, the chain of `problem`, on the grid of `layout`.
pub(crate) fn sample(
    (problem, chain): (&Problem, &Chain),
    (layout, rounding): (&Layout, Rounding),
    max_cells: usize,
    count: usize,
    seed: u64,
) -> Result<Paths> {
    let mut transition = Transition::new(problem, layout, max_cells, rounding);
    let backward = Backward::run(&mut transition)?;
    let mut sampler = Sampler { chain, transition, increments: HashMap::new() };
    let mut walkers: Vec<Walker> =
        (0..count).step_by(BLOCK).map(|first| Walker::new(chain, first, BLOCK.min(count - first), seed)).collect();
    let mut j = 0;
    for k in 0..backward.stretches() {
        for message in backward.stretch(k, &mut sampler.transition)?.iter() {
            if j == 0 {
                sampler.start(message, &mut walkers)?;
            } else {
                sampler.step(j, message, &mut walkers)?;
            }
            j += 1;
        }
    }
    for j in j..chain.len() {
        let increments = sampler.increments(j, &walkers)?;
        walkers.par_iter_mut().try_for_each(|walker| walker.predict(chain, j, &increments, layout.spacing))?;
    }
    Ok(Paths::from_blocks(1, chain.len(), walkers.into_iter().map(|walker| walker.made).collect()))
}

/// What all paths share.
struct Sampler<'a> {
    chain: &'a Chain<'a>,
    transition: Transition<'a>,
    increments: HashMap<(u64, i64), Arc<Increment>>,
}

/// Increments by the power of two that their size is nearest to.
type BySize = BTreeMap<i64, Arc<Increment>>;

/// The power of two that a size is nearest to.
fn octave(size: f64) -> i64 {
    size.log2().round() as i64
}

/// The increments of a size.
fn of_size(increments: &BySize, size: f64) -> Scaled<'_> {
    let octave = octave(size);
    Scaled::new(&increments[&octave], size / (octave as f64).exp2())
}

/// The step of all paths to one time.
struct Step<'a> {
    chain: &'a Chain<'a>,
    j: usize,
    target: Target,
    increments: &'a BySize,
    normalisers: Normalisers,
    /// Added to ln Z − ln β: what both lack of the likelihood's constant and scale.
    constant: f64,
}

/// Z at every x̃.
enum Normalisers {
    /// Of noise of one size: read from `ahead` between two positions of the grid, and by the bits of x̃ elsewhere.
    Even { ahead: Ahead, served: (f64, f64), outside: HashMap<u64, f64> },
    /// By the bits of x̃ and of the size.
    Sized(HashMap<(u64, u64), f64>),
}

impl Sampler<'_> {
    /// The first states: the known one, or drawn from start × likelihood × message.
    fn start(&mut self, message: &Message, walkers: &mut [Walker]) -> Result<()> {
        let chain = self.chain;
        let (mean, std) = match chain.model().only_dimension()?.start {
            Start::Fixed(x0) => {
                return walkers.iter_mut().try_for_each(|walker| walker.know(chain, x0));
            }
            Start::Gaussian { mean, std } => (mean, std),
        };
        let (problem, layout) = (self.transition.problem, self.transition.layout);
        let likelihood = Likelihood { start: Some((mean, 1.0 / std)), observation: observation(problem, 0) };
        let target = Target::new(layout.points(0), message, likelihood, false);
        // The masses of the start at the points are its density times their distance; the likelihood lacks its constant.
        let mut values: Vec<f64> = layout.start().iter().zip(&message.values).map(|(mass, beta)| mass * beta).collect();
        let constant = problem.observe(0, layout.points(0), &mut values);
        let total: f64 = values.iter().sum();
        if !(total > 0.0 && target.len() > 0 && target.mass(1) > 0.0) {
            return Err(problem.impossible(0, "no first state leads to the observations"));
        }
        let log_z = total.ln() + constant;
        walkers.par_iter_mut().try_for_each(|walker| walker.start(chain, &target, log_z))
    }

    /// Take all paths to time `j`, of which the future says `message`.
    fn step(&mut self, j: usize, message: &Message, walkers: &mut [Walker]) -> Result<()> {
        let increments = self.increments(j, walkers)?;
        let (problem, layout) = (self.transition.problem, self.transition.layout);
        let likelihood = Likelihood { start: None, observation: observation(problem, j) };
        // The likelihood without its constant is what `observe` leaves in the values.
        let constant = problem.observe(j, layout.points(j), &mut []);
        let target = Target::new(layout.points(j), message, likelihood, problem.open(j));
        let constant = constant - target.log_factor;
        let normalisers = match problem.dimension.size {
            None => self.even_normalisers(j, &target, walkers)?,
            Some(_) => self.sized_normalisers(j, &target, walkers)?,
        };
        let step = Step { chain: self.chain, j, target, increments: &increments, normalisers, constant };
        walkers.par_iter_mut().try_for_each(|walker| walker.step(&step, (layout, problem)))
    }

    /// Z of all paths, whose noise has one size.
    fn even_normalisers(&mut self, j: usize, target: &Target, walkers: &[Walker]) -> Result<Normalisers> {
        let (problem, layout) = (self.transition.problem, self.transition.layout);
        let position = |x: f64| (x - layout.origin) / layout.spacing;
        let support = layout.support(j);
        let reach = AROUND * support.len as f64;
        let (low, high) = (support.first as f64 - reach, support.first as f64 + support.len as f64 + reach);
        let all = || walkers.iter().flat_map(|walker| &walker.ahead).map(|&x| position(x));
        let near = |t: &f64| (low..high).contains(t);
        let served = all().filter(near).fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), t| (lo.min(t), hi.max(t)));
        let served = if served.0 <= served.1 { served } else { (low, low) };
        let ahead = self.transition.ahead(j - 1, &target.values, touched(served.0, served.1))?;
        let mut outside = HashMap::new();
        for t in all().filter(|t| !near(t)) {
            if t.abs() > 1e15 {
                return Err(far(problem, j, t * layout.spacing));
            }
            let there = self.transition.ahead(j - 1, &target.values, touched(t, t))?;
            outside.insert(t.to_bits(), there.at(t));
        }
        Ok(Normalisers::Even { ahead, served, outside })
    }

    /// Z of all paths, each with a size of its own: level by level, for stretches of paths that are near each other.
    fn sized_normalisers(&mut self, j: usize, target: &Target, walkers: &[Walker]) -> Result<Normalisers> {
        let (problem, layout) = (self.transition.problem, self.transition.layout);
        let position = |x: f64| (x - layout.origin) / layout.spacing;
        let states =
            |walker: &Walker| walker.ahead.iter().copied().zip(walker.sizes.iter().copied()).collect::<Vec<_>>();
        let mut paths: Vec<(f64, f64)> = walkers.iter().flat_map(states).map(|(x, size)| (position(x), size)).collect();
        paths.sort_by(|a, b| a.0.total_cmp(&b.0));
        paths.dedup();
        if let Some((t, _)) = paths.iter().find(|(t, _)| t.abs() > 1e15) {
            return Err(far(problem, j, t * layout.spacing));
        }
        let widest = (AROUND * layout.support(j).len as f64).max(1.0);
        let rungs: Vec<Rung> = paths.iter().map(|(_, size)| Rung::new(*size)).collect();
        let mut sums = vec![0.0; paths.len()];
        for (level, range) in stretches(&rungs, false) {
            let mut from = range.start;
            while from < range.end {
                let to = from + paths[from..range.end].partition_point(|(t, _)| *t <= paths[from].0 + widest);
                let cells = touched(paths[from].0, paths[to - 1].0);
                let ahead = self.transition.ahead_at(level, j - 1, &target.values, cells)?;
                for i in from..to {
                    sums[i] += rungs[i].weight(level) * ahead.at(paths[i].0);
                }
                from = to;
            }
        }
        let key = |(t, size): &(f64, f64)| (t.to_bits(), size.to_bits());
        Ok(Normalisers::Sized(paths.iter().map(key).zip(sums).collect()))
    }

    /// The increments of the step that ends at time `j`, for the sizes that paths have.
    fn increments(&mut self, j: usize, walkers: &[Walker]) -> Result<BySize> {
        let octaves: BTreeSet<i64> =
            walkers.iter().flat_map(|walker| &walker.sizes).map(|size| octave(*size)).collect();
        octaves.into_iter().map(|octave| Ok((octave, self.increment(j, octave)?))).collect()
    }

    /// The increments of the step that ends at time `j`, times a power of two.
    fn increment(&mut self, j: usize, octave: i64) -> Result<Arc<Increment>> {
        let key = (length_key(self.chain.length(j)), octave);
        if let Some(increment) = self.increments.get(&key) {
            return Ok(increment.clone());
        }
        if self.increments.len() >= KEPT {
            self.increments.clear();
        }
        let threshold = jump_threshold(self.chain, 0, j);
        let (nodes, spacing) = (self.chain.nodes(0, j), self.transition.layout.spacing);
        let increment = Arc::new(match octave {
            0 => Increment::new(nodes, spacing, threshold),
            _ => Increment::new(&nodes.scaled((octave as f64).exp2()), spacing, threshold),
        });
        self.increments.insert(key, increment.clone());
        Ok(increment)
    }
}

/// Centre, 1/σ and law of the likelihood at time `j`, if something is observed.
fn observation(problem: &Problem, j: usize) -> Option<(f64, f64, ErrorLaw)> {
    let y = problem.values[j];
    (!y.is_nan()).then(|| (y, 1.0 / problem.std(j), problem.law()))
}

fn far(problem: &Problem, j: usize, x: f64) -> Error {
    Error::Numerical {
        what: "posterior paths",
        why: format!(
            "before time {} a path is at {x:.3e}, too far out for the grid; the noise has no usable tails, use another one",
            problem.grid.times()[j]
        ),
    }
}

impl Step<'_> {
    /// Z at position `t` of the grid, for noise of this size.
    fn normaliser(&self, t: f64, size: f64) -> f64 {
        match &self.normalisers {
            Normalisers::Even { ahead, served, .. } if t >= served.0 && t <= served.1 => ahead.at(t),
            Normalisers::Even { outside, .. } => outside[&t.to_bits()],
            Normalisers::Sized(all) => all[&(t.to_bits(), size.to_bits())],
        }
    }
}

/// A block of paths on their way.
struct Walker {
    made: Made,
    /// States before the noise of the coming step.
    ahead: Vec<f64>,
    /// Sizes of the noise of the coming step.
    sizes: Vec<f64>,
    pieces: Pieces,
}

impl Walker {
    fn new(chain: &Chain, first: usize, count: usize, seed: u64) -> Self {
        let made = Made {
            rngs: (first..first + count).map(|path| stream(seed, path as u64)).collect(),
            sums: vec![LogSum::default(); count],
            states: Vec::with_capacity(count * chain.len()),
            jumps: Vec::with_capacity(count * chain.len()),
        };
        Self { made, ahead: vec![0.0; count], sizes: vec![1.0; count], pieces: Pieces::default() }
    }

    fn count(&self) -> usize {
        self.ahead.len()
    }

    /// Move the states just added, those of time `j`, along the drift.
    fn look_ahead(&mut self, chain: &Chain, j: usize) -> Result<()> {
        if j + 1 < chain.len() {
            let count = self.count();
            let states = &self.made.states[self.made.states.len() - count..];
            chain.flow_many(j + 1, states, &mut self.ahead);
            if let Some(size) = &chain.model().dimensions[0].size {
                self.sizes = size.at(chain.times()[j], states)?;
            }
        }
        Ok(())
    }

    fn know(&mut self, chain: &Chain, x0: f64) -> Result<()> {
        let count = self.count();
        self.made.states.resize(count, x0);
        self.made.jumps.resize(count, false);
        self.made.sums.iter_mut().for_each(|sum| sum.add(chain.log_likelihood(0, 0, x0)));
        self.look_ahead(chain, 0)
    }

    fn start(&mut self, chain: &Chain, target: &Target, log_z: f64) -> Result<()> {
        for (rng, sum) in self.made.rngs.iter_mut().zip(&mut self.made.sums) {
            let position = loop {
                let interval = target.descend(1, rng.random());
                let position = interval as f64 + rng.random::<f64>();
                if rng.random::<f64>() * target.bound(interval as f64) < target.value(position) {
                    break position;
                }
            };
            sum.add(log_z - target.message(position).ln());
            self.made.states.push(target.points.0 + position * target.points.1);
            self.made.jumps.push(false);
        }
        self.look_ahead(chain, 0)
    }

    fn step(&mut self, step: &Step, (layout, problem): (&Layout, &Problem)) -> Result<()> {
        let first = layout.support(step.j).first as f64;
        let states = self.ahead.iter().zip(&self.sizes);
        for ((rng, sum), (&x, &size)) in self.made.rngs.iter_mut().zip(&mut self.made.sums).zip(states) {
            let t = (x - layout.origin) / layout.spacing;
            let z = step.normaliser(t, size);
            let increment = of_size(step.increments, size);
            let drawn = self.pieces.draw((&step.target, increment), t - first, z, rng);
            let (Some(drawn), true) = (drawn, z > 0.0) else {
                return Err(problem.impossible(step.j, "a path cannot reach the observations that follow"));
            };
            let beyond = step.target.log_beyond(drawn.position);
            sum.add(z.ln() - step.target.message(drawn.position).ln() + step.constant + beyond);
            self.made.states.push(x + drawn.move_by * layout.spacing);
            self.made.jumps.push(drawn.jump);
        }
        self.look_ahead(step.chain, step.j)
    }

    /// Follow the prior to time `j`.
    fn predict(&mut self, chain: &Chain, j: usize, increments: &BySize, spacing: f64) -> Result<()> {
        for ((rng, x), size) in self.made.rngs.iter_mut().zip(&self.ahead).zip(&self.sizes) {
            let (move_by, jump) = of_size(increments, *size).draw(rng);
            self.made.states.push(x + move_by * spacing);
            self.made.jumps.push(jump);
        }
        self.look_ahead(chain, j)
    }
}
