//! Give Python the two kinds of failure: input that the caller can put right, and work that went wrong.

use levytilt_run::failure::{Kind, in_keywords, kind};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::names::options;

create_exception!(levytilt, InputError, PyValueError, "Something the caller can put right: a value, a name, a file.");
create_exception!(levytilt, ComputationError, PyRuntimeError, "A computation that failed.");

/// The exception for an error, in words that name keywords.
pub fn raised(error: anyhow::Error) -> PyErr {
    let message = in_keywords(&error, &options());
    match kind(&error) {
        Kind::Input => InputError::new_err(message),
        Kind::Computation => ComputationError::new_err(message),
    }
}

/// The exception for an error of the library.
pub fn raised_here(error: levytilt::Error) -> PyErr {
    raised(error.into())
}
