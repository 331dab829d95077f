//! Recognise how a column of times is written: ISO 8601, dates as spreadsheets and banks write them, Unix time, numbers.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime::BrokenDownTime;

use crate::failure::quoted;
use crate::table::decimal::Decimal;
use crate::table::time::{self, Stamp, Written};

/// Dates that are recognised.
const DATES: [&str; 15] = [
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
];
/// What may follow a date.
const CLOCKS: [&str; 6] = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f", " %I:%M %p", " %I:%M:%S %p"];
/// Units of Unix time: their names and how many of them a second has.
const UNITS: [(&str, f64); 4] = [("seconds", 1.0), ("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)];
/// Seconds from 1970 to 1990 and to 2100: numbers between them are Unix time.
const EPOCHS: std::ops::Range<f64> = 631_152_000.0..4_102_444_800.0;
/// The format that keeps numbers as they are.
const NUMBER: &str = "number";

/// A column of times, with a note for the reader if something was recognised that changes the unit.
pub type Column = (Vec<Written>, Option<String>);
/// The row, from 0, that cannot be read, and why.
pub type Problem = (usize, String);

/// Read a column of times.
///
/// # Errors
/// A time that cannot be read; times that can be read in two ways.
pub fn read(texts: &[&str], format: Option<&str>, decimal: Decimal) -> Result<Column, Problem> {
    match format {
        Some(NUMBER) => each(texts, |text| number(text, decimal).map(Written::Number)).map(|times| (times, None)),
        Some(unit) if UNITS.iter().any(|(name, _)| *name == unit) => {
            let per_second = UNITS.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, per_second)| *per_second);
            let convert = |text: &str| unix(number(text, decimal)?, per_second).map(Written::Stamp);
            each(texts, convert).map(|times| (times, None))
        }
        Some(format) => each(texts, |text| by_format(text, format).map(Written::Stamp)).map(|times| (times, None)),
        None => recognise(texts, decimal),
    }
}

/// Whether a field is a date, not a number.
pub fn is_date(field: &str) -> bool {
    // Most fields are numbers; nothing that is short of digits or long is a date.
    let digits = field.bytes().filter(u8::is_ascii_digit).count();
    if digits < 3 || field.len() > 64 || field.parse::<f64>().is_ok() {
        return false;
    }
    matches!(time::parse(field), Ok(Written::Stamp(_))) || formats().any(|format| by_format(field, &format).is_ok())
}

fn each(texts: &[&str], read: impl Fn(&str) -> Result<Written, String>) -> Result<Vec<Written>, Problem> {
    texts.iter().enumerate().map(|(row, text)| read(text).map_err(|why| (row, why))).collect()
}

fn number(text: &str, decimal: Decimal) -> Result<f64, String> {
    match decimal.parse(text) {
        Some(number) if number.is_finite() => Ok(number),
        Some(_) => Err(format!("expected a finite time, found {}", quoted(text))),
        None => Err(format!("expected a number, found {}", quoted(text))),
    }
}

/// Unix time; f64 resolves a microsecond until the year 2255.
fn unix(number: f64, per_second: f64) -> Result<Stamp, String> {
    let microseconds = (number * (1e6 / per_second)).round();
    Timestamp::from_microsecond(microseconds as i64)
        .ok()
        .filter(|_| microseconds.abs() < 9e15)
        .map(Stamp::universal)
        .ok_or_else(|| format!("{number} is not a Unix time; give --date-format number if it is a plain number"))
}

fn formats() -> impl Iterator<Item = String> {
    let full = DATES.iter().flat_map(|date| CLOCKS.iter().map(move |clock| format!("{date}{clock}")));
    full.chain(["%Y-%m".to_string()])
}

/// A time written as `format` says, in the words of strptime.
fn by_format(text: &str, format: &str) -> Result<Stamp, String> {
    let expected = || format!("expected a date like {format}, found {}", quoted(text));
    let mut parts = BrokenDownTime::parse(format, text).map_err(|_| expected())?;
    if parts.day().is_none() && parts.day_of_year().is_none() {
        // A month begins on its first day.
        parts.set_day(Some(1)).map_err(|_| expected())?;
    }
    let date: Date = parts.to_date().map_err(|_| expected())?;
    // A year of two digits is not a year of the first century.
    if date.year() < 1000 && !format.contains("%y") {
        return Err(expected());
    }
    let clock = parts.hour().map(|_| parts.to_time()).transpose().map_err(|_| expected())?;
    let civil = DateTime::from_parts(date, clock.unwrap_or(Time::midnight()));
    Stamp::civil(civil, clock.is_some(), parts.offset()).ok_or_else(expected)
}

fn recognise(texts: &[&str], decimal: Decimal) -> Result<Column, Problem> {
    let plain = |text: &str| match decimal.parse(text) {
        Some(_) => number(text, decimal).map(Written::Number),
        None => time::parse(text),
    };
    match each(texts, plain) {
        Ok(times) => numbers(texts, times),
        Err(problem) => by_formats(texts).unwrap_or(Err(problem)).map(|times| (times, None)),
    }
}

/// Numbers that are Unix time become dates; those that look like 20240131 are asked about.
fn numbers(texts: &[&str], times: Vec<Written>) -> Result<Column, Problem> {
    let values: Option<Vec<f64>> = (times.iter())
        .map(|time| match time {
            Written::Number(number) => Some(*number),
            Written::Stamp(_) => None,
        })
        .collect();
    let Some(values) = values else { return Ok((times, None)) };
    let compact = |text: &&str| text.len() == 8 && by_format(text, "%Y%m%d").is_ok_and(|stamp| stamp.is_recent());
    if values.len() > 1 && texts.iter().all(compact) {
        let what = quoted(texts[0]);
        return Err((
            0,
            format!("{what} may be a date or a number; give --date-format %Y%m%d or --date-format number"),
        ));
    }
    let unit = UNITS.iter().find(|(_, per_second)| values.iter().all(|value| EPOCHS.contains(&(value / per_second))));
    match unit {
        Some((name, per_second)) if !values.is_empty() => {
            let stamps = values
                .iter()
                .enumerate()
                .map(|(row, value)| unix(*value, *per_second).map(Written::Stamp).map_err(|why| (row, why)));
            let note = format!(
                "times were read as Unix {name}, so the unit of time is a day; --date-format number keeps the numbers"
            );
            Ok((stamps.collect::<Result<_, _>>()?, Some(note)))
        }
        _ => Ok((times, None)),
    }
}

/// Read all times by the one format that fits them; nothing if no format fits even the first.
fn by_formats(texts: &[&str]) -> Option<Result<Vec<Written>, Problem>> {
    let first = texts.first()?;
    let fitting: Vec<String> = formats().filter(|format| by_format(first, format).is_ok()).collect();
    let read = |format: &String| each(texts, |text| by_format(text, format).map(Written::Stamp));
    let tried: Vec<(&String, Result<Vec<Written>, Problem>)> = fitting.iter().map(|f| (f, read(f))).collect();
    let mut whole: Vec<(&String, &Vec<Written>)> =
        tried.iter().filter_map(|(format, times)| Some((*format, times.as_ref().ok()?))).collect();
    whole.dedup_by(|(_, a), (_, b)| same(a, b));
    match whole.as_slice() {
        [(_, times)] => Some(Ok((*times).clone())),
        [(one, _), (other, _), ..] => {
            let row = differing(whole[0].1, whole[1].1);
            let what = quoted(texts[row]);
            let why = format!(
                "{what} is ambiguous, and no other row decides; give --date-format {one} or --date-format \
                 {other}, or write dates as 2024-03-31"
            );
            Some(Err((row, why)))
        }
        // The format that gets furthest knows best which row is wrong.
        [] => tried.into_iter().map(|(_, times)| times).max_by_key(|times| times.as_ref().err().map(|(row, _)| *row)),
    }
}

fn instants(times: &[Written]) -> impl Iterator<Item = Option<Timestamp>> {
    times.iter().map(|time| match time {
        Written::Stamp(stamp) => Some(stamp.instant()),
        Written::Number(_) => None,
    })
}

fn same(a: &[Written], b: &[Written]) -> bool {
    instants(a).eq(instants(b))
}

fn differing(a: &[Written], b: &[Written]) -> usize {
    instants(a).zip(instants(b)).position(|(a, b)| a != b).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times as they are written after reading, or what was said.
    fn said(texts: &[&str], format: Option<&str>) -> Result<Vec<String>, String> {
        let text = |time: &Written| match time {
            Written::Number(number) => number.to_string(),
            Written::Stamp(stamp) => stamp.text().to_string(),
        };
        match read(texts, format, Decimal::Point) {
            Ok((times, _)) => Ok(times.iter().map(text).collect()),
            Err((row, why)) => Err(format!("{row}: {why}")),
        }
    }

    #[test]
    fn golden_dates_as_people_write_them() {
        for (texts, expected) in [
            (["31.12.2024", "1.1.2025"], ["2024-12-31", "2025-01-01"]),
            (["31.12.24", "01.01.25"], ["2024-12-31", "2025-01-01"]),
            (["12/31/2024", "1/1/2025"], ["2024-12-31", "2025-01-01"]),
            (["31/12/2024 9:30", "01/01/2025 10:00"], ["2024-12-31T09:30:00", "2025-01-01T10:00:00"]),
            (["12/31/2024 1:05 PM", "1/1/2025 12:00 AM"], ["2024-12-31T13:05:00", "2025-01-01T00:00:00"]),
            (["2024/12/31", "2025/01/01"], ["2024-12-31", "2025-01-01"]),
            (["31-Dec-2024", "1-Jan-2025"], ["2024-12-31", "2025-01-01"]),
            (["Dec 31, 2024", "Jan 1, 2025"], ["2024-12-31", "2025-01-01"]),
            (["2024-12", "2025-01"], ["2024-12-01", "2025-01-01"]),
            (["1704067200", "1704153600"], ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"]),
            (["1704067200500", "1704153600000"], ["2024-01-01T00:00:00.5Z", "2024-01-02T00:00:00Z"]),
            (["1", "2.5"], ["1", "2.5"]),
        ] {
            assert_eq!(said(&texts, None).unwrap(), expected, "{texts:?}");
        }
    }

    #[test]
    fn two_readings_are_asked_about_unless_the_column_decides() {
        let asked = said(&["01/02/2024", "02/02/2024"], None).unwrap_err();
        assert!(asked.starts_with("0: \"01/02/2024\" can be read in two ways"), "{asked}");
        assert!(asked.contains("--date-format %d/%m/%Y or --date-format %m/%d/%Y"), "{asked}");
        assert_eq!(said(&["01/02/2024", "02/02/2024"], Some("%m/%d/%Y")).unwrap(), ["2024-01-02", "2024-02-02"]);
        assert_eq!(said(&["01/02/2024", "13/02/2024"], None).unwrap(), ["2024-02-01", "2024-02-13"]);
        assert_eq!(said(&["01/02/2024", "02/13/2024"], None).unwrap(), ["2024-01-02", "2024-02-13"]);
        assert_eq!(said(&["01/01/2024", "02/02/2024"], None).unwrap(), ["2024-01-01", "2024-02-02"]);
        assert!(said(&["20240101", "20240102"], None).unwrap_err().contains("--date-format %Y%m%d"));
        assert_eq!(said(&["20240101", "20240102"], Some("number")).unwrap(), ["20240101", "20240102"]);
        assert_eq!(said(&["0", "86400"], Some("seconds")).unwrap(), ["1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"]);
    }

    #[test]
    fn the_row_that_is_wrong_is_named() {
        assert!(said(&["31.12.2024", "foo"], None).unwrap_err().starts_with("1: expected a date like %d.%m.%Y"));
        assert!(said(&["foo", "31.12.2024"], None).unwrap_err().starts_with("0: expected a number or an ISO"));
        assert!(said(&["1", "inf"], None).unwrap_err().contains("finite"));
    }
}
