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
    /// A time or value of a series that cannot be used.
    #[error("{place}: {problem}")]
    Series {
        /// Where: "observation 17", "time 3".
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
