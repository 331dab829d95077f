//! Throw damaged Parquet files at what reads them: no panic, and what is accepted is a table.

use crate::promises;
use crate::properties::damaged;
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use proptest::prelude::*;
use std::sync::Arc;

/// Four rows, the third without a value; with or without a dictionary.
fn good(dictionary: bool) -> Vec<u8> {
    let schema = parquet::schema::parser::parse_message_type(
        "message m { required int64 time (TIMESTAMP(MILLIS,true)); optional double value; }",
    );
    let how = WriterProperties::builder().set_dictionary_enabled(dictionary);
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema.unwrap()), Arc::new(how.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[0, 1, 2, 3], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0, 2.5, -3.0], Some(&[1, 1, 0, 1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn identity_undamaged_parquet_files_are_accepted() {
    assert!([false, true].into_iter().all(|dictionary| promises::parquet(&good(dictionary))));
}

proptest! {
    #[test]
    fn identity_parquet_files(plain in damaged(good(false)), indexed in damaged(good(true))) {
        promises::parquet(&plain);
        promises::parquet(&indexed);
    }
}
