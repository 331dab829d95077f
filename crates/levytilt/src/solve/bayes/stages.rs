//! Draws in stages: each stage's law is fitted to the weighted draws of those before, and all laws together weigh all draws.

use super::law::SplitT;
use super::target::{Point, Target};
use crate::posterior::normalise;
use crate::stream;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Most stages, and fewest draws of one.
const MOST: usize = 5;
const FEWEST: usize = 40;
/// Draws per parameter that equal weights would be worth, below which weights are flattened before a law is fitted.
const WORTH: f64 = 8.0;

/// Draws so far, and the laws they are from with the number from each.
#[derive(Default)]
pub(super) struct Drawn {
    pub points: Vec<Point>,
    laws: Vec<(usize, SplitT)>,
}

impl Drawn {
    /// Draw `count` points in stages; draw k has the stream (`seed`, k), so the number of threads changes nothing.
    pub fn new(target: &Target, first: SplitT, (count, seed): (usize, u64)) -> Self {
        let stage = count.div_ceil((count / FEWEST).clamp(1, MOST));
        let (mut drawn, mut law) = (Self::default(), first);
        while drawn.points.len() < count {
            let from = drawn.points.len();
            let upto = (from + stage).min(count);
            let points = (from..upto).into_par_iter();
            let new: Vec<Point> = points.map(|k| target.at(law.draw(&mut stream(seed, k as u64)))).collect();
            drawn.points.extend(new);
            drawn.laws.push((upto - from, law.clone()));
            law = drawn.fitted().unwrap_or(law);
        }
        drawn
    }

    /// Logarithms of the posterior over the density of the mixture of all laws.
    pub fn log_weights(&self) -> Vec<f64> {
        let all = self.points.len() as f64;
        let log_weight = |point: &Point| {
            let logs: Vec<f64> = self
                .laws
                .iter()
                .map(|(count, law)| (*count as f64 / all).ln() + law.log_density(&point.free))
                .collect();
            point.log_posterior - normalise(&logs).0
        };
        self.points.iter().map(log_weight).collect()
    }

    /// A t law with the weighted mean and covariance; none if the draws do not span the space.
    fn fitted(&self) -> Option<SplitT> {
        let n = self.points[0].free.len();
        let weights = flattened(&self.log_weights(), WORTH * n as f64);
        let mut mean = DVector::zeros(n);
        self.points.iter().zip(&weights).for_each(|(point, w)| mean += &point.free * *w);
        let mut covariance = DMatrix::zeros(n, n);
        for (point, w) in self.points.iter().zip(&weights) {
            let away = &point.free - &mean;
            covariance += &away * away.transpose() * *w;
        }
        SplitT::symmetric(mean, covariance)
    }
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
    let is_enough = |power: f64| 1.0 / powered(power).iter().map(|w| w * w).sum::<f64>() >= wanted;
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
        let worth = |weights: &[f64]| 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let found = flattened(&logs, 10.0);
        assert!((worth(&found) - 10.0).abs() < 0.01 && found[60] == 0.0);
        assert!((worth(&flattened(&logs, 1.0)) - worth(&normalise(&logs).1)).abs() < 1e-12);
        assert!((worth(&flattened(&logs, 1e9)) - 20.0).abs() < 0.01);
    }
}
