//! Give Python the program's two kinds of failure: input that the caller can put right, and work that went wrong.

use levytilt_run::failure::exit_code;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(levytilt, InputError, PyValueError, "Something the caller can put right: a value, a name, a file.");
create_exception!(levytilt, ComputationError, PyRuntimeError, "A computation that failed.");

/// The exception for an error, in the program's words.
pub fn raised(error: anyhow::Error) -> PyErr {
    let message = format!("{error:#}");
    if exit_code(&error) == 2 { InputError::new_err(message) } else { ComputationError::new_err(message) }
}

/// The exception for an error of the library.
pub fn raised_here(error: levytilt::Error) -> PyErr {
    raised(error.into())
}
