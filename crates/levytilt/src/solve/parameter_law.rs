//! What is known of learned parameters: a Gaussian on their free scales, from which values and whole models are drawn.
//! Its middle is the mean of the posterior, beside the maximum that the model has.

use super::learned::Optimum;
use super::parameters::{Transform, parameters, rebuild};
use crate::{Error, Result, StateSpace, StreamRng, stream};
use nalgebra::{DMatrix, DVector};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Draws of values that no model accepts, in a row, after which there is no use in trying on.
const MOST_REFUSED: usize = 100;

/// A Gaussian beside the parameters of a model, on the scales on which they are free ([`parameters`]).
#[derive(Debug)]
pub struct ParameterLaw<'a> {
    model: &'a StateSpace,
    values: Vec<f64>,
    /// Place and scale of each parameter that moves.
    free: Vec<(usize, Transform)>,
    /// Root of the covariance, lower triangle.
    factor: DMatrix<f64>,
    /// From the parameters of the model to the middle of the law.
    shift: DVector<f64>,
}

impl<'a> ParameterLaw<'a> {
    /// The law of the parameters at the places `free` in the order of [`parameters`], with their `covariance` on the free
    /// scales, row after row, and the `shift` of its middle from the parameters of the model, none if empty; the other
    /// parameters stay as they are. None if a place is not there, the covariance is not finite, positive definite and of
    /// that size, or the shift is not finite or of another size.
    pub fn new(model: &'a StateSpace, free: &[usize], covariance: &[f64], shift: &[f64]) -> Option<Self> {
        let all = parameters(model);
        let n = free.len();
        let sized = covariance.len() == n * n && (shift.is_empty() || shift.len() == n);
        if n > all.len() || !sized || !covariance.iter().chain(shift).all(|entry| entry.is_finite()) {
            return None;
        }
        let factor = DMatrix::from_row_slice(n, n, covariance).cholesky()?.l();
        let free = free.iter().map(|&k| Some((k, all.get(k)?.transform))).collect::<Option<_>>()?;
        let shift = DVector::from_fn(n, |k, _| shift.get(k).copied().unwrap_or(0.0));
        Some(Self { model, values: all.iter().map(|p| p.value).collect(), free, factor, shift })
    }

    /// The model that the law was found for.
    pub fn model(&self) -> &StateSpace {
        self.model
    }

    /// Whether nothing moves.
    pub fn is_fixed(&self) -> bool {
        self.free.is_empty()
    }

    /// Values of all parameters.
    pub fn draw(&self, rng: &mut StreamRng) -> Vec<f64> {
        let z = DVector::from_fn(self.free.len(), |_, _| StandardNormal.sample(rng));
        self.moved(&(self.root() * z + &self.shift))
    }

    /// Root of the covariance on the free scales.
    pub(super) fn root(&self) -> &DMatrix<f64> {
        &self.factor
    }

    /// Values of all parameters, those that are free moved by this much on their scales.
    pub(super) fn moved(&self, by: &DVector<f64>) -> Vec<f64> {
        let mut values = self.values.clone();
        for (&(k, transform), by) in self.free.iter().zip(by.iter()) {
            values[k] = transform.backward(transform.forward(values[k]) + by);
        }
        values
    }

    /// The model, `count` times, each with parameters of its own; the same for any number of threads.
    ///
    /// # Errors
    /// Errors so wide that hardly any draw is a model: exp of a large number is infinite.
    pub fn models(&self, count: usize, seed: u64) -> Result<Vec<StateSpace>> {
        let seed = stream(seed, u64::MAX - 4).next_u64();
        (0..count as u64).into_par_iter().map(|k| self.draw_model(&mut stream(seed, k))).collect()
    }

    /// A model with drawn parameters. The law ends where no model is: values that none accepts are drawn again.
    fn draw_model(&self, rng: &mut StreamRng) -> Result<StateSpace> {
        let tries = (0..MOST_REFUSED).map(|_| rebuild(self.model, &self.draw(rng)));
        let mut refused = None;
        for tried in tries {
            match tried {
                Ok(model) => return Ok(model),
                Err(error) => refused = Some(error),
            }
        }
        let why = refused.map_or_else(String::new, |error| error.to_string());
        Err(Error::Numerical {
            what: "draw of parameters",
            why: format!(
                "{MOST_REFUSED} draws in a row were invalid, the last because {why}; keep the parameters at their \
                 estimates"
            ),
        })
    }
}

impl Optimum {
    /// The law of the parameters learned, if their covariance is known.
    pub fn parameter_law(&self) -> Option<ParameterLaw<'_>> {
        let free: Vec<usize> = (0..self.parameters.len()).filter(|&k| !self.parameters[k].fixed).collect();
        ParameterLaw::new(&self.model, &free, &self.covariance, &self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::Ou;
    use crate::noise::Stable;
    use crate::{Start, solve::Parameter};

    fn model() -> StateSpace {
        let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
        StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
    }

    #[test]
    fn identity_only_a_covariance_is_a_law() {
        let model = model();
        let law = |free: &[usize], covariance: &[f64]| ParameterLaw::new(&model, free, covariance, &[]).is_some();
        assert!(law(&[], &[]) && law(&[1, 3], &[1.0, 0.5, 0.5, 1.0]));
        assert!(!law(&[0], &[]) && !law(&[0], &[0.0]) && !law(&[0], &[-1.0]) && !law(&[9], &[1.0]));
        assert!(!law(&[0], &[f64::NAN]) && !law(&[0], &[f64::INFINITY]) && !law(&[0, 1], &[1.0, 2.0, 2.0, 1.0]));
        let shifted = |shift: &[f64]| ParameterLaw::new(&model, &[0], &[1.0], shift).is_some();
        assert!(shifted(&[0.5]) && !shifted(&[0.5, 0.5]) && !shifted(&[f64::NAN]));
    }

    #[test]
    fn identity_what_is_not_free_stays() {
        let model = model();
        let law = ParameterLaw::new(&model, &[1], &[0.25], &[]).unwrap();
        let before = parameters(&model);
        for drawn in law.models(5, 1).unwrap() {
            let now = parameters(&drawn);
            let moved = |(a, b): (&Parameter, &Parameter)| a.value != b.value;
            assert_eq!(before.iter().zip(&now).map(moved).collect::<Vec<_>>(), [false, true, false, false, false]);
        }
    }

    #[test]
    fn identity_a_shift_moves_every_draw() {
        let model = model();
        let drawn = |shift: &[f64]| ParameterLaw::new(&model, &[0], &[0.25], shift).unwrap().draw(&mut stream(1, 1))[0];
        assert!((drawn(&[0.5]).ln() - drawn(&[]).ln() - 0.5).abs() < 1e-12);
    }

    /// Where half of the draws of `scale` are infinite or nought the others are taken; where all are, it is said.
    #[test]
    fn identity_draws_that_are_no_model_are_drawn_again() {
        let model = model();
        assert_eq!(ParameterLaw::new(&model, &[3], &[1e6], &[]).unwrap().models(20, 1).unwrap().len(), 20);
        let error = ParameterLaw::new(&model, &[3], &[1e300], &[]).unwrap().models(1, 1).unwrap_err().to_string();
        assert!(error.contains("scale") && error.contains("estimates"), "{error}");
    }
}
