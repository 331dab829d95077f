//! Take an array of numbers, wherever in memory it begins.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::Borrowed;
use pyo3::prelude::*;

/// The numbers of an array of one dimension and 64-bit floats.
pub struct Column(pub Vec<f64>);

impl<'py> FromPyObject<'_, 'py> for Column {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array = object.cast::<PyArray1<f64>>()?;
        // A field of a packed record, or an array out of a larger message, begins anywhere; a copy does not.
        let array: PyReadonlyArray1<f64> = match array.data().is_aligned() {
            true => array.readonly(),
            false => array.call_method0("copy")?.cast_into::<PyArray1<f64>>()?.readonly(),
        };
        Ok(Self(array.as_array().to_vec()))
    }
}
