//! Score a model out of sample: fit it to the first part of a record, and filter the rest without learning from it.

use anyhow::Result;
use levytilt::Context;
use serde::Serialize;

use crate::failure::bad;
use crate::settings::{Settings, Volatility};
use crate::table::Table;
use crate::workflow::compare::Row;
use crate::workflow::compare::entrants::options;
use crate::workflow::filtering::filter_at;
use crate::workflow::fit::{Outcome, analyse};
use crate::workflow::general::fit as general;
use crate::workflow::general::settings::GeneralSettings;

/// Rows that the first part has at least.
const FEWEST: usize = 10;

/// Log score of the values that were held out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldOut {
    /// Mean of ln p(value | all earlier values) over the values, with parameters of the first part; larger is better.
    pub log_score: f64,
    /// Number of values.
    pub values: usize,
    /// Log score less that of the best model; null for that model itself.
    pub difference: Option<f64>,
    /// Its standard error over the values; null where single values have no score.
    pub difference_std_error: Option<f64>,
    /// The score of every value, in the order of columns and rows; nothing where only their sum is known.
    #[serde(skip)]
    pub each: Vec<f64>,
}

/// Refuse a share that is none.
pub fn check_holdout(share: f64) -> Result<()> {
    match (0.0..=0.9).contains(&share) {
        true => Ok(()),
        false => Err(bad(format!("--holdout {share}: give the share of the rows to hold out, from 0 (none) to 0.9"))),
    }
}

/// The rows before the held-out share at the end.
///
/// # Errors
/// Too few rows to learn from, or to score.
pub fn first_part(table: &Table, share: f64) -> Result<Table> {
    let rows = table.times.len();
    let first = ((1.0 - share) * rows as f64).ceil() as usize;
    if first < FEWEST || first >= rows {
        return Err(bad(format!(
            "--holdout {share}: leaves {first} of {rows} rows to learn from, and {FEWEST} are needed, with one more to score; \
             give another share, or --holdout 0 for no score"
        )));
    }
    let mut part = table.clone();
    part.times.truncate(first);
    part.lines.truncate(first);
    part.columns.iter_mut().chain(part.errors.iter_mut()).for_each(|column| column.truncate(first));
    part.check_observed().map_err(|error| error.context(format!("--holdout {share}: the first {first} rows")))?;
    Ok(part)
}

/// Score a model by drift and noise.
///
/// The exact filter of the model found in `first` runs over all of `table`; its densities of the later values count. Where
/// there is no such filter, their sum is the difference of two evidences at the same parameters.
pub fn score_plain(settings: &Settings, first: &Table, table: &Table, context: &Context) -> Result<HeldOut> {
    let mut outcome = analyse(shortened(settings, first, table), first, context)?;
    outcome.model.grid = settings.grid.clone();
    let last = first.times[first.times.len() - 1];
    let network = outcome.fit.network.as_ref().map(|network| network.drift.clone());
    if outcome.filtered.is_some() {
        let found = filter_at(
            &outcome.model,
            network,
            (table, outcome.typical_error()),
            &later_times(&outcome, first, table)?,
        )?;
        let later = found.seen.iter().flatten().flatten().filter(|seen| seen.time > last);
        return HeldOut::of(later.map(|seen| seen.log_evidence).collect());
    }
    if network.is_some() {
        return Err(bad("a network that couples several columns has no filter"));
    }
    let closed = closed(&outcome)?;
    let whole = analyse(closed, table, &Context::silent())?;
    HeldOut::sum(whole.summary.log_evidence - outcome.summary.log_evidence, later_values(first, table))
}

/// Score a written-out model: the difference of two evidences at the parameters found in `first`.
pub fn score_written(model: &GeneralSettings, first: &Table, table: &Table, context: &Context) -> Result<HeldOut> {
    let options = options(model);
    let part = general::analyse(model, first, &options, context)?;
    let whole = general::analyse(&model.filled(&part.parameters, &table.names), table, &options, context)?;
    let evidence = whole.smoothed.evidence.log_evidence - part.smoothed.evidence.log_evidence;
    HeldOut::sum(evidence, later_values(first, table))
}

/// The times of all rows as the model sees them, by a clock that was learned from the first part.
fn later_times(outcome: &Outcome, first: &Table, table: &Table) -> Result<Vec<f64>> {
    let Some(trading) = &outcome.trading else { return Ok(table.times.clone()) };
    if outcome.settings.model.volatility == Some(Volatility::Recent) {
        return Err(bad("--volatility recent changes with every new value; use `levytilt backtest` to score it"));
    }
    let end = trading.times[trading.times.len() - 1];
    let later = trading.record.ahead(&table.times[first.times.len()..])?;
    Ok(trading.times.iter().copied().chain(later.into_iter().map(|time| end + time)).collect())
}

/// The settings with as many latent steps per time in the first part as there are in the whole.
fn shortened(settings: &Settings, first: &Table, table: &Table) -> Settings {
    let span = |table: &Table| table.times[table.times.len() - 1] - table.times[0];
    let mut settings = settings.clone();
    let share = span(first) / span(table);
    settings.grid.steps = settings.grid.steps.map(|steps| ((steps as f64 * share).round() as usize).max(1));
    settings
}

/// The settings of a fit with every estimate held, and its known errors still known.
fn closed(outcome: &Outcome) -> Result<Settings> {
    let mut closed = outcome.model.clone();
    closed.data.error_column.clone_from(&outcome.settings.data.error_column);
    if outcome.fit.model.dimensions.len() == 1 {
        outcome.fit.parameters.iter().try_for_each(|p| closed.hold(&p.name, p.value))?;
    }
    Ok(closed)
}

fn later_values(first: &Table, table: &Table) -> usize {
    let rows = first.times.len();
    table.columns.iter().flat_map(|column| &column[rows..]).filter(|value| !value.is_nan()).count()
}

impl HeldOut {
    fn of(each: Vec<f64>) -> Result<Self> {
        Ok(Self { each: each.clone(), ..Self::sum(each.iter().sum(), each.len())? })
    }

    fn sum(total: f64, values: usize) -> Result<Self> {
        if values == 0 {
            return Err(bad("no value was held out: all are missing there"));
        }
        let log_score = total / values as f64;
        Ok(Self { log_score, values, difference: None, difference_std_error: None, each: Vec::new() })
    }

    /// The difference from `best`, value by value where both have them.
    fn compare(&mut self, best: &Self) {
        self.difference = Some(self.log_score - best.log_score);
        if self.each.len() == best.each.len() && self.each.len() > 1 {
            let differences: Vec<f64> = self.each.iter().zip(&best.each).map(|(own, best)| own - best).collect();
            let (n, mean) = (differences.len() as f64, self.log_score - best.log_score);
            let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
            self.difference_std_error = Some((variance / n).sqrt());
        }
    }
}

/// Say how far every score is from that of the first row, if that has one.
pub fn against_the_best(rows: &mut [Row]) {
    let Some((first, others)) = rows.split_first_mut() else { return };
    let Some(best) = &first.held_out else { return };
    others.iter_mut().filter_map(|row| row.held_out.as_mut()).for_each(|score| score.compare(best));
}
