//! Draws in stages: each stage's law is fitted to the weighted draws of those before, and all laws together weigh all draws.

use super::mixture::Mixture;
use super::target::{Point, Target};
use crate::posterior::{normalise, pareto_k};
use crate::stream;
use nalgebra::DVector;
use rayon::prelude::*;

/// Stages of the draws that were asked for, and fewest draws of one.
const STAGES: usize = 5;
const FEWEST: usize = 40;
/// Draws per parameter that equal weights would be worth, below which weights are flattened before a law is fitted.
const WORTH: f64 = 8.0;
/// What the draws have to come to, and how many times as many as were asked for there may be until they do: effective draws as
/// a share of what was asked for, and k̂.
const ENOUGH: f64 = 0.4;
const BEST_K_HAT: f64 = 0.5;
pub(super) const MOST_TIMES: usize = 6;

/// Draws so far, and the laws they are from with the number from each.
#[derive(Default)]
pub(super) struct Drawn {
    pub points: Vec<Point>,
    laws: Vec<(usize, Mixture)>,
    /// ln of the sum of the laws' densities, each times its number of draws, at each point.
    densities: Vec<f64>,
}

impl Drawn {
    /// Draw points in stages until their weights can be trusted: `count` at least and [`MOST_TIMES`] as many at most. Draw k
    /// has the stream (`seed`, k), so the number of threads changes nothing.
    pub fn new(target: &Target, first: Mixture, (count, seed): (usize, u64)) -> Self {
        let stage = count.div_ceil((count / FEWEST).clamp(1, STAGES));
        let (mut drawn, mut law) = (Self::default(), first);
        for number in 0.. {
            let from = drawn.points.len();
            // Later stages only add to what is known already.
            let upto = if from < count { (from + stage).min(count) } else { from + count.div_ceil(2) };
            drawn.add(target, law.clone(), (from..upto, seed));
            let logs = drawn.log_weights();
            if upto >= MOST_TIMES * count || (upto >= count && suffices(&logs, count)) {
                break;
            }
            law = drawn.fitted(&logs, (seed, number)).unwrap_or(law);
        }
        drawn
    }

    fn add(&mut self, target: &Target, law: Mixture, (draws, seed): (std::ops::Range<usize>, u64)) {
        let count = draws.len();
        let new: Vec<Point> =
            draws.into_par_iter().map(|k| target.at(law.draw(&mut stream(seed, k as u64)), k as u64)).collect();
        let share = |(count, law): &(usize, Mixture), at: &DVector<f64>| (*count as f64).ln() + law.log_density(at);
        self.laws.push((count, law));
        let last = &self.laws[self.laws.len() - 1];
        for (sum, point) in self.densities.iter_mut().zip(&self.points) {
            *sum = normalise(&[*sum, share(last, &point.free)]).0;
        }
        let all = |point: &Point| normalise(&self.laws.iter().map(|law| share(law, &point.free)).collect::<Vec<_>>()).0;
        let new_densities: Vec<f64> = new.iter().map(all).collect();
        self.densities.extend(new_densities);
        self.points.extend(new);
    }

    /// Draws of the last stage that have no evidence, and all of it.
    pub fn last_refused(&self) -> (usize, usize) {
        let last = self.laws.last().map_or(0, |(count, _)| *count);
        let points = &self.points[self.points.len() - last..];
        (points.iter().filter(|point| !point.log_posterior.is_finite()).count(), last)
    }

    /// Logarithms of the posterior over the density of the mixture of all laws.
    pub fn log_weights(&self) -> Vec<f64> {
        let all = (self.points.len() as f64).ln();
        self.points.iter().zip(&self.densities).map(|(point, sum)| point.log_posterior - (sum - all)).collect()
    }

    /// The law for the next stage; none if the draws do not span the space.
    fn fitted(&self, logs: &[f64], (seed, number): (u64, u64)) -> Option<Mixture> {
        let weights = flattened(logs, WORTH * self.points[0].free.len() as f64);
        let points: Vec<&DVector<f64>> = self.points.iter().map(|point| &point.free).collect();
        Mixture::fitted(&points, &weights, &mut stream(seed, u64::MAX - number))
    }
}

/// Whether weights are even enough for quantiles.
fn suffices(logs: &[f64], count: usize) -> bool {
    effective(&normalise(logs).1) >= ENOUGH * count as f64 && pareto_k(logs) < BEST_K_HAT
}

fn effective(weights: &[f64]) -> f64 {
    1.0 / weights.iter().map(|w| w * w).sum::<f64>()
}

/// Weights with sum 1, raised to the largest power of at most 1 at which they are worth `worth` equal ones, or a third of all
/// that are there.
fn flattened(logs: &[f64], worth: f64) -> Vec<f64> {
    let there = logs.iter().filter(|l| l.is_finite()).count() as f64;
    let wanted = worth.min(there / 3.0);
    let powered = |power: f64| {
        let scaled = logs.iter().map(|l| if l.is_finite() { power * l } else { *l }).collect::<Vec<_>>();
        normalise(&scaled).1
    };
    let is_enough = |power: f64| effective(&powered(power)) >= wanted;
    if is_enough(1.0) {
        return powered(1.0);
    }
    let [mut low, mut high] = [0.0, 1.0];
    for _ in 0..20 {
        let middle = 0.5 * (low + high);
        if is_enough(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    powered(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_flattened_weights_are_worth_what_is_asked() {
        let logs: Vec<f64> = (0..60).map(|k| -f64::from(k)).chain([f64::NEG_INFINITY]).collect();
        let found = flattened(&logs, 10.0);
        assert!((effective(&found) - 10.0).abs() < 0.01 && found[60] == 0.0);
        assert!((effective(&flattened(&logs, 1.0)) - effective(&normalise(&logs).1)).abs() < 1e-12);
        assert!((effective(&flattened(&logs, 1e9)) - 20.0).abs() < 0.01);
    }
}
