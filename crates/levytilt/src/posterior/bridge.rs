//! Sample the states between two states of a path from the conditional distribution of the noise.
//!
//! An increment over two steps is the sum of two Gaussian scale mixtures. Given the sum J, the pair of variances (S, T)
//! has probability ∝ w_S w_T N(J; 0, S + T), and given these the first part is N(J S/(S + T), S T/(S + T)). Halving
//! again and again fills in any number of steps, without approximation except that J is rounded to a knot when (S, T)
//! is drawn.

use crate::chain::only_exact;
use crate::noise::{Family, Nodes};
use crate::{Error, Result, StateSpace, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use std::collections::BTreeMap;

/// Neighbouring knots of |J| are this far apart, in logarithms.
const KNOT: f64 = 0.1;
/// Largest number of knots on either side of 1: increments of e^±60.
const MOST_KNOTS: f64 = 600.0;
/// Rounds of correcting the increments for the drift, so that the path ends at the given state.
const ROUNDS: usize = 3;

/// Fills in paths of a one-dimensional model in steps of one length.
pub struct Bridge<'a> {
    model: &'a StateSpace,
    step: f64,
    /// Nodes by number of steps.
    nodes: BTreeMap<usize, Nodes>,
    /// Cumulative weights of pairs of nodes by numbers of steps and knot.
    pairs: BTreeMap<(usize, usize, i64), Vec<f64>>,
}

impl<'a> Bridge<'a> {
    /// A bridge in steps of length `step`.
    ///
    /// # Errors
    /// A model of several dimensions; skewed noise; a step that is not positive.
    pub fn new(model: &'a StateSpace, step: f64) -> Result<Self> {
        let dimension = model.only_dimension()?;
        if Family::named(dimension.noise.family()).is_some_and(Family::is_skewed) {
            return Err(only_exact(dimension.noise.family(), ""));
        }
        Ok(Self { model, step: crate::error::positive("step", step)?, nodes: BTreeMap::new(), pairs: BTreeMap::new() })
    }

    /// The `parts` − 1 states between `from` at `time` and `to`, `parts` steps later.
    ///
    /// The increments are drawn given their sum, which is what the drift alone does not explain, and then corrected, in
    /// proportion to their sizes, for the effect of the drift along the way: exact without drift, and with drift up to
    /// its change within the gap.
    ///
    /// # Errors
    /// No part; a state that is not finite.
    pub fn fill(&mut self, time: f64, (from, to): (f64, f64), parts: usize, rng: &mut StreamRng) -> Result<Vec<f64>> {
        let increments = self.increments(time, (from, to), parts, rng)?;
        let mut states = self.states(time, from, &increments);
        states.pop();
        match states.iter().find(|x| !x.is_finite()) {
            None => Ok(states),
            Some(x) => Err(Error::Numerical { what: "bridge", why: format!("a state between {from} and {to} is {x}") }),
        }
    }

    /// Increments of the noise that lead from one state to the other through the drift.
    fn increments(&mut self, time: f64, (from, to): (f64, f64), parts: usize, rng: &mut StreamRng) -> Result<Vec<f64>> {
        crate::error::positive("parts", parts as f64)?;
        let miss = to - self.end(time, from, &vec![0.0; parts]);
        let mut increments = self.split(miss, parts, rng)?;
        for _ in 0..ROUNDS {
            let total: f64 = increments.iter().map(|x| x.abs()).sum();
            let miss = to - self.end(time, from, &increments);
            if total > 0.0 {
                increments.iter_mut().for_each(|x| *x += miss * x.abs() / total);
            }
        }
        Ok(increments)
    }

    /// States after each step.
    fn states(&self, time: f64, from: f64, increments: &[f64]) -> Vec<f64> {
        let (mut x, mut moved) = ([from], [from]);
        let walk = increments.iter().enumerate().map(|(i, increment)| {
            self.model.drift.flow(time + i as f64 * self.step, self.step, &x, &mut moved);
            x[0] = moved[0] + increment;
            x[0]
        });
        walk.collect()
    }

    fn end(&self, time: f64, from: f64, increments: &[f64]) -> f64 {
        self.states(time, from, increments).last().copied().unwrap_or(from)
    }

    /// Increments of `parts` steps given their sum.
    fn split(&mut self, sum: f64, parts: usize, rng: &mut StreamRng) -> Result<Vec<f64>> {
        // Only noise with an atom at 0 gives a sum of exactly 0; then every increment is 0.
        if parts == 1 || sum == 0.0 {
            let mut whole = vec![0.0; parts];
            whole[0] = sum;
            return Ok(whole);
        }
        let (left, right) = (parts / 2, parts - parts / 2);
        let first = self.first(sum, left, right, rng)?;
        let mut increments = self.split(first, left, rng)?;
        increments.extend(self.split(sum - first, right, rng)?);
        Ok(increments)
    }

    /// The part of `sum` that belongs to the first `left` of `left` + `right` steps.
    fn first(&mut self, sum: f64, left: usize, right: usize, rng: &mut StreamRng) -> Result<f64> {
        for parts in [left, right] {
            if !self.nodes.contains_key(&parts) {
                let nodes = self.model.dimensions[0].noise.nodes(parts as f64 * self.step)?;
                self.nodes.insert(parts, nodes);
            }
        }
        let knot = (sum.abs().ln() / KNOT).round().clamp(-MOST_KNOTS, MOST_KNOTS);
        let (s, t) = (&self.nodes[&left], &self.nodes[&right]);
        let key = (left, right, knot as i64);
        let cumulative = self.pairs.entry(key).or_insert_with(|| cumulative(s, t, (KNOT * knot).exp()));
        let total = cumulative[cumulative.len() - 1];
        let u: f64 = rng.random::<f64>() * total;
        let pair = cumulative.partition_point(|c| *c <= u).min(cumulative.len() - 1);
        let (s, t) = (s.variances()[pair / t.len()], t.variances()[pair % t.len()]);
        let z: f64 = StandardNormal.sample(rng);
        // Both variances vanish only where no pair can explain the sum; then it is shared evenly.
        let share = if s + t > 0.0 { s / (s + t) } else { 0.5 };
        Ok(sum * share + (s * (1.0 - share)).sqrt() * z)
    }
}

/// Cumulative weights w_S w_T N(sum; 0, S + T) over all pairs, up to a factor.
fn cumulative(s: &Nodes, t: &Nodes, sum: f64) -> Vec<f64> {
    let logs: Vec<f64> = (s.variances().iter().zip(s.log_weights()))
        .flat_map(|(s, w)| {
            t.variances().iter().zip(t.log_weights()).map(move |(t, v)| {
                let variance = s + t;
                if variance > 0.0 { w + v - 0.5 * (variance.ln() + sum * sum / variance) } else { f64::NEG_INFINITY }
            })
        })
        .collect();
    let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    logs.iter()
        .map(|log| {
            total += (log - best).exp();
            total
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::{NoDrift, Ou};
    use crate::noise::{Gaussian, Stable};
    use crate::{Start, stream};

    #[test]
    fn identity_the_ends_are_met_through_the_drift() {
        let model = StateSpace::new(
            Box::new(Ou::new(5.0, 1.0).unwrap()),
            Box::new(Stable::new(1.3, 1.0).unwrap()),
            0.1,
            Start::Fixed(0.0),
        )
        .unwrap();
        let mut bridge = Bridge::new(&model, 0.001).unwrap();
        let mut rng = stream(1, 0);
        for to in [0.2, -0.5, 30.0] {
            let increments = bridge.increments(0.0, (0.3, to), 11, &mut rng).unwrap();
            let end = bridge.end(0.0, 0.3, &increments);
            let total: f64 = increments.iter().map(|x| x.abs()).sum();
            assert!((end - to).abs() < 1e-4 * total, "{to}: {end}");
            assert_eq!(bridge.fill(0.0, (0.3, to), 11, &mut rng).unwrap().len(), 10);
        }
        assert!(bridge.fill(0.0, (0.0, 1.0), 0, &mut rng).is_err());
    }

    #[test]
    fn statistics_a_gaussian_bridge_is_brownian() {
        // Ten steps from 0 to 1 with unit variance per time: after four, mean 0.4 and variance 0.24. 4000 draws, four
        // standard errors.
        let model = StateSpace::new(
            Box::new(NoDrift::new(1).unwrap()),
            Box::new(Gaussian::new(1.0).unwrap()),
            0.1,
            Start::Fixed(0.0),
        )
        .unwrap();
        let mut bridge = Bridge::new(&model, 0.1).unwrap();
        let mut rng = stream(2, 0);
        let draws: Vec<f64> = (0..4000).map(|_| bridge.fill(0.0, (0.0, 1.0), 10, &mut rng).unwrap()[3]).collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
        assert!((mean - 0.4).abs() < 4.0 * (0.24f64 / 4000.0).sqrt(), "{mean}");
        assert!((variance / 0.24 - 1.0).abs() < 4.0 * (2.0f64 / 4000.0).sqrt(), "{variance}");
    }

    #[test]
    fn statistics_a_large_jump_is_one_jump_at_any_time() {
        // α = 1.2 and a sum of a thousand scales: all of it in one step, each of five equally likely.
        let model = StateSpace::new(
            Box::new(NoDrift::new(1).unwrap()),
            Box::new(Stable::new(1.2, 1.0).unwrap()),
            0.1,
            Start::Fixed(0.0),
        )
        .unwrap();
        let mut bridge = Bridge::new(&model, 0.01).unwrap();
        let mut rng = stream(3, 0);
        let (mut counts, mut halves) = ([0u32; 5], 0);
        for _ in 0..2000 {
            let inner = bridge.fill(0.0, (0.0, 50.0), 5, &mut rng).unwrap();
            counts[inner.iter().filter(|x| **x < 25.0).count()] += 1;
            halves += inner.iter().filter(|x| (5.0..45.0).contains(*x)).count();
        }
        // Two large jumps share it once in some thousand draws at most.
        assert!(halves < 60, "{halves}");
        // Binomial with mean 400: five standard errors of 18.
        assert!(counts.iter().all(|count| count.abs_diff(400) < 90), "{counts:?}");
    }
}
