//! What was learned of a series before its fit, so that the fit need not learn it again.

use super::super::exact_learn::ExactLearned;
use super::super::parameters::{Parameter, rebuild};
use crate::{Error, Result, StateSpace};
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

/// Parameters of a series that were learned together with those of others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedBefore {
    /// Values of all parameters of its model, those that are held included.
    pub values: Vec<f64>,
    /// Covariance of the others on their free scales, row after row.
    pub covariance: Vec<f64>,
    /// From their values to the mean of their law, on the same scales.
    pub shift: Vec<f64>,
}

impl LearnedBefore {
    /// As if it had been learned from the series alone.
    ///
    /// # Errors
    /// Numbers that do not belong to these parameters.
    pub(crate) fn learned(&self, model: &StateSpace, parameters: &[Parameter]) -> Result<ExactLearned> {
        let moving: Vec<usize> = (0..parameters.len()).filter(|&i| !parameters[i].fixed).collect();
        let n = moving.len();
        if [self.values.len(), self.covariance.len(), self.shift.len()] != [parameters.len(), n * n, n] {
            return Err(Error::Shape {
                what: "parameters learned before",
                got: format!("{} values and {} to learn", self.values.len(), self.shift.len()),
                expected: format!("{} and {n}", parameters.len()),
            });
        }
        let covariance = DMatrix::from_column_slice(n, n, &self.covariance);
        let mut learned = ExactLearned::given(rebuild(model, &self.values)?, parameters.to_vec());
        for (p, &value) in learned.optimum.parameters.iter_mut().zip(&self.values) {
            p.value = value;
        }
        for (k, &i) in moving.iter().enumerate() {
            let (p, variance) = (&learned.optimum.parameters[i], covariance[(k, k)]);
            learned.optimum.std_errors[i] = variance.sqrt() * p.transform.slope(p.value);
            learned.optimum.data_shares[i] = 1.0 - p.prior.map_or(0.0, |prior| variance * prior.std.powi(-2));
        }
        (learned.optimum.covariance, learned.optimum.shift) = (self.covariance.clone(), self.shift.clone());
        Ok(learned)
    }
}
