//! Maximise by RMSProp or Adam, with the paper's layerwise rescaling of gradients.

use levytilt::Result;
use levytilt::internals::error::expect_length;
use levytilt::internals::solve::Adam;
use nalgebra::{RealField, convert};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How a gradient becomes a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Divide by the root of a running mean of squares (Tieleman and Hinton 2012); decay 0.9, 1e-6 under the root.
    RmsProp,
    /// The same with momentum and bias correction (Kingma and Ba 2015); decays 0.9 and 0.999.
    Adam,
}

/// A rule with its running means; steps go uphill.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimiser<T>(Means<T>);

#[derive(Debug, Clone, PartialEq)]
enum Means<T> {
    /// Of squared gradients.
    RmsProp(Vec<T>),
    Adam(Adam<T>),
}

impl<T: RealField + Default + Copy> Optimiser<T> {
    /// An optimiser of `count` parameters.
    pub fn new(rule: Rule, count: usize) -> Self {
        Self(match rule {
            Rule::RmsProp => Means::RmsProp(vec![T::zero(); count]),
            Rule::Adam => Means::Adam(Adam::new(count, [[0.9, 0.1], [0.999, 0.001]].map(|shares| shares.map(convert)))),
        })
    }

    /// Running means of gradients (empty if the rule has none) and of their squares.
    pub fn moments(&self) -> [&[T]; 2] {
        match &self.0 {
            Means::RmsProp(squares) => [&[], squares],
            Means::Adam(adam) => adam.moments(),
        }
    }

    /// Restore the running means after a number of steps.
    pub fn restore(&mut self, [first, second]: [Vec<T>; 2], steps: usize) -> Result<()> {
        match &mut self.0 {
            Means::RmsProp(squares) => {
                expect_length("means of gradients", first.len(), 0)?;
                expect_length("means of squared gradients", second.len(), squares.len())?;
                *squares = second;
                Ok(())
            }
            Means::Adam(adam) => adam.restore([first, second], steps),
        }
    }

    /// Take one step: each range of parameters at its own learning rate.
    pub fn step(&mut self, parameters: &mut [T], gradient: &[T], rates: &[(Range<usize>, f64)]) {
        match &mut self.0 {
            Means::RmsProp(squares) => {
                for (range, rate) in rates {
                    rms_prop(squares, parameters, gradient, range.clone(), *rate);
                }
            }
            Means::Adam(means) => {
                let [first, second] = means.corrections([0.9, 0.999]);
                let correction = second.sqrt() / first;
                for (range, rate) in rates {
                    let [floor, rate]: [T; 2] = [1e-8, rate * correction].map(convert);
                    for i in range.clone() {
                        let [mean, square] = means.update(i, gradient[i]);
                        parameters[i] += rate * mean / (square.sqrt() + floor);
                    }
                }
            }
        }
    }
}

fn rms_prop<T: RealField + Copy>(
    squares: &mut [T],
    parameters: &mut [T],
    gradient: &[T],
    range: Range<usize>,
    rate: f64,
) {
    let [keep, take, floor, rate]: [T; 4] = [0.9, 0.1, 1e-6, rate].map(convert);
    for i in range {
        let g = gradient[i];
        squares[i] = keep * squares[i] + take * g * g;
        parameters[i] += rate * g / (squares[i] + floor).sqrt();
    }
}

/// Divide each layer's gradient by max(1, rms/q), q the `quantile` of its magnitudes: a layer dominated by a few large
/// entries is scaled down as a whole.
pub fn rescale<T: RealField + Copy>(gradient: &mut [T], layers: &[Range<usize>], quantile: f64) {
    let mut sizes: Vec<T> = Vec::new();
    for layer in layers {
        let part = &mut gradient[layer.clone()];
        sizes.clear();
        sizes.extend(part.iter().map(|g| g.abs()));
        let place = ((part.len() - 1) as f64 * quantile).round() as usize;
        let order = |a: &T, b: &T| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal);
        let typical = *sizes.select_nth_unstable_by(place, order).1 + convert(1e-8);
        let squares = part.iter().fold(T::zero(), |sum, g| sum + *g * *g);
        let factor = ((squares / convert(part.len() as f64)).sqrt() / typical).max(T::one());
        part.iter_mut().for_each(|g| *g /= factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// f = −Σ (x − target)²/2 climbs to its target under both rules.
    #[test]
    fn identity_both_rules_reach_the_top() {
        for rule in [Rule::RmsProp, Rule::Adam] {
            let target = [1.0f64, -2.0];
            let mut x = [0.0, 0.0];
            let mut optimiser = Optimiser::new(rule, 2);
            for i in 0..4000 {
                let gradient = [target[0] - x[0], target[1] - x[1]];
                optimiser.step(&mut x, &gradient, &[(0..2, 0.01 / (1.0 + f64::from(i) / 200.0))]);
            }
            assert!((x[0] - 1.0).abs() < 0.01 && (x[1] + 2.0).abs() < 0.01, "{rule:?} {x:?}");
        }
    }

    #[test]
    fn golden_a_towering_entry_holds_its_layer_back() {
        // By hand: magnitudes 1, 1, 1, 9, the 0.5 quantile is 1, rms is √21.
        let mut gradient = [1.0f64, -1.0, 1.0, 9.0, 5.0, 5.0];
        rescale(&mut gradient, &[0..4, 4..6], 0.5);
        let want = [1.0 / 21f64.sqrt(), -1.0 / 21f64.sqrt(), 1.0 / 21f64.sqrt(), 9.0 / 21f64.sqrt(), 5.0, 5.0];
        assert!(gradient.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-7), "{gradient:?}");
    }
}
