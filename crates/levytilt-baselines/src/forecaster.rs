//! Fix what a forecaster is: a training record in, paths at given times out, the same for the same seed.

use levytilt::internals::series::Observations;
use levytilt::{Error, Result, StreamRng, stream};
use rayon::prelude::*;

/// What a forecaster may see: values of one or more dimensions at strictly increasing times, none missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    times: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

impl Record {
    /// A record of at least 3 times; missing or infinite values are errors, as in [`Observations::new`].
    pub fn new(times: Vec<f64>, columns: Vec<Vec<f64>>) -> Result<Self> {
        let names = (1..=columns.len()).map(|k| format!("dimension {k}")).collect();
        let checked = Observations::new(times, columns, names)?;
        if checked.len() < 3 {
            let (got, expected) = (checked.len().to_string(), "at least 3".into());
            return Err(Error::Shape { what: "times of a training record", got, expected });
        }
        let columns: Vec<Vec<f64>> = (0..checked.dim()).map(|i| checked.column(i).to_vec()).collect();
        for (i, column) in columns.iter().enumerate() {
            if let Some(row) = column.iter().position(|value| value.is_nan()) {
                let missing = Error::observation(row, "is missing; leave the row out");
                return Err(missing.in_dimension(&checked.names()[i]));
            }
        }
        Ok(Self { times: checked.times().to_vec(), columns })
    }

    /// Times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Values of dimension `i`.
    ///
    /// # Panics
    /// If `i` ≥ [`Record::dim`].
    pub fn column(&self, i: usize) -> &[f64] {
        &self.columns[i]
    }

    /// Number of dimensions, at least 1.
    pub fn dim(&self) -> usize {
        self.columns.len()
    }

    /// Last values, one per dimension.
    pub fn last(&self) -> Vec<f64> {
        self.columns.iter().map(|column| column[column.len() - 1]).collect()
    }

    /// Refuse times ahead that do not increase from the end of the record on, and none at all.
    pub(crate) fn check_ahead(&self, ahead: &[f64]) -> Result<()> {
        if ahead.is_empty() {
            return Err(Error::Series { place: "times ahead".into(), problem: "there are none".into() });
        }
        let before = self.times.last().into_iter().chain(ahead);
        match before.zip(ahead).find(|(before, time)| !(time.is_finite() && *time > *before)) {
            None => Ok(()),
            Some((before, time)) => {
                let problem = format!("time {time} follows {before}; expected increasing times after the record");
                Err(Error::Series { place: "times ahead".into(), problem })
            }
        }
    }

    /// Moves from one time to the next in dimension `i`.
    pub(crate) fn moves(&self, i: usize) -> Vec<f64> {
        self.columns[i].windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// Forecast paths.
#[derive(Debug, Clone, PartialEq)]
pub struct Paths {
    /// (path, time, dimension), last index fastest.
    states: Vec<f64>,
    times: usize,
    dim: usize,
}

impl Paths {
    /// The draws at time number `j` of dimension `i`.
    ///
    /// # Panics
    /// If there is no such time or dimension.
    pub fn draws(&self, j: usize, i: usize) -> Vec<f64> {
        assert!(j < self.times && i < self.dim, "time {j} of {}, dimension {i} of {}", self.times, self.dim);
        self.states.chunks_exact(self.times * self.dim).map(|path| path[j * self.dim + i]).collect()
    }

    /// The draws at time number `j`, all dimensions of a path together.
    ///
    /// # Panics
    /// If there is no such time.
    pub fn cloud(&self, j: usize) -> Vec<f64> {
        assert!(j < self.times, "time {j} of {}", self.times);
        let one = |path: &[f64]| path[j * self.dim..(j + 1) * self.dim].to_vec();
        self.states.chunks_exact(self.times * self.dim).flat_map(one).collect()
    }

    /// Draw `count` paths, each with its own random stream, so that the result does not depend on threads.
    ///
    /// `draw` returns the states of one path, (time, dimension).
    pub(crate) fn sample(
        (count, seed): (usize, u64),
        (times, dim): (usize, usize),
        draw: impl Fn(&mut StreamRng) -> Vec<f64> + Sync,
    ) -> Result<Self> {
        Self::check_request(count, times)?;
        let one = |path: usize| draw(&mut stream(seed, path as u64));
        Self::new((0..count).into_par_iter().map(one).collect::<Vec<_>>().concat(), times, dim)
    }

    /// Refuse to forecast nothing.
    pub(crate) fn check_request(count: usize, times: usize) -> Result<()> {
        if count == 0 || times == 0 {
            let got = format!("{count} paths at {times} times");
            return Err(Error::Shape { what: "forecast", got, expected: "at least 1 of both".into() });
        }
        Ok(())
    }

    /// Paths from their states, (path, time, dimension) with the last index fastest; a state that is not finite is an
    /// error.
    ///
    /// # Errors
    /// No states, or another number of them than whole paths have; a state that is not finite.
    pub fn new(states: Vec<f64>, times: usize, dim: usize) -> Result<Self> {
        if states.is_empty() || !states.len().is_multiple_of(times * dim) {
            let (got, expected) = (states.len().to_string(), format!("a positive multiple of {times} · {dim}"));
            return Err(Error::Shape { what: "forecast states", got, expected });
        }
        if let Some(bad) = states.iter().find(|state| !state.is_finite()) {
            let why = format!("a path reached {bad}, too large for a floating-point number");
            return Err(Error::Numerical { what: "forecast", why });
        }
        Ok(Self { states, times, dim })
    }
}

/// A way to forecast: learn from a record, then draw paths.
pub trait Forecaster: Send + Sync {
    /// Name in tables.
    fn name(&self) -> String;

    /// `paths` paths at the times `ahead`, strictly increasing and after the record. The same `seed` gives the same
    /// paths, for any number of threads. Nothing but the record and the times ahead is known.
    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths>;
}

/// What forecasters may be told beside their name; nothing is each one's own default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForecasterOptions {
    /// Training steps of those that are trained by gradient steps.
    pub steps: Option<usize>,
}
