//! Draw whole paths from the exact posterior: forward in time, each step steered by the message from the future.
//!
//! From the state before the noise, x̃ = flow(x_j), the next state has the density p(x' − x̃) b(x') / Z(x̃) with b = ℓβ of
//! the next time. It is drawn by rejection from a bound that [`draw`] cuts to fit x̃ — or from p itself where b leaves most of it — with p from the table of
//! [`increment`] and b from the interpolant of [`target`]: states are continuous, not cells. A path-step costs some tens
//! of look-ups and one or two evaluations of p and b, growing with the logarithm of the number of cells; a step of all
//! paths together adds one sum over the cells and one convolution for Z. So the whole is linear in steps and in paths. What
//! paths share is prepared for a batch of steps while they walk through the batch before.
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
mod knot;
mod node;
mod scaled;
mod target;

use super::backward::{Backward, Message};
use super::convolve::Rounding;
use super::layout::Layout;
use super::levels::{Rung, stretches};
use super::problem::Problem;
use super::transition::{Ahead, Transition, touched};
use crate::noise::Nodes;
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
/// Steps prepared at once, and the cells of a batch from which on it has no more.
const BATCH: usize = 32;
const BATCH_CELLS: usize = 1 << 16;
/// Cells around the next support, in multiples of it, for which one convolution serves all paths.
const AROUND: f64 = 2.0;

/// A grid, the rounding that is allowed on it, and the messages from the future there.
pub(crate) type On<'a> = (&'a Layout, Rounding, &'a Backward);

/// Draw `count` paths from the posterior of `chain`, the chain of `problem`, on the grid of `layout`. Ends with an error once the
/// stop of `problem` asks for it.
pub(crate) fn sample(
    (problem, chain): (&Problem, &Chain),
    (layout, rounding, backward): On,
    max_cells: usize,
    count: usize,
    seed: u64,
) -> Result<Paths> {
    let transition = Transition::new(problem, layout, max_cells, rounding);
    let mut sampler = Sampler { chain, transition, increments: HashMap::new() };
    let mut walkers: Vec<Walker> =
        (0..count).step_by(BLOCK).map(|first| Walker::new(chain, first, BLOCK.min(count - first), seed)).collect();
    let mut j = 0;
    for k in 0..backward.stretches() {
        let messages = backward.stretch(k, &mut sampler.transition)?;
        if k == 0 {
            sampler.start(&messages[0], &mut walkers)?;
        }
        let begun = usize::from(k == 0);
        match problem.dimension.size {
            None => sampler.walk(j + begun, &messages[begun..], &mut walkers)?,
            Some(_) => {
                for (message, j) in messages[begun..].iter().zip(j + begun..) {
                    sampler.step_sized(j, message, &mut walkers)?;
                }
            }
        }
        j += messages.len();
    }
    for j in j..chain.len() {
        problem.stop.go_on()?;
        let increments = sampler.increments(j, &sizes(&walkers));
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

/// The sizes of noise that paths have.
fn sizes(walkers: &[Walker]) -> Vec<f64> {
    walkers.iter().flat_map(|walker| &walker.sizes).copied().collect()
}

/// The power of two that a size is nearest to.
fn octave(size: f64) -> i64 {
    size.log2().round() as i64
}

/// The factor between the increments of `nodes` and of `reference`, if one law is a multiple of the other.
fn multiple(nodes: &Nodes, reference: &Nodes) -> Option<f64> {
    if nodes.means().is_some() || nodes.weights() != reference.weights() {
        return None;
    }
    let (own, other) = (nodes.variances(), reference.variances());
    let ratio = own.last()? / other.last()?;
    let alike = own.iter().zip(other).all(|(a, b)| (a - ratio * b).abs() <= 1e-9 * a);
    alike.then(|| ratio.sqrt())
}

/// The increments of a size.
fn of_size(increments: &BySize, size: f64) -> Scaled<'_> {
    let octave = octave(size);
    Scaled::new(&increments[&octave], size / (octave as f64).exp2())
}

/// The step of all paths to one time.
struct Step<'a> {
    chain: &'a Chain<'a>,
    problem: &'a Problem<'a>,
    layout: &'a Layout,
    j: usize,
    target: Target,
    increments: BySize,
    /// Factor between the increments of this step and those of the tables.
    factor: f64,
    normalisers: Normalisers,
    /// Added to ln Z − ln β: what both lack of the likelihood's constant and scale.
    constant: f64,
}

impl<'a> Step<'a> {
    /// Carries states over steps, with every sum accurate by itself.
    fn transition(&self) -> Transition<'a> {
        Transition::new(self.problem, self.layout, usize::MAX, Rounding::Careful)
    }
}

/// Z at every x̃.
enum Normalisers {
    /// Of noise of one size: read from `ahead` between two positions of the grid, computed one by one elsewhere.
    Even { ahead: Ahead, served: (f64, f64) },
    /// By the bits of x̃ and of the size.
    Sized(HashMap<(u64, u64), f64>),
}

impl<'a> Sampler<'a> {
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

    /// Take all paths, whose noise has one size, to the times from `j` on, of which the future says `messages`.
    fn walk(&mut self, mut j: usize, mut messages: &[Message], walkers: &mut [Walker<'a>]) -> Result<()> {
        let mut ready = Vec::new();
        while !(ready.is_empty() && messages.is_empty()) {
            self.transition.problem.stop.go_on()?;
            let mut cells = 0;
            let fits = |message: &&Message| {
                cells += message.values.len();
                cells <= BATCH_CELLS
            };
            let count = messages.iter().take(BATCH).take_while(fits).count().max(1).min(messages.len());
            let (batch, rest) = messages.split_at(count);
            let prepare = |(message, j): (&Message, usize)| {
                let target = self.target(j, message);
                let normalisers = self.normalisers(j, &target)?;
                self.prepared(j, target, &[1.0], normalisers)
            };
            let (walked, prepared) = rayon::join(
                || walkers.par_iter_mut().try_for_each(|walker| ready.iter().try_for_each(|step| walker.step(step))),
                || batch.iter().zip(j..).map(prepare).collect::<Result<Vec<_>>>(),
            );
            walked?;
            ready = prepared?;
            (messages, j) = (rest, j + count);
        }
        Ok(())
    }

    /// Take all paths, each with a size of its own, to time `j`, of which the future says `message`.
    fn step_sized(&mut self, j: usize, message: &Message, walkers: &mut [Walker<'a>]) -> Result<()> {
        let target = self.target(j, message);
        let normalisers = self.sized_normalisers(j, &target, walkers)?;
        let step = self.prepared(j, target, &sizes(walkers), normalisers)?;
        walkers.par_iter_mut().try_for_each(|walker| walker.step(&step))
    }

    /// What paths are drawn towards at time `j`, of which the future says `message`.
    fn target(&self, j: usize, message: &Message) -> Target {
        let (problem, layout) = (self.transition.problem, self.transition.layout);
        let likelihood = Likelihood { start: None, observation: observation(problem, j) };
        Target::new(layout.points(j), message, likelihood, problem.open(j))
    }

    /// The step to time `j`, for paths with noise of these sizes.
    fn prepared(&mut self, j: usize, target: Target, sizes: &[f64], normalisers: Normalisers) -> Result<Step<'a>> {
        let (factor, increments) = self.increments(j, sizes);
        let Transition { problem, layout, .. } = self.transition;
        // The likelihood without its constant is what `observe` leaves in the values.
        let constant = problem.observe(j, layout.points(j), &mut []) - target.log_factor;
        Ok(Step { chain: self.chain, problem, layout, j, target, increments, factor, normalisers, constant })
    }

    /// Z where the cells of time `j` − 1 lead: wherever that is if they do not lead far apart, else near those of time `j`.
    fn normalisers(&mut self, j: usize, target: &Target) -> Result<Normalisers> {
        let support = self.transition.layout.support(j);
        let (reach, len) = (AROUND * support.len as f64, support.len as f64);
        let landings = self.transition.landings(j - 1);
        let targets = landings.iter().map(|landing| landing.target);
        let (lo, hi) = targets.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), t| (lo.min(t), hi.max(t)));
        let served = match hi - lo <= len + 2.0 * reach && lo.abs().max(hi.abs()) < 1e15 {
            true => (lo, hi),
            false => {
                let (low, high) = (support.first as f64 - reach, support.first as f64 + len + reach);
                let near = (lo.max(low), hi.min(high));
                if near.0 <= near.1 { near } else { (low, low) }
            }
        };
        let ahead = self.transition.ahead(j - 1, &target.values, touched(served.0, served.1))?;
        Ok(Normalisers::Even { ahead, served })
    }

    /// Z of all paths, each with a size of its own: level by level, for stretches of paths that are near each other.
    fn sized_normalisers(&mut self, j: usize, target: &Target, walkers: &[Walker]) -> Result<Normalisers> {
        let (problem, layout) = (self.transition.problem, self.transition.layout);
        problem.stop.go_on()?;
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

    /// Tables of the increments of the step that ends at time `j`, for noise of these sizes, and a factor that these are to be
    /// multiplied by. Where steps of all lengths have one law but for a factor they share tables.
    fn increments(&mut self, j: usize, sizes: &[f64]) -> (f64, BySize) {
        let shared = multiple(self.chain.nodes(0, j), self.chain.nodes(0, 1))
            .filter(|_| jump_threshold(self.chain, 0, j) == jump_threshold(self.chain, 0, 1));
        let (step, factor) = shared.map_or((j, 1.0), |factor| (1, factor));
        let octaves: BTreeSet<i64> = sizes.iter().map(|size| octave(factor * size)).collect();
        (factor, octaves.into_iter().map(|octave| (octave, self.increment(step, octave))).collect())
    }

    /// The increments of the step that ends at time `j`, times a power of two.
    fn increment(&mut self, j: usize, octave: i64) -> Arc<Increment> {
        let key = (length_key(self.transition.problem.lengths[j - 1]), octave);
        if let Some(increment) = self.increments.get(&key) {
            return increment.clone();
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
        increment
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

/// A block of paths on their way.
struct Walker<'a> {
    made: Made,
    /// States before the noise of the coming step.
    ahead: Vec<f64>,
    /// Sizes of the noise of the coming step.
    sizes: Vec<f64>,
    pieces: Pieces,
    /// Carries single states over a step, once one is far from the others.
    aside: Option<Transition<'a>>,
}

impl<'a> Walker<'a> {
    fn new(chain: &Chain, first: usize, count: usize, seed: u64) -> Self {
        let made = Made {
            rngs: (first..first + count).map(|path| stream(seed, path as u64)).collect(),
            sums: vec![LogSum::default(); count],
            states: Vec::with_capacity(count * chain.len()),
            jumps: Vec::with_capacity(count * chain.len()),
        };
        Self { made, ahead: vec![0.0; count], sizes: vec![1.0; count], pieces: Pieces::default(), aside: None }
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

    fn step(&mut self, step: &Step<'a>) -> Result<()> {
        let layout = step.layout;
        let first = layout.support(step.j).first as f64;
        for path in 0..self.count() {
            let (x, size) = (self.ahead[path], self.sizes[path]);
            let t = (x - layout.origin) / layout.spacing;
            let z = self.normaliser(step, t, size)?;
            let increment = of_size(&step.increments, step.factor * size);
            let drawn = self.pieces.draw((&step.target, increment), t - first, z, &mut self.made.rngs[path]);
            let (Some(drawn), true) = (drawn, z > 0.0) else {
                return Err(step.problem.impossible(step.j, "a path cannot reach the observations that follow"));
            };
            let beyond = step.target.log_beyond(drawn.position);
            let log_weight = z.ln() - step.target.message(drawn.position).ln() + step.constant + beyond;
            self.made.sums[path].add(log_weight);
            self.made.states.push(x + drawn.move_by * layout.spacing);
            self.made.jumps.push(drawn.jump);
        }
        self.look_ahead(step.chain, step.j)
    }

    /// Z at position `t` of the grid, for noise of this size.
    fn normaliser(&mut self, step: &Step<'a>, t: f64, size: f64) -> Result<f64> {
        match &step.normalisers {
            Normalisers::Even { ahead, served } if t >= served.0 && t <= served.1 => Ok(ahead.at(t)),
            Normalisers::Even { .. } if t.abs() > 1e15 => Err(far(step.problem, step.j, t * step.layout.spacing)),
            Normalisers::Even { .. } => {
                let aside = self.aside.get_or_insert_with(|| step.transition());
                Ok(aside.ahead(step.j - 1, &step.target.values, touched(t, t))?.at(t))
            }
            Normalisers::Sized(all) => Ok(all[&(t.to_bits(), size.to_bits())]),
        }
    }

    /// Follow the prior to time `j`.
    fn predict(&mut self, chain: &Chain, j: usize, (factor, increments): &(f64, BySize), spacing: f64) -> Result<()> {
        for ((rng, x), size) in self.made.rngs.iter_mut().zip(&self.ahead).zip(&self.sizes) {
            let (move_by, jump) = of_size(increments, factor * size).draw(rng);
            self.made.states.push(x + move_by * spacing);
            self.made.jumps.push(jump);
        }
        self.look_ahead(chain, j)
    }
}
