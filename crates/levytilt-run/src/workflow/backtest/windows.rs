//! Cut a table into windows: what each model may see, and what it is scored against.

use anyhow::Result;
use levytilt::internals::series::{Rolling, Scaled, Window, cumulative_log_returns};
use levytilt::score::Sample;
use levytilt_baselines::Record;
use serde::{Deserialize, Serialize};

use crate::failure::bad;
use crate::table::input::Table;
use crate::workflow::backtest::request::Request;

/// Quantiles of the moves over a horizon beyond which the tails begin.
const TAILS: [f64; 2] = [0.05, 0.95];

/// A window ready for models.
pub struct Case {
    /// Its number, skipped windows counted.
    pub number: usize,
    /// Where it starts, as users write times.
    pub start: String,
    /// The training part.
    pub record: Record,
    /// Times to forecast.
    pub ahead: Vec<f64>,
    /// Observed values, (time, dimension). Not for the models.
    pub targets: Vec<f64>,
}

/// A window that cannot be used.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Left {
    /// Where it starts.
    pub start: String,
    /// Why.
    pub reason: String,
}

/// All windows.
pub struct Cut {
    /// How they roll.
    pub rolling: Rolling,
    /// Those to use.
    pub cases: Vec<Case>,
    /// Those left out.
    pub skipped: Vec<Left>,
    /// Per dimension: where the lower and the upper tail begin, as moves from the last training value.
    pub tails: Vec<[f64; 2]>,
    /// What a careful reader should know.
    pub notes: Vec<String>,
}

/// Cut `table`; the error says what is wrong with it or with the spans.
pub fn cut(request: &Request, table: &Table) -> Result<Cut> {
    if request.log_returns {
        check_prices(table)?;
    }
    let complete: Vec<usize> =
        (0..table.times.len()).filter(|&row| table.columns.iter().all(|column| !column[row].is_nan())).collect();
    let times: Vec<f64> = complete.iter().map(|&row| table.times[row]).collect();
    let columns: Vec<Vec<f64>> =
        table.columns.iter().map(|column| complete.iter().map(|&row| column[row]).collect()).collect();
    let mut notes = Vec::new();
    let gaps = table.times.len() - times.len();
    if gaps > 0 {
        notes.push(format!("{gaps} of {} rows have a missing value and were left out", table.times.len()));
    }
    if times.len() < 3 {
        return Err(bad(format!("{}: {} rows have values in all columns; expected more", table.source, times.len())));
    }
    let rolling = rolling(request, table, &times)?;
    let found = rolling.windows(&times)?;
    let write = |time: f64| table.calendar.write(time);
    let mut skipped: Vec<Left> =
        found.skipped.into_iter().map(|window| Left { start: write(window.start), reason: window.reason }).collect();
    let mut cases = Vec::new();
    for window in found.windows {
        let start = write(rolling.from + window.number as f64 * rolling.stride);
        match case(request.log_returns, &times, &columns, &window, &start) {
            Ok(case) => cases.push(case),
            Err(error) => skipped.push(Left { start, reason: error.to_string() }),
        }
    }
    if cases.is_empty() {
        let why =
            skipped.first().map_or(String::new(), |first| format!(" (the first, {}: {})", first.start, first.reason));
        return Err(bad(format!("{}: none of {} windows can be used{why}", table.source, skipped.len())));
    }
    let tails = (0..columns.len()).map(|i| tails(&cases, i, columns.len())).collect::<Result<_>>()?;
    Ok(Cut { rolling, cases, skipped, tails, notes })
}

fn check_prices(table: &Table) -> Result<()> {
    for (name, column) in table.names.iter().zip(&table.columns) {
        if let Some(row) = column.iter().position(|price| *price <= 0.0) {
            return Err(bad(format!(
                "{}, line {}, column \"{name}\": price {} has no logarithm; expected numbers above 0 with --log-returns",
                table.source, table.lines[row], column[row]
            )));
        }
    }
    Ok(())
}

fn rolling(request: &Request, table: &Table, times: &[f64]) -> Result<Rolling> {
    let calendar = &table.calendar;
    let horizon = request.horizon.measure("horizon", calendar)?;
    let (first, last) = (times[0], times[times.len() - 1]);
    let from = match &request.from {
        Some(from) => from.read("from", calendar)?,
        None => calendar.first_midnight(first),
    };
    let to = match &request.to {
        Some(to) => to.read("to", calendar)?,
        None => last,
    };
    // A date after the last time is its end, if no more than a closed market lies between.
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    if to > last + longest {
        let (to, last) = (calendar.write(to), calendar.write(last));
        return Err(bad(format!("--to {to}: the data end at {last}; a forecast beyond them cannot be scored")));
    }
    let stride = request.stride.as_ref().map_or(Ok(horizon), |stride| stride.measure("stride", calendar))?;
    Ok(Rolling { from, to, train: request.train.measure("train", calendar)?, horizon, stride, least: request.least })
}

fn case(
    log_returns: bool,
    times: &[f64],
    columns: &[Vec<f64>],
    window: &Window,
    start: &str,
) -> levytilt::Result<Case> {
    let mut seen_times = times[window.train.clone()].to_vec();
    let (mut seen, mut came) = (Vec::new(), Vec::new());
    for column in columns {
        if log_returns {
            let Scaled { train, ahead, .. } = cumulative_log_returns(column, window)?;
            seen.push(train);
            came.push(ahead);
        } else {
            seen.push(column[window.train.clone()].to_vec());
            came.push(column[window.ahead.clone()].to_vec());
        }
    }
    if let (true, Some(base)) = (log_returns, window.train.start.checked_sub(1)) {
        // The window knows the price before its first return: its value is 0 by construction.
        seen_times.insert(0, times[base]);
        seen.iter_mut().for_each(|column| column.insert(0, 0.0));
    }
    let targets = (0..window.ahead.len()).flat_map(|j| came.iter().map(move |column| column[j])).collect();
    Ok(Case {
        number: window.number,
        start: start.to_string(),
        record: Record::new(seen_times, seen)?,
        ahead: times[window.ahead.clone()].to_vec(),
        targets,
    })
}

/// Quantiles of the moves from the last training value to every target of dimension `i`.
fn tails(cases: &[Case], i: usize, dim: usize) -> Result<[f64; 2]> {
    let moves: Vec<f64> = cases
        .iter()
        .flat_map(|case| {
            let last = case.record.last()[i];
            case.targets.iter().skip(i).step_by(dim).map(move |y| y - last)
        })
        .collect();
    let sample = Sample::new(&moves)?;
    Ok([sample.quantile(TAILS[0])?, sample.quantile(TAILS[1])?])
}
