//! Train a network: Adam steps on a loss that is computed afresh each time.

use super::tape::{Tape, Var};
use levytilt::internals::solve::Adam;
use levytilt::{Error, Result};

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
    fn check(&self) -> Result<()> {
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

fn adam(size: usize) -> Adam<f32> {
    let shares = |beta: f64| [beta as f32, 1.0 - beta as f32];
    Adam::new(size, [shares(BETA.0), shares(BETA.1)])
}

/// m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², x ← (1 − ηλ)x − η m̂/(√v̂ + ε) with the rate η, the decay λ, m̂ and v̂
/// over 1 − βᵗ at step t, and g the gradient, shortened to the largest norm.
fn step(adam: &mut Adam<f32>, values: &mut [f32], gradient: &[f32], options: &Training) {
    let shrink = options.clip.map_or(1.0, |longest| (longest / norm(gradient)).min(1.0)) as f32;
    let [bias1, bias2] = adam.corrections([BETA.0, BETA.1]);
    let (rate, root, epsilon) = ((options.rate / bias1) as f32, (1.0 / bias2.sqrt()) as f32, BETA.2 as f32);
    let keep = (1.0 - options.rate * options.weight_decay) as f32;
    for (k, (x, g)) in values.iter_mut().zip(gradient).enumerate() {
        let [mean, square] = adam.update(k, g * shrink);
        *x = keep * *x - rate * mean / (square.sqrt() * root + epsilon);
    }
}

/// Take the steps of `options` down `loss`, which puts a scalar on the tape; the last loss is returned.
///
/// The tape is left as it was, but for its parameters.
///
/// # Errors
/// Options out of range; a loss that is not a number, with the step at which it came.
pub(crate) fn train(tape: &mut Tape, options: &Training, mut loss: impl FnMut(&mut Tape) -> Var) -> Result<f32> {
    options.check()?;
    let mark = tape.mark();
    let mut adam = adam(tape.parameter_count());
    let mut last = f32::NAN;
    for count in 1..=options.steps {
        last = slope_of(tape, &mut loss);
        if !last.is_finite() {
            let why = format!("loss is {last} at step {count} of {}; a lower rate may help", options.steps);
            return Err(Error::Numerical { what: "training", why });
        }
        let (values, gradient) = tape.parameters();
        step(&mut adam, values, gradient, options);
        tape.rewind(mark);
    }
    Ok(last)
}

/// Put a loss on the tape and find its slopes; its value is returned.
pub(crate) fn slope_of(tape: &mut Tape, loss: &mut impl FnMut(&mut Tape) -> Var) -> f32 {
    let scalar = loss(tape);
    tape.backward(scalar);
    tape.value(scalar)[0]
}

fn norm(gradient: &[f32]) -> f64 {
    gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::layers::Parameters;
    use super::*;

    #[test]
    fn identity_adam_finds_the_minimum_of_a_parabola() {
        let mut parameters = Parameters::new(1);
        let x = parameters.uniform((1, 3), 1.0);
        let (mut tape, _) = parameters.into_tape();
        let goal = [1.0, -2.0, 3.0];
        let options = Training { clip: Some(1.0), ..Training::adam(2000, 0.01) };
        let parabola = |values: &[f32], slope: &mut [f32]| {
            (0..3).for_each(|k| slope[k] = 2.0 * (values[k] - goal[k]));
            (0..3).map(|k| f64::from(values[k] - goal[k]).powi(2)).sum()
        };
        let left = train(&mut tape, &options, |tape| tape.loss(x, parabola));
        assert!(left.is_ok_and(|loss| loss < 1e-6));
        assert!(tape.value(x).iter().zip(goal).all(|(a, b)| (a - b).abs() < 1e-3));
    }

    #[test]
    fn identity_first_step_has_the_length_of_the_rate_and_decay_shrinks() {
        let mut parameters = Parameters::new(1);
        let x = parameters.constant((1, 1), 2.0);
        let (mut tape, _) = parameters.into_tape();
        let options = Training { weight_decay: 0.5, ..Training::adam(1, 0.1) };
        let line = |values: &[f32], slope: &mut [f32]| {
            slope[0] = 1.0;
            f64::from(values[0])
        };
        assert!(train(&mut tape, &options, |tape| tape.loss(x, line)).is_ok());
        assert!((tape.value(x)[0] - (2.0 * 0.95 - 0.1)).abs() < 1e-6);
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
        let x = parameters.constant((1, 1), -1.0);
        let (mut tape, _) = parameters.into_tape();
        let log = |values: &[f32], _: &mut [f32]| f64::from(values[0]).ln();
        let outcome = train(&mut tape, &Training::adam(5, 0.1), |tape| tape.loss(x, log));
        assert!(outcome.is_err_and(|error| error.to_string().contains("at step 1 of 5")));
    }
}
