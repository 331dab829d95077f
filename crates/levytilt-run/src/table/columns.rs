//! Find the columns of a table: which one is time, which ones are values.

use anyhow::Result;
use csv::StringRecord;

use crate::failure::bad;
use crate::shell::word;
use crate::table::dates::is_date;
use crate::table::decimal::Decimal;
use crate::table::format::Format;
use crate::table::layout::{Layout, is_missing, is_running};
use crate::table::rows::Row;

/// Rows that are looked at to tell dates from numbers and text.
const SAMPLE: usize = 50;
/// Names that say that a column is time.
const TIME_NAMES: [&str; 8] = ["time", "times", "date", "datetime", "timestamp", "datum", "zeit", "ds"];
/// Names of a column that counts rows: none, and what programs put there.
const ROW_NAMES: [&str; 5] = ["", "unnamed: 0", "index", "rownames", "x"];

/// The name of a column, or its number if it has none.
pub fn column_name(header: &StringRecord, column: usize) -> String {
    if header[column].is_empty() { format!("column {}", column + 1) } else { header[column].to_string() }
}

/// Put the column of times first, and leave out one that only counts rows; a note if that was done.
///
/// # Errors
/// No such column; a first column that is not time beside one that holds dates.
pub fn arrange(layout: &mut Layout, name: &str, format: &Format) -> Result<Option<String>> {
    let Layout { header, rows, .. } = &*layout;
    let counts = ROW_NAMES.contains(&header[0].to_ascii_lowercase().as_str()) && is_running(rows, 0);
    let time = match &format.time_column {
        Some(wanted) => {
            let place = (0..header.len()).find(|&column| column_name(header, column) == *wanted);
            place.ok_or_else(|| {
                let known = some_of((0..header.len()).map(|column| column_name(header, column)));
                bad(format!("--time-column {wanted}: {name} has no such column; it has: {known}"))
            })?
        }
        None => time_place(layout, counts, name)?,
    };
    if time == 0 {
        return Ok(None);
    }
    let first = usize::from(counts);
    let order: Vec<usize> = std::iter::once(time).chain((first..header.len()).filter(|&k| k != time)).collect();
    if order.len() < 2 {
        return Err(bad(format!("{name}, line 1: has no value column beside the row numbers and the times")));
    }
    let pick = |fields: &StringRecord| order.iter().map(|&column| &fields[column]).collect::<StringRecord>();
    let note = format!("the first column counts rows and was left out; time is column \"{}\"", &header[time]);
    let (header, rows) =
        (pick(header), layout.rows.iter().map(|row| Row { line: row.line, fields: pick(&row.fields) }));
    (layout.rows, layout.header) = (rows.collect(), header);
    Ok((counts && format.time_column.is_none()).then_some(note))
}

/// Where the times are, if nothing was said; `counts` says whether the first column counts rows.
fn time_place(layout: &Layout, counts: bool, name: &str) -> Result<usize> {
    let Layout { header, rows, .. } = layout;
    let sample = &rows[..rows.len().min(SAMPLE)];
    let holds_dates = |&column: &usize| !sample.is_empty() && sample.iter().all(|row| is_date(&row.fields[column]));
    if holds_dates(&0) {
        return Ok(0);
    }
    let dates = (1..header.len()).find(holds_dates);
    let named = (1..header.len()).find(|&column| TIME_NAMES.contains(&header[column].to_ascii_lowercase().as_str()));
    let is_number = |row: &Row| Decimal::Point.parse(&row.fields[0]).or(Decimal::Comma.parse(&row.fields[0])).is_some();
    let numbers = sample.iter().all(is_number);
    // A first column of numbers may well be time; one of text, or a plain count of rows, is not.
    let elsewhere = dates.or(named.filter(|_| counts || (!numbers && !is_date(&layout.rows[0].fields[0]))));
    match elsewhere {
        Some(time) if counts => Ok(time),
        Some(time) => {
            let [first, other] = [0, time].map(|column| column_name(header, column));
            Err(bad(format!(
                "{name}: the first column, \"{first}\", should be time, but \"{other}\" looks like it; give \
                 --time-column {}",
                if numbers { format!("{} or --time-column {}", word(&other), word(&first)) } else { word(&other) }
            )))
        }
        None => Ok(0),
    }
}

/// The error of a column, with what to do if it holds text and nobody asked for it.
pub fn text_column(
    error: anyhow::Error,
    header: &StringRecord,
    rows: &[Row],
    column: usize,
    only: &[String],
) -> anyhow::Error {
    let is_number = |field: &str| Decimal::Point.parse(field).or(Decimal::Comma.parse(field)).is_some();
    let numeric = |&column: &usize| {
        let mut seen = rows.iter().take(SAMPLE).map(|row| &row.fields[column]).filter(|field| !is_missing(field));
        seen.by_ref().next().is_some_and(is_number) && seen.all(is_number)
    };
    let numbers: Vec<String> = (1..header.len()).filter(numeric).map(|column| column_name(header, column)).collect();
    match (only.is_empty() && !numeric(&column), numbers.as_slice()) {
        (false, _) | (_, []) => error,
        (true, [one]) => bad(format!("{error}; to fit column {one} alone give --column {}", word(one))),
        (true, [one, ..]) => {
            let [one, all] = [word(one), word(&numbers.join(","))];
            bad(format!("{error}; to leave this column out give --column {one}, or --columns {all}"))
        }
    }
}

/// What to do about two rows of the same time, where another column of text tells them apart: an hour of the day, or the series of
/// a long table.
pub fn told_apart(header: &StringRecord, [one, other]: [&Row; 2]) -> Option<String> {
    let is_text = |field: &str| {
        !is_missing(field) && Decimal::Point.parse(field).or(Decimal::Comma.parse(field)).is_none() && !is_date(field)
    };
    let name = |row: &Row, column: usize| row.fields.get(column).is_some_and(is_text);
    let differs =
        |&column: &usize| name(one, column) && name(other, column) && one.fields[column] != other.fields[column];
    let column = (1..header.len()).find(differs)?;
    let hour = |row: &Row| row.fields[column].split(':').all(|part| part.len() == 2 && part.parse::<u8>().is_ok());
    let [time, found] = [0, column].map(|column| column_name(header, column));
    Some(match hour(one) && hour(other) {
        true => format!("join \"{time}\" and \"{found}\" in one column, such as 2024-03-01 09:30"),
        false => {
            format!("keep one of them, or average, or fit each series by itself with fit --panel {}", word(&found))
        }
    })
}

/// The first names of a list, for a message.
pub fn some_of(mut names: impl Iterator<Item = String>) -> String {
    let mut first: Vec<String> = names.by_ref().take(20).collect();
    let more = names.count();
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    first.join(", ")
}

/// Positions of the value columns to read.
pub fn choose_columns(header: &StringRecord, only: &[String], name: &str) -> Result<Vec<usize>> {
    if only.is_empty() {
        return Ok((1..header.len()).collect());
    }
    if let Some(twice) = (1..only.len()).find(|&k| only[..k].contains(&only[k])) {
        return Err(bad(format!("column \"{}\" is chosen twice; expected each once", only[twice])));
    }
    let place = |wanted: &String| {
        (1..header.len()).find(|&column| column_name(header, column) == *wanted).ok_or_else(|| {
            let names: Vec<String> = (1..header.len()).map(|column| column_name(header, column)).collect();
            let several = wanted.contains(',') && wanted.split(',').all(|part| names.iter().any(|n| n == part.trim()));
            let remedy =
                if several { format!("; for several columns give --columns {}", word(wanted)) } else { String::new() };
            bad(format!("{name}: has no value column \"{wanted}\"; it has: {}{remedy}", some_of(names.into_iter())))
        })
    };
    only.iter().map(place).collect()
}
