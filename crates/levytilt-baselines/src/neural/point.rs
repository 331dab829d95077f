//! Forecasts without a law of their own: train a network on squared errors, and give its forecast a spread if asked to.

use super::Request;
use super::layers::Parameters;
use super::tape::{Tape, Var};
use super::train::{Training, train};
use super::windows::Standard;
use levytilt::{Error, Result, stream};
use rand::RngExt;
use std::ops::Range;

/// What becomes of a point forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Every path is the point forecast, as in the paper; its CRPS is its absolute error.
    Point,
    /// A network trained on the first part of the record alone forecasts the last quarter of its pieces; each path is
    /// the point forecast of the full network plus one of those errors, drawn over all times and dimensions together.
    ///
    /// Errors on pieces that were trained on would be far too small. This costs a second training.
    HeldOut,
}

impl Spread {
    /// What is added to the name in tables.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Spread::Point => " (point)",
            Spread::HeldOut => " (held-out residuals)",
        }
    }
}

/// A network from contexts, (rows, lookback), to forecasts, (rows, horizon).
pub(crate) trait PointNetwork {
    fn apply(&self, tape: &mut Tape, contexts: Var) -> Var;
}

/// How to get one: options, and how a network is built for a horizon.
pub(crate) struct PointModel<F> {
    pub lookback: usize,
    pub training: Training,
    pub spread: Spread,
    pub build: F,
}

/// A network, its parameters, and what it learns from.
pub(crate) struct Learner<N> {
    pub tape: Tape,
    network: N,
    contexts: Var,
    targets: Vec<f32>,
}

impl<N: PointNetwork> Learner<N> {
    /// The tape, and the mean squared error to put on it.
    pub fn split(&mut self) -> (&mut Tape, impl FnMut(&mut Tape) -> Var) {
        let Self { tape, network, contexts, targets } = self;
        let loss = |tape: &mut Tape| {
            let forecasts = network.apply(tape, *contexts);
            tape.loss(forecasts, |values, slope| squared_error(values, targets, slope))
        };
        (tape, loss)
    }

    /// Forecasts from other contexts.
    fn forecast(&mut self, lookback: usize, contexts: &[f32]) -> Vec<f64> {
        let mark = self.tape.mark();
        let contexts = self.tape.constant(lookback, contexts);
        let out = self.network.apply(&mut self.tape, contexts);
        let values = self.tape.value(out).iter().map(|x| f64::from(*x)).collect();
        self.tape.rewind(mark);
        values
    }
}

/// Mean of (x − y)², and its slope 2 (x − y)/n.
fn squared_error(values: &[f32], targets: &[f32], slope: &mut [f32]) -> f64 {
    let n = values.len() as f64;
    let one = |((x, y), slope): ((&f32, &f32), &mut f32)| {
        let error = f64::from(*x) - f64::from(*y);
        *slope = (2.0 * error / n) as f32;
        error * error / n
    };
    values.iter().zip(targets).zip(slope).map(one).sum()
}

impl<N: PointNetwork, F: Fn(&mut Parameters, usize) -> Result<N>> PointModel<F> {
    /// States in the order (path, time, dimension).
    pub fn draw(&self, request: Request) -> Result<Vec<f64>> {
        let standard = Standard::values(request.record)?;
        let horizon = request.ahead.len();
        let count = standard.count_pairs(self.lookback, horizon)?;
        let errors = match self.spread {
            Spread::Point => vec![vec![0.0; horizon * standard.dim()]],
            Spread::HeldOut => self.held_out_errors(&standard, horizon, count, request.seed)?,
        };
        let mut learner = self.fit(&standard, horizon, 0..count, request.seed)?;
        let ahead = by_time(&learner.forecast(self.lookback, &standard.last(self.lookback)), horizon);
        let one = |path: usize| {
            let error = &errors[stream(request.seed, path as u64).random_range(0..errors.len())];
            let dim = standard.dim();
            ahead
                .iter()
                .zip(error)
                .enumerate()
                .map(|(k, (x, e))| standard.restore(x + e, k % dim))
                .collect::<Vec<f64>>()
        };
        Ok((0..request.paths).flat_map(one).collect())
    }

    /// A network that is to learn from the pieces with these starts.
    pub fn learner(&self, data: &Standard, horizon: usize, starts: Range<usize>, seed: u64) -> Result<Learner<N>> {
        let mut parameters = Parameters::new(seed);
        let network = (self.build)(&mut parameters, horizon)?;
        let (contexts, targets) = data.pairs(starts, self.lookback, horizon);
        let (mut tape, _) = parameters.into_tape();
        let contexts = tape.constant(self.lookback, &contexts);
        Ok(Learner { tape, network, contexts, targets })
    }

    fn fit(&self, data: &Standard, horizon: usize, starts: Range<usize>, seed: u64) -> Result<Learner<N>> {
        let mut learner = self.learner(data, horizon, starts, seed)?;
        let (tape, loss) = learner.split();
        train(tape, &self.training, loss)?;
        Ok(learner)
    }

    /// Errors on the last quarter of the pieces of a network that saw nothing of what they ask for.
    fn held_out_errors(&self, data: &Standard, horizon: usize, count: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        let held_out = count / 4;
        let Some(trained) = (count + 1).checked_sub(held_out + horizon).filter(|n| *n > 0 && held_out > 0) else {
            let problem =
                format!("{count} pieces are too few to hold out a quarter of them; forecast the point instead");
            return Err(Error::Series { place: "training record".into(), problem });
        };
        let mut learner = self.fit(data, horizon, 0..trained, seed)?;
        let (contexts, targets) = data.pairs(count - held_out..count, self.lookback, horizon);
        let forecasts = learner.forecast(self.lookback, &contexts);
        let errors: Vec<f64> = targets.iter().zip(forecasts).map(|(y, x)| f64::from(*y) - x).collect();
        Ok(errors.chunks_exact(horizon * data.dim()).map(|piece| by_time(piece, horizon)).collect())
    }
}

/// From the order (dimension, time) to (time, dimension).
fn by_time(values: &[f64], horizon: usize) -> Vec<f64> {
    (0..horizon).flat_map(|j| values.chunks_exact(horizon).map(move |row| row[j])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::special::assert_slope;
    use super::*;

    #[test]
    fn identity_slope_of_the_squared_error() {
        assert_slope(&[1.0, -0.5, 2.0], |values, slope| squared_error(values, &[0.3, 0.3, 4.0], slope));
    }
}
