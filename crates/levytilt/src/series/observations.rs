//! Hold observed times and values that have been validated once.

use super::{check_times, check_values};
use crate::{Error, Result};

/// Observed values of one or more dimensions at strictly increasing times; NaN marks a missing value.
#[derive(Debug, Clone, PartialEq)]
pub struct Observations {
    times: Vec<f64>,
    columns: Vec<Vec<f64>>,
    names: Vec<String>,
}

impl Observations {
    /// Observations of `columns.len()` ≥ 1 dimensions, checked.
    ///
    /// Errors name the place and the value: no or a single row; times that are not finite, repeat or decrease; values
    /// that are infinite or beyond ±1e150; a column without any value; columns or names of the wrong number or length.
    pub fn new(times: Vec<f64>, columns: Vec<Vec<f64>>, names: Vec<String>) -> Result<Self> {
        check_times(&times)?;
        if columns.is_empty() {
            return Err(Error::Shape {
                what: "series",
                got: "0 value columns".into(),
                expected: "at least 1 column beside the time".into(),
            });
        }
        if names.len() != columns.len() {
            return Err(Error::Shape {
                what: "column names",
                got: names.len().to_string(),
                expected: format!("{} (one per column)", columns.len()),
            });
        }
        for (name, column) in names.iter().zip(&columns) {
            if column.len() != times.len() {
                return Err(Error::Shape {
                    what: "column",
                    got: format!("{} values in {name}", column.len()),
                    expected: format!("{} (one per time)", times.len()),
                });
            }
            check_values(name, column)?;
        }
        Ok(Self { times, columns, names })
    }

    /// Times, strictly increasing.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Values of dimension `i`, one per time, NaN where missing.
    ///
    /// # Panics
    /// If `i` ≥ [`Observations::dim`].
    pub fn column(&self, i: usize) -> &[f64] {
        &self.columns[i]
    }

    /// Names of the dimensions.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of times, at least 2.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Never true: there are at least two times.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of dimensions, at least 1.
    pub fn dim(&self) -> usize {
        self.columns.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(times: &[f64], values: &[f64]) -> Result<Observations> {
        Observations::new(times.to_vec(), vec![values.to_vec()], vec!["value".into()])
    }

    fn message(times: &[f64], values: &[f64]) -> String {
        one(times, values).unwrap_err().to_string()
    }

    #[test]
    fn good_series_are_kept() {
        let series = one(&[0.0, 0.5, 2.0], &[1.0, f64::NAN, 3.0]).unwrap();
        assert_eq!((series.len(), series.dim(), series.is_empty()), (3, 1, false));
        assert_eq!(series.times(), [0.0, 0.5, 2.0]);
        assert_eq!(series.column(0)[2], 3.0);
        assert_eq!(series.names(), ["value"]);
    }

    #[test]
    fn bad_times_are_named() {
        assert!(message(&[], &[]).contains("empty"));
        assert!(message(&[4.0], &[1.0]).contains("single observation"));
        let unsorted = message(&[0.0, 2.0, 1.5], &[1.0; 3]);
        assert!(unsorted.contains("observation 3") && unsorted.contains("1.5"), "{unsorted}");
        assert!(message(&[0.0, 2.0, 2.0], &[1.0; 3]).contains("time 2 occurs twice"));
        assert!(message(&[0.0, f64::NAN], &[1.0; 2]).contains("observation 2: time NaN"));
        assert!(message(&[f64::NEG_INFINITY, 0.0], &[1.0; 2]).contains("time -inf"));
        assert!(message(&[-1.7e308, 1.7e308], &[1.0; 2]).contains("too far"));
    }

    #[test]
    fn bad_values_are_named() {
        let huge = message(&[0.0, 1.0], &[1.0, 1e300]);
        assert!(huge.contains("observation 2 of value") && huge.contains("1e300"), "{huge}");
        assert!(message(&[0.0, 1.0], &[f64::NEG_INFINITY, 0.0]).contains("observation 1"));
        assert!(message(&[0.0, 1.0], &[f64::NAN; 2]).contains("all 2 values are missing"));
    }

    #[test]
    fn shapes_must_fit() {
        assert!(matches!(one(&[0.0, 1.0], &[1.0]), Err(Error::Shape { .. })));
        assert!(matches!(Observations::new(vec![0.0, 1.0], vec![], vec![]), Err(Error::Shape { .. })));
        assert!(matches!(Observations::new(vec![0.0, 1.0], vec![vec![0.0; 2]], vec![]), Err(Error::Shape { .. })));
    }
}
