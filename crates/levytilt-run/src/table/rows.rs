//! Cut CSV text into rows that know their line numbers.
//!
//! [`split`] is for files of this program; [`super::layout`] reads those of others.

use anyhow::Result;
use csv::{ReaderBuilder, StringRecord, Trim};

use crate::failure::bad;

/// One line of a file, cut into fields.
pub struct Row {
    /// Line number, from 1.
    pub line: usize,
    /// The fields, trimmed.
    pub fields: StringRecord,
}

/// Most columns of a table.
pub const MOST_COLUMNS: usize = 10_000;

/// Header and rows of a CSV text; every row has as many fields as the header.
pub fn split(text: &str, name: &str) -> Result<(StringRecord, Vec<Row>)> {
    let mut rows = read_rows(text, name, b',')?.into_iter();
    let header = rows.next().ok_or_else(|| bad(format!("{name}: is empty; expected a header such as time,value")))?;
    let rows: Vec<Row> = rows.collect();
    check_widths(&header.fields, &rows, name)?;
    Ok((header.fields, rows))
}

/// Refuse a row of another width than the header.
pub fn check_widths(header: &StringRecord, rows: &[Row], name: &str) -> Result<()> {
    let width = header.len();
    match rows.iter().find(|row| row.fields.len() != width) {
        None => Ok(()),
        Some(row) => Err(bad(format!(
            "{name}, line {}: has {} fields, expected {width} as in the header",
            row.line,
            row.fields.len()
        ))),
    }
}

/// The lines of a CSV text, cut at `delimiter`.
pub fn read_rows(text: &str, name: &str, delimiter: u8) -> Result<Vec<Row>> {
    let mut builder = ReaderBuilder::new();
    let mut reader =
        builder.has_headers(false).flexible(true).trim(Trim::All).delimiter(delimiter).from_reader(text.as_bytes());
    let mut lines = LineCounter { text: text.as_bytes(), offset: 0, line: 1 };
    let mut rows = Vec::new();
    for record in reader.records() {
        let fields = record.map_err(|error| bad(format!("{name}: not readable as CSV: {error}")))?;
        if fields.len() > MOST_COLUMNS {
            let (line, count) = (rows.len() + 1, fields.len());
            return Err(bad(format!("{name}, row {line}: has {count} columns; expected at most {MOST_COLUMNS}")));
        }
        let start = fields.position().map_or(0, |position| position.byte() as usize);
        rows.push(Row { line: lines.at(start), fields });
    }
    Ok(rows)
}

/// Counts lines up to growing offsets. The csv crate's own count is off after blank lines and after CRLF, because a
/// record begins for it where the one before ended.
struct LineCounter<'a> {
    text: &'a [u8],
    offset: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn at(&mut self, start: usize) -> usize {
        let blank = self.text[start..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let target = start + blank;
        self.line += self.text[self.offset..target].iter().filter(|&&byte| byte == b'\n').count();
        self.offset = target;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        for newline in ["\n", "\r\n"] {
            let text = ["time,value", "0,1", "", "", "1,2", "2,3", ""].join(newline);
            let (_, rows) = split(&text, "x").unwrap();
            assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 5, 6]);
            assert_eq!(&rows[1].fields[1], "2");
        }
    }

    #[test]
    fn a_ragged_row_is_named() {
        let error = split("time,value\n0,1\n1,2,3\n", "x.csv").err().unwrap().to_string();
        assert_eq!(error, "x.csv, line 3: has 3 fields, expected 2 as in the header");
    }
}
