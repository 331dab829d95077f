//! N-HiTS (Challu et al. 2023): blocks that look at ever finer averages and explain what the others left.

use super::layers::{Mlp, Parameters};
use super::point::{PointModel, PointNetwork, Spread};
use super::tape::{Activation, Tape, Var};
use super::{Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use levytilt::{Error, Result};

/// One block of N-HiTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// Past values are replaced by the largest of this many.
    pub pool: usize,
    /// One forecast value per this many times ahead; those between are interpolated.
    pub downsample: usize,
}

/// Last value plus a sum of blocks; dimensions share the network. Steps count as equally long.
#[derive(Debug, Clone, PartialEq)]
pub struct NHits {
    /// Number of past values that are seen; a record must hold at least this many and the horizon.
    pub lookback: usize,
    /// Blocks, coarse to fine.
    pub stacks: Vec<Stack>,
    /// Width of the two hidden layers of each block.
    pub width: usize,
    /// How it is trained, on squared errors.
    pub training: Training,
    /// Whether the forecast is a point.
    pub spread: Spread,
}

impl Default for NHits {
    /// Lookback 48, pools 2, 2, 1, downsampling 4, 2, 1, width 512, 3000 steps of Adam at 10⁻³, a point.
    fn default() -> Self {
        let stacks = [(2, 4), (2, 2), (1, 1)].map(|(pool, downsample)| Stack { pool, downsample });
        let training = Training::adam(3000, 1e-3);
        Self { lookback: 48, stacks: stacks.into(), width: 512, training, spread: Spread::Point }
    }
}

struct Block {
    pool: usize,
    mlp: Mlp,
    /// Coarse forecast to forecast.
    interpolate: Vec<f32>,
}

impl Block {
    /// What it explains of the context, and what it adds to the forecast.
    fn apply(&self, tape: &mut Tape, context: Var, horizon: usize) -> (Var, Var) {
        let lookback = tape.shape(context).1;
        // Values that do not fill a pool are the oldest.
        let seen = tape.pool(context, self.pool);
        let out = self.mlp.apply(tape, seen);
        let coarse = tape.columns(out, lookback, self.interpolate.len() / horizon);
        let interpolate = tape.constant(horizon, &self.interpolate);
        (tape.columns(out, 0, lookback), tape.product(coarse, interpolate))
    }
}

pub(super) struct Network {
    blocks: Vec<Block>,
    horizon: usize,
}

impl PointNetwork for Network {
    fn apply(&self, tape: &mut Tape, contexts: Var) -> Var {
        let lookback = tape.shape(contexts).1;
        let last = |row: &[f32]| std::iter::repeat_n(row[lookback - 1], self.horizon);
        let last: Vec<f32> = tape.value(contexts).chunks_exact(lookback).flat_map(last).collect();
        let mut sum = tape.constant(self.horizon, &last);
        let mut left = contexts;
        for block in &self.blocks {
            let (explained, forecast) = block.apply(tape, left, self.horizon);
            left = tape.sub(left, explained);
            sum = tape.add(sum, forecast);
        }
        sum
    }
}

impl NHits {
    fn build(&self, parameters: &mut Parameters, horizon: usize) -> Result<Network> {
        let block = |stack: &Stack| {
            if stack.pool == 0 || stack.pool > self.lookback || stack.downsample == 0 {
                let expected = format!("both at least 1, and a pool of at most the lookback, {}", self.lookback);
                return Err(Error::Shape { what: "stack of N-HiTS", got: format!("{stack:?}"), expected });
            }
            let coarse = horizon.div_ceil(stack.downsample);
            let widths = [self.lookback / stack.pool, self.width, self.width, self.lookback + coarse];
            let mlp = Mlp::new(parameters, &widths, Activation::Relu);
            Ok(Block { pool: stack.pool, mlp, interpolate: interpolation(coarse, horizon) })
        };
        Ok(Network { blocks: self.stacks.iter().map(block).collect::<Result<_>>()?, horizon })
    }

    pub(super) fn model(&self) -> PointModel<impl Fn(&mut Parameters, usize) -> Result<Network>> {
        let build = |parameters: &mut Parameters, horizon| self.build(parameters, horizon);
        PointModel { lookback: self.lookback, training: self.training, spread: self.spread, build }
    }
}

/// Entry (i, j): weight of coarse value i at time j, when they are spread evenly from the first time to the last.
fn interpolation(coarse: usize, horizon: usize) -> Vec<f32> {
    let mut weights = vec![0.0; coarse * horizon];
    for j in 0..horizon {
        let place = if horizon == 1 { 0.0 } else { (j * (coarse - 1)) as f32 / (horizon - 1) as f32 };
        let i = (place as usize).min(coarse.saturating_sub(2));
        weights[i * horizon + j] += 1.0 - (place - i as f32);
        if i + 1 < coarse {
            weights[(i + 1) * horizon + j] += place - i as f32;
        }
    }
    weights
}

impl Forecaster for NHits {
    fn name(&self) -> String {
        format!("N-HiTS{}", self.spread.suffix())
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        check_sizes("N-HiTS", &[("width", self.width), ("number of stacks", self.stacks.len())])?;
        Request { record, ahead, paths, seed }.answer(|request| self.model().draw(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_interpolation_keeps_lines_and_sums_to_one() {
        for (coarse, horizon) in [(1, 1), (1, 3), (4, 14), (7, 14), (14, 14), (2, 5)] {
            let weights = interpolation(coarse, horizon);
            for j in 0..horizon {
                let at = |i: usize| weights[i * horizon + j];
                assert!(((0..coarse).map(at).sum::<f32>() - 1.0).abs() < 1e-6);
                let line = (0..coarse).map(|i| i as f32 * at(i)).sum::<f32>();
                let wanted = (j * (coarse - 1)) as f32 / (horizon - 1).max(1) as f32;
                assert!((line - wanted).abs() < 1e-5, "{coarse} {horizon} {j}");
            }
        }
    }
}
