//! Hold columns of values over time that formulas may use, and give them as straight pieces over a step.

use crate::error::expect_length;
use crate::series::check_times;
use crate::{Error, Result};
use std::sync::Arc;

/// What an input is between two of its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Between {
    /// The value at the time before.
    #[default]
    Previous,
    /// On the straight line from one value to the next.
    Linear,
}

/// Columns of values at common times, known from the first of these to the last.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    times: Vec<f64>,
    columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq)]
struct Column {
    name: String,
    values: Vec<f64>,
    between: Between,
}

impl Inputs {
    /// No columns yet, at `times`: at least two, finite and strictly increasing.
    pub fn new(times: Vec<f64>) -> Result<Self> {
        check_times(&times)?;
        Ok(Self { times, columns: Vec::new() })
    }

    /// The same with one more column, which has a finite value for every time.
    pub fn with_column(mut self, name: &str, values: Vec<f64>, between: Between) -> Result<Self> {
        expect_length("values of an input", values.len(), self.times.len())?;
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Series {
                place: format!("input {name} at time {}", self.times[row]),
                problem: format!("the value is {}; an input needs a finite value at every time", values[row]),
            });
        }
        if self.columns.iter().any(|column| column.name == name) {
            return Err(Error::Series {
                place: format!("input {name}"),
                problem: "there are two inputs with this name".into(),
            });
        }
        self.columns.push(Column { name: name.into(), values, between });
        Ok(self)
    }

    /// Names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Names of the columns and their values, one per time.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.columns.iter().map(|column| (column.name.as_str(), column.values.as_slice()))
    }

    /// Names of the columns and their values at the last time.
    pub fn last(&self) -> impl Iterator<Item = (&str, f64)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.values[column.values.len() - 1]))
    }

    /// Values of the columns at time `t`.
    ///
    /// # Errors
    /// A time outside of those for which they are known.
    pub fn at(&self, t: f64) -> Result<Vec<f64>> {
        let segment = self.segments(t, 0.0)?.remove(0);
        if t >= self.times[self.times.len() - 1] {
            return Ok(self.last().map(|(_, value)| value).collect());
        }
        Ok((0..self.columns.len()).map(|k| segment.input(k, t)).collect())
    }

    /// Only the columns of these names, in this order; an error names one that is not there.
    pub(super) fn select(&self, names: &[String]) -> Result<Arc<Self>> {
        let column = |name: &String| {
            self.columns.iter().find(|column| column.name == *name).cloned().ok_or_else(|| Error::Series {
                place: format!("input {name}"),
                problem: "the formula uses it, but there is no column with this name".into(),
            })
        };
        let columns = names.iter().map(column).collect::<Result<_>>()?;
        Ok(Arc::new(Self { times: self.times.clone(), columns }))
    }

    /// The pieces of the step from `t` to `t + dt` over which all inputs are straight; an error if the step goes beyond
    /// the times for which the inputs are known.
    pub(super) fn segments(&self, t: f64, dt: f64) -> Result<Vec<Segment>> {
        if self.columns.is_empty() {
            return Ok(vec![Segment::plain(t, dt)]);
        }
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        // Sums of step lengths may miss the last time by rounding.
        let slack = 1e-9 * dt + 4.0 * f64::EPSILON * t.abs();
        if !(t >= first - slack && t + dt <= last + slack) {
            let names: Vec<&str> = self.names().collect();
            return Err(Error::Series {
                place: format!("input {}", names.join(", ")),
                problem: format!(
                    "its values reach from time {first} to {last}, and the drift needs them from {t} to {}; give values \
                     for these times",
                    t + dt
                ),
            });
        }
        let mut segments = Vec::new();
        let mut place = self.times.partition_point(|time| *time <= t + slack).clamp(1, self.times.len() - 1) - 1;
        let mut start = t;
        while start < t + dt || segments.is_empty() {
            let is_last = place + 2 == self.times.len() || self.times[place + 1] >= t + dt - slack;
            let end = if is_last { t + dt } else { self.times[place + 1] };
            segments.push(self.segment(place, start, end - start));
            start = end;
            place += 1;
        }
        Ok(segments)
    }

    /// The piece of `length` from `start` on, which lies after time number `place`.
    fn segment(&self, place: usize, start: f64, length: f64) -> Segment {
        let (from, to) = (self.times[place], self.times[place + 1]);
        let line = |column: &Column| match column.between {
            Between::Previous => (column.values[place], 0.0),
            Between::Linear => {
                let slope = (column.values[place + 1] - column.values[place]) / (to - from);
                (column.values[place] + slope * (start - from), slope)
            }
        };
        Segment { start, length, inputs: self.columns.iter().map(line).collect() }
    }
}

/// A piece of a step over which every input is a straight line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Segment {
    pub start: f64,
    pub length: f64,
    /// Per input: value at the start and slope.
    inputs: Vec<(f64, f64)>,
}

impl Segment {
    /// A step without inputs.
    pub fn plain(start: f64, length: f64) -> Self {
        Self { start, length, inputs: Vec::new() }
    }

    /// Input number `k` at time `t`.
    pub fn input(&self, k: usize, t: f64) -> f64 {
        let (value, slope) = self.inputs[k];
        value + slope * (t - self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Inputs {
        let inputs = Inputs::new(vec![0.0, 1.0, 2.0, 4.0]).unwrap();
        let inputs = inputs.with_column("wind", vec![1.0, 3.0, 2.0, 0.0], Between::Linear).unwrap();
        inputs.with_column("on", vec![0.0, 1.0, 0.0, 1.0], Between::Previous).unwrap()
    }

    #[test]
    fn identity_pieces_cover_the_step_and_follow_the_columns() {
        for (t, dt, pieces) in
            [(0.0, 1.0, 1), (0.5, 1.0, 2), (0.0, 4.0, 3), (2.0, 2.0, 1), (1.0, 0.0, 1), (3.9, 0.1, 1)]
        {
            let segments = inputs().segments(t, dt).unwrap();
            assert_eq!(segments.len(), pieces, "{t} {dt}");
            assert!((segments.iter().map(|s| s.length).sum::<f64>() - dt).abs() < 1e-15);
        }
        let segments = inputs().segments(0.5, 2.5).unwrap();
        assert_eq!([segments[0].input(0, 0.5), segments[0].input(0, 1.0), segments[2].input(0, 3.0)], [2.0, 3.0, 1.0]);
        assert_eq!([segments[0].input(1, 1.0), segments[1].input(1, 1.0), segments[2].input(1, 3.0)], [0.0, 1.0, 0.0]);
        // The last value counts at its own time.
        assert_eq!(inputs().at(4.0).unwrap(), [0.0, 1.0]);
        assert_eq!(inputs().at(3.0).unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn errors_name_the_column() {
        let text = |error: Error| error.to_string();
        assert!(text(inputs().segments(3.0, 1.5).unwrap_err()).contains("wind, on: its values reach from time 0 to 4"));
        assert!(text(inputs().segments(-0.5, 1.0).unwrap_err()).contains("wind"));
        let bad = inputs().with_column("rain", vec![0.0, f64::NAN, 0.0, 0.0], Between::Linear);
        assert!(text(bad.unwrap_err()).contains("rain at time 1"));
        assert!(inputs().with_column("on", vec![0.0; 4], Between::Linear).is_err());
        assert!(inputs().with_column("short", vec![0.0; 3], Between::Linear).is_err());
        assert!(text(inputs().select(&["sun".into()]).unwrap_err()).contains("sun"));
        assert!(Inputs::new(vec![1.0, 1.0]).is_err());
    }
}
