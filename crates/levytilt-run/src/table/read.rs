//! Read a table from a file of any kind.

use anyhow::Result;

use crate::table::bytes::{display_name, read_text};
use crate::table::input::{Table, parse_sparse};

/// Read `source` (`-` is standard input). With `only`, these value columns alone are read, in this order, and the others
/// may hold anything.
pub fn read(source: &str, only: &[String]) -> Result<Table> {
    let table = read_any(source, only)?;
    table.check_observed()?;
    Ok(table)
}

/// Read `source` as it is, also columns that hold too little to learn from.
pub fn read_sparse(source: &str) -> Result<Table> {
    read_any(source, &[])
}

fn read_any(source: &str, only: &[String]) -> Result<Table> {
    #[cfg(feature = "parquet")]
    if let Some(file) = crate::table::parquet_file::opened(source) {
        return crate::table::parquet_file::table(file, source, only);
    }
    parse_sparse(&read_text(source)?, &display_name(source), only)
}
