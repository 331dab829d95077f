//! Let the size of the noise depend on the state: x' = flow_Δ(x) + γ(x)·J_Δ, with γ at the start of the step.

use crate::drift::{Drift, Formula, FormulaDrift};
use crate::parameter::Domain;
use crate::{Error, Result};
use std::sync::Arc;

/// γ(x) > 0 as a formula of the state `x`, with values for its parameters.
#[derive(Debug, Clone)]
pub struct Size {
    formula: Arc<FormulaDrift>,
}

impl Size {
    /// The size that `formula` gives with these values of its parameters; it must be positive wherever the state goes.
    ///
    /// # Errors
    /// A formula of several states; those of [`Formula::drift`].
    pub fn new(formula: &Formula, values: &[f64]) -> Result<Self> {
        if formula.states().len() != 1 {
            let got = format!("{} states", formula.states().len());
            return Err(Error::Shape { what: "size of the noise", got, expected: "a formula of one state".into() });
        }
        Ok(Self { formula: Arc::new(formula.drift(values)?) })
    }

    /// The same with other values.
    pub(crate) fn with_parameters(&self, values: &[f64]) -> Result<Self> {
        Self::new(self.formula.formula(), values)
    }

    /// Names and values of the parameters.
    pub fn parameters(&self) -> Vec<(String, f64)> {
        self.formula.parameters()
    }

    /// Values allowed for each parameter.
    pub(crate) fn domains(&self) -> Vec<Domain> {
        self.formula.domains()
    }

    /// γ at time `t` and each of `states`.
    ///
    /// # Errors
    /// A size that is not a positive number, with its state.
    pub fn at(&self, t: f64, states: &[f64]) -> Result<Vec<f64>> {
        let width = 1 + self.formula.parameter_count();
        let rows = self.rows(t, states)?;
        Ok(rows.chunks_exact(width).map(|row| row[0]).collect())
    }

    /// Per state a row of γ and its derivatives in the parameters.
    pub(crate) fn rows(&self, t: f64, states: &[f64]) -> Result<Vec<f64>> {
        self.checked(states, self.formula.rates_by_parameter(&points(t, states)))
    }

    /// Per state a row of γ, its derivative in the state, and those in the parameters.
    ///
    /// # Errors
    /// Those of [`Size::at`].
    pub fn slopes(&self, t: f64, states: &[f64]) -> Result<Vec<f64>> {
        self.checked(states, self.formula.rates_by_all(&points(t, states)))
    }

    /// Refuse rows that do not begin with a positive number.
    fn checked(&self, states: &[f64], rows: Vec<f64>) -> Result<Vec<f64>> {
        let width = rows.len() / states.len().max(1);
        match rows.chunks_exact(width.max(1)).position(|row| !(row[0] > 0.0 && row[0].is_finite())) {
            None => Ok(rows),
            Some(k) => Err(self.refused(rows[k * width], states[k])),
        }
    }

    fn refused(&self, size: f64, state: f64) -> Error {
        let given: Vec<String> = self.parameters().iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let with = if given.is_empty() { String::new() } else { format!(" with {}", given.join(", ")) };
        Error::Series {
            place: format!("size {}", self.formula.formula().brief(0)),
            problem: format!(
                "is {size} at state x = {state:.6}{with}; the size of the noise must be a positive number for every state: \
                 change the formula, or give bounds to its parameters"
            ),
        }
    }
}

fn points(t: f64, states: &[f64]) -> Vec<(f64, f64)> {
    states.iter().map(|x| (t, *x)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_sizes_and_slopes() {
        let size = Size::new(&Formula::parse("1 + s*abs(x)").unwrap(), &[0.5]).unwrap();
        assert_eq!(size.at(0.0, &[-2.0, 0.0, 4.0]).unwrap(), [2.0, 1.0, 3.0]);
        assert_eq!(size.rows(0.0, &[-2.0]).unwrap(), [2.0, 2.0]);
        assert_eq!(size.slopes(0.0, &[-2.0, 3.0]).unwrap(), [2.0, -0.5, 2.0, 2.5, 0.5, 3.0]);
        let said = size.with_parameters(&[-0.5]).unwrap().at(0.0, &[1.0, 3.0]).unwrap_err().to_string();
        assert!(said.contains("size 1 + s*abs(x)") && said.contains("-0.5 at state x = 3"), "{said}");
        let two = Formula::system(&[("x", "v"), ("v", "-x")], &[]).unwrap();
        assert!(Size::new(&two, &[]).is_err());
    }
}
