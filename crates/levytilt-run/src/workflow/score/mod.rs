//! Score: compare a forecast with the observations.

pub mod align;
pub mod summary;

use anyhow::{Context, Result};
use levytilt::internals::forecast::Target;
use levytilt::score::{
    Cloud, Estimator, Sample, ScoredWindow, Tail, VARIOGRAM_ORDER, histogram, jump_crps, pits, reliability,
};

use crate::failure::bad;
use crate::table::Table;
use crate::workflow::forecast::files::Ahead;
use crate::workflow::score::align::{Aligned, align};
use crate::workflow::score::summary::{
    Coverage, DimensionScores, Exceeded, QuantileScore, Scores, TailScore, TimeScore,
};

/// Central intervals that are reported.
const COVERAGES: [f64; 3] = [0.5, 0.9, 0.99];
/// Quantiles that are scored.
const LEVELS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Percentiles of the moves, as in the literature.
const PERCENTILES: [f64; 4] = [90.0, 95.0, 97.5, 99.0];
/// Lower quantiles of the portfolio of equal shares.
pub const PORTFOLIO: [f64; 2] = [0.05, 0.01];
/// Bins of the PIT histogram.
const BINS: usize = 10;

/// Settings of the scores.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Where the upper tail begins; the 95% quantile of the truth if nothing is given.
    pub above: Option<f64>,
    /// Where the lower tail begins; the 5% quantile of the truth if nothing is given.
    pub below: Option<f64>,
    /// Seed for breaking ties in the PIT.
    pub seed: u64,
    /// Whether the truth holds states instead of observations.
    pub state: bool,
}

impl Rules {
    /// What the truth holds.
    fn target(&self) -> Target {
        if self.state { Target::States } else { Target::Observations }
    }
}

/// A forecast with its scores and the observations it was scored against.
pub struct Scored {
    /// The forecast.
    pub ahead: Ahead,
    /// Its scores.
    pub scores: Scores,
    /// Per dimension the number of the forecast time and the value of every truth.
    pub truths: Vec<Vec<(usize, f64)>>,
}

/// Align a forecast with the observations, and score it.
pub fn judge(ahead: Ahead, truth: &Table, rules: Rules) -> Result<Scored> {
    refuse_unlike(&ahead, truth, rules.target())?;
    let aligned = align(&ahead, truth)?;
    let scores = score(rules, &ahead, truth, &aligned)?;
    let truths = truths(truth, &aligned)?;
    Ok(Scored { ahead, scores, truths })
}

/// A state has no observation noise: scored against observations it looks too sure, and the other way round too wide.
fn refuse_unlike(ahead: &Ahead, truth: &Table, target: Target) -> Result<()> {
    let remedy = match (ahead.target, target) {
        (Some(Target::States), Target::Observations) => {
            "forecast without --state, or give score --state if these are true states"
        }
        (Some(Target::Observations), Target::States) => "forecast with --state, or give score the observations",
        _ => return Ok(()),
    };
    let (kind, source, wanted) = (ahead.target.map_or("", Target::name), &ahead.source, target.name());
    Err(bad(format!("{source}: forecasts {kind}, and {} is taken as {wanted}; {remedy}", truth.source)))
}

/// A time at which something was seen.
struct Seen {
    /// Number of the forecast time.
    j: usize,
    /// The truth per dimension, NaN where it is missing.
    values: Vec<f64>,
}

fn score(rules: Rules, ahead: &Ahead, truth: &Table, aligned: &Aligned) -> Result<Scores> {
    let targets = targets(truth, aligned)?;
    let dimensions = (0..ahead.dimensions.len())
        .map(|i| {
            let column: Vec<f64> = truth.columns[aligned.columns[i]].iter().copied().filter(|v| !v.is_nan()).collect();
            dimension(rules, ahead, &targets, i, &column)
                .with_context(|| format!("dimension \"{}\"", ahead.dimensions[i]))
        })
        .collect::<Result<Vec<DimensionScores>>>()?;
    let times = targets.iter().map(|target| time(ahead, target)).collect::<Result<Vec<TimeScore>>>()?;
    let jumps = jumps(&targets, &times, ahead.dimensions.len())?;
    let unseen = aligned.rows.len() - targets.len();
    let mut warnings = Vec::new();
    if unseen > 0 {
        warnings
            .push(format!("{unseen} of {} forecast times have no observation and were left out", aligned.rows.len()));
    }
    if ahead.target.is_none() {
        let (source, of) = (&ahead.source, rules.target().name());
        warnings.push(format!("{source}: does not say whether its paths are observations or states; taken as {of}"));
    }
    Ok(Scores {
        of: rules.target().name(),
        crps: mean(times.iter().map(|time| time.crps)).unwrap_or(f64::NAN),
        estimator: Estimator::Fair,
        energy_score: mean(times.iter().filter_map(|time| time.energy_score)),
        variogram_score: mean(times.iter().filter_map(|time| time.variogram_score)),
        portfolio: portfolio(&times),
        jump_crps: jumps,
        dimensions,
        times,
        paths: ahead.paths,
        seed: rules.seed,
        version: env!("CARGO_PKG_VERSION"),
        warnings,
    })
}

/// The forecast times at which at least one dimension was seen.
fn targets(truth: &Table, aligned: &Aligned) -> Result<Vec<Seen>> {
    let seen = aligned.rows.iter().enumerate().filter_map(|(j, (_, row))| {
        let values: Vec<f64> =
            aligned.columns.iter().map(|&column| row.map(|r| truth.columns[column][r])).collect::<Option<_>>()?;
        values.iter().any(|value| !value.is_nan()).then_some(Seen { j, values })
    });
    let targets: Vec<Seen> = seen.collect();
    if targets.is_empty() {
        return Err(bad(format!("{}: all values at the forecast's times are missing", truth.source)));
    }
    Ok(targets)
}

/// Per dimension the number of the forecast time and the value of every truth.
fn truths(truth: &Table, aligned: &Aligned) -> Result<Vec<Vec<(usize, f64)>>> {
    let targets = targets(truth, aligned)?;
    let of = |i: usize| {
        targets.iter().map(|target| (target.j, target.values[i])).filter(|(_, value)| !value.is_nan()).collect()
    };
    Ok((0..aligned.columns.len()).map(of).collect())
}

fn dimension(rules: Rules, ahead: &Ahead, targets: &[Seen], i: usize, column: &[f64]) -> Result<DimensionScores> {
    let seen: Vec<(Sample, f64)> = targets
        .iter()
        .filter(|target| !target.values[i].is_nan())
        .map(|target| Ok((Sample::new(&ahead.draws(target.j, i))?, target.values[i])))
        .collect::<Result<_>>()?;
    if seen.is_empty() {
        return Err(bad("all values at the forecast's times are missing"));
    }
    let average = |f: &dyn Fn(&Sample, f64) -> levytilt::Result<f64>| -> levytilt::Result<f64> {
        Ok(seen.iter().map(|(sample, y)| f(sample, *y)).sum::<levytilt::Result<f64>>()? / seen.len() as f64)
    };
    let whole = Sample::new(column)?;
    let threshold = |given: Option<f64>, level: f64| given.map_or_else(|| whole.quantile(level), Ok);
    let (above, below) = (threshold(rules.above, 0.95)?, threshold(rules.below, 0.05)?);
    let tail = |tail: Tail| average(&|sample, y| sample.tail_crps(y, tail, Estimator::Fair));
    let pits = pits(&seen, rules.seed)?;
    let quantile = |level: f64| Ok(QuantileScore { level, score: average(&|sample, y| sample.pinball(level, y))? });
    let coverage = |level: f64| {
        Ok(Coverage {
            level,
            observed: reliability(&pits, level)?,
            interval_score: average(&|sample, y| sample.interval_score(level, y))?,
        })
    };
    Ok(DimensionScores {
        name: ahead.dimensions[i].clone(),
        targets: seen.len(),
        crps: average(&|sample, y| sample.crps(y, Estimator::Fair))?,
        above: TailScore { threshold: above, crps: tail(Tail::Above(above))? },
        below: TailScore { threshold: below, crps: tail(Tail::Below(below))? },
        mse: average(&Sample::squared_error)?,
        mae: average(&Sample::absolute_error)?,
        coverage: COVERAGES.iter().map(|level| coverage(*level)).collect::<levytilt::Result<_>>()?,
        quantile_scores: LEVELS.iter().map(|level| quantile(*level)).collect::<levytilt::Result<_>>()?,
        pit_histogram: histogram(&pits, BINS)?,
    })
}

/// Whether the mean of the coordinates of the truth lies below the quantiles of that of the draws.
pub fn below(cloud: &Cloud, truth: &[f64]) -> levytilt::Result<[bool; 2]> {
    let (shares, value) = (Sample::new(&cloud.equal_shares())?, truth.iter().sum::<f64>() / truth.len() as f64);
    let mut found = [false; 2];
    for (found, level) in found.iter_mut().zip(PORTFOLIO) {
        *found = value < shares.quantile(level)?;
    }
    Ok(found)
}

/// How often the portfolio of equal shares was below its quantiles.
fn portfolio(times: &[TimeScore]) -> Vec<Exceeded> {
    let seen: Vec<[bool; 2]> = times.iter().filter_map(|time| time.below).collect();
    let share = |k: usize| mean(seen.iter().map(|below| f64::from(u8::from(below[k]))));
    let each = PORTFOLIO.iter().enumerate();
    each.filter_map(|(k, &level)| Some(Exceeded { level, observed: share(k)?, times: seen.len() })).collect()
}

/// CRPS of one time, the mean over the dimensions seen, and the scores of all together where all were seen.
fn time(ahead: &Ahead, target: &Seen) -> Result<TimeScore> {
    let dim = target.values.len();
    let seen = (0..dim).filter(|&i| !target.values[i].is_nan());
    let crps = seen
        .map(|i| Sample::new(&ahead.draws(target.j, i))?.crps(target.values[i], Estimator::Fair))
        .collect::<levytilt::Result<Vec<f64>>>()?;
    let complete = dim > 1 && crps.len() == dim;
    let cloud = complete.then(|| Cloud::new(ahead.cloud(target.j), dim)).transpose()?;
    let cloud = cloud.as_ref();
    Ok(TimeScore {
        time: ahead.texts[target.j].clone(),
        crps: mean(crps.iter().copied()).unwrap_or(f64::NAN),
        energy_score: cloud.map(|cloud| cloud.energy_score(&target.values, Estimator::Fair)).transpose()?,
        variogram_score: cloud.map(|cloud| cloud.variogram_score(&target.values, VARIOGRAM_ORDER)).transpose()?,
        below: cloud.map(|cloud| below(cloud, &target.values)).transpose()?,
    })
}

/// Jump CRPS over the stretch of times at which every dimension was seen; nothing if no two neighbours were.
fn jumps(targets: &[Seen], times: &[TimeScore], dim: usize) -> Result<Vec<levytilt::score::JumpCrps>> {
    let complete = |target: &Seen| target.values.iter().all(|value| !value.is_nan());
    // A missing value ends a stretch, as the end of a window does: no move leads across it.
    let mut stretches: Vec<(Vec<f64>, Vec<f64>)> = vec![(vec![], vec![])];
    for (target, time) in targets.iter().zip(times) {
        if !complete(target) {
            stretches.push((vec![], vec![]));
        } else if let Some((values, crps)) = stretches.last_mut() {
            values.extend(&target.values);
            crps.push(time.crps);
        }
    }
    let windows: Vec<ScoredWindow> = stretches.iter().map(|(targets, crps)| ScoredWindow { targets, crps }).collect();
    if windows.iter().all(|window| window.crps.len() < 2) {
        return Ok(vec![]);
    }
    Ok(jump_crps(&windows, dim, &PERCENTILES)?)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
