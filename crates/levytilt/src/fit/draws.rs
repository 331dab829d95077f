//! Draw parameters from what the fit knows of them: a Gaussian on their free scales.

use super::Fit;
use crate::solve::{Transform, parameters};
use crate::stream;
use nalgebra::{DMatrix, DVector};
use rand_distr::{Distribution, StandardNormal};

impl Fit {
    /// The scale on which each of [`Fit::parameters`] is free; the weights of a network, which come first in the model, are
    /// not among them.
    pub fn transforms(&self) -> Vec<Transform> {
        let all = parameters(&self.model);
        all[all.len() - self.parameters.len()..].iter().map(|p| p.transform).collect()
    }

    /// Values of all [`Fit::parameters`], `count` times: those learned are Gaussian on their free scales with
    /// [`Fit::covariance`], those given stay as they are. None if something was learned whose covariance is not known.
    pub fn draw_parameters(&self, count: usize, seed: u64) -> Option<Vec<Vec<f64>>> {
        let free: Vec<usize> = (0..self.parameters.len()).filter(|&k| !self.parameters[k].fixed).collect();
        let n = free.len();
        if self.covariance.len() != n * n {
            return None;
        }
        let factor = DMatrix::from_row_slice(n, n, &self.covariance).cholesky()?.l();
        let transforms = self.transforms();
        let mut rng = stream(seed, u64::MAX - 3);
        let mut draw = || {
            let moves = &factor * DVector::from_fn(n, |_, _| StandardNormal.sample(&mut rng));
            let mut values: Vec<f64> = self.parameters.iter().map(|p| p.value).collect();
            for (&k, by) in free.iter().zip(moves.iter()) {
                values[k] = transforms[k].backward(transforms[k].forward(values[k]) + by);
            }
            values
        };
        Some((0..count).map(|_| draw()).collect())
    }
}
