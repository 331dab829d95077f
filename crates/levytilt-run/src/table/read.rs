//! Read a table from a file of any kind.

use anyhow::Result;

use crate::table::bytes::{display_name, read_text};
use crate::table::format::Format;
use crate::table::input::{Table, parse_sparse};

/// Read `source` (`-` is standard input). With `only`, these value columns alone are read, in this order, and the others
/// may hold anything; without, empty columns are left out. `format` says what does not show by itself.
pub fn read(source: &str, only: &[String], format: &Format) -> Result<Table> {
    read_any(source, only, format)?.observed(only)
}

/// Read `source` as it is, also columns that hold too little to learn from.
pub fn read_sparse(source: &str, format: &Format) -> Result<Table> {
    read_any(source, &[], format)
}

/// Read these columns of `source` as they are, also where they hold too little to learn from.
pub fn read_columns(source: &str, only: &[String], format: &Format) -> Result<Table> {
    read_any(source, only, format)
}

fn read_any(source: &str, only: &[String], format: &Format) -> Result<Table> {
    parse_sparse(&read_text(source)?, &display_name(source), only, format)
}
