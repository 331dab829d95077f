//! Say what was wrong with an input, where, and what would be right.

/// What can go wrong. Every variant names the value and the place.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its domain.
    #[error("{name} = {value} is not allowed: {expected}")]
    Parameter {
        /// Name of the parameter as users write it.
        name: String,
        /// The value given.
        value: f64,
        /// The domain, in words.
        expected: &'static str,
    },
    /// A time or value of one row of a series that cannot be used.
    #[error("observation {}{}: {problem}", row + 1, dimension.as_deref().map(|name| format!(" of {name}")).unwrap_or_default())]
    Observation {
        /// The row, counted from 0.
        row: usize,
        /// Name of the dimension, where it is known.
        dimension: Option<String>,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A series that cannot be used as a whole.
    #[error("{place}: {problem}")]
    Series {
        /// Where: "series", "forecast times".
        place: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Lengths or shapes that do not fit together.
    #[error("{what} has {got}, expected {expected}")]
    Shape {
        /// The array in question.
        what: &'static str,
        /// Its length or shape.
        got: String,
        /// The length or shape needed.
        expected: String,
    },
    /// A formula that cannot be read.
    #[error("formula of {state}, column {column}: {problem}\n  {}\n  {}", picture.0, picture.1)]
    Formula {
        /// The state whose formula it is.
        state: String,
        /// The character at fault, counted from 1.
        column: usize,
        /// What is wrong and what to do.
        problem: String,
        /// The formula, or the part of it around the column, and a line with a caret below that.
        picture: (String, String),
    },
    /// A computation that cannot be done to the promised accuracy for this input.
    #[error("{what}: {why}")]
    Numerical {
        /// The computation.
        what: &'static str,
        /// Why it cannot be done and what would help.
        why: String,
    },
    /// A computation that was ended on request before it had a result.
    #[error("stopped on request{after}")]
    Stopped {
        /// What there is of it, in words.
        after: String,
    },
}

impl Error {
    /// Whether the caller can mend it by other input: a value, a parameter, a formula. Otherwise the computation failed.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Parameter { .. }
            | Self::Observation { .. }
            | Self::Series { .. }
            | Self::Shape { .. }
            | Self::Formula { .. } => true,
            Self::Numerical { .. } | Self::Stopped { .. } => false,
        }
    }

    /// A row of a series, counted from 0, that cannot be used.
    pub fn observation(row: usize, problem: impl Into<String>) -> Self {
        Self::Observation { row, dimension: None, problem: problem.into() }
    }

    /// The same error, naming the dimension it occurred in.
    pub fn in_dimension(self, name: &str) -> Self {
        match self {
            Self::Observation { row, dimension: None, problem } => {
                Self::Observation { row, dimension: Some(name.into()), problem }
            }
            Self::Series { place, problem } => Self::Series { place: format!("{place} of {name}"), problem },
            other => other,
        }
    }
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Check that a parameter is finite and positive.
pub fn positive(name: &str, value: f64) -> Result<f64> {
    check(name, value, value > 0.0, "must be a finite number greater than 0")
}

/// Check that a parameter is finite and not negative.
pub fn non_negative(name: &str, value: f64) -> Result<f64> {
    check(name, value, value >= 0.0, "must be a finite number, 0 or greater")
}

/// Check that a parameter is finite.
pub fn finite(name: &str, value: f64) -> Result<f64> {
    check(name, value, true, "must be a finite number")
}

/// Check a parameter against a condition; NaN and infinities never pass.
pub fn check(name: &str, value: f64, ok: bool, expected: &'static str) -> Result<f64> {
    if ok && value.is_finite() { Ok(value) } else { Err(Error::Parameter { name: name.to_string(), value, expected }) }
}

/// Check a number of values.
pub fn expect_length(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got == expected {
        return Ok(());
    }
    Err(Error::Shape { what, got: format!("{got} values"), expected: format!("{expected}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_an_observation_keeps_its_row_and_dimension() {
        let error = Error::observation(4, "is missing").in_dimension("NVDA");
        assert_eq!(error.to_string(), "observation 5 of NVDA: is missing");
        assert_eq!(error.clone().in_dimension("AMD"), error);
        assert!(error.is_input() && !Error::Numerical { what: "grid", why: "too wide".into() }.is_input());
    }
}
