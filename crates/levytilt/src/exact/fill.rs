//! Draw paths on some of the times, and fill in those that were left out between the states at the ends of their gaps.
//!
//! Over a gap with an affine drift the state goes from x to a·x + c + a₁J₁ + R, where J₁ is the noise of its first step, a₁ what is
//! left of it at the end, and R the noise of the steps after it, whose law is that of one step of another length
//! ([`super::gather`]). Both are mixtures of Gaussians, so that given the two ends J₁ is one as well, with a term for every pair
//! of nodes. So step after step is drawn from its law given the state before it and the end of the gap, without
//! approximation, and the weight of a path stays what it was.

use super::gather::{Gathered, index, multiplier};
use super::sample::{On, sample};
use crate::noise::{NodeCache, Nodes};
use crate::posterior::{Made, Paths, upper_tail};
use crate::series::TimeGrid;
use crate::{Error, Result, StateSpace, Stop, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::sync::Arc;

/// What is left of a unit below which the end of a gap says nothing about a step.
const NOTHING: f64 = 1e-150;
/// Logarithm of a term, relative to the largest, below which it is never drawn.
const NEGLIGIBLE: f64 = -40.0;

/// A step of a gap.
struct Step {
    /// When it begins, its length, and how long the rest of the gap is.
    from: f64,
    dt: f64,
    rest: f64,
    /// What is left of a unit at the end of the gap.
    left: f64,
    own: Arc<Nodes>,
    /// The noise of the steps after it; nothing for the last.
    after: Option<After>,
}

/// The noise of the steps after one, with every pair of a node of the step and one of theirs.
struct After {
    nodes: Arc<Nodes>,
    /// Per pair: ln(w v) − ½ ln V and 1/(2V), where V is the variance of the two at the end of the gap.
    pairs: Vec<[f64; 2]>,
}

/// A gap whose inner times were left out: the time of its end among those kept, and its steps.
struct Gap {
    end: usize,
    steps: Vec<Step>,
}

/// Draw `count` paths `on` the times of `gathered`, and fill in the other times of `grid`; ends with an
/// error once `stop` asks for it.
pub(crate) fn sample_filled(
    (model, grid): (&StateSpace, &TimeGrid),
    gathered: &Gathered,
    on: On,
    (count, seed): (usize, u64),
    stop: &Stop,
) -> Result<Paths> {
    let index = index(model).expect("steps were gathered");
    let problem = gathered.problem(model, index)?.stopped_by(stop);
    let paths = sample((&problem, &gathered.chain(&problem)?), on, usize::MAX, count, seed)?;
    let gaps = gaps((model, grid), gathered, index)?;
    let fill = |made: Made| {
        stop.go_on()?;
        fill(model, made, (gathered.kept(), grid.len()), &gaps)
    };
    let blocks = paths.into_blocks().into_par_iter().map(fill).collect::<Result<Vec<Made>>>()?;
    Ok(Paths::from_blocks(1, grid.len(), blocks))
}

/// The gaps of which times were left out.
fn gaps((model, grid): (&StateSpace, &TimeGrid), gathered: &Gathered, index: f64) -> Result<Vec<Gap>> {
    let mut cache = NodeCache::new(model.dimensions[0].noise.as_ref());
    let mut gaps = Vec::new();
    for (k, pair) in gathered.kept().windows(2).enumerate().filter(|(_, pair)| pair[1] > pair[0] + 1) {
        let mut steps = Vec::with_capacity(pair[1] - pair[0]);
        for ((dt, rest), j) in gathered.steps(k).zip(pair[0]..) {
            let left = multiplier(model.drift.as_ref(), rest).0;
            steps.push(Step { from: grid.times()[j], dt, rest, left, own: cache.nodes(dt)?, after: None });
        }
        let mut after = 0.0;
        for step in steps.iter_mut().rev() {
            step.after = if after > 0.0 { Some(After::new(step.left, &step.own, cache.nodes(after)?)) } else { None };
            after += step.dt * step.left.abs().powf(index);
        }
        gaps.push(Gap { end: k + 1, steps });
    }
    Ok(gaps)
}

/// Put the paths of a block on all `count` times, of which `kept` are there.
fn fill(model: &StateSpace, made: Made, (kept, count): (&[usize], usize), gaps: &[Gap]) -> Result<Made> {
    let Made { mut rngs, sums, states: old, jumps: known } = made;
    let width = rngs.len();
    let (mut states, mut jumps) = (vec![0.0; width * count], vec![false; width * count]);
    for (k, &j) in kept.iter().enumerate() {
        states[j * width..(j + 1) * width].copy_from_slice(&old[k * width..(k + 1) * width]);
        jumps[j * width..(j + 1) * width].copy_from_slice(&known[k * width..(k + 1) * width]);
    }
    let mut terms = Vec::new();
    for gap in gaps {
        let begin = kept[gap.end - 1];
        for path in 0..width {
            let (mut x, end) = (old[(gap.end - 1) * width + path], old[gap.end * width + path]);
            for (step, j) in gap.steps.iter().zip(begin + 1..) {
                let place = j * width + path;
                let Some(after) = &step.after else { break };
                let (next, [jump, last]) = step.draw(model, (x, end), after, &mut terms, &mut rngs[path]);
                if !next.is_finite() {
                    return Err(Error::Numerical {
                        what: "posterior paths",
                        why: format!("a state drawn between {x:.3e} and {end:.3e} after time {} is {next}", step.from),
                    });
                }
                (states[place], jumps[place]) = (next, jump);
                // The noise of the last step is what is left.
                jumps[place + width] = last;
                x = next;
            }
        }
    }
    Ok(Made { rngs, sums, states, jumps })
}

impl After {
    fn new(left: f64, own: &Nodes, nodes: Arc<Nodes>) -> Self {
        let pair = |s: f64, w: f64, t: f64, v: f64| match left * left * s + t {
            // Two atoms explain nothing but no move at all.
            variance if variance < f64::MIN_POSITIVE => [f64::NEG_INFINITY, 0.0],
            variance => [w + v - 0.5 * variance.ln(), 0.5 / variance],
        };
        let all = |nodes: &Nodes| -> Vec<(f64, f64)> {
            nodes.variances().iter().copied().zip(nodes.log_weights().iter().copied()).collect()
        };
        let pairs = all(own).into_iter().flat_map(|(s, w)| all(&nodes).into_iter().map(move |(t, v)| pair(s, w, t, v)));
        Self { pairs: pairs.collect(), nodes }
    }
}

impl Step {
    /// The state after this step from `x`, if the gap ends at `end`; and whether it was a jump, and the rest if that is one step.
    fn draw(
        &self,
        model: &StateSpace,
        (x, end): (f64, f64),
        after: &After,
        terms: &mut Vec<f64>,
        rng: &mut StreamRng,
    ) -> (f64, [bool; 2]) {
        let After { nodes: after, pairs } = after;
        let (mut moved, mut carried) = ([0.0], [0.0]);
        model.drift.flow(self.from, self.dt, &[x], &mut moved);
        model.drift.flow(self.from, self.dt + self.rest, &[x], &mut carried);
        let left = if self.left.abs() < NOTHING { 0.0 } else { self.left };
        let mean = |nodes: &Nodes, k: usize| nodes.means().map_or(0.0, |means| means[k]);
        let miss = end - carried[0];
        let square = left * left;
        let at = |pair: usize| {
            let (k, l) = (pair / after.len(), pair % after.len());
            miss - left * mean(&self.own, k) - mean(after, l)
        };
        let is_skewed = self.own.means().is_some() || after.means().is_some();
        terms.clear();
        terms.extend(pairs.iter().enumerate().map(|(pair, [height, rate])| {
            let off = if is_skewed { at(pair) } else { miss };
            height - off * off * rate
        }));
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for term in terms.iter_mut() {
            total += if *term - top > NEGLIGIBLE { (*term - top).exp() } else { 0.0 };
            *term = total;
        }
        let level = rng.random::<f64>() * total;
        let pair = match miss == 0.0 && pairs[0][0] == f64::NEG_INFINITY {
            // Only noise with an atom at 0 does not move at all: the first node of both.
            true => 0,
            false => terms.partition_point(|sum| *sum <= level).min(terms.len() - 1),
        };
        let (k, l) = (pair / after.len(), pair % after.len());
        let (s, t) = (self.own.variances()[k], after.variances()[l]);
        let variance = square * s + t;
        let share = if variance > 0.0 { square * s / variance } else { 0.0 };
        let normal: f64 = StandardNormal.sample(rng);
        // In units of the step itself; what the end says of it is nothing if nothing is left of it.
        let pull = if left == 0.0 { 0.0 } else { share * at(pair) / left };
        let increment = mean(&self.own, k) + pull + (s * (1.0 - share)).sqrt() * normal;
        let is_jump = |nodes: &Nodes, k: usize| k >= upper_tail(nodes.weights());
        (moved[0] + increment, [is_jump(&self.own, k), is_jump(after, l)])
    }
}

#[cfg(test)]
mod tests {
    use super::super::follow::{Memory, answer};
    use super::super::problem::Problem;
    use super::*;
    use crate::drift::Ou;
    use crate::noise::Stable;
    use crate::posterior::marginals;
    use crate::stop::NEVER;
    use crate::{Chain, Start};

    /// Paths that are filled in have the law of those on all times: quantiles at the inner times are those of the grid, and the
    /// evidence is the same. The bound is six standard errors of a share of 4000 draws, at 18 quantiles: a false alarm has
    /// probability below 1e-7.
    #[test]
    fn statistics_filled_paths_have_the_exact_marginals() {
        let noise = Box::new(Stable::new(1.4, 0.5).unwrap());
        let drift = Box::new(Ou::new(0.8, 0.3).unwrap());
        let model = StateSpace::new(drift, noise, 0.1, Start::Gaussian { mean: 0.0, std: 0.5 }).unwrap();
        let times: Vec<f64> = (0..4).map(f64::from).collect();
        let values = [0.1, 0.4, 6.0, 0.9];
        let grid = TimeGrid::new(&times, Some(9)).unwrap();
        let problem = Problem::new(&model, &grid, &values).unwrap();
        let levels = [0.1, 0.5, 0.9];
        let full = answer(&problem, &levels, Memory::default()).unwrap();
        let kept: Vec<usize> = (0..grid.len()).filter(|j| j % 3 == 0).collect();
        let gathered = Gathered::only(&grid, &problem.values, kept);
        let reduced = gathered.problem(&model, index(&model).unwrap()).unwrap();
        let part = answer(&reduced, &levels, Memory::default()).unwrap();
        assert!((part.run.log_evidence - full.run.log_evidence).abs() < 5e-4);
        let count = 4000;
        let paths = sample_filled((&model, &grid), &gathered, part.on(), (count, 5), &NEVER).unwrap();
        for j in (0..grid.len()).filter(|j| j % 3 != 0) {
            for (level, quantile) in levels.iter().zip(&full.run.quantiles[j]) {
                let share = paths.column(0, j).filter(|x| x < quantile).count() as f64 / count as f64;
                let error = (level * (1.0 - level) / count as f64).sqrt();
                assert!((share - level).abs() < 6.0 * error, "time {j}: {share} of {level} below {quantile}");
            }
        }
        // The gap up to 6 has as many jumps as on the grid: the variance of a sum of three shares is at most 3/4 per draw.
        let chain = Chain::new(&model, &grid, &[&values]).unwrap();
        let all = sample((&problem, &chain), full.on(), usize::MAX, count, 6).unwrap();
        let [filled, expected] = [&paths, &all].map(|paths| {
            let drawn = marginals(paths, 0, &vec![1.0 / count as f64; count], &levels);
            drawn[4..=6].iter().map(|marginal| marginal.jump_probability).sum::<f64>()
        });
        assert!((filled - expected).abs() < 6.0 * (2.0 * 0.75 / count as f64).sqrt(), "{filled} {expected}");
    }
}
