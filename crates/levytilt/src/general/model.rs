//! Say what a model with directions is: a drift, noise sources, observation rows, and the law of the start.

use crate::drift::Drift;
use crate::error::positive;
use crate::noise::Noise;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// A scalar noise that moves the state along a direction.
#[derive(Debug)]
pub struct Source {
    /// Name as users write it.
    pub name: String,
    /// Law of its jumps.
    pub noise: Box<dyn Noise>,
    /// What a jump of size 1 adds to the state.
    pub direction: DVector<f64>,
}

/// An observed column y = hᵀz + ε.
#[derive(Debug, Clone)]
pub struct Row {
    /// Name of the column.
    pub name: String,
    /// The row h.
    pub weights: DVector<f64>,
    /// Standard deviation of ε.
    pub std: f64,
}

impl Row {
    /// Check the row of weights for `dim` states.
    pub(super) fn check(&self, dim: usize) -> Result<()> {
        vector("row of column", &self.name, &self.weights, dim, "it sees no state; give a weight")
    }
}

/// States, drift, noise sources, observed columns, and the Gaussian law of the state at the first time.
#[derive(Debug)]
pub struct GeneralModel {
    /// Names of the states.
    pub states: Vec<String>,
    /// Drift.
    pub drift: Box<dyn Drift>,
    /// Noise sources, at least 1.
    pub sources: Vec<Source>,
    /// Observed columns, at least 1.
    pub rows: Vec<Row>,
    /// Mean of the state at the first time.
    pub start_mean: DVector<f64>,
    /// Its covariance; 0 for a state that is known.
    pub start_covariance: DMatrix<f64>,
}

impl GeneralModel {
    /// The model, after a check that its parts fit together.
    ///
    /// # Errors
    /// A direction, row or start of the wrong length or with entries that are not finite; a direction or a row of zeros; no source or no row; an observation standard deviation that is not positive.
    pub fn checked(self) -> Result<Self> {
        let dim = self.states.len();
        same("drift", self.drift.dim(), dim)?;
        same("mean of the start", self.start_mean.len(), dim)?;
        same("covariance of the start", self.start_covariance.nrows(), dim)?;
        same("covariance of the start", self.start_covariance.ncols(), dim)?;
        if self.sources.is_empty() || self.rows.is_empty() {
            let (what, got) = if self.sources.is_empty() {
                ("noise", "no source")
            } else {
                ("observations", "no column that sees a state")
            };
            return Err(Error::Shape { what, got: got.into(), expected: "at least 1".into() });
        }
        for source in &self.sources {
            vector("direction of noise", &source.name, &source.direction, dim, "it moves no state; give a loading")?;
        }
        for row in &self.rows {
            row.check(dim)?;
            positive(&format!("observation_std[{}]", row.name), row.std)?;
        }
        Ok(self)
    }

    /// Number of states.
    pub fn dim(&self) -> usize {
        self.states.len()
    }
}

fn same(what: &'static str, got: usize, dim: usize) -> Result<()> {
    match got == dim {
        true => Ok(()),
        false => Err(Error::Shape { what, got: format!("{got} states"), expected: dim.to_string() }),
    }
}

/// Check a vector of one finite entry per state, not all 0.
fn vector(what: &'static str, name: &str, entries: &DVector<f64>, dim: usize, zero: &str) -> Result<()> {
    if entries.len() != dim {
        let got = format!("{} entries for {name}", entries.len());
        return Err(Error::Shape { what, got, expected: format!("{dim}, one per state") });
    }
    let problem = if !entries.iter().all(|entry| entry.is_finite()) {
        "an entry is not a finite number".into()
    } else if entries.iter().all(|entry| *entry == 0.0) {
        format!("all entries are 0: {zero}")
    } else {
        return Ok(());
    };
    Err(Error::Series { place: format!("{what} {name}"), problem })
}
