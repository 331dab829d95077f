//! Forecast one window with one model and score it: a line of windows.jsonl.

use levytilt::score::{Cloud, Estimator, Sample, Tail, VARIOGRAM_ORDER};
use levytilt::stream;
use levytilt_baselines::Forecaster;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::time::Instant;

use crate::finite;
use crate::workflow::backtest::windows::Case;
use crate::workflow::score::below;

/// Levels of the quantiles kept for pictures.
pub const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// A line of windows.jsonl: one window, one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the window.
    pub window: usize,
    /// Where it starts.
    pub start: String,
    /// Name of the model as given.
    pub model: String,
    /// Time it took.
    pub seconds: f64,
    /// The scores, or nothing if the model failed.
    pub scores: Option<WindowScores>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Scores of one window. Lists run over (time, dimension), dimension fastest, except where said otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowScores {
    /// CRPS.
    pub crps: Vec<f64>,
    /// Threshold-weighted CRPS, both tails together.
    pub tail_crps: Vec<f64>,
    /// Energy score per time; empty in one dimension.
    pub energy: Vec<f64>,
    /// Variogram score of order ½ of the moves since the last value, per time; empty in one dimension.
    #[serde(default)]
    pub variogram: Vec<f64>,
    /// Whether the mean of these moves was below its 5% and 1% quantiles, per time; empty in one dimension.
    #[serde(default)]
    pub below: Vec<[bool; 2]>,
    /// Probability integral transforms.
    pub pits: Vec<f64>,
    /// Squared error of the mean.
    pub squared: Vec<f64>,
    /// Absolute error of the median.
    pub absolute: Vec<f64>,
    /// Quantiles at the levels 0.05, 0.25, 0.5, 0.75, 0.95 per time; empty in several dimensions, and in journals that are kept
    /// for their scores alone.
    #[serde(default)]
    pub quantiles: Vec<[f64; 5]>,
}

impl WindowScores {
    /// Whether they are those of so many targets in so many dimensions.
    pub fn fit(&self, targets: usize, dim: usize) -> bool {
        let Self { crps, tail_crps, energy, variogram, below, pits, squared, absolute, quantiles } = self;
        let times = targets / dim;
        [crps, tail_crps, pits, squared, absolute].iter().all(|list| list.len() == targets)
            && energy.len() == if dim > 1 { times } else { 0 }
            && (quantiles.is_empty() || dim == 1 && quantiles.len() == times)
            // Windows of before these scores were kept have none.
            && [[0; 2], [energy.len(); 2]].contains(&[variogram.len(), below.len()])
    }
}

/// What is the same for all windows.
pub struct Protocol {
    /// Paths per forecast.
    pub paths: usize,
    /// Seed of the backtest.
    pub seed: u64,
    /// Where tails begin, per dimension.
    pub tails: Vec<[f64; 2]>,
}

impl Protocol {
    /// Forecast and score; a model that fails gives a line that says why.
    pub fn line(&self, case: &Case, name: &str, model: &dyn Forecaster) -> Line {
        let start = Instant::now();
        let outcome = self.scores(case, model);
        let seconds = start.elapsed().as_secs_f64();
        let (scores, error) = match outcome {
            Ok(scores) if finite::check(&scores).is_err() => (None, Some("its scores overflow".into())),
            Ok(scores) => (Some(scores), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Line { window: case.number, start: case.start.clone(), model: name.into(), seconds, scores, error }
    }

    fn scores(&self, case: &Case, model: &dyn Forecaster) -> levytilt::Result<WindowScores> {
        let mut rng = stream(self.seed, identity(&case.start));
        let paths = model.forecast(&case.record, &case.ahead, self.paths, rng.next_u64())?;
        let (dim, last) = (case.record.dim(), case.record.last());
        let mut scores = WindowScores {
            crps: vec![],
            tail_crps: vec![],
            energy: vec![],
            variogram: vec![],
            below: vec![],
            pits: vec![],
            squared: vec![],
            absolute: vec![],
            quantiles: vec![],
        };
        for (j, truth) in case.targets.chunks_exact(dim).enumerate() {
            for (i, &y) in truth.iter().enumerate() {
                let sample = Sample::new(&paths.draws(j, i))?;
                let [low, high] = self.tails[i].map(|tail| last[i] + tail);
                let below = sample.tail_crps(y, Tail::Below(low), Estimator::Fair)?;
                let above = sample.tail_crps(y, Tail::Above(high), Estimator::Fair)?;
                scores.crps.push(sample.crps(y, Estimator::Fair)?);
                scores.tail_crps.push(below + above);
                scores.pits.push(sample.pit(y, rng.random())?);
                scores.squared.push(sample.squared_error(y)?);
                scores.absolute.push(sample.absolute_error(y)?);
                if dim == 1 {
                    let quantiles = LEVELS.iter().map(|level| sample.quantile(*level));
                    let quantiles: Vec<f64> = quantiles.collect::<levytilt::Result<_>>()?;
                    scores.quantiles.extend(<[f64; 5]>::try_from(quantiles));
                }
            }
            if dim > 1 {
                let moves = |x: &[f64]| -> Vec<f64> { x.chunks_exact(dim).flat_map(|x| since(x, &last)).collect() };
                let (cloud, truth) = (Cloud::new(moves(&paths.cloud(j)), dim)?, moves(truth));
                scores.energy.push(cloud.energy_score(&truth, Estimator::Fair)?);
                scores.variogram.push(cloud.variogram_score(&truth, VARIOGRAM_ORDER)?);
                scores.below.push(below(&cloud, &truth)?);
            }
        }
        Ok(scores)
    }
}

/// Moves since the last values.
fn since<'a>(x: &'a [f64], last: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    x.iter().zip(last).map(|(x, last)| x - last)
}

/// A number for the start of a window (FNV-1a): its random numbers are the same whatever windows surround it.
pub fn identity(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
