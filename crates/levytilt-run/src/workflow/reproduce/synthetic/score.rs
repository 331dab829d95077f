//! Score posterior paths by the observations that were held out between those they were inferred from.

use levytilt::internals::posterior::{Bridge, Paths};
use levytilt::score::{Estimator, Sample};
use levytilt::{Result, StateSpace, stream};
use serde::{Deserialize, Serialize};

use crate::workflow::reproduce::synthetic::set::{Data, STEP};

/// Percentiles of the moves, as in the paper.
pub const PERCENTILES: [f64; 4] = [90.0, 95.0, 97.5, 99.0];

/// Scores of a posterior.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scored {
    /// Mean CRPS over the observations held out.
    pub crps: f64,
    /// The same over those after the largest moves of all observations; null where none of them was held out.
    pub jump_crps: [Option<f64>; 4],
}

/// Fill `paths` (one state per seen observation) in to the fine times and score them.
pub fn score(data: &Data, model: &StateSpace, paths: &Paths, seed: u64) -> Result<Scored> {
    let mut bridge = Bridge::new(model, STEP)?;
    let mut rngs: Vec<_> = (0..paths.len()).map(|path| stream(seed, path as u64 + (1 << 40))).collect();
    let thresholds = thresholds(&data.observations);
    let (mut sum, mut count) = (0.0, 0usize);
    let mut jumps = [(0.0, 0usize); 4];
    for (j, pair) in data.seen.windows(2).enumerate() {
        let (first, parts) = (pair[0], pair[1] - pair[0]);
        let ends: Vec<(f64, f64)> = paths.column(0, j).zip(paths.column(0, j + 1)).collect();
        let fill = |(ends, rng)| bridge.fill(STEP * first as f64, ends, parts, rng);
        let inner: Vec<Vec<f64>> = ends.into_iter().zip(&mut rngs).map(fill).collect::<Result<_>>()?;
        for k in 1..parts {
            let (truth, before) = (data.observations[first + k], data.observations[first + k - 1]);
            let draws: Vec<f64> = inner.iter().map(|path| path[k - 1]).collect();
            let crps = Sample::new(&draws)?.crps(truth, Estimator::Fair)?;
            sum += crps;
            count += 1;
            for (jump, threshold) in jumps.iter_mut().zip(thresholds) {
                if (truth - before).abs() > threshold {
                    *jump = (jump.0 + crps, jump.1 + 1);
                }
            }
        }
    }
    Ok(Scored {
        crps: sum / count as f64,
        jump_crps: jumps.map(|(sum, count)| (count > 0).then(|| sum / count as f64)),
    })
}

/// Percentiles of the moves of all observations.
fn thresholds(observations: &[f64]) -> [f64; 4] {
    let mut moves: Vec<f64> = observations.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    moves.sort_unstable_by(f64::total_cmp);
    PERCENTILES.map(|percentile| moves[(percentile / 100.0 * (moves.len() - 1) as f64) as usize])
}
