//! Show models ranked by evidence, in the columns that every ranking has.

use super::page::{Cell, Table};
use crate::workflow::ranking::Rated;

/// What the columns mean.
pub const CAPTION: &str = "The result is the log evidence less a penalty of ½ ln(observations) per learned parameter; \
                           larger is better. What was not finished is not ranked.";
/// Heads of the columns of a rating.
pub const HEAD: [&str; 6] = ["log evidence", "standard error", "learned", "penalty", "result", "behind"];

/// A number, or a dash.
pub fn optional(value: Option<f64>) -> Cell {
    value.map_or_else(|| Cell::text("–"), |value| Cell::written(value, format!("{value:.2}").replace('-', "−")))
}

/// The columns of a rating.
pub fn cells(rated: &Rated) -> Vec<Cell> {
    vec![
        optional(rated.log_evidence),
        optional(rated.log_evidence_std_error),
        rated.learned.map_or_else(|| Cell::text("–"), |n| Cell::written(n as f64, n.to_string())),
        optional(rated.penalty),
        optional(rated.score),
        optional(rated.behind),
    ]
}

/// A table of names, their ratings, and remarks; `what` is the head of the names.
pub fn table<'a>(what: &str, caption: String, rows: impl Iterator<Item = (&'a str, &'a Rated)>) -> Table {
    let row = |(name, rated): (&str, &Rated)| {
        let mut row = vec![Cell::text(name)];
        row.extend(cells(rated));
        row.push(Cell::text(rated.error.clone().unwrap_or_default()));
        row
    };
    let rows: Vec<Vec<Cell>> = rows.map(row).collect();
    let best = rows.first().is_some_and(|row| row[5].value.is_some()).then_some(0);
    let head = [what].into_iter().chain(HEAD).chain(["remark"]).map(String::from).collect();
    Table { caption, head, rows, sortable: true, best }
}
