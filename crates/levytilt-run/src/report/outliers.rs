//! Show the observed values that are probably wrong.

use super::page::{self, Cell};
use crate::table::Table;
use crate::workflow::fit::outliers::{Judged, OUTLIERS, probable};
use levytilt::internals::fit::Fit;

/// Most rows of the table.
const MOST: usize = 100;

/// The probable outliers as a table of the report, most probable first; none if errors are Gaussian.
pub fn table(fit: &Fit, table: &Table) -> Option<page::Table> {
    if fit.wrong.is_empty() {
        return None;
    }
    let mut found = probable(fit, table);
    let count = found.len();
    found.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    found.truncate(MOST);
    let row = |value: &Judged| {
        vec![
            Cell::text(table.calendar.write(table.times[value.row])),
            Cell::text(table.names[value.column].clone()),
            Cell::number(table.columns[value.column][value.row]),
            Cell::written(value.probability, format!("{:.1}%", 100.0 * value.probability)),
        ]
    };
    let shown = if count > MOST { format!("; the {MOST} most probable are listed") } else { String::new() };
    Some(page::Table {
        caption: format!(
            "Values that are more likely wrong than not: {count} of {}{shown}. {OUTLIERS} has the probability of every value.",
            fit.observations
        ),
        head: ["time", "column", "value", "probability that it is wrong"].map(String::from).to_vec(),
        rows: found.iter().map(row).collect(),
        sortable: true,
        best: None,
    })
}
