//! Train a network: Adam steps on a loss that is computed afresh each time.

use super::Outcome;
use candle_core::{Result, Tensor, Var};
use levytilt::Error;

/// How a network is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Training {
    /// Number of gradient steps.
    pub steps: usize,
    /// Length of a step.
    pub rate: f64,
    /// Share of every parameter that is lost per step, over the rate (AdamW).
    pub weight_decay: f64,
    /// Largest norm of the gradient; longer ones are shortened.
    pub clip: Option<f64>,
}

impl Training {
    /// Refuse numbers that cannot train anything.
    fn check(&self) -> levytilt::Result<()> {
        let refuse = |name: &str, value, expected| Err(Error::Parameter { name: name.into(), value, expected });
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if self.steps == 0 {
            return refuse("training steps", 0.0, "must be at least 1");
        }
        if !positive(self.rate) {
            return refuse("training rate", self.rate, "must be a finite number greater than 0");
        }
        if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            return refuse("weight decay", self.weight_decay, "must be a finite number, 0 or greater");
        }
        match self.clip.filter(|clip| !positive(*clip)) {
            Some(clip) => refuse("clip", clip, "must be a finite number greater than 0"),
            None => Ok(()),
        }
    }

    /// Adam with neither decay nor clipping.
    pub fn adam(steps: usize, rate: f64) -> Self {
        Self { steps, rate, weight_decay: 0.0, clip: None }
    }
}

/// Decay of the mean and of the mean square of past gradients, and what keeps the denominator from 0.
const BETA: (f64, f64, f64) = (0.9, 0.999, 1e-8);

/// A parameter with the running means of its gradient.
struct Slot<'a> {
    var: &'a Var,
    values: Vec<f32>,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl<'a> Slot<'a> {
    fn new(var: &'a Var) -> Result<Self> {
        let values: Vec<f32> = var.flatten_all()?.to_vec1()?;
        let zeros = vec![0.0; values.len()];
        Ok(Self { var, values, mean: zeros.clone(), square: zeros })
    }

    /// The `count`-th step of Adam along `gradient`, scaled by `shrink`.
    fn step(&mut self, gradient: &[f32], shrink: f32, count: i32, options: &Training) -> Result<()> {
        let (beta1, beta2) = (BETA.0 as f32, BETA.1 as f32);
        let (bias1, bias2) = (1.0 - BETA.0.powi(count), 1.0 - BETA.1.powi(count));
        let (rate, root) = ((options.rate / bias1) as f32, (1.0 / bias2.sqrt()) as f32);
        let keep = (1.0 - options.rate * options.weight_decay) as f32;
        let means = self.mean.iter_mut().zip(&mut self.square);
        for ((x, g), (mean, square)) in self.values.iter_mut().zip(gradient).zip(means) {
            let g = g * shrink;
            *mean = beta1 * *mean + (1.0 - beta1) * g;
            *square = beta2 * *square + (1.0 - beta2) * g * g;
            *x = keep * *x - rate * *mean / (square.sqrt() * root + BETA.2 as f32);
        }
        self.var.set(&Tensor::from_slice(&self.values, self.var.shape(), self.var.device())?)
    }
}

/// Take the steps of `options` down `loss`, a scalar; the last loss is returned.
///
/// # Errors
/// Options out of range; a loss that is not a number, with the step at which it came.
pub(crate) fn train(vars: &[Var], options: &Training, mut loss: impl FnMut() -> Result<Tensor>) -> Outcome<f32> {
    options.check()?;
    let mut slots = vars.iter().map(Slot::new).collect::<Result<Vec<_>>>()?;
    let mut last = f32::NAN;
    for count in 1..=options.steps {
        let value = loss()?;
        last = value.to_scalar()?;
        if !last.is_finite() {
            let why = format!("loss is {last} at step {count} of {}; a lower rate may help", options.steps);
            return Err(Error::Numerical { what: "training", why }.into());
        }
        let store = value.backward()?;
        let gradients = vars.iter().map(|var| match store.get(var) {
            Some(gradient) => gradient.flatten_all()?.to_vec1(),
            None => Ok(vec![0.0; var.elem_count()]),
        });
        let gradients: Vec<Vec<f32>> = gradients.collect::<Result<_>>()?;
        let shrink = options.clip.map_or(1.0, |longest| (longest / norm(&gradients)).min(1.0));
        for (slot, gradient) in slots.iter_mut().zip(&gradients) {
            slot.step(gradient, shrink as f32, count as i32, options)?;
        }
    }
    Ok(last)
}

fn norm(gradients: &[Vec<f32>]) -> f64 {
    gradients.iter().flatten().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::layers::{Parameters, matrix, numbers};
    use super::*;

    #[test]
    fn identity_adam_finds_the_minimum_of_a_parabola() {
        let mut parameters = Parameters::new(1);
        let x = parameters.uniform((1, 3), 1.0).unwrap();
        let goal = matrix(vec![1.0, -2.0, 3.0], (1, 3)).unwrap();
        let options = Training { clip: Some(1.0), ..Training::adam(2000, 0.01) };
        let left = train(&parameters.vars, &options, || x.sub(&goal)?.sqr()?.sum_all());
        assert!(left.is_ok_and(|loss| loss < 1e-6));
        assert!(numbers(&x).unwrap().iter().zip([1.0, -2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-3));
    }

    #[test]
    fn identity_first_step_has_the_length_of_the_rate_and_decay_shrinks() {
        let mut parameters = Parameters::new(1);
        let x = parameters.constant((1, 1), 2.0).unwrap();
        let options = Training { weight_decay: 0.5, ..Training::adam(1, 0.1) };
        assert!(train(&parameters.vars, &options, || x.sum_all()).is_ok());
        assert!((numbers(&x).unwrap()[0] - (2.0 * 0.95 - 0.1)).abs() < 1e-6);
    }

    #[test]
    fn bad_options_are_errors() {
        let good = Training::adam(1, 0.1);
        assert!(good.check().is_ok() && Training { clip: Some(1.0), ..good }.check().is_ok());
        assert!(Training { steps: 0, ..good }.check().is_err() && Training { rate: 0.0, ..good }.check().is_err());
        assert!(Training { weight_decay: -1.0, ..good }.check().is_err());
        assert!(Training { clip: Some(f64::NAN), ..good }.check().is_err());
    }

    #[test]
    fn a_loss_that_is_not_a_number_is_an_error() {
        let mut parameters = Parameters::new(1);
        let x = parameters.constant((1, 1), -1.0).unwrap();
        let outcome = train(&parameters.vars, &Training::adam(5, 0.1), || x.log()?.sum_all());
        assert!(outcome.is_err_and(|failure| failure.0.to_string().contains("at step 1 of 5")));
    }
}
