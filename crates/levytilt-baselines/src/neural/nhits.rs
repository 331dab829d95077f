//! N-HiTS (Challu et al. 2023): blocks that look at ever finer averages and explain what the others left.

use super::layers::{Activation, Mlp, Parameters, matrix};
use super::point::{PointModel, PointNetwork, Spread};
use super::{Request, Training, check_sizes};
use crate::forecaster::{Forecaster, Paths, Record};
use candle_core::Tensor;
use levytilt::Result;

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
    interpolate: Tensor,
}

impl Block {
    /// What it explains of the context, and what it adds to the forecast.
    fn apply(&self, context: &Tensor) -> candle_core::Result<(Tensor, Tensor)> {
        let (rows, lookback) = context.dims2()?;
        let pooled = lookback / self.pool;
        // Values that do not fill a pool are the oldest.
        let seen = context.narrow(1, lookback - pooled * self.pool, pooled * self.pool)?;
        let seen = seen.contiguous()?.reshape((rows, pooled, self.pool))?.max(2)?;
        let out = self.mlp.apply(&seen)?;
        let coarse = out.narrow(1, lookback, self.interpolate.dim(0)?)?.contiguous()?;
        Ok((out.narrow(1, 0, lookback)?, coarse.matmul(&self.interpolate)?))
    }
}

struct Network(Vec<Block>);

impl PointNetwork for Network {
    fn apply(&self, contexts: &Tensor) -> candle_core::Result<Tensor> {
        let last = contexts.narrow(1, contexts.dim(1)? - 1, 1)?;
        let mut left = contexts.clone();
        let mut sum: Option<Tensor> = None;
        for block in &self.0 {
            let (explained, forecast) = block.apply(&left)?;
            left = left.sub(&explained)?;
            sum = Some(match sum {
                Some(sum) => sum.add(&forecast)?,
                None => forecast.broadcast_add(&last)?,
            });
        }
        sum.map_or_else(|| candle_core::bail!("N-HiTS has no stacks; expected at least one"), Ok)
    }
}

impl NHits {
    fn build(&self, parameters: &mut Parameters, horizon: usize) -> candle_core::Result<Network> {
        let block = |stack: &Stack| {
            if stack.pool == 0 || stack.pool > self.lookback || stack.downsample == 0 {
                candle_core::bail!("{stack:?}: expected both at least 1 and a pool within the lookback");
            }
            let coarse = horizon.div_ceil(stack.downsample);
            let widths = [self.lookback / stack.pool, self.width, self.width, self.lookback + coarse];
            let mlp = Mlp::new(parameters, &widths, Activation::Relu)?;
            let interpolate = matrix(interpolation(coarse, horizon), (coarse, horizon))?;
            Ok(Block { pool: stack.pool, mlp, interpolate })
        };
        self.stacks.iter().map(block).collect::<candle_core::Result<_>>().map(Network)
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
        let build = |parameters: &mut Parameters, horizon| self.build(parameters, horizon);
        let model = PointModel { lookback: self.lookback, training: self.training, spread: self.spread, build };
        Request { record, ahead, paths, seed }.answer(|request| model.draw(request))
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
