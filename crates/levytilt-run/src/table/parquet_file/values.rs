//! Read columns of a Parquet file: numbers as they are, times as the texts that a CSV file would have.

use jiff::Timestamp;
use jiff::tz::Offset;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::schema::types::ColumnDescriptor;

use super::guard::guarded;

/// Values that are unpacked at a time.
const AT_ONCE: usize = 1024;
/// Longest text of a time.
const MOST_TIME: usize = 100;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Holds {
    /// Numbers; whether those below 0 are large ones.
    Numbers { unsigned: bool },
    /// Parts of a second since 1970, so many in it; whether in UTC or in local time.
    Stamps { parts: i64, utc: bool },
    /// Days since 1970.
    Dates,
    /// Texts.
    Texts,
}

/// What `column` holds; an error names what cannot be read.
pub fn holds(column: &ColumnDescriptor) -> Result<Holds, String> {
    if column.max_rep_level() > 0 || column.path().parts().len() != 1 {
        return Err("is a list or a structure; expected a plain column".into());
    }
    let stamps = |unit: TimeUnit, utc| {
        let parts = match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        Holds::Stamps { parts, utc }
    };
    let said = (column.physical_type(), column.logical_type_ref(), column.converted_type());
    Ok(match said {
        (Type::INT64, Some(LogicalType::Timestamp(stamp)), _) => stamps(stamp.unit, stamp.is_adjusted_to_u_t_c),
        (Type::INT64, None, ConvertedType::TIMESTAMP_MILLIS) => stamps(TimeUnit::MILLIS, true),
        (Type::INT64, None, ConvertedType::TIMESTAMP_MICROS) => stamps(TimeUnit::MICROS, true),
        (Type::INT32, Some(LogicalType::Date), _) | (Type::INT32, None, ConvertedType::DATE) => Holds::Dates,
        (Type::BYTE_ARRAY, Some(LogicalType::String), _) | (Type::BYTE_ARRAY, None, ConvertedType::UTF8) => {
            Holds::Texts
        }
        (Type::INT32 | Type::INT64, Some(LogicalType::Integer(kind)), _) => {
            Holds::Numbers { unsigned: !kind.is_signed }
        }
        (Type::FLOAT | Type::DOUBLE, None, ConvertedType::NONE) => Holds::Numbers { unsigned: false },
        (Type::INT32 | Type::INT64, None, converted) => match converted {
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64 => Holds::Numbers { unsigned: false },
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                Holds::Numbers { unsigned: true }
            }
            other => return Err(refused(&format!("{other}"))),
        },
        (physical, None, ConvertedType::NONE) => return Err(refused(&format!("{physical}"))),
        (_, None, converted) => return Err(refused(&format!("{converted}"))),
        (_, Some(LogicalType::Decimal(_)), _) => return Err(refused("DECIMAL")),
        (physical, Some(_), ConvertedType::NONE) => return Err(refused(&format!("{physical} of a special kind"))),
        (_, Some(_), converted) => return Err(refused(&format!("{converted}"))),
    })
}

fn refused(kind: &str) -> String {
    format!("holds {kind}; expected integers or floating-point numbers, or for times also timestamps, dates or text")
}

/// The numbers of a column, NaN where there is none.
pub fn numbers(column: ColumnReader, holds: Holds, rows: usize) -> Result<Vec<f64>, String> {
    let Holds::Numbers { unsigned } = holds else {
        return Err("holds times or text; expected numbers".into());
    };
    let mut found = Vec::with_capacity(rows);
    let mut keep = |value: Option<f64>| {
        found.push(value.unwrap_or(f64::NAN));
        Ok(())
    };
    match column {
        ColumnReader::Int32ColumnReader(column) => {
            let number = |x: &i32| if unsigned { f64::from(*x as u32) } else { f64::from(*x) };
            each(column, rows, |x| keep(x.map(number)))?;
        }
        ColumnReader::Int64ColumnReader(column) => {
            let number = |x: &i64| if unsigned { *x as u64 as f64 } else { *x as f64 };
            each(column, rows, |x| keep(x.map(number)))?;
        }
        ColumnReader::FloatColumnReader(column) => each(column, rows, |x| keep(x.map(|x| f64::from(*x))))?,
        ColumnReader::DoubleColumnReader(column) => each(column, rows, |x| keep(x.copied()))?,
        _ => return Err(refused("something else than it says")),
    }
    Ok(found)
}

/// The times of a column, as a CSV file would write them.
pub fn times(column: ColumnReader, holds: Holds, rows: usize) -> Result<Vec<String>, String> {
    if let Holds::Numbers { .. } = holds {
        let found = numbers(column, holds, rows)?;
        let missing = found.iter().position(|time| time.is_nan());
        return match missing {
            Some(row) => Err(no_time(row)),
            None => Ok(found.iter().map(|time| time.to_string()).collect()),
        };
    }
    let mut found = Vec::with_capacity(rows);
    let mut keep = |text: Option<Result<String, String>>| {
        found.push(text.unwrap_or_else(|| Err(no_time(found.len())))?);
        Ok(())
    };
    match (column, holds) {
        (ColumnReader::Int64ColumnReader(column), Holds::Stamps { parts, utc }) => {
            each(column, rows, |x| keep(x.map(|x| stamp(*x, parts, utc))))?;
        }
        (ColumnReader::Int32ColumnReader(column), Holds::Dates) => {
            each(column, rows, |x| keep(x.map(|x| date(*x))))?;
        }
        (ColumnReader::ByteArrayColumnReader(column), Holds::Texts) => {
            each(column, rows, |x| keep(x.map(|x| text(x.data()))))?;
        }
        _ => return Err(refused("something else than it says")),
    }
    Ok(found)
}

fn no_time(row: usize) -> String {
    format!("row {} has no time", row + 1)
}

fn stamp(count: i64, parts: i64, utc: bool) -> Result<String, String> {
    let nanoseconds = i128::from(count) * i128::from(1_000_000_000 / parts);
    let instant = Timestamp::from_nanosecond(nanoseconds)
        .map_err(|_| format!("{count} is a timestamp outside of the years -9999 to 9999"))?;
    Ok(if utc { instant.to_string() } else { Offset::UTC.to_datetime(instant).to_string() })
}

fn date(days: i32) -> Result<String, String> {
    let instant = Timestamp::from_second(i64::from(days) * 86_400);
    instant
        .map(|instant| Offset::UTC.to_datetime(instant).date().to_string())
        .map_err(|_| format!("{days} is a date outside of the years -9999 to 9999"))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= MOST_TIME => Ok(text.trim().to_string()),
        _ => Err(format!("a text of {} bytes is no time", bytes.len())),
    }
}

/// Show each row of a column to `see`, in order.
fn each<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    rows: usize,
    mut see: impl FnMut(Option<&T::T>) -> Result<(), String>,
) -> Result<(), String> {
    let mut left = rows;
    while left > 0 {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let (records, ..) = guarded(|| column.read_records(left.min(AT_ONCE), Some(&mut levels), None, &mut values))?;
        if records == 0 {
            return Err(format!("is cut short: {left} of {rows} values are missing"));
        }
        let mut values = values.iter();
        for row in 0..records {
            // Without levels every value is there.
            let is_there = levels.get(row).is_none_or(|level| *level > 0);
            let value = if is_there { Some(values.next().ok_or("is damaged: fewer values than rows")?) } else { None };
            see(value)?;
        }
        left -= records;
    }
    Ok(())
}
