//! Bring records into the units of networks and cut them into pieces to learn from.

use crate::forecaster::Record;
use crate::increments::deviation;
use levytilt::{Error, Result};

/// Columns less their centre, over their unit.
pub(crate) struct Standard {
    /// One per dimension.
    pub columns: Vec<Vec<f32>>,
    pub centre: Vec<f64>,
    pub unit: Vec<f64>,
}

impl Standard {
    /// Values, with mean 0 and deviation 1.
    pub fn values(record: &Record) -> Result<Self> {
        Self::of((0..record.dim()).map(|i| record.column(i).to_vec()).collect(), "values", |x| {
            x.iter().sum::<f64>() / x.len() as f64
        })
    }

    /// Moves, with deviation 1 and their own mean.
    pub fn moves(record: &Record) -> Result<Self> {
        Self::of((0..record.dim()).map(|i| record.moves(i)).collect(), "moves", |_| 0.0)
    }

    fn of(columns: Vec<Vec<f64>>, what: &str, centre: impl Fn(&[f64]) -> f64) -> Result<Self> {
        let unit: Vec<f64> = columns.iter().map(|column| deviation(column)).collect();
        if let Some(i) = unit.iter().position(|unit| *unit == 0.0) {
            let problem = format!("all {what} are the same; there is nothing to learn");
            return Err(Error::Series { place: format!("dimension {}", i + 1), problem });
        }
        let centre: Vec<f64> = columns.iter().map(|column| centre(column)).collect();
        let standard = |(i, column): (usize, Vec<f64>)| {
            column.into_iter().map(|x| ((x - centre[i]) / unit[i]) as f32).collect::<Vec<f32>>()
        };
        Ok(Self { columns: columns.into_iter().enumerate().map(standard).collect(), centre, unit })
    }

    pub fn dim(&self) -> usize {
        self.columns.len()
    }

    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Rows `from..to`, one per time.
    pub fn rows(&self, from: usize, to: usize) -> Vec<f32> {
        (from..to).flat_map(|k| self.columns.iter().map(move |column| column[k])).collect()
    }

    /// Back to the units of the record.
    pub fn restore(&self, value: f64, i: usize) -> f64 {
        self.centre[i] + self.unit[i] * value
    }

    /// Number of pairs of a context and what follows it.
    ///
    /// # Errors
    /// If there is none; the message says what to change.
    pub fn count_pairs(&self, lookback: usize, horizon: usize) -> Result<usize> {
        let wanted = lookback + horizon;
        if lookback == 0 || self.len() < wanted {
            let problem = format!(
                "{} steps are too few for a lookback of {lookback} (at least 1) and {horizon} ahead; expected at least \
                 {wanted}: use a longer record, a shorter lookback or a shorter horizon",
                self.len()
            );
            return Err(Error::Series { place: "training record".into(), problem });
        }
        Ok(self.len() - wanted + 1)
    }

    /// Contexts of `lookback` steps and the `horizon` steps that follow, for each start in the range.
    ///
    /// Rows are in the order (start, dimension): dimensions share the network.
    pub fn pairs(&self, starts: std::ops::Range<usize>, lookback: usize, horizon: usize) -> (Vec<f32>, Vec<f32>) {
        let cut = |offset: usize, length: usize| {
            let one = |k: usize| self.columns.iter().flat_map(move |column| &column[k + offset..][..length]);
            starts.clone().flat_map(one).copied().collect()
        };
        (cut(0, lookback), cut(lookback, horizon))
    }

    /// The last `lookback` steps, one row per dimension.
    pub fn last(&self, lookback: usize) -> Vec<f32> {
        self.columns.iter().flat_map(|column| &column[column.len() - lookback..]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_pairs_are_neighbours_in_the_record() {
        let column: Vec<f64> = (0..10).map(f64::from).collect();
        let other = column.iter().map(|x| -x).collect();
        let record = Record::new(column.clone(), vec![column, other]).unwrap();
        let standard = Standard::values(&record).unwrap();
        assert_eq!(standard.count_pairs(4, 3).unwrap(), 4);
        let (contexts, targets) = standard.pairs(1..3, 4, 3);
        let restored = |x: &[f32], width: usize| -> Vec<f64> {
            let one = |(k, x): (usize, &f32)| standard.restore(f64::from(*x), (k / width) % 2).round();
            x.iter().enumerate().map(one).collect()
        };
        let up = [1., 2., 3., 4., -1., -2., -3., -4., 2., 3., 4., 5., -2., -3., -4., -5.];
        assert_eq!(restored(&contexts, 4), up);
        assert_eq!(restored(&targets, 3), [5., 6., 7., -5., -6., -7., 6., 7., 8., -6., -7., -8.]);
        assert_eq!(restored(&standard.last(2), 2), [8., 9., -8., -9.]);
        assert!(standard.count_pairs(8, 3).unwrap_err().to_string().contains("shorter lookback"));
    }
}
