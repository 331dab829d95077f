//! Hold what the next state is drawn towards: likelihood times message of one time, with a bound that is easy to draw from.
//!
//! Between the points of the grid the message β is the 12-point interpolant and the likelihood ℓ is itself, so the product
//! b = ℓβ is a smooth function. On each interval between two points b stays below a constant; the sums of these constants
//! over 1, 2, 4, … intervals form a binary tree: all terms are positive, so a sum is accurate however small it is, and a
//! point is drawn from the bound by walking down.

use crate::ErrorLaw;
use crate::exact::backward::Message;
use crate::exact::lagrange::{LEFT, POINTS, dot, weights};

/// Points added at each end for the interpolation.
const PADDING: usize = POINTS / 2 + 1;

/// The likelihood ℓ of one time.
#[derive(Debug, Default)]
pub(super) struct Likelihood {
    /// Centre and 1/(standard deviation) of the start, at the first time.
    pub start: Option<(f64, f64)>,
    /// Value, 1/(standard deviation) and law of the observation, if there is one.
    pub observation: Option<(f64, f64, ErrorLaw)>,
}

impl Likelihood {
    /// ℓ at state `x`, relative to the peaks of its factors, times e^`log_factor`.
    #[inline]
    fn at(&self, x: f64, log_factor: f64) -> f64 {
        let start = self.start.map_or(0.0, |(centre, precision)| ((x - centre) * precision).powi(2));
        match self.observation {
            None => (log_factor - 0.5 * start).exp(),
            Some((y, precision, ErrorLaw::Gaussian)) => {
                (log_factor - 0.5 * (start + ((x - y) * precision).powi(2))).exp()
            }
            Some((y, precision, law)) => (log_factor - 0.5 * start).exp() * law.relative((x - y) * precision),
        }
    }
}

/// b = ℓβ at one time, in intervals of its points.
#[derive(Debug)]
pub(super) struct Target {
    /// State of the first point, and the distance of points.
    pub points: (f64, f64),
    likelihood: Likelihood,
    /// Logarithm of the factor that makes the largest value of b about 1.
    pub log_factor: f64,
    /// β at the points, its end values repeated.
    message: Vec<f64>,
    /// Value of b at points, not padded.
    pub values: Vec<f64>,
    /// Node i holds the sum of the bounds below it; its children are 2i and 2i + 1, the intervals start at `leaves`.
    tree: Vec<f64>,
    pub leaves: usize,
    /// A bound of b everywhere.
    pub top: f64,
    /// Whether b goes on beyond the ends with its end values, instead of being zero.
    pub open: bool,
}

impl Target {
    /// The target of `message`, given at `points`, times the `likelihood`.
    pub fn new(points: (f64, f64), message: &Message, likelihood: Likelihood, open: bool) -> Self {
        let beta = &message.values;
        let (low, high) = (beta[0], beta[beta.len() - 1]);
        let padded: Vec<f64> = std::iter::repeat_n(low, PADDING)
            .chain(beta.iter().copied())
            .chain(std::iter::repeat_n(high, PADDING))
            .collect();
        let (values, tree, leaves, log_factor, top) = (Vec::new(), Vec::new(), 1, 0.0, 0.0);
        let mut target = Self { points, likelihood, log_factor, message: padded, values, tree, leaves, top, open };
        target.values = beta.iter().enumerate().map(|(i, value)| value * target.likelihood(i as f64)).collect();
        let top = target.values.iter().copied().fold(0.0, f64::max);
        if top > 0.0 {
            target.log_factor = -top.ln();
            target.values.iter_mut().for_each(|value| *value /= top);
        }
        target.plant();
        target
    }

    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.values.len() - 1
    }

    /// Bound every interval and add up.
    fn plant(&mut self) {
        let b = &self.values;
        self.leaves = self.len().next_power_of_two();
        let mut tree = vec![0.0; 2 * self.leaves];
        let bend = |i: usize| match i {
            0 => 0.0,
            _ if i + 1 >= b.len() => 0.0,
            _ => (b[i - 1] - 2.0 * b[i] + b[i + 1]).abs(),
        };
        for i in 0..self.len() {
            // A parabola leaves the chord by an eighth of its second difference; twice that leaves room for the rest.
            let bound = b[i].max(b[i + 1]) + 0.25 * bend(i).max(bend(i + 1));
            tree[self.leaves + i] = bound.max(0.0);
        }
        self.top = tree[self.leaves..].iter().copied().fold(0.0, f64::max);
        for i in (1..self.leaves).rev() {
            tree[i] = tree[2 * i] + tree[2 * i + 1];
        }
        self.tree = tree;
    }

    /// Sum of the bounds below tree node `node`; 1 is the root.
    #[inline]
    pub fn mass(&self, node: usize) -> f64 {
        self.tree[node]
    }

    /// Bound of b on interval number `i`, which may lie beyond the ends.
    #[inline]
    pub fn bound(&self, i: f64) -> f64 {
        if i >= 0.0 && i < self.len() as f64 { self.tree[self.leaves + i as usize] } else { self.beyond(i).max(0.0) }
    }

    /// An interval below tree node `node`, drawn by its bound; `uniform` in [0, 1).
    #[inline]
    pub fn descend(&self, mut node: usize, uniform: f64) -> usize {
        let mut left = uniform * self.tree[node];
        while node < self.leaves {
            node *= 2;
            // Rounding must not lead into an empty branch.
            if left >= self.tree[node] && self.tree[node + 1] > 0.0 {
                left -= self.tree[node];
                node += 1;
            }
        }
        node - self.leaves
    }

    /// b at position `s`, counted in intervals from the first point.
    #[inline]
    pub fn value(&self, s: f64) -> f64 {
        if !(s >= 0.0 && s <= self.len() as f64) {
            return self.beyond(s);
        }
        self.message(s) * self.likelihood(s)
    }

    /// β at position `s`; beyond the ends its end values.
    #[inline]
    pub fn message(&self, s: f64) -> f64 {
        let s = s.clamp(0.0, self.len() as f64);
        let i = s as usize;
        let first = i + PADDING - LEFT as usize;
        dot(&weights(s - i as f64), self.message[first..].first_chunk().expect("padded"))
    }

    /// ln of what b beyond the ends, where it counts as its end value, lacks of the likelihood there; 0 between the ends.
    pub fn log_beyond(&self, s: f64) -> f64 {
        let end = s.clamp(0.0, self.len() as f64);
        let state = |s: f64| self.points.0 + s * self.points.1;
        match self.likelihood.observation.filter(|_| s != end) {
            Some((y, precision, law)) => {
                law.log_density((state(s) - y) * precision) - law.log_density((state(end) - y) * precision)
            }
            None => 0.0,
        }
    }

    fn beyond(&self, s: f64) -> f64 {
        match (self.open, s < 0.0) {
            (false, _) => 0.0,
            (true, true) => self.values[0],
            (true, false) => self.values[self.len()],
        }
    }

    /// ℓ at position `s`, without its constants but with the factor of b.
    #[inline]
    fn likelihood(&self, s: f64) -> f64 {
        let x = self.points.0 + s * self.points.1;
        self.likelihood.at(x, self.log_factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bumpy message with an observation, sharply peaked for the grid.
    fn target(open: bool) -> Target {
        let beta =
            |i: usize| (-0.5 * ((i as f64 - 40.3) / 5.0).powi(2)).exp() + 0.3 / (1.0 + (i as f64 / 9.0 - 7.0).powi(2));
        let message = Message { values: (0..100).map(beta).collect(), log_scale: 0.0, floor: 0.0 };
        let observation = (!open).then_some((-1.0, 0.4, ErrorLaw::Gaussian));
        Target::new((-10.0, 0.25), &message, Likelihood { start: None, observation }, open)
    }

    #[test]
    fn identity_bounds_hold_everywhere() {
        for open in [false, true] {
            let target = target(open);
            for i in -500..10_500 {
                let s = 0.01 * (f64::from(i) + 0.5);
                let (value, bound) = (target.value(s), target.bound(s.floor()));
                assert!(value <= bound * (1.0 + 1e-12), "{s}: {value} {bound}");
                let top = value.max(target.value(s.floor())).max(target.value(s.floor() + 1.0));
                assert!(bound < 1.1 * top.max(1e-3), "{s}: {top} {bound}");
            }
        }
    }

    #[test]
    fn identity_tree_draws_every_interval_by_its_bound() {
        let target = target(false);
        let n = 100_000;
        let mut counts = [0.0; 99];
        for i in 0..n {
            counts[target.descend(1, (f64::from(i) + 0.5) / f64::from(n))] += 1.0 / f64::from(n);
        }
        for (i, count) in counts.iter().enumerate() {
            let expected = target.bound(i as f64) / target.mass(1);
            assert!((count - expected).abs() < 1.5 / f64::from(n), "{i}: {count} {expected}");
        }
    }
}
