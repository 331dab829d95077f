//! Put the windows together: scores.json.

use anyhow::Result;
use levytilt::score::{
    BlockBootstrap, JumpCrps, ScoredWindow, automatic_lag, block_bootstrap, block_std_error, diebold_mariano,
    histogram, jump_crps, reliability, reliability_std_error,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::bad;
use crate::finite;
use crate::workflow::backtest::score::{Line, WindowScores};
use crate::workflow::backtest::windows::{Case, Left};
use crate::workflow::score::PORTFOLIO;

/// Central intervals in the table.
pub const COVERAGES: [f64; 3] = [0.5, 0.9, 0.99];
/// Percentiles of the moves, as in the literature.
pub const PERCENTILES: [f64; 4] = [90.0, 95.0, 97.5, 99.0];
/// Bins of the PIT histogram.
const BINS: usize = 20;
/// Fewest windows from which the error of a mean over windows is told.
const FEWEST: usize = 10;

/// The content of scores.json.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scores {
    /// Name of the data.
    pub data: String,
    /// The dimensions.
    pub dimensions: Vec<String>,
    /// Settings that decide the figures.
    #[serde(default)]
    pub settings: Value,
    /// Unit of CRPS and the like.
    pub unit: String,
    /// Where the scored windows start.
    pub windows: Vec<String>,
    /// Windows that could not be used.
    #[serde(default)]
    pub skipped: Vec<Left>,
    /// Windows in which a model failed; they are excluded for all models.
    #[serde(default)]
    pub failed: Vec<Failed>,
    /// The model that others are compared with.
    pub reference: String,
    /// The models in the order given.
    pub models: Vec<ModelScores>,
    /// Version of the program.
    pub version: String,
    /// What a careful reader should know.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A model that failed in a window.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failed {
    /// Where the window starts.
    #[serde(default)]
    pub start: String,
    /// The model.
    #[serde(default)]
    pub model: String,
    /// Why.
    #[serde(default)]
    pub error: String,
}

/// Scores of one model. Means are over the targets of a window first and then over windows, except where said otherwise.
#[derive(Debug, Serialize, Deserialize)]
pub struct ModelScores {
    /// Name as given.
    pub name: String,
    /// Windows that it was scored on.
    #[serde(default)]
    pub windows: usize,
    /// CRPS, mean over dimensions.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub crps: f64,
    /// Its standard deviation over windows; null for a single one.
    #[serde(default = "unknown", serialize_with = "finite::or_null", deserialize_with = "finite::null_is_nan")]
    pub crps_std: f64,
    /// Energy score; null in one dimension, where it is the CRPS.
    pub energy_score: Option<f64>,
    /// Variogram score of order ½ of the moves since the last value; null in one dimension.
    #[serde(default)]
    pub variogram_score: Option<f64>,
    /// Share of times at which the mean of the moves of all dimensions was below its lower quantiles; empty in one dimension.
    #[serde(default)]
    pub portfolio: Vec<Share>,
    /// Threshold-weighted CRPS: the part of the CRPS beyond the 5% and 95% quantiles of all moves.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub tail_crps: f64,
    /// CRPS after the largest moves, mean over targets; not proper.
    #[serde(default)]
    pub jump_crps: Vec<JumpCrps>,
    /// Squared error of the mean.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub mse: f64,
    /// Absolute error of the median.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub mae: f64,
    /// Coverage of central intervals, over all targets.
    pub coverage: Vec<Share>,
    /// The same for many levels.
    pub reliability: Vec<Share>,
    /// Counts of the PIT in equal bins of [0, 1].
    pub pit_histogram: Vec<usize>,
    /// CRPS by the number of the step ahead.
    pub crps_by_step: Vec<StepScore>,
    /// CRPS of each dimension.
    #[serde(default, deserialize_with = "finite::nulls_are_nan")]
    pub crps_by_dimension: Vec<f64>,
    /// CRPS of each window; null for those that the model did not forecast.
    #[serde(serialize_with = "finite::or_nulls", deserialize_with = "finite::nulls_are_nan")]
    pub crps_by_window: Vec<f64>,
    /// Comparison with the reference by CRPS; null for itself.
    pub difference: Option<Difference>,
    /// Comparison with the reference by energy score; null in one dimension.
    #[serde(default)]
    pub energy_difference: Option<Difference>,
    /// Comparison with the reference by variogram score; null in one dimension.
    #[serde(default)]
    pub variogram_difference: Option<Difference>,
    /// Mean time per window.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub seconds_per_window: f64,
}

/// Coverage of a central interval, or the share below a lower quantile.
#[derive(Debug, Serialize, Deserialize)]
pub struct Share {
    /// Probability of the interval, or level of the quantile.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub level: f64,
    /// Share of observations in it, or below it.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub observed: f64,
    /// Its standard error by the block bootstrap over windows; null for fewer than 10 windows.
    pub std_error: Option<f64>,
}

/// Score of one step ahead.
#[derive(Debug, Serialize, Deserialize)]
pub struct StepScore {
    /// Number of the step, from 1.
    pub step: usize,
    /// Windows that have it.
    #[serde(default)]
    pub windows: usize,
    /// Mean CRPS.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub crps: f64,
}

/// Paired difference of window scores: model minus reference, negative if the model is better.
#[derive(Debug, Serialize, Deserialize)]
pub struct Difference {
    /// Mean.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub mean: f64,
    /// 95% interval by the block bootstrap; null where there is none.
    #[serde(serialize_with = "finite::or_null", deserialize_with = "finite::null_is_nan")]
    pub low: f64,
    /// Its upper end.
    #[serde(serialize_with = "finite::or_null", deserialize_with = "finite::null_is_nan")]
    pub high: f64,
    /// Diebold–Mariano p-value, two-sided.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub p_value: f64,
    /// Share of windows in which the model was better.
    #[serde(deserialize_with = "finite::null_is_nan")]
    pub better: f64,
}

/// Lines of one model in the order of windows.
struct Of<'a> {
    name: &'a str,
    lines: Vec<(&'a Case, &'a Line, &'a WindowScores)>,
}

/// A model and the windows that it was to forecast.
pub struct Entry<'a> {
    /// Its name as given.
    pub name: &'a str,
    /// The windows, in any order.
    pub cases: Vec<&'a Case>,
}

impl Entry<'_> {
    /// Whether a line is among its forecasts.
    pub fn holds(&self, line: &Line) -> bool {
        self.name == line.model && self.has(line.window)
    }

    fn has(&self, window: usize) -> bool {
        self.cases.iter().any(|case| case.number == window)
    }
}

/// Where and what was scored.
pub struct Judged<'a> {
    /// Windows.
    pub cases: &'a [Case],
    /// The models in order.
    pub entries: Vec<Entry<'a>>,
    /// All lines.
    pub lines: &'a [Line],
    /// The model to compare with.
    pub reference: &'a str,
    /// Number of dimensions.
    pub dim: usize,
}

/// Scores of all models over the windows in which none failed, those windows, and the failures.
pub fn summarise(judged: &Judged) -> Result<(Vec<ModelScores>, Vec<String>, Vec<Failed>)> {
    let failed: Vec<Failed> = (judged.lines.iter())
        .filter_map(|line| {
            let error = line.error.clone()?;
            Some(Failed { start: line.start.clone(), model: line.model.clone(), error })
        })
        .collect();
    let good: Vec<&Case> =
        judged.cases.iter().filter(|case| failed.iter().all(|failed| failed.start != case.start)).collect();
    if good.is_empty() {
        let first = failed.first().map_or(String::new(), |f| format!(" ({}, {}: {})", f.model, f.start, f.error));
        return Err(bad(format!("no window has a forecast of every model{first}")));
    }
    let of: Vec<Of> =
        judged.entries.iter().map(|entry| of(judged.lines, entry, &good, judged.dim)).collect::<Result<_>>()?;
    let reference = of.iter().find(|of| of.name == judged.reference);
    let models = of.iter().map(|of| model(of, reference, &good, judged.dim)).collect::<Result<_>>()?;
    Ok((models, good.iter().map(|case| case.start.clone()).collect(), failed))
}

fn of<'a>(lines: &'a [Line], entry: &Entry<'a>, cases: &[&'a Case], dim: usize) -> Result<Of<'a>> {
    let name = entry.name;
    let find = |case: &&'a Case| {
        let line = lines.iter().find(|line| line.model == name && line.window == case.number);
        let scored = line.and_then(|line| Some((*case, line, line.scores.as_ref()?)));
        let whole = scored.filter(|(_, _, scores)| scores.fit(case.targets.len(), dim));
        whole.ok_or_else(|| bad(format!("windows.jsonl has no scores, or not all, of {name} for {}", case.start)))
    };
    let own = cases.iter().filter(|case| entry.has(case.number));
    let lines: Vec<_> = own.map(find).collect::<Result<_>>()?;
    match lines.is_empty() {
        true => Err(bad(format!("{name} has no window in which no model failed; give it more by --windows"))),
        false => Ok(Of { name, lines }),
    }
}

impl Of<'_> {
    fn scores(&self) -> impl Iterator<Item = &WindowScores> {
        self.lines.iter().map(|(_, _, scores)| *scores)
    }

    /// One number per window.
    fn by_window(&self, list: impl Fn(&WindowScores) -> Vec<f64>) -> Vec<f64> {
        self.scores().map(|scores| mean(&list(scores))).collect()
    }

    /// Its numbers minus those of the other in the windows that both have.
    fn minus(&self, other: &Of, list: fn(&WindowScores) -> Vec<f64>) -> Vec<f64> {
        let one = |(case, _, scores): &(&Case, &Line, &WindowScores)| {
            let same = other.lines.iter().find(|(theirs, _, _)| theirs.number == case.number)?;
            Some(mean(&list(scores)) - mean(&list(same.2)))
        };
        self.lines.iter().filter_map(one).collect()
    }

    /// Numbers of its windows among all windows; NaN in the others.
    fn among(&self, cases: &[&Case], numbers: &[f64]) -> Vec<f64> {
        let place = |case: &Case| self.lines.iter().position(|(own, _, _)| own.number == case.number);
        cases.iter().map(|case| place(case).map_or(f64::NAN, |k| numbers[k])).collect()
    }
}

fn model(of: &Of, reference: Option<&Of>, cases: &[&Case], dim: usize) -> Result<ModelScores> {
    let crps = of.by_window(|scores| scores.crps.clone());
    let energy = of.by_window(|scores| scores.energy.clone());
    let windows: Vec<&[f64]> = of.scores().map(|scores| scores.pits.as_slice()).collect();
    let pits = windows.concat();
    let share = |&level: &f64| -> levytilt::Result<Share> {
        let error = || reliability_std_error(&windows, level, &BlockBootstrap::default());
        let std_error = (windows.len() >= FEWEST).then(error).transpose()?;
        Ok(Share { level, observed: reliability(&pits, level)?, std_error })
    };
    let shares = |levels: &[f64]| levels.iter().map(share).collect::<levytilt::Result<Vec<_>>>();
    let levels: Vec<f64> = (1..20).map(|k| f64::from(k) / 20.0).chain([0.98, 0.99]).collect();
    // CRPS per time, mean over dimensions, as the jump CRPS and the steps want it.
    let by_time: Vec<Vec<f64>> = of.scores().map(|scores| scores.crps.chunks_exact(dim).map(mean).collect()).collect();
    let parts = of.lines.iter().zip(&by_time);
    let parts: Vec<ScoredWindow> =
        parts.map(|((case, _, _), crps)| ScoredWindow { targets: &case.targets, crps }).collect();
    let jumps = if by_time.iter().any(|crps| crps.len() > 1) { jump_crps(&parts, dim, &PERCENTILES)? } else { vec![] };
    let other = reference.filter(|reference| reference.name != of.name);
    let pair = |list: fn(&WindowScores) -> Vec<f64>| -> Result<Option<Difference>> {
        let common = other.map(|other| of.minus(other, list)).filter(|common| !common.is_empty());
        common.map(|common| difference(&common)).transpose()
    };
    // Of all windows, or of none: those of earlier versions have no such scores.
    let joint =
        of.scores().chain(other.iter().flat_map(|other| other.scores())).all(|scores| !scores.variogram.is_empty());
    let joint = joint && dim > 1;
    let variogram = of.by_window(|scores| scores.variogram.clone());
    let dimension = |i: usize| mean(&of.by_window(|scores| scores.crps.iter().skip(i).step_by(dim).copied().collect()));
    Ok(ModelScores {
        name: of.name.into(),
        windows: crps.len(),
        crps: mean(&crps),
        crps_std: deviation(&crps),
        energy_score: (dim > 1).then(|| mean(&energy)),
        variogram_score: joint.then(|| mean(&variogram)),
        portfolio: if joint { portfolio(of)? } else { vec![] },
        tail_crps: mean(&of.by_window(|scores| scores.tail_crps.clone())),
        jump_crps: jumps,
        mse: mean(&of.by_window(|scores| scores.squared.clone())),
        mae: mean(&of.by_window(|scores| scores.absolute.clone())),
        coverage: shares(&COVERAGES)?,
        reliability: shares(&levels)?,
        pit_histogram: histogram(&pits, BINS)?,
        crps_by_step: steps(&by_time),
        crps_by_dimension: (0..dim).map(dimension).collect(),
        difference: pair(|scores| scores.crps.clone())?,
        energy_difference: if dim > 1 { pair(|scores| scores.energy.clone())? } else { None },
        variogram_difference: if joint { pair(|scores| scores.variogram.clone())? } else { None },
        crps_by_window: of.among(cases, &crps),
        seconds_per_window: mean(&of.lines.iter().map(|(_, line, _)| line.seconds).collect::<Vec<_>>()),
    })
}

/// How often the portfolio of equal shares was below its quantiles.
fn portfolio(of: &Of) -> Result<Vec<Share>> {
    let share = |(k, &level): (usize, &f64)| {
        let windows = of.by_window(|scores| scores.below.iter().map(|below| f64::from(u8::from(below[k]))).collect());
        let error = || block_std_error(&windows, &BlockBootstrap::default());
        let std_error = (windows.len() >= FEWEST).then(error).transpose()?;
        let all: Vec<f64> =
            of.scores().flat_map(|scores| scores.below.iter().map(|below| f64::from(u8::from(below[k])))).collect();
        Ok(Share { level, observed: mean(&all), std_error })
    };
    PORTFOLIO.iter().enumerate().map(share).collect()
}

fn steps(by_time: &[Vec<f64>]) -> Vec<StepScore> {
    let longest = by_time.iter().map(Vec::len).max().unwrap_or(0);
    let one = |j: usize| {
        let seen: Vec<f64> = by_time.iter().filter_map(|crps| crps.get(j).copied()).collect();
        StepScore { step: j + 1, windows: seen.len(), crps: mean(&seen) }
    };
    (0..longest).map(one).collect()
}

fn difference(differences: &[f64]) -> Result<Difference> {
    let better = differences.iter().filter(|d| **d < 0.0).count() as f64 / differences.len() as f64;
    let mean = mean(differences);
    // Two names of the same model, or too few windows to tell: no interval, and no evidence of a difference.
    if differences.len() < FEWEST || differences.iter().all(|d| *d == 0.0) {
        return Ok(Difference { mean, low: f64::NAN, high: f64::NAN, p_value: 1.0, better });
    }
    let p_value = diebold_mariano(differences, automatic_lag(differences.len()))?.p_value;
    let (low, high) = block_bootstrap(differences, &BlockBootstrap::default())?;
    Ok(Difference { mean, low, high, p_value, better })
}

/// Unbiased standard deviation; NaN for a single number.
fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    (values.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

fn unknown() -> f64 {
    f64::NAN
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
