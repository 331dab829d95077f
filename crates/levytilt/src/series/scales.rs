//! Measure typical sizes in a series by medians, which no jump can spoil: first guesses and priors start from them.

use crate::{Error, Result};

/// A standard normal variable is below this in absolute value with probability one half.
pub(crate) const NORMAL_MEDIAN: f64 = 0.674_489_750_196_081_7;
/// Tail index assumed before anything is known about it.
pub(crate) const FIRST_ALPHA: f64 = 1.5;
/// Lag of the longer increments, in observations.
const LAG: usize = 4;

/// Typical sizes in a series.
///
/// The typical square s² of increments over one and over four observations (from the median of their absolute values)
/// is taken as q·Δ^{2/α} + 2σ²: the noise of the motion grows with the lag Δ and the error σ of observation does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    /// Median of the values.
    pub median: f64,
    /// Root mean square of the middle half of the values about zero.
    pub level: f64,
    /// Difference of the 95% and 5% quantiles of the values, at least the typical increment.
    pub spread: f64,
    /// Typical noise of the motion over [`Scales::lag`], as a standard deviation.
    pub motion: f64,
    /// Root mean square of the increments over one observation: what noise with a variance must explain, jumps and all.
    pub root_mean_square: f64,
    /// Typical observation standard deviation.
    pub observation: f64,
    /// Median time between observations.
    pub lag: f64,
    /// Time from the first observation to the last.
    pub span: f64,
}

impl Scales {
    /// The sizes of the values seen (not NaN) at `times`; `given` is the observation standard deviation if it is known.
    pub fn new(times: &[f64], values: &[f64], given: Option<f64>) -> Result<Self> {
        let seen: Vec<(f64, f64)> =
            times.iter().zip(values).filter(|(_, y)| !y.is_nan()).map(|(&t, &y)| (t, y)).collect();
        if seen.len() < 2 {
            return Err(nothing_to_learn("there are fewer than 2 observed values"));
        }
        let mut sorted: Vec<f64> = seen.iter().map(|(_, y)| *y).collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |level: f64| sorted[((sorted.len() - 1) as f64 * level).round() as usize];
        let middle = &sorted[sorted.len() / 4..sorted.len() - sorted.len() / 4];
        let level = (middle.iter().map(|y| y * y).sum::<f64>() / middle.len() as f64).sqrt();
        let (lag, short) = increments(&seen, 1);
        if short == 0.0 {
            return Err(nothing_to_learn("all observed values are equal"));
        }
        let (motion, observation) = split(&seen, (lag, short), given);
        Ok(Self {
            median: quantile(0.5),
            level: if level > 0.0 { level } else { short },
            spread: (quantile(0.95) - quantile(0.05)).max(short),
            motion,
            root_mean_square: root_mean_square(&seen).max(motion),
            observation,
            lag,
            span: seen[seen.len() - 1].0 - seen[0].0,
        })
    }
}

fn nothing_to_learn(what: &str) -> Error {
    Error::Series {
        place: "values".into(),
        problem: format!("{what}, so there is nothing to learn from; leave it out, or give every parameter"),
    }
}

/// Median time and typical size of increments over `lag` observations; the mean where more than half do not move.
fn increments(seen: &[(f64, f64)], lag: usize) -> (f64, f64) {
    let pairs = || seen.iter().zip(&seen[lag..]);
    let mut sizes: Vec<f64> = pairs().map(|(a, b)| (b.1 - a.1).abs()).collect();
    let mut times: Vec<f64> = pairs().map(|(a, b)| b.0 - a.0).collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let half = median(&mut sizes) / NORMAL_MEDIAN;
    (median(&mut times), if half > 0.0 { half } else { mean })
}

fn root_mean_square(seen: &[(f64, f64)]) -> f64 {
    let squares: f64 = seen.windows(2).map(|pair| (pair[1].1 - pair[0].1).powi(2)).sum();
    (squares / (seen.len() - 1) as f64).sqrt()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Motion over one lag and observation standard deviation, each a sensible share of the typical increment.
fn split(seen: &[(f64, f64)], (lag, short): (f64, f64), given: Option<f64>) -> (f64, f64) {
    if let Some(observation) = given {
        let rest = short * short - 2.0 * observation * observation;
        return (rest.max(0.1 * short * short).sqrt(), observation);
    }
    let mut share = 0.5;
    if seen.len() > 2 * LAG {
        let (long_lag, long) = increments(seen, LAG);
        let growth = (long_lag / lag).powf(2.0 / FIRST_ALPHA) - 1.0;
        share = ((long / short).powi(2) - 1.0) / growth;
    }
    // At the ends one of the two would be nothing, which is a hard place to start from.
    let share = share.clamp(0.1, 0.95);
    (short * share.sqrt(), short * (0.5 * (1.0 - share)).sqrt())
}
