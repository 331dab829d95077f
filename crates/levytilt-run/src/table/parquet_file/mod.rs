//! Read a record from a Parquet file: flat columns of numbers, and times as numbers, timestamps, dates or text.
//!
//! What a file claims of itself is held against its size first ([`claims`]); the library that unpacks it would believe it.

mod claims;
mod forms;
mod guard;
mod thrift;
mod values;

use anyhow::Result;
use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::io::Read;

use crate::failure::{bad, quoted};
use crate::table::bytes::PARQUET;
use crate::table::input::{self, Table, some_of};
use crate::table::rows::MOST_COLUMNS;
use claims::{Allowance, check_footer, check_pages};
use guard::guarded;
use values::{holds, numbers, times};

/// Bytes of a value once it is read.
const VALUE: u64 = 8;

/// The file `source`, if it is one and begins like Parquet.
pub fn opened(source: &str) -> Option<File> {
    // Nothing is taken from a pipe, whose beginning would be lost to others.
    let is_file = std::fs::metadata(source).is_ok_and(|found| found.is_file());
    let mut file = File::open(source).ok().filter(|_| is_file && source != "-")?;
    let mut head = [0; 4];
    (file.read_exact(&mut head).is_ok() && head == PARQUET).then_some(file)
}

/// The table in `file`. With `only`, these value columns alone are read, in this order, and the others may hold anything.
pub fn table(mut file: File, name: &str, only: &[String]) -> Result<Table> {
    let wrong = |problem: String| bad(format!("{name}: {problem}"));
    check_footer(&mut file).map_err(wrong)?;
    let size = file.metadata().map_err(|error| wrong(format!("cannot be read: {error}")))?.len();
    let pages = file.try_clone().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let reader = guarded(|| SerializedFileReader::new(file)).map_err(wrong)?;
    let layout = Layout::new(reader.metadata(), only).map_err(wrong)?;
    let mut source = Source { reader, pages, size, allowance: Allowance::new(size), name };
    let texts = source.column(layout.time, times)?;
    let columns = layout.columns.iter().map(|&k| source.column(k, numbers)).collect::<Result<Vec<_>>>()?;
    if texts.is_empty() {
        return Err(wrong("has columns but no rows of data".into()));
    }
    let title = |k: usize| source.title(k);
    input::from_sparse_columns(
        name,
        &title(layout.time),
        layout.columns.iter().map(|&k| title(k)).collect(),
        &texts,
        &columns,
    )
}

/// Places of the columns to read.
struct Layout {
    time: usize,
    columns: Vec<usize>,
}

impl Layout {
    /// Times are the index that pandas wrote beside the columns, if there is one, or else the first column.
    fn new(metadata: &ParquetMetaData, only: &[String]) -> Result<Self, String> {
        let schema = metadata.file_metadata().schema_descr();
        let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
        if names.len() > MOST_COLUMNS || names.len() < 2 {
            let count = names.len();
            return Err(format!(
                "has {count} columns; expected time and at least one value column, at most {MOST_COLUMNS}"
            ));
        }
        let index = index_of_pandas(metadata);
        let time = names.iter().position(|name| Some(name) == index.as_ref()).unwrap_or(0);
        let others: Vec<usize> = (0..names.len()).filter(|&k| k != time).collect();
        let place = |wanted: &String| {
            others.iter().copied().find(|&k| names[k] == *wanted).ok_or_else(|| {
                let known = some_of(others.iter().map(|&k| names[k].clone()));
                format!("has no value column {}; it has: {known}", quoted(wanted))
            })
        };
        let columns =
            if only.is_empty() { others.clone() } else { only.iter().map(place).collect::<Result<_, _>>()? };
        Ok(Self { time, columns })
    }
}

/// The one column that pandas calls the index.
fn index_of_pandas(metadata: &ParquetMetaData) -> Option<String> {
    let said = metadata.file_metadata().key_value_metadata()?.iter().find(|pair| pair.key == "pandas")?;
    let said: serde_json::Value = serde_json::from_str(said.value.as_ref()?).ok()?;
    match said["index_columns"].as_array()?.as_slice() {
        [only] => only.as_str().map(String::from),
        _ => None,
    }
}

/// Reads one value after the other from a column of so many rows.
type Take<T> = fn(ColumnReader, values::Holds, usize) -> Result<Vec<T>, String>;

struct Source<'a> {
    reader: SerializedFileReader<File>,
    /// The same file, to look at pages before they are read.
    pages: File,
    size: u64,
    allowance: Allowance,
    name: &'a str,
}

impl Source<'_> {
    fn title(&self, k: usize) -> String {
        self.reader.metadata().file_metadata().schema_descr().column(k).path().string()
    }

    /// Column `k` of all groups of rows.
    fn column<T>(&mut self, k: usize, take: Take<T>) -> Result<Vec<T>> {
        let title = quoted(&self.title(k));
        let name = self.name;
        let wrong = |problem: String| bad(format!("{name}, column {title}: {problem}"));
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        let holds = holds(&schema.column(k)).map_err(wrong)?;
        let mut all = Vec::new();
        for group in 0..self.reader.num_row_groups() {
            let rows = self.check(k, group).map_err(wrong)?;
            let open = || self.reader.get_row_group(group).and_then(|group| group.get_column_reader(k));
            let column = guarded(open).map_err(wrong)?;
            all.extend(take(column, holds, rows).map_err(wrong)?);
        }
        Ok(all)
    }

    /// Rows of column `k` in a group, once all that is claimed of them is found possible.
    fn check(&mut self, k: usize, group: usize) -> Result<usize, String> {
        let group = self.reader.metadata().row_group(group);
        let rows = u64::try_from(group.num_rows()).map_err(|_| "has a group of less than no rows")?;
        self.allowance.take(rows.saturating_mul(VALUE))?;
        let columns = group.columns();
        let chunk = columns.get(k).ok_or("is missing in a group of rows")?;
        match chunk.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_) => {}
            other => {
                let name = other.to_string();
                let name = name.split('(').next().unwrap_or_default();
                return Err(format!("is packed with {name}; expected snappy, zstd or nothing: write it so"));
            }
        }
        let place = place_of(chunk, self.size)?;
        check_pages(&mut self.pages, place, rows, &mut self.allowance)?;
        usize::try_from(rows).map_err(|_| "has more rows than fit into memory".into())
    }
}

/// Beginning and length of a column in a file of `size` bytes.
fn place_of(chunk: &ColumnChunkMetaData, size: u64) -> Result<(u64, u64), String> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    match (u64::try_from(start), u64::try_from(chunk.compressed_size())) {
        (Ok(start), Ok(length)) if start.checked_add(length).is_some_and(|end| end <= size) => Ok((start, length)),
        _ => Err(format!("begins at byte {start} and has {}; the file has {size}", chunk.compressed_size())),
    }
}
