//! Keep the running means of Adam (Kingma and Ba 2015), for every network that is trained by it.

use crate::Result;
use crate::error::expect_length;
use std::ops::{Add, Mul};

/// Running means of a gradient and of its square, each with the share that it keeps and the share of the new value.
///
/// The step is the caller's: mean̂/(√squarê + ε) times a rate, with corrections for the first steps from
/// [`Adam::corrections`].
#[derive(Debug, Clone, PartialEq)]
pub struct Adam<T> {
    shares: [[T; 2]; 2],
    mean: Vec<T>,
    square: Vec<T>,
    steps: i32,
}

impl<T: Copy + Default + Add<Output = T> + Mul<Output = T>> Adam<T> {
    /// For `count` parameters. `shares` are, of the mean and of the mean square, what is kept and what the new value adds.
    pub fn new(count: usize, shares: [[T; 2]; 2]) -> Self {
        Self { shares, mean: vec![T::default(); count], square: vec![T::default(); count], steps: 0 }
    }

    /// Begin a step: 1 − βᵗ for the two decays, by which the means are too small at step t.
    pub fn corrections(&mut self, decays: [f64; 2]) -> [f64; 2] {
        self.steps += 1;
        decays.map(|decay| 1.0 - decay.powi(self.steps))
    }

    /// Mean and mean square of parameter `k` with its slope `g`.
    pub fn update(&mut self, k: usize, g: T) -> [T; 2] {
        let [[keep, take], [keep_square, take_square]] = self.shares;
        self.mean[k] = keep * self.mean[k] + take * g;
        self.square[k] = keep_square * self.square[k] + take_square * g * g;
        [self.mean[k], self.square[k]]
    }

    /// All means and mean squares.
    pub fn moments(&self) -> [&[T]; 2] {
        [&self.mean, &self.square]
    }

    /// Restore the running means after a number of steps.
    ///
    /// # Errors
    /// Means of another number of parameters.
    pub fn restore(&mut self, [mean, square]: [Vec<T>; 2], steps: usize) -> Result<()> {
        expect_length("means of gradients", mean.len(), self.mean.len())?;
        expect_length("means of squared gradients", square.len(), self.square.len())?;
        (self.mean, self.square, self.steps) = (mean, square, steps as i32);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two equal slopes give means of (1 − βᵗ) times the slope and its square.
    #[test]
    fn golden_corrected_means_of_equal_slopes() {
        let mut adam = Adam::new(1, [[0.9, 0.1], [0.99, 0.01]]);
        for step in 1..=2 {
            let corrections = adam.corrections([0.9, 0.99]);
            let means = adam.update(0, 3.0);
            for (mean, (correction, want)) in means.iter().zip(corrections.iter().zip([3.0, 9.0])) {
                assert!((mean / correction - want).abs() < 1e-12, "step {step}: {mean} {correction}");
            }
        }
        assert!(adam.restore([vec![0.0], vec![]], 1).is_err());
    }
}
