//! List the observed values with the probability that each is wrong: outliers.csv.

use anyhow::Result;
use levytilt::internals::fit::Fit;
use std::io::Write;

use crate::number::figure;
use crate::table::Table;

/// Name of the file.
pub const OUTLIERS: &str = "outliers.csv";
/// Probability from which a value is marked.
const PROBABLE: f64 = 0.5;

/// A value, and the probability that it is wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Number of the column.
    pub column: usize,
    /// Number of the row.
    pub row: usize,
    /// Probability.
    pub probability: f64,
}

/// All observed values in the order of time; none if errors are Gaussian.
pub fn judged(fit: &Fit, table: &Table) -> Vec<Judged> {
    let mut all = Vec::new();
    let mut j = 0;
    for (row, time) in table.times.iter().enumerate() {
        while j < fit.times.len() && fit.times[j] < *time {
            j += 1;
        }
        for (column, wrong) in fit.wrong.iter().enumerate() {
            if let Some(&probability) = wrong.get(j).filter(|p| !p.is_nan()) {
                all.push(Judged { column, row, probability });
            }
        }
    }
    all
}

/// Values that are more likely wrong than not.
pub fn probable(fit: &Fit, table: &Table) -> Vec<Judged> {
    judged(fit, table).into_iter().filter(|value| value.probability >= PROBABLE).collect()
}

/// Write outliers.csv: every observed value with the probability that it is wrong.
pub fn write_outliers(out: &mut dyn Write, fit: &Fit, table: &Table) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["time", "column", "value", "probability"])?;
    for Judged { column, row, probability } in judged(fit, table) {
        let (time, value) = (table.calendar.write(table.times[row]), table.columns[column][row]);
        csv.write_record([time, table.names[column].clone(), figure(value)?, figure(probability)?])?;
    }
    Ok(csv.flush()?)
}
