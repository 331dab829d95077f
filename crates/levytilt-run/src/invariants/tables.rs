//! Records: CSV, plain and gzipped.

use flate2::{Decompress, FlushDecompress, Status};

use crate::table::bytes::decode;
use crate::table::input;
use crate::table::{Format, Table};

/// What the computation takes for granted.
fn check(table: &Table) {
    assert!(table.times.windows(2).all(|pair| pair[0] < pair[1]), "times increase");
    assert!(table.times.iter().all(|time| time.is_finite()), "times are finite");
    assert!(table.columns.iter().all(|column| column.len() == table.times.len()), "as many values as times");
    assert!(table.columns.iter().flatten().all(|value| !value.is_infinite()), "values are finite or missing");
    assert_eq!((table.lines.len(), table.names.len()), (table.times.len(), table.columns.len()));
}

/// The table as a CSV file.
fn written(table: &Table) -> Vec<u8> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record([&table.time_name].into_iter().chain(&table.names)).expect("a header");
    for (row, time) in table.time_texts().into_iter().enumerate() {
        let values = table.columns.iter().map(|column| crate::number::number(column[row]));
        csv.write_record([time].into_iter().chain(values)).expect("a row");
    }
    csv.into_inner().expect("a table")
}

fn bits(table: &Table) -> Vec<Vec<u64>> {
    let column = |values: &Vec<f64>| values.iter().map(|v| if v.is_nan() { 0 } else { (v + 0.0).to_bits() }).collect();
    table.columns.iter().chain([&table.times]).map(column).collect()
}

/// A CSV file, plain or gzipped: a table, which is the same when it is written and read again.
pub fn tables(bytes: &[u8]) -> bool {
    let Ok(text) = decode(bytes, "x") else { return false };
    let plain = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    assert!(bytes.starts_with(&[0x1f, 0x8b]) || text.as_bytes() == plain, "text that is not packed stays as it is");
    let Ok(table) = input::parse(&text, "x", &[], &Format::default()) else { return false };
    check(&table);
    let text = decode(&written(&table)[..], "x").expect("text");
    let again = input::parse(&text, "x", &table.names, &Format::default()).expect("a table");
    assert_eq!((bits(&again), &again.names), (bits(&table), &table.names));
    true
}

/// Most content that is tried.
const MOST: usize = 1 << 16;

/// Deflated bytes: behind the head of a gzip file, with the right sum at the end, they are what they hold.
pub fn packed(bytes: &[u8]) -> bool {
    // As they are: damaged more often than not.
    drop(decode(bytes, "x"));
    let mut unpacked = Decompress::new(false);
    let mut content = Vec::with_capacity(MOST);
    let end = unpacked.decompress_vec(bytes, &mut content, FlushDecompress::Finish);
    // What begins like gzip, Parquet or Excel is told from text by that.
    let known = [&[0x1f, 0x8b][..], b"PAR1", b"PK\x03\x04", &[0xd0, 0xcf, 0x11, 0xe0]];
    if !matches!(end, Ok(Status::StreamEnd)) || known.iter().any(|start| content.starts_with(start)) {
        return false;
    }
    let mut sum = flate2::Crc::new();
    sum.update(&content);
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.extend(&bytes[..unpacked.total_in() as usize]);
    file.extend(sum.sum().to_le_bytes());
    file.extend(sum.amount().to_le_bytes());
    let said = |found: anyhow::Result<String>| found.map_err(|error| error.to_string());
    assert_eq!(said(decode(&file[..], "x")), said(decode(&content[..], "x")));
    tables(&file)
}
