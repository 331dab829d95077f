//! Align forecasts with observations, time by time and dimension by dimension.

use anyhow::Result;

use crate::failure::bad;
use crate::table::input::Table;
use crate::table::time::{Calendar, Written};
use crate::workflow::forecast::files::Ahead;

/// A resolution that every timestamp survives, in days: two microseconds.
const STAMP_ROUNDING: f64 = 2.0 / 86_400e6;

/// Which truth belongs to which forecast.
pub struct Aligned {
    /// For every forecast time: its time in the truth's unit and the truth's row, if there is one.
    pub rows: Vec<(f64, Option<usize>)>,
    /// For every forecast dimension: the truth's column.
    pub columns: Vec<usize>,
}

/// Align by time and name; the error says what has no partner and what to do.
pub fn align(ahead: &Ahead, truth: &Table) -> Result<Aligned> {
    let columns = ahead.dimensions.iter().map(|name| column(name, ahead, truth)).collect::<Result<Vec<_>>>()?;
    let times = times(ahead, truth)?;
    if let Some(j) = (1..times.len()).find(|&j| times[j] <= times[j - 1]) {
        let (before, time) = (&ahead.texts[j - 1], &ahead.texts[j]);
        return Err(bad(format!("{}: time {time} follows {before}; expected increasing times", ahead.source)));
    }
    let tolerance = tolerance(&times, truth);
    let near = |time: f64| {
        let right = truth.times.partition_point(|t| *t < time - tolerance);
        (right < truth.times.len() && truth.times[right] <= time + tolerance).then_some(right)
    };
    let rows: Vec<(f64, Option<usize>)> = times.iter().map(|&time| (time, near(time))).collect();
    let (first, last) = (times[0] - tolerance, times[times.len() - 1] + tolerance);
    let mut inside = (0..truth.times.len()).filter(|&row| (first..=last).contains(&truth.times[row])).peekable();
    let describe = |row: usize| format!("{} (line {})", truth.calendar.write(truth.times[row]), truth.lines[row]);
    if inside.peek().is_none() {
        return Err(bad(format!(
            "{}: has no row between {} and {}, the times that {} forecasts; its own run from {} to {}",
            truth.source,
            ahead.texts[0],
            ahead.texts[times.len() - 1],
            ahead.source,
            describe(0),
            describe(truth.times.len() - 1)
        )));
    }
    match inside.find(|row| rows.iter().all(|(_, found)| *found != Some(*row))) {
        None => Ok(Aligned { rows, columns }),
        Some(row) => Err(bad(format!(
            "{}: time {} is within the forecast's span, and {} has no forecast for it; forecast at these times with \
             `levytilt forecast RUN --at {}`",
            truth.source,
            describe(row),
            ahead.source,
            truth.source
        ))),
    }
}

fn column(name: &str, ahead: &Ahead, truth: &Table) -> Result<usize> {
    truth.names.iter().position(|other| other == name).ok_or_else(|| {
        let (source, known) = (&truth.source, truth.names.join(", "));
        bad(format!("{source}: has no column \"{name}\", which {} forecasts; it has: {known}", ahead.source))
    })
}

/// Forecast times in the unit of the truth's.
fn times(ahead: &Ahead, truth: &Table) -> Result<Vec<f64>> {
    let convert = |(written, text): (&Written, &String)| match (written, &truth.calendar) {
        (Written::Number(time), Calendar::Numbers) => Ok(*time),
        (Written::Stamp(stamp), Calendar::Days(stamps)) => Ok(stamp.days_since(&stamps[0])),
        (Written::Number(_), Calendar::Days(_)) => {
            Err(bad(format!("{}: has timestamps, but the forecast's times are numbers such as {text}", truth.source)))
        }
        (Written::Stamp(_), Calendar::Numbers) => {
            Err(bad(format!("{}: has numbers as times, but the forecast has timestamps such as {text}", truth.source)))
        }
    };
    ahead.times.iter().zip(&ahead.texts).map(convert).collect()
}

/// Times closer than this are the same: a millionth of the smallest gap, and what printing them costs.
fn tolerance(times: &[f64], truth: &Table) -> f64 {
    let gaps = times.windows(2).chain(truth.times.windows(2)).map(|pair| pair[1] - pair[0]);
    let smallest = gaps.fold(f64::INFINITY, f64::min);
    let largest = times.iter().chain(&truth.times).fold(0.0, |largest: f64, time| largest.max(time.abs()));
    let gap = if smallest.is_finite() { 1e-6 * smallest } else { 0.0 };
    let stamps = if matches!(truth.calendar, Calendar::Days(_)) { STAMP_ROUNDING } else { 0.0 };
    gap.max(4.0 * f64::EPSILON * largest).max(stamps)
}
