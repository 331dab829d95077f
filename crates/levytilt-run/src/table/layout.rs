//! Cut a table as people have it into a header and rows: any separator, comments, headers of several lines, row names.

use anyhow::Result;
use csv::StringRecord;
use std::borrow::Cow;

use crate::failure::{bad, quoted};
use crate::table::dates::is_date;
use crate::table::decimal::Decimal;
use crate::table::format::Format;
use crate::table::rows::{Row, check_widths, read_rows};
use crate::table::separator::{CHARACTERS, Separator};

/// Header and rows of a table, and what separates its fields.
pub struct Layout {
    /// Names of the columns.
    pub header: StringRecord,
    /// The rows below it.
    pub rows: Vec<Row>,
    /// What stands between fields.
    pub separator: Separator,
}

/// Lines that are looked at to find what separates fields.
const SAMPLE: usize = 100;
/// Most lines of a header: names, tickers, units, the name of the index.
const MOST_HEADER: usize = 4;

/// Cut `text` into a header and rows.
///
/// # Errors
/// No rows; two separators that would both do; rows of another width than the header.
pub fn read(text: &str, name: &str, format: &Format) -> Result<Layout> {
    let Content { text, comment, separator } = content(text);
    let given = format.separator.or(separator);
    let separator = given.map_or_else(|| recognise(&text, name), Ok)?;
    let (text, delimiter) = match separator {
        Separator::Character(byte) => (text, byte),
        Separator::Space => (Cow::Owned(text.split('\n').map(single_spaces).collect::<Vec<_>>().join("\n")), b' '),
    };
    let mut rows = read_rows(&text, name, delimiter)?;
    rows.iter_mut().for_each(unquote);
    rows.retain(|row| row.fields.iter().any(|field| !field.is_empty()) || row.fields.len() == 1);
    let mut rows = rows.into_iter();
    let first = rows.next().ok_or_else(|| bad(format!("{name}: is empty; expected a header such as time,value")))?;
    let in_comment = comment
        .and_then(|line| header_of(&line, separator))
        .filter(|header| header.len() == first.fields.len() && is_data(&first.fields));
    let (mut header, mut rows): (StringRecord, Vec<Row>) = match in_comment {
        Some(header) => (header, [first].into_iter().chain(rows).collect()),
        None => (first.fields, rows.collect()),
    };
    name_row_names(&mut header, &mut rows);
    join_headers(&mut header, &mut rows);
    drop_empty_end(&mut header, &mut rows);
    check_widths(&header, &rows, name)?;
    Ok(Layout { header, rows, separator })
}

/// Quotes after a space stay in a field.
fn unquote(row: &mut Row) {
    if row.fields.iter().any(|field| field.starts_with('"')) {
        let bare = |field: &str| match field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) => inner.trim().to_string(),
            None => field.to_string(),
        };
        row.fields = row.fields.iter().map(bare).collect::<Vec<_>>().into();
    }
}

/// Text without comments, which leave empty lines so that lines keep their numbers.
struct Content<'a> {
    text: Cow<'a, str>,
    /// The last comment before the first row.
    comment: Option<String>,
    /// What the first line of some spreadsheets says: sep=;
    separator: Option<Separator>,
}

fn content(text: &str) -> Content<'_> {
    let first = text.lines().next().unwrap_or_default().trim_end();
    let said = match first.len() {
        5 if first.is_ascii() && first.to_ascii_lowercase().starts_with("sep=") => first[4..].parse().ok(),
        _ => None,
    };
    let text = Cow::Borrowed(if said.is_some() { &text[first.len()..] } else { text });
    if !text.lines().any(is_comment) {
        return Content { text, comment: None, separator: said };
    }
    let before = text.lines().take_while(|line| is_comment(line) || line.trim().is_empty());
    let before = before.filter(|line| is_comment(line)).last().map(String::from);
    let kept: String = text.split_inclusive('\n').map(|line| if is_comment(line) { "\n" } else { line }).collect();
    Content { text: Cow::Owned(kept), comment: before, separator: said }
}

/// Whether a line is a comment, and not a row that begins with an error of a spreadsheet.
fn is_comment(line: &str) -> bool {
    const ERRORS: [&str; 7] = ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!"];
    line.starts_with('#') && !ERRORS.iter().any(|error| line.starts_with(error))
}

/// The fields of a comment that may be the header.
fn header_of(comment: &str, separator: Separator) -> Option<StringRecord> {
    let line = comment.trim_start_matches('#').trim();
    let (line, delimiter) = match separator {
        Separator::Character(byte) => (line.to_string(), byte),
        Separator::Space => (single_spaces(line), b' '),
    };
    read_rows(&line, "", delimiter).ok()?.pop().map(|row| row.fields)
}

/// Whether a row reads as data: a time and then numbers.
pub fn is_data(fields: &StringRecord) -> bool {
    let is_number = |field: &str| [Decimal::Point, Decimal::Comma].iter().any(|decimal| decimal.parse(field).is_some());
    let is_value = |field: &str| is_missing(field) || is_number(field);
    fields.get(0).is_some_and(|first| is_number(first) || is_date(first)) && fields.iter().skip(1).all(is_value)
}

/// What programs write where nothing was seen, as pandas reads it too.
const MISSING: [&str; 7] = ["nan", "na", "n/a", "#n/a", "<na>", "null", "none"];

/// Whether a field says that nothing was seen.
pub fn is_missing(field: &str) -> bool {
    field.is_empty() || MISSING.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// The separator that the lines of a text agree on.
fn recognise(text: &str, name: &str) -> Result<Separator> {
    let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).take(SAMPLE).collect();
    let Some(header) = lines.first() else { return Ok(Separator::Character(b',')) };
    let candidates: Vec<u8> =
        CHARACTERS.iter().map(|(byte, _)| *byte).filter(|&byte| count(header, byte) > 0).collect();
    let same = |byte: &u8| lines.iter().all(|line| count(line, *byte) == count(header, *byte));
    let agreed: Vec<u8> = candidates.iter().copied().filter(same).collect();
    match (candidates.as_slice(), agreed.as_slice()) {
        ([], _) => Ok(match spaces(&lines) {
            true => Separator::Space,
            false => Separator::Character(b','),
        }),
        ([one], _) | (_, [one]) => Ok(Separator::Character(*one)),
        (_, []) => Ok(Separator::Character(candidates[0])),
        (_, [one, other, ..]) => {
            let [one, other] = [one, other].map(|byte| Separator::Character(*byte).name());
            Err(bad(format!(
                "{name}, line 1: fields may be separated by {one} or by {other}; give --separator {one} or --separator \
                 {other}"
            )))
        }
    }
}

/// How often a byte stands outside quotes.
fn count(line: &str, byte: u8) -> usize {
    line.split('"').step_by(2).map(|part| part.bytes().filter(|&b| b == byte).count()).sum()
}

/// Whether spaces separate fields: at least two in every line, as many as in the header, or one more for row names.
fn spaces(lines: &[&str]) -> bool {
    let widths: Vec<usize> = lines.iter().map(|line| count(&single_spaces(line), b' ')).collect();
    let [header, rows @ ..] = widths.as_slice() else { return false };
    *header > 0 && !rows.is_empty() && (rows.iter().all(|w| w == header) || rows.iter().all(|w| *w == header + 1))
}

/// A line whose runs of spaces and tabs outside quotes are single spaces.
fn single_spaces(line: &str) -> String {
    let mut text = String::new();
    let mut quoted = false;
    for c in line.trim().chars() {
        quoted ^= c == '"';
        match c {
            ' ' | '\t' if !quoted && text.ends_with(' ') => {}
            ' ' | '\t' if !quoted => text.push(' '),
            _ => text.push(c),
        }
    }
    text
}

/// R writes names of rows without a name above them; a separator at the end of every row leaves an empty field.
fn name_row_names(header: &mut StringRecord, rows: &mut [Row]) {
    if rows.len() < 2 || rows.iter().any(|row| row.fields.len() != header.len() + 1) {
        return;
    }
    if rows.iter().all(|row| row.fields[header.len()].is_empty()) {
        let width = header.len();
        rows.iter_mut().for_each(|row| row.fields.truncate(width));
    } else if is_running(rows, 0) {
        *header = std::iter::once("").chain(header.iter()).collect();
    }
}

/// Whether a column counts rows, from 0 or 1.
pub fn is_running(rows: &[Row], column: usize) -> bool {
    let first = rows.first().and_then(|row| row.fields[column].parse::<usize>().ok()).filter(|first| *first <= 1);
    first.is_some_and(|first| {
        rows.iter().enumerate().all(|(k, row)| row.fields[column].parse::<usize>() == Ok(first + k))
    })
}

/// Join the lines of a header that has several: names, tickers or units, and at last perhaps the name of the index.
fn join_headers(header: &mut StringRecord, rows: &mut Vec<Row>) {
    let is_text = |field: &str| !field.is_empty() && Decimal::Point.parse(field).is_none() && !is_date(field);
    let is_name = |row: &&Row| {
        row.fields.len() == header.len()
            && (is_text(&row.fields[0]) || row.fields[0].is_empty())
            && row.fields.iter().skip(1).all(|field| field.is_empty() || is_text(field))
    };
    let more = rows.iter().take(MOST_HEADER).take_while(is_name).count();
    let named = |row: &Row| row.fields.iter().skip(1).all(|field| !field.is_empty());
    let follows = rows.get(more).is_some_and(|row| is_data(&row.fields));
    if more == 0 || more == MOST_HEADER || !follows || !named(&rows[0]) {
        return;
    }
    let below: Vec<Row> = rows.drain(..more).collect();
    let unique = (1..header.len()).all(|i| !header[i].is_empty() && (1..i).all(|j| header[i] != header[j]));
    let name = |column: usize| {
        let parts = std::iter::once(&header[column]).chain(below.iter().map(|row| &row.fields[column]));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        match column {
            // Tables of prices name the index in the last line.
            0 => parts.last().map_or(String::new(), |last| last.to_string()),
            _ if unique => header[column].to_string(),
            _ => parts.join(" "),
        }
    };
    *header = (0..header.len()).map(name).collect::<Vec<_>>().into();
}

/// Leave out columns at the end that have neither a name nor a value.
fn drop_empty_end(header: &mut StringRecord, rows: &mut [Row]) {
    while header.len() > 2 && header[header.len() - 1].is_empty() {
        let last = header.len() - 1;
        if rows.iter().any(|row| row.fields.get(last).is_none_or(|field| !field.is_empty())) {
            return;
        }
        header.truncate(last);
        rows.iter_mut().for_each(|row| row.fields.truncate(last));
    }
}

/// Refuse a first line that reads as data, and a single column.
pub fn check_header(header: &StringRecord, name: &str) -> Result<()> {
    if is_data(header) {
        return Err(bad(format!("{name}, line 1: is data; expected a header row such as time,value")));
    }
    if header.len() > 2 && header.iter().skip(1).all(is_date) {
        return Err(bad(format!(
            "{name}, line 1: has dates side by side; expected a row per time and a column per series: transpose the table"
        )));
    }
    if header.len() < 2 {
        return Err(bad(format!(
            "{name}, line 1: has one column, {}; expected time and at least one value column, separated by commas; \
             give --separator if something else separates them, or number the rows in a first column if there are no times",
            quoted(&header[0])
        )));
    }
    Ok(())
}
