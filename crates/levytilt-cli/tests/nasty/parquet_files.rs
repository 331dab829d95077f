//! Records in Parquet: those that are right read like CSV, all others are named. Needs the feature `parquet`.

use crate::common::{OU_STABLE, Sandbox};
use crate::file_refused;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

type Group<'a, 'b> = &'a mut SerializedRowGroupWriter<'b, Vec<u8>>;

/// A column of values with gaps where `there` says so.
fn put<T: DataType>(group: Group, values: &[T::T], there: Option<&[i16]>) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, there, None).unwrap();
    column.close().unwrap();
}

/// A file with the columns of `message`, each group of rows written by `fill`.
fn file(message: &str, how: WriterPropertiesBuilder, groups: usize, fill: impl Fn(Group, usize)) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {message} }}")).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(how.build())).unwrap();
    for k in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        fill(&mut group, k);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn plain() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::try_new(19).unwrap())
}

const VALUE: &str = "optional double value;";
/// Days of March 2024 since 1970.
const DAYS: [i32; 4] = [19783, 19784, 19786, 19787];
const SECONDS: i64 = 86_400;

/// Four rows, the third without a value; the times are written by `time`.
fn record(time: &str, how: WriterPropertiesBuilder, fill: impl Fn(Group)) -> Vec<u8> {
    file(&format!("{time} {VALUE}"), how, 1, |group, _| {
        fill(group);
        put::<DoubleType>(group, &[1.0, 2.5, -3.0], Some(&[1, 1, 0, 1]));
    })
}

fn good() -> Vec<u8> {
    record("required int64 time;", plain(), |group| put::<Int64Type>(group, &[0, 1, 2, 3], None))
}

/// What the doctor finds in a file.
fn found(at: &Sandbox, name: &str, content: &[u8]) -> serde_json::Value {
    at.write(name, content);
    let mut found = at.ok(&format!("doctor {name} --json")).json()["data"].take();
    found["suggestion"].take();
    found["source"].take();
    found
}

#[test]
fn identity_a_record_is_the_same_in_csv_and_in_parquet() {
    let at = Sandbox::new();
    let csv = |times: [&str; 4]| {
        let rows = times.iter().zip(["1", "2.5", "", "-3"]).map(|(time, value)| format!("{time},{value}\n"));
        format!("time,value\n{}", rows.collect::<String>())
    };
    let numbers = csv(["0", "1", "2", "3"]);
    let utc = csv(["2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z", "2024-03-04T00:00:00Z", "2024-03-05T00:00:00Z"]);
    let local = csv(["2024-03-01T00:00:00", "2024-03-02T00:00:00", "2024-03-04T00:00:00", "2024-03-05T00:00:00"]);
    let dates = csv(["2024-03-01", "2024-03-02", "2024-03-04", "2024-03-05"]);
    let stamps = |parts: i64| DAYS.map(|day| i64::from(day) * SECONDS * parts);
    let texts: Vec<ByteArray> = ["2024-03-01", "2024-03-02", "2024-03-04", "2024-03-05"].map(ByteArray::from).into();
    let second = plain().set_writer_version(WriterVersion::PARQUET_2_0);
    for (csv, content) in [
        (&numbers, good()),
        (&numbers, record("required int32 time (UINT_8);", plain(), |g| put::<Int32Type>(g, &[0, 1, 2, 3], None))),
        (&numbers, record("optional float time;", plain(), |g| put::<FloatType>(g, &[0., 1., 2., 3.], Some(&[1; 4])))),
        (&numbers, record("required double time;", second.clone(), |g| put::<DoubleType>(g, &[0., 1., 2., 3.], None))),
        (&numbers, record("required int64 time;", second, |g| put::<Int64Type>(g, &[0, 1, 2, 3], None))),
        (&dates, record("required int32 time (DATE);", plain(), |g| put::<Int32Type>(g, &DAYS, None))),
        (&dates, record("required binary time (UTF8);", plain(), |g| put::<ByteArrayType>(g, &texts, None))),
        (
            &utc,
            record("required int64 time (TIMESTAMP_MILLIS);", plain(), |g| put::<Int64Type>(g, &stamps(1000), None)),
        ),
        (
            &utc,
            record("required int64 time (TIMESTAMP(MICROS,true));", plain(), |g| {
                put::<Int64Type>(g, &stamps(1_000_000), None)
            }),
        ),
        (
            &local,
            record("required int64 time (TIMESTAMP(NANOS,false));", plain(), |g| {
                put::<Int64Type>(g, &stamps(1_000_000_000), None)
            }),
        ),
    ] {
        assert_eq!(found(&at, "t.parquet", &content), found(&at, "t.csv", csv.as_bytes()), "{csv}");
    }
    let whole = found(&at, "t.csv", numbers.as_bytes());
    for codec in [Compression::SNAPPY, zstd()] {
        for dictionary in [false, true] {
            let how = plain().set_compression(codec).set_dictionary_enabled(dictionary);
            let content = record("required int64 time;", how, |g| put::<Int64Type>(g, &[0, 1, 2, 3], None));
            assert_eq!(found(&at, "t.parquet", &content), whole, "{codec:?}");
        }
    }
    // Groups of rows in any order, and the index of pandas behind the columns.
    let groups = file(&format!("required int64 time; {VALUE}"), plain(), 2, |group, k| {
        put::<Int64Type>(group, &[[2, 3], [0, 1]][k], None);
        put::<DoubleType>(group, [&[-3.0][..], &[1.0, 2.5]][k], Some(&[[0, 1], [1, 1]][k]));
    });
    assert_eq!(found(&at, "t.parquet", &groups), whole);
    let said = KeyValue::new("pandas".into(), "{\"index_columns\": [\"time\"]}".to_string());
    let index =
        file(&format!("{VALUE} required int64 time;"), plain().set_key_value_metadata(Some(vec![said])), 1, |g, _| {
            put::<DoubleType>(g, &[1.0, 2.5, -3.0], Some(&[1, 1, 0, 1]));
            put::<Int64Type>(g, &[0, 1, 2, 3], None);
        });
    assert_eq!(found(&at, "t.parquet", &index), whole);
}

fn refused(at: &Sandbox, what: &str, content: &[u8], parts: &[&str]) {
    at.write("t.parquet", content);
    file_refused(at, &format!("parquet: {what}"), &format!("exact t.parquet {OU_STABLE}"), parts);
}

#[test]
fn kinds_of_columns_are_named() {
    let at = Sandbox::new();
    let value = |kind: &str, fill: &dyn Fn(Group)| {
        file(&format!("required int64 time; {kind}"), plain(), 1, |group, _| {
            put::<Int64Type>(group, &[0, 1], None);
            fill(group);
        })
    };
    let ints = |group: Group| put::<Int32Type>(group, &[1, 2], None);
    refused(&at, "decimals", &value("required int32 v (DECIMAL(5,2));", &ints), &["column \"v\"", "DECIMAL"]);
    refused(&at, "times of day", &value("required int32 v (TIME_MILLIS);", &ints), &["column \"v\"", "TIME_MILLIS"]);
    refused(&at, "dates as values", &value("required int32 v (DATE);", &ints), &["column \"v\"", "expected numbers"]);
    let texts = |group: Group| put::<ByteArrayType>(group, &["1", "2"].map(ByteArray::from), None);
    refused(&at, "texts as values", &value("required binary v (UTF8);", &texts), &["column \"v\"", "expected numbers"]);
    refused(&at, "bytes", &value("required binary v;", &texts), &["column \"v\"", "BYTE_ARRAY"]);
    let list = |group: Group| {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[1, 2], Some(&[1, 1]), Some(&[0, 0])).unwrap();
        column.close().unwrap();
    };
    refused(&at, "a list", &value("repeated int32 v;", &list), &["column \"v\"", "list"]);
    let nested = value("required group a { required int32 v; }", &ints);
    refused(&at, "a structure", &nested, &["column \"a.v\"", "structure"]);
    let infinite = value("required double v;", &|group| put::<DoubleType>(group, &[1.0, f64::INFINITY], None));
    refused(&at, "an infinite value", &infinite, &["column \"v\"", "finite"]);
    let time = |time: &str, fill: &dyn Fn(Group)| record(time, plain(), fill);
    let holes = time("optional int64 time;", &|g| put::<Int64Type>(g, &[0, 1, 2], Some(&[1, 1, 0, 1])));
    refused(&at, "a time missing", &holes, &["column \"time\"", "row 3 has no time"]);
    let holes = time("optional int32 time (DATE);", &|g| put::<Int32Type>(g, &DAYS[..3], Some(&[1, 0, 1, 1])));
    refused(&at, "a date missing", &holes, &["column \"time\"", "row 2 has no time"]);
    let far =
        time("required int64 time (TIMESTAMP(MILLIS,true));", &|g| put::<Int64Type>(g, &[0, 1, 2, i64::MAX], None));
    refused(&at, "a time beyond all years", &far, &["column \"time\"", "years"]);
    let far = time("required int32 time (DATE);", &|g| put::<Int32Type>(g, &[0, 1, 2, i32::MIN], None));
    refused(&at, "a date beyond all years", &far, &["column \"time\"", "years"]);
    let same = time("required int64 time;", &|g| put::<Int64Type>(g, &[0, 1, 1, 2], None));
    refused(&at, "a time twice", &same, &["same time"]);
    let long = ByteArray::from("2".repeat(1000).as_str());
    let long = time("required binary time (UTF8);", &|g| put::<ByteArrayType>(g, &vec![long.clone(); 4], None));
    refused(&at, "texts as long as a letter", &long, &["column \"time\"", "1000 bytes"]);
    refused(
        &at,
        "one column",
        &file("required int64 time;", plain(), 1, |g, _| put::<Int64Type>(g, &[0, 1], None)),
        &["1 columns"],
    );
    refused(&at, "no rows", &file(&format!("required int64 time; {VALUE}"), plain(), 0, |_, _| ()), &["no rows"]);
    let delta = plain().set_dictionary_enabled(false).set_encoding(parquet::basic::Encoding::DELTA_BYTE_ARRAY);
    let delta = file(
        &format!("required binary time (UTF8); {VALUE}"),
        delta.set_column_encoding("value".into(), parquet::basic::Encoding::PLAIN),
        1,
        |g, _| {
            put::<ByteArrayType>(g, &["1", "2"].map(ByteArray::from), None);
            put::<DoubleType>(g, &[1.0, 2.0], Some(&[1, 1]));
        },
    );
    refused(&at, "texts by their differences", &delta, &["column \"time\"", "encoding 7"]);
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let at = Sandbox::new();
    let rows = 1 << 24;
    let how = plain().set_compression(zstd()).set_data_page_row_count_limit(rows);
    let runs = file(&format!("required int64 time; {VALUE}"), how.clone(), 1, |group, _| {
        let mut column = group.next_column().unwrap().unwrap();
        let zeros = vec![0; 1 << 20];
        (0..rows / zeros.len())
            .for_each(|_| assert!(column.typed::<Int64Type>().write_batch(&zeros, None, None).is_ok()));
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let none = vec![0; 1 << 20];
        (0..rows / none.len())
            .for_each(|_| assert!(column.typed::<DoubleType>().write_batch(&[], Some(&none), None).is_ok()));
        column.close().unwrap();
    });
    assert!(runs.len() < 50_000, "{}", runs.len());
    refused(&at, "256 MB of nothing in runs", &runs, &["no table shrinks so far"]);
    let how = how.set_dictionary_enabled(false).set_data_page_size_limit(1 << 23);
    let packed = file(&format!("required int64 time; {VALUE}"), how, 1, |group, _| {
        put::<Int64Type>(group, &vec![0; 1 << 22], None);
        put::<DoubleType>(group, &[], Some(&vec![0; 1 << 22]));
    });
    assert!(packed.len() < 50_000, "{}", packed.len());
    refused(&at, "32 MB of nothing, packed", &packed, &["no table shrinks so far"]);
}

#[test]
fn damaged_files_are_named() {
    let at = Sandbox::new();
    let good = good();
    // The library panics at it.
    let nothing = include_bytes!("../../../../fuzz/seeds/parquet/differences-of-no-values");
    refused(&at, "differences of no values", nothing, &["t.parquet", "is damaged"]);
    // The library counts to two thousand million at it.
    let endless = include_bytes!("../../../../fuzz/seeds/parquet/list-without-end");
    refused(&at, "a list without end", endless, &["t.parquet", "where another belongs"]);
    assert_eq!(at.run("doctor missing.parquet").code, 2);
    for (what, length) in
        [("4 bytes", 4), ("11 bytes", 11), ("half of it", good.len() / 2), ("all but 1", good.len() - 1)]
    {
        refused(&at, &format!("cut to {what}"), &good[..length], &["t.parquet"]);
    }
    let footer = |what: &str, length: u32, parts: &[&str]| {
        let mut bytes = good.clone();
        let place = bytes.len() - 8;
        bytes[place..place + 4].copy_from_slice(&length.to_le_bytes());
        refused(&at, what, &bytes, parts);
    };
    footer("a description of 4 GB", u32::MAX, &["claims a description"]);
    footer("a description of nothing", 0, &["t.parquet"]);
    footer("a description of 1 byte", 1, &["t.parquet"]);
    footer("a description longer than the file", good.len() as u32, &["claims a description"]);
    let described = |bytes: Vec<u8>| [b"PAR1", &bytes[..], &(bytes.len() as u32).to_le_bytes(), b"PAR1"].concat();
    // Version 1, then a list of so many columns, each within the one before.
    let deep = |count: usize| {
        let list = [0x15, 2, 0x19, 0xfc].into_iter().chain([
            count as u8 & 127 | 128,
            (count >> 7) as u8 & 127 | 128,
            (count >> 14) as u8,
        ]);
        list.chain([0x48, 1, b'a', 0x15, 2, 0].repeat(count)).collect::<Vec<u8>>()
    };
    refused(&at, "columns within columns, 90000 deep", &described(deep(90_000)), &["deeper than"]);
    refused(&at, "columns within columns, 2 million deep", &described(deep(2_000_000)), &["t.parquet"]);
    refused(
        &at,
        "a list of 2^60 columns",
        &described([&[0x15, 2, 0x19, 0xfc][..], &[255; 8], &[15]].concat()),
        &["early"],
    );
    refused(
        &at,
        "16 MB of empty groups",
        &described([&[0x15, 2, 0x49, 0xfc][..], &[255, 255, 255, 7], &vec![0; 16_000_000]].concat()),
        &["describes more"],
    );
    // Every byte of a small file changed in turn: an error, or a table that can be read; never a crash.
    let mut refusals = 0;
    for place in (4..good.len() - 4).step_by(7) {
        let mut bytes = good.clone();
        bytes[place] ^= 0xff;
        at.write("t.parquet", &bytes);
        let said = at.run("doctor t.parquet --json");
        assert!(matches!(said.code, 0 | 2) && !said.err.contains("panicked"), "byte {place}: {}", said.err);
        refusals += usize::from(said.code == 2);
    }
    assert!(refusals > 10, "{refusals}");
}
