//! Cut a long table into the series that a column names.

use anyhow::Result;
use csv::StringRecord;
use std::collections::HashMap;

use crate::failure::bad;
use crate::table::bytes::{display_name, read_text};
use crate::table::columns::{column_name, some_of};
use crate::table::format::Format;
use crate::table::input::{Table, from_layout};
use crate::table::layout::{self, Layout};
use crate::table::rows::Row;

/// One series of a long table, or why it cannot be read.
pub struct Series {
    /// What the column holds.
    pub id: String,
    /// Its rows, without that column.
    pub table: Result<Table>,
}

/// Read the long table `source`; rows belong to the series that column `id` names, in the order in which they first appear.
///
/// # Errors
/// No such column; a row without a name. What is wrong within one series is kept with it.
pub fn read_panel(source: &str, id: &str, only: &[String], format: &Format) -> Result<Vec<Series>> {
    parse_panel(&read_text(source)?, &display_name(source), id, only, format)
}

/// The same from the text of the table.
pub fn parse_panel(text: &str, name: &str, id: &str, only: &[String], format: &Format) -> Result<Vec<Series>> {
    let Layout { header, rows, separator } = layout::read(text, name, format)?;
    let Some(place) = (0..header.len()).find(|&column| column_name(&header, column) == id) else {
        let known = some_of((0..header.len()).map(|column| column_name(&header, column)));
        return Err(bad(format!("--panel {id}: {name} has no such column; it has: {known}")));
    };
    if only.iter().any(|column| column == id) {
        return Err(bad(format!("--panel {id}: the same column is asked for as values; give --column another")));
    }
    let without = |fields: &StringRecord| -> StringRecord {
        fields.iter().enumerate().filter(|(column, _)| *column != place).map(|(_, field)| field).collect()
    };
    let (mut ids, mut groups, mut places) = (Vec::new(), Vec::<Vec<Row>>::new(), HashMap::new());
    for row in rows {
        let found = row.fields[place].to_string();
        if found.is_empty() {
            return Err(bad(format!(
                "{name}, line {}, column \"{id}\": is empty; expected the name of the series that the row belongs to",
                row.line
            )));
        }
        let group = *places.entry(found.clone()).or_insert_with(|| {
            ids.push(found);
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(Row { line: row.line, fields: without(&row.fields) });
    }
    let header = without(&header);
    let one = |(id, rows): (String, Vec<Row>)| {
        let layout = Layout { header: header.clone(), rows, separator };
        let table = from_layout(layout, name, only, format).and_then(|table| {
            table.check_observed()?;
            Ok(table)
        });
        Series { id, table }
    };
    Ok(ids.into_iter().zip(groups).map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_every_row_is_in_its_series() {
        let text = "unique_id,ds,y\nb,2,5\na,1,1\nb,1,4\na,2,2\nc,1,x\nc,2,1\n";
        let found = parse_panel(text, "x.csv", "unique_id", &[], &Format::default()).unwrap();
        assert_eq!(found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
        let b = found[0].table.as_ref().unwrap();
        assert_eq!((&b.times, &b.columns[0], &b.lines), (&vec![1.0, 2.0], &vec![4.0, 5.0], &vec![4, 2]));
        assert_eq!(b.names, ["y"]);
        let said = found[2].table.as_ref().unwrap_err().to_string();
        assert!(said.contains("line 6, column \"y\""), "{said}");
    }

    #[test]
    fn what_is_wrong_with_the_column_is_named() {
        let said = |text: &str, id: &str, only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| name.to_string()).collect();
            let found = parse_panel(text, "x.csv", id, &only, &Format::default());
            found.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let text = "id,ds,y\na,1,1\n,2,2\n";
        assert!(said(text, "series", &[]).contains("it has: id, ds, y"), "{}", said(text, "series", &[]));
        assert!(said(text, "id", &[]).contains("line 3, column \"id\": is empty"));
        assert!(said(text, "y", &["y"]).contains("asked for as values"));
    }
}
