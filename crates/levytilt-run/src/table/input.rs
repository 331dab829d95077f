//! Read a table of observations: time first, one column per dimension, empty or NaN or NA where nothing was seen.

use anyhow::Result;
use csv::StringRecord;

use crate::failure::{bad, quoted};
use crate::number::number;
use crate::table::columns::{arrange, choose_columns, column_name, some_of, text_column, told_apart};
use crate::table::dates;
use crate::table::decimal::Decimal;
use crate::table::format::Format;
use crate::table::layout::{self, check_header, is_data, is_missing};
use crate::table::rows::Row;
use crate::table::time::{self, Calendar, Stamp, Written};

/// Observations in the order of time, with the lines they came from.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name of the input in messages.
    pub source: String,
    /// Name of the column of times.
    pub time_name: String,
    /// Names of the value columns.
    pub names: Vec<String>,
    /// Names of the columns of the source that are no value columns.
    pub others: Vec<String>,
    /// Strictly increasing times.
    pub times: Vec<f64>,
    /// One vector per value column; NaN where nothing was seen.
    pub columns: Vec<Vec<f64>>,
    /// Line of every row.
    pub lines: Vec<usize>,
    /// How times are written.
    pub calendar: Calendar,
    /// Known standard deviation of every row's value, if a column of the input has it.
    pub errors: Option<Vec<f64>>,
    /// What was recognised in the file that a reader should know.
    pub notes: Vec<String>,
}

/// Read a table from its text.
pub fn parse(text: &str, name: &str, only: &[String], format: &Format) -> Result<Table> {
    parse_sparse(text, name, only, format)?.observed(only)
}

/// A table from columns in memory, whose times are written as in a file and which is held to what a file is held to;
/// its "lines" are rows, counted from 1.
pub fn from_columns(source: &str, names: Vec<String>, times: &[String], columns: &[Vec<f64>]) -> Result<Table> {
    let table = from_sparse_columns(source, "time", names, times, columns)?;
    table.check_observed()?;
    Ok(table)
}

/// The same from times that are numbers.
pub fn from_numbers(source: &str, names: Vec<String>, times: &[f64], columns: &[Vec<f64>]) -> Result<Table> {
    let header: StringRecord = std::iter::once("time").chain(names.iter().map(String::as_str)).collect();
    check_names(&header, source)?;
    check_columns(source, &names, times.len(), columns)?;
    if let Some(row) = times.iter().position(|time| !time.is_finite()) {
        let problem = time::parse(&times[row].to_string()).err().unwrap_or_default();
        return Err(bad(format!("{source}, line {}, column \"time\": {problem}", row + 1)));
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
    if let Some(pair) = order.windows(2).find(|pair| times[pair[0]] == times[pair[1]]) {
        return Err(same_time(source, [pair[0] + 1, pair[1] + 1], &number(times[pair[0]]), None));
    }
    let table = Table {
        source: source.into(),
        time_name: column_name(&header, 0),
        names,
        others: Vec::new(),
        times: order.iter().map(|&row| times[row]).collect(),
        columns: columns.iter().map(|column| order.iter().map(|&row| column[row]).collect()).collect(),
        lines: order.iter().map(|row| row + 1).collect(),
        calendar: Calendar::Numbers,
        errors: None,
        notes: Vec::new(),
    };
    table.check_observed()?;
    Ok(table)
}

/// Refuse columns of another length than the times, and values that are infinite.
fn check_columns(source: &str, names: &[String], times: usize, columns: &[Vec<f64>]) -> Result<()> {
    for (name, column) in names.iter().zip(columns) {
        if column.len() != times {
            let values = column.len();
            return Err(bad(format!("{source}, column \"{name}\": has {values} values for {times} times")));
        }
        if let Some(row) = column.iter().position(|value| value.is_infinite()) {
            return Err(not_a_number(source, row + 1, name, &column[row].to_string()));
        }
    }
    Ok(())
}

fn same_time(name: &str, lines: [usize; 2], text: &str, remedy: Option<String>) -> anyhow::Error {
    let (first, second) = (lines[0].min(lines[1]), lines[0].max(lines[1]));
    let remedy = remedy.unwrap_or_else(|| "keep one of them, or average".into());
    bad(format!("{name}: lines {first} and {second} have the same time, {text}; expected each time once: {remedy}"))
}

/// The same with a name for the times, and also from columns that hold too little to learn from.
pub fn from_sparse_columns(
    source: &str,
    time_name: &str,
    names: Vec<String>,
    times: &[String],
    columns: &[Vec<f64>],
) -> Result<Table> {
    let header: StringRecord = std::iter::once(time_name).chain(names.iter().map(String::as_str)).collect();
    check_names(&header, source)?;
    check_columns(source, &names, times.len(), columns)?;
    let mut rows: Vec<Row> = (times.iter().enumerate())
        .map(|(k, time)| Row { line: k + 1, fields: StringRecord::from([time.as_str()].as_slice()) })
        .collect();
    let (times, calendar, note) = read_times(&mut rows, &header, source, Decimal::Point, None)?;
    let lines: Vec<usize> = rows.iter().map(|row| row.line).collect();
    let columns = columns.iter().map(|column| lines.iter().map(|line| column[line - 1]).collect()).collect();
    let time_name = column_name(&header, 0);
    let notes = note.into_iter().collect();
    let (source, others) = (source.into(), Vec::new());
    Ok(Table { source, time_name, names, others, times, columns, lines, calendar, errors: None, notes })
}

/// Read a table from its text as it is, also columns that hold too little to learn from.
pub fn parse_sparse(text: &str, name: &str, only: &[String], format: &Format) -> Result<Table> {
    from_layout(layout::read(text, name, format)?, name, only, format)
}

/// Read a table that is cut into rows.
pub fn from_layout(mut layout: layout::Layout, name: &str, only: &[String], format: &Format) -> Result<Table> {
    check_header(&layout.header, name)?;
    let mut notes: Vec<String> = arrange(&mut layout, name, format)?.into_iter().collect();
    let layout::Layout { header, mut rows, separator } = layout;
    check_names(&header, name)?;
    if rows.is_empty() {
        return Err(bad(format!("{name}: has a header but no rows of data")));
    }
    let chosen = choose_columns(&header, only, name)?;
    let fields = chosen.iter().chain([&0]).flat_map(|&column| rows.iter().map(move |row| &row.fields[column]));
    let recognised = || Decimal::of(fields, separator).map_err(|why| bad(format!("{name}: {why}")));
    let decimal = format.decimal.map_or_else(recognised, Ok)?;
    // Words above the header are taken for the header; where they end is where rows begin that are data.
    let title =
        rows.iter().position(|row| is_data(&row.fields)).filter(|first| *first > 0).map(|first| rows[first - 1].line);
    let above = |error: anyhow::Error| match title {
        Some(line) => bad(format!("{error}; if the header is line {line}, remove the lines above it")),
        None => error,
    };
    let (times, calendar, note) =
        read_times(&mut rows, &header, name, decimal, format.date_format.as_deref()).map_err(above)?;
    notes.extend(note);
    let read = |&column: &usize| {
        let values = read_values(&rows, column, &header, name, decimal);
        values.map_err(|error| text_column(error, &header, &rows, column, only))
    };
    Ok(Table {
        source: name.into(),
        time_name: column_name(&header, 0),
        names: chosen.iter().map(|&column| column_name(&header, column)).collect(),
        others: (1..header.len()).filter(|k| !chosen.contains(k)).map(|k| column_name(&header, k)).collect(),
        times,
        columns: chosen.iter().map(read).collect::<Result<Vec<_>>>()?,
        lines: rows.iter().map(|row| row.line).collect(),
        calendar,
        errors: None,
        notes,
    })
}

/// The times of a table and their lines, in the order of its rows; it needs no other columns, and its times may stand first
/// where `format` names their column.
pub fn parse_times(text: &str, name: &str, format: &Format) -> Result<Vec<(usize, Written)>> {
    let mut layout = layout::read(text, name, format)?;
    let known = |wanted: &String| layout.header.iter().any(|column| column == wanted);
    let format = Format { time_column: format.time_column.clone().filter(known), ..format.clone() };
    arrange(&mut layout, name, &format)?;
    let texts: Vec<&str> = layout.rows.iter().map(|row| &row.fields[0]).collect();
    let decimal = format.decimal.unwrap_or(Decimal::Point);
    let (times, _) = dates::read(&texts, format.date_format.as_deref(), decimal)
        .map_err(|(row, problem)| bad(format!("{name}, line {}: {problem}", layout.rows[row].line)))?;
    Ok(layout.rows.iter().map(|row| row.line).zip(times).collect())
}

impl Table {
    /// The same with the column called `name`, if one is named, as known errors of the only other column.
    pub fn with_errors(mut self, name: Option<&str>) -> Result<Self> {
        let Some(name) = name.filter(|_| self.errors.is_none()) else { return Ok(self) };
        let columns = || some_of(self.names.iter().cloned());
        let Some(place) = self.names.iter().position(|known| known == name) else {
            let has = columns();
            return Err(bad(format!("{}: has no column \"{name}\" for --error-column; it has {has}", self.source)));
        };
        if self.names.len() != 2 {
            let others = self.names.len() - 1;
            return Err(bad(format!(
                "{}: --error-column {name} gives the errors of one value column, and {others} are read ({}): choose one \
                 with --column",
                self.source,
                columns()
            )));
        }
        let name_of_errors = self.names.remove(place);
        self.others.push(name_of_errors);
        let errors = self.columns.remove(place);
        let given = |row: usize| !self.columns[0][row].is_nan();
        if let Some(row) = (0..errors.len()).find(|&row| given(row) && !(errors[row] > 0.0 && errors[row].is_finite()))
        {
            return Err(bad(format!(
                "{}, line {}, column \"{name}\": {} is not a standard deviation; expected a number greater than 0, or no \
                 value in column \"{}\" there",
                self.source,
                self.lines[row],
                if errors[row].is_nan() { "a missing value".into() } else { number(errors[row]) },
                self.names[0]
            )));
        }
        self.errors = Some(errors);
        Ok(self)
    }

    /// The times as they are written.
    pub fn time_texts(&self) -> Vec<String> {
        self.times.iter().map(|&time| self.calendar.write(time)).collect()
    }

    /// The same for learning: columns without any value are left out, with a note, unless they were asked for or there is no
    /// other column.
    ///
    /// # Errors
    /// A column that holds nothing or a single value.
    pub fn observed(mut self, only: &[String]) -> Result<Self> {
        let empty: Vec<bool> = self.columns.iter().map(|column| column.iter().all(|value| value.is_nan())).collect();
        if only.is_empty() && !empty.iter().all(|&empty| empty) {
            let [mut names, mut columns] = [empty.iter(), empty.iter()];
            self.columns.retain(|_| columns.next() == Some(&false));
            let (kept, left_out): (Vec<String>, _) = self.names.drain(..).partition(|_| names.next() == Some(&false));
            self.names = kept;
            self.notes.extend(left_out.iter().map(|name| format!("column \"{name}\" is empty and was left out")));
            self.others.extend(left_out);
        }
        self.check_observed()?;
        Ok(self)
    }

    /// Refuse columns that hold too little to learn from: nothing, or one value.
    pub fn check_observed(&self) -> Result<()> {
        for (column, name) in self.columns.iter().zip(&self.names) {
            let mut seen = (0..column.len()).filter(|&row| !column[row].is_nan());
            match (seen.next(), seen.next()) {
                (None, _) => {
                    return Err(bad(format!(
                        "{}, column \"{name}\": all values are missing; choose others with --column or --columns",
                        self.source
                    )));
                }
                (Some(row), None) => {
                    return Err(bad(format!(
                        "{}, column \"{name}\": a single observation (line {}); expected at least 2",
                        self.source, self.lines[row]
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn check_names(header: &StringRecord, name: &str) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match (1..header.len()).map(|column| column_name(header, column)).find(|column| !seen.insert(column.clone())) {
        Some(twice) => {
            let twice = quoted(&twice);
            Err(bad(format!("{name}, line 1: two columns are called {twice}; expected distinct names")))
        }
        None => Ok(()),
    }
}

/// Read the first column and sort `rows` by it.
fn read_times(
    rows: &mut Vec<Row>,
    header: &StringRecord,
    name: &str,
    decimal: Decimal,
    format: Option<&str>,
) -> Result<(Vec<f64>, Calendar, Option<String>)> {
    let place = |line: usize| format!("{name}, line {line}, column \"{}\"", column_name(header, 0));
    let texts: Vec<&str> = rows.iter().map(|row| &row.fields[0]).collect();
    let (times, note) = dates::read(&texts, format, decimal)
        .map_err(|(row, problem)| bad(format!("{}: {problem}", place(rows[row].line))))?;
    let written: Vec<(Written, Row)> = times.into_iter().zip(rows.drain(..)).collect();
    if let Some((line, expected, found)) = odd_one_out(&written) {
        return Err(bad(format!("{}: expected {expected} as in the first row, found {}", place(line), quoted(found))));
    }
    let mut timed = to_numbers(written);
    timed.sort_by(|a, b| a.time.total_cmp(&b.time));
    if let Some(pair) = timed.windows(2).find(|pair| pair[0].time == pair[1].time) {
        let [one, other] = [&pair[0].row, &pair[1].row];
        let remedy = told_apart(header, [one, other]);
        return Err(same_time(name, [one.line, other.line], &one.fields[0], remedy));
    }
    let times = timed.iter().map(|timed| timed.time).collect();
    let stamps: Option<Vec<Stamp>> = timed.iter().map(|timed| timed.stamp.clone()).collect();
    rows.extend(timed.into_iter().map(|timed| timed.row));
    Ok((times, stamps.map_or(Calendar::Numbers, Calendar::Days), note))
}

/// A row with its time as the computation sees it.
struct Timed {
    time: f64,
    stamp: Option<Stamp>,
    row: Row,
}

/// Days are counted from the earliest stamp, whichever row holds it, so that the numbers do not depend on the order.
fn to_numbers(written: Vec<(Written, Row)>) -> Vec<Timed> {
    let stamps = written.iter().filter_map(|(time, _)| match time {
        Written::Stamp(stamp) => Some(stamp),
        Written::Number(_) => None,
    });
    let origin = stamps.min_by_key(|stamp| stamp.instant()).cloned();
    let days = |stamp: &Stamp| origin.as_ref().map_or(0.0, |origin| stamp.days_since(origin));
    let convert = |(time, row)| match time {
        Written::Number(time) => Timed { time, stamp: None, row },
        Written::Stamp(stamp) => Timed { time: days(&stamp), stamp: Some(stamp), row },
    };
    written.into_iter().map(convert).collect()
}

/// The first line whose time is of another kind than the first one's, the kind expected and what it holds.
fn odd_one_out(written: &[(Written, Row)]) -> Option<(usize, &'static str, &str)> {
    let kind = |time: &Written| match time {
        Written::Number(_) => "a number",
        Written::Stamp(stamp) if stamp.has_zone() => "a timestamp with a time zone",
        Written::Stamp(_) => "a timestamp without a time zone",
    };
    let expected = kind(&written.first()?.0);
    written.iter().find(|(time, _)| kind(time) != expected).map(|(_, row)| (row.line, expected, &row.fields[0]))
}

fn read_values(rows: &[Row], column: usize, header: &StringRecord, name: &str, decimal: Decimal) -> Result<Vec<f64>> {
    let read = |row: &Row| match &row.fields[column] {
        field if is_missing(field) => Some(f64::NAN),
        field => decimal.parse(field).filter(|value| value.is_finite()),
    };
    let values: Vec<Option<f64>> = rows.iter().map(read).collect();
    // Rows are in the order of time by now; a reader looks from the top of the file.
    let wrong = rows.iter().zip(&values).filter(|(_, value)| value.is_none()).map(|(row, _)| row);
    match wrong.min_by_key(|row| row.line) {
        Some(row) => Err(not_a_number(name, row.line, &column_name(header, column), &row.fields[column])),
        None => Ok(values.into_iter().flatten().collect()),
    }
}

fn not_a_number(name: &str, line: usize, column: &str, found: &str) -> anyhow::Error {
    bad(format!(
        "{name}, line {line}, column \"{column}\": expected a finite number (or nothing, NaN or NA where nothing was \
         seen), found {}{}",
        quoted(found),
        unit_beside(found)
    ))
}

/// What to do about a number with a unit, a currency or marks between thousands.
fn unit_beside(found: &str) -> &'static str {
    let (digits, letters) =
        (found.chars().any(|c| c.is_ascii_digit()), |c: char| !c.is_ascii_digit() && !" .,+-".contains(c));
    let core = found.trim_matches(|c: char| letters(c) || c == ' ');
    // A number with words at one end; not a date, a time or an identifier.
    let number = || !core.is_empty() && core.len() < found.trim().len() && !core.contains(letters);
    if found.contains(['\'', '’']) && found.replace(['\'', '’'], "").parse::<f64>().is_ok() {
        return "; leave out the marks between thousands";
    }
    let with_unit = || found.split(' ').next().is_some_and(|word| word.parse::<f64>().is_ok());
    if digits && (with_unit() || number()) { "; leave units and currencies out of the fields" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_units_beside_numbers() {
        for field in ["20.033 m3/s", "$20.03", "12,5 °C", "€ 3", "7%"] {
            assert!(!unit_beside(field).is_empty(), "{field}");
        }
        for field in ["12:00", "2024-01-05", "ok", "", "1.2.3", "1/2"] {
            assert_eq!(unit_beside(field), "", "{field}");
        }
        assert!(unit_beside("1'200.50").contains("thousands"));
    }
}
