//! Bring model, times and values together and say where they contradict each other.

use super::likelihood::weigh;
use crate::series::{TimeGrid, check_values};
use crate::stop::NEVER;
use crate::{Dimension, Error, ErrorLaw, Result, Start, StateSpace, Stop};

/// A model with the times and values it has to explain.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub model: &'a StateSpace,
    /// The model's only dimension.
    pub dimension: &'a Dimension,
    pub grid: &'a TimeGrid,
    /// One value per latent time, NaN where nothing is observed.
    pub values: Vec<f64>,
    /// Standard deviation, or scale, of the error of each value; a typical one where nothing is observed.
    stds: Vec<f64>,
    /// Smallest and largest standard deviation of an error.
    pub std_range: (f64, f64),
    /// Latent time of the last observed value.
    pub end: usize,
    /// Lengths of the steps for the noise; they differ from those for the drift where steps are gathered ([`super::gather`]).
    pub lengths: Vec<f64>,
    /// Who may ask for an end, at any step of any pass.
    pub stop: &'a Stop,
}

impl<'a> Problem<'a> {
    /// Check that the values fit the times and that one of them is observed.
    pub fn new(model: &'a StateSpace, grid: &'a TimeGrid, values: &[f64]) -> Result<Self> {
        let rows: Vec<Option<usize>> = (0..grid.len()).map(|j| grid.observation(j)).collect();
        Self::of_rows(model, grid, values, &rows)
    }

    /// The same where the known errors of the times are those of these rows of the series.
    pub fn of_rows(model: &'a StateSpace, grid: &'a TimeGrid, values: &[f64], rows: &[Option<usize>]) -> Result<Self> {
        let dimension = model.only_dimension()?;
        let spread = grid.spread(values)?;
        check_values("values", values)?;
        let end = spread.iter().rposition(|value| !value.is_nan()).unwrap_or(0);
        let mut checked = f64::NAN;
        for dt in (0..grid.steps()).map(|j| grid.step(j)) {
            // Equal steps mostly follow each other.
            if dt != checked {
                model.drift.check_step(dt)?;
                checked = dt;
            }
        }
        let lengths = (0..grid.steps()).map(|j| grid.step(j)).collect();
        let factor = dimension.observation_std;
        let usual = factor * dimension.errors.typical();
        let std = |(row, value): (&Option<usize>, &f64)| match row.filter(|_| !value.is_nan()) {
            Some(row) => Ok(factor * dimension.errors.checked_unit(row)?),
            None => Ok(usual),
        };
        let stds = rows.iter().zip(&spread).map(std).collect::<Result<Vec<f64>>>()?;
        let observed = stds.iter().zip(&spread).filter(|(_, value)| !value.is_nan()).map(|(std, _)| *std);
        let (low, high) = observed.fold((usual, usual), |(low, high), std| (std.min(low), std.max(high)));
        Ok(Self { model, dimension, grid, values: spread, stds, std_range: (low, high), end, lengths, stop: &NEVER })
    }

    /// The same, whose passes end with an error once `stop` asks for it.
    pub fn stopped_by(self, stop: &'a Stop) -> Self {
        Self { stop, ..self }
    }

    /// Law of the observation errors, in units of [`Problem::std`].
    pub fn law(&self) -> ErrorLaw {
        self.dimension.errors.law
    }

    /// Standard deviation, or scale, of the error at the observed time `j`.
    pub fn std(&self, j: usize) -> f64 {
        self.stds[j]
    }

    /// Width of the narrowest likelihood, as a standard deviation.
    pub fn narrowest_error(&self) -> f64 {
        self.std_range.0 * self.law().core()
    }

    /// Whether errors are so heavy-tailed that a value does not confine the state to its neighbourhood.
    pub fn has_heavy_errors(&self) -> bool {
        self.law() != ErrorLaw::Gaussian
    }

    /// Whether the states of time `j` are not confined by an observation: those beyond the cells count as being at their
    /// ends.
    pub fn open(&self, j: usize) -> bool {
        self.values[j].is_nan() || self.has_heavy_errors()
    }

    /// The largest factor of the noise of step `j` at one of these states.
    pub fn largest_size(&self, j: usize, states: &[f64]) -> Result<f64> {
        let Some(size) = &self.dimension.size else { return Ok(1.0) };
        let known: Vec<f64> = states.iter().copied().filter(|x| !x.is_nan()).collect();
        Ok(size.at(self.grid.times()[j], &known)?.into_iter().fold(0.0, f64::max))
    }

    /// The smallest and the largest factor of the noise at the values observed.
    pub fn size_range(&self) -> Result<(f64, f64)> {
        let Some(size) = &self.dimension.size else { return Ok((1.0, 1.0)) };
        let mut range = (f64::INFINITY, 0.0f64);
        for (j, y) in self.observed() {
            let factor = size.at(self.grid.times()[j], &[y])?[0];
            range = (range.0.min(factor), range.1.max(factor));
        }
        Ok(range)
    }

    /// Observed values in order of time, with their latent times.
    pub fn observed(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.values.iter().copied().enumerate().filter(|(_, value)| !value.is_nan())
    }

    /// Whether some time, the first apart, is open.
    pub fn has_open(&self) -> bool {
        (1..self.values.len()).any(|j| self.open(j))
    }

    /// Largest magnitude among values and start.
    pub fn magnitude(&self) -> f64 {
        let start = match self.dimension.start {
            Start::Fixed(x0) => x0.abs(),
            Start::Gaussian { mean, .. } => mean.abs(),
        };
        self.observed().fold(start, |largest, (_, value)| largest.max(value.abs()))
    }

    /// Multiply `message`, given at states `first` + i·`spacing`, by the likelihood of the value at time `j`.
    ///
    /// Returns the logarithm of the constant left out, ln f(0) − ln σ with the density f of the error law: −ln(σ√2π) for
    /// Gaussian errors; 0 where nothing is observed.
    pub fn observe(&self, j: usize, (first, spacing): (f64, f64), message: &mut [f64]) -> f64 {
        let (y, std, law) = (self.values[j], self.stds[j], self.law());
        if y.is_nan() {
            return 0.0;
        }
        weigh(&law, ((first - y) / std, spacing / std), message);
        law.log_peak() - std.ln()
    }

    /// The factor of [`Problem::observe`] at one state.
    pub fn likelihood(&self, j: usize, state: f64) -> f64 {
        let y = self.values[j];
        if y.is_nan() { 1.0 } else { self.law().relative((state - y) / self.stds[j]) }
    }

    /// Probability that the value at time `j` is wrong, for masses of the state at `first` + i·`spacing`; NaN where nothing is
    /// observed.
    pub fn wrong(&self, j: usize, (first, spacing): (f64, f64), masses: &[f64]) -> f64 {
        let (y, std, wrong) = (self.values[j], self.stds[j], self.law().wrong_many());
        if y.is_nan() {
            return f64::NAN;
        }
        let total: f64 = masses.iter().sum();
        let counted = masses.iter().enumerate().filter(|(_, mass)| **mass > 1e-15 * total);
        counted.map(|(i, mass)| mass / total * wrong((first + i as f64 * spacing - y) / std)).sum()
    }

    /// The error for data that the model cannot have produced at time `j`.
    pub fn impossible(&self, j: usize, why: &str) -> Error {
        Error::Numerical {
            what: "exact reference",
            why: format!(
                "at time {} the model gives the data essentially zero probability ({why}); use a noise with heavier \
                 tails or a larger observation_std",
                self.grid.times()[j]
            ),
        }
    }
}
