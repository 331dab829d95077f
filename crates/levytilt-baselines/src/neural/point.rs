//! Forecasts without a law of their own: train a network on squared errors, and give its forecast a spread if asked to.

use super::layers::{Parameters, numbers};
use super::train::{Training, train};
use super::windows::Standard;
use super::{Outcome, Request};
use candle_core::Tensor;
use levytilt::{Error, stream};
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
    fn apply(&self, contexts: &Tensor) -> candle_core::Result<Tensor>;
}

/// How to get one: options, and how a network is built for a horizon.
pub(crate) struct PointModel<F> {
    pub lookback: usize,
    pub training: Training,
    pub spread: Spread,
    pub build: F,
}

impl<N: PointNetwork, F: Fn(&mut Parameters, usize) -> candle_core::Result<N>> PointModel<F> {
    /// States in the order (path, time, dimension).
    pub fn draw(&self, request: Request) -> Outcome<Vec<f64>> {
        let standard = Standard::values(request.record)?;
        let horizon = request.ahead.len();
        let count = standard.count_pairs(self.lookback, horizon)?;
        let errors = match self.spread {
            Spread::Point => vec![vec![0.0; horizon * standard.dim()]],
            Spread::HeldOut => self.held_out_errors(&standard, horizon, count, request.seed)?,
        };
        let network = self.fit(&standard, horizon, 0..count, request.seed)?;
        let ahead = by_time(&numbers(&network.apply(&standard.last(self.lookback)?)?)?, horizon);
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

    /// Train on the pieces with these starts.
    fn fit(&self, standard: &Standard, horizon: usize, starts: Range<usize>, seed: u64) -> Outcome<N> {
        let mut parameters = Parameters::new(seed);
        let network = (self.build)(&mut parameters, horizon)?;
        let (contexts, targets) = standard.pairs(starts, self.lookback, horizon)?;
        train(&parameters.vars, &self.training, || network.apply(&contexts)?.sub(&targets)?.sqr()?.mean_all())?;
        Ok(network)
    }

    /// Errors on the last quarter of the pieces of a network that saw nothing of what they ask for.
    fn held_out_errors(&self, data: &Standard, horizon: usize, count: usize, seed: u64) -> Outcome<Vec<Vec<f64>>> {
        let held_out = count / 4;
        let Some(trained) = (count + 1).checked_sub(held_out + horizon).filter(|n| *n > 0 && held_out > 0) else {
            let problem =
                format!("{count} pieces are too few to hold out a quarter of them; forecast the point instead");
            return Err(Error::Series { place: "training record".into(), problem }.into());
        };
        let network = self.fit(data, horizon, 0..trained, seed)?;
        let (contexts, targets) = data.pairs(count - held_out..count, self.lookback, horizon)?;
        let errors = numbers(&targets.sub(&network.apply(&contexts)?)?)?;
        Ok(errors.chunks_exact(horizon * data.dim()).map(|piece| by_time(piece, horizon)).collect())
    }
}

/// From the order (dimension, time) to (time, dimension).
fn by_time(values: &[f64], horizon: usize) -> Vec<f64> {
    (0..horizon).flat_map(|j| values.chunks_exact(horizon).map(move |row| row[j])).collect()
}
