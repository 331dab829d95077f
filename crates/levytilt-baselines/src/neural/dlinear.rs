//! DLinear (Zeng et al. 2023): a moving average and what it leaves, each forecast by one linear map.

use super::layers::{Linear, Parameters};
use super::point::{PointModel, PointNetwork, Spread};
use super::tape::{Activation, Tape, Var};
use super::{Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use levytilt::Result;

/// Two linear maps from the last `lookback` values to all times ahead, shared by the dimensions.
///
/// Steps count as equally long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DLinear {
    /// Number of past values that are seen; a record must hold at least this many and the horizon.
    pub lookback: usize,
    /// Length of the moving average; the ends are prolonged by the first and last value.
    pub kernel: usize,
    /// How it is trained, on squared errors.
    pub training: Training,
    /// Whether the forecast is a point.
    pub spread: Spread,
}

impl Default for DLinear {
    /// Kernel 25, lookback 48, 2000 steps of Adam at 10⁻³, a point.
    fn default() -> Self {
        Self { lookback: 48, kernel: 25, training: Training::adam(2000, 1e-3), spread: Spread::Point }
    }
}

pub(super) struct Network {
    /// x ↦ x S is the moving average.
    smooth: Vec<f32>,
    lookback: usize,
    trend: Linear,
    season: Linear,
}

impl PointNetwork for Network {
    fn apply(&self, tape: &mut Tape, contexts: Var) -> Var {
        let smooth = tape.constant(self.lookback, &self.smooth);
        let smooth = tape.product(contexts, smooth);
        let rest = tape.sub(contexts, smooth);
        let trend = self.trend.apply(tape, smooth, Activation::Linear);
        let season = self.season.apply(tape, rest, Activation::Linear);
        tape.add(trend, season)
    }
}

impl DLinear {
    fn build(&self, parameters: &mut Parameters, horizon: usize) -> Network {
        let smooth = moving_average(self.lookback, self.kernel);
        let (trend, season) = (self.linear(parameters, horizon), self.linear(parameters, horizon));
        Network { smooth, lookback: self.lookback, trend, season }
    }

    /// As its authors do, every forecast starts as the mean of the context.
    fn linear(&self, parameters: &mut Parameters, horizon: usize) -> Linear {
        let weight = parameters.constant((self.lookback, horizon), 1.0 / self.lookback as f32);
        Linear { weight, bias: parameters.constant((1, horizon), 0.0) }
    }

    pub(super) fn model(&self) -> PointModel<impl Fn(&mut Parameters, usize) -> Result<Network>> {
        let build = |parameters: &mut Parameters, horizon| Ok(self.build(parameters, horizon));
        PointModel { lookback: self.lookback, training: self.training, spread: self.spread, build }
    }
}

/// Entry (i, j): weight of value i in the average around j.
fn moving_average(length: usize, kernel: usize) -> Vec<f32> {
    let mut weights = vec![0.0; length * length];
    for j in 0..length {
        for offset in 0..kernel {
            let i = (j + offset).saturating_sub((kernel - 1) / 2).min(length - 1);
            weights[i * length + j] += 1.0 / kernel as f32;
        }
    }
    weights
}

impl Forecaster for DLinear {
    fn name(&self) -> String {
        format!("DLinear{}", self.spread.suffix())
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        check_sizes("DLinear", &[("kernel", self.kernel)])?;
        Request { record, ahead, paths, seed }.answer(|request| self.model().draw(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_moving_average_of_a_line_is_the_line_inside_and_prolonged_outside() {
        let (length, kernel) = (12, 5);
        let weights = moving_average(length, kernel);
        let smooth = |j: usize| (0..length).map(|i| i as f32 * weights[i * length + j]).sum::<f32>();
        assert!((2..10).all(|j| (smooth(j) - j as f32).abs() < 1e-5));
        assert!((smooth(0) - 3.0 / 5.0).abs() < 1e-5 && (smooth(11) - (9.0 + 10.0 + 33.0) / 5.0).abs() < 1e-5);
    }
}
