//! A record of observations, from a file or from arrays; it can be sent to other processes.

use levytilt_run::table::input::{from_columns, from_numbers};
use levytilt_run::table::time::Calendar;
use levytilt_run::table::{self, read};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::sync::Arc;

use crate::errors::raised;
use crate::given::column::Column;
use crate::given::keywords::settings;

/// Times, and one column of values per dimension, in the order of time.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct Table(pub Arc<table::Table>);

/// Times as numbers, or as they are written.
#[derive(FromPyObject)]
pub enum Times {
    Numbers(Column),
    Texts(Vec<String>),
}

/// How a table is sent: what makes it again.
type Parts<'py> = (String, Vec<String>, Bound<'py, PyAny>, Vec<Bound<'py, PyArray1<f64>>>, Vec<String>);

#[pymethods]
impl Table {
    /// A table of columns called `names`; `source` names it in messages, and `others` are columns there that were not chosen.
    #[new]
    #[pyo3(signature = (source, names, times, columns, others = Vec::new()))]
    fn new(
        source: &str,
        names: Vec<String>,
        times: Times,
        columns: Vec<Column>,
        others: Vec<String>,
    ) -> PyResult<Self> {
        let columns: Vec<Vec<f64>> = columns.into_iter().map(|Column(values)| values).collect();
        let table = match times {
            Times::Texts(texts) => from_columns(source, names, &texts, &columns),
            Times::Numbers(Column(times)) => from_numbers(source, names, &times, &columns),
        };
        Ok(Self(Arc::new(table::Table { others, ..table.map_err(raised)? })))
    }

    /// Read a CSV file; keywords say which columns.
    #[staticmethod]
    fn read(source: &str, keywords: &str) -> PyResult<Self> {
        let settings = settings(keywords)?;
        let table = read(source, &settings.chosen_columns(), &settings.data.format()).map_err(raised)?;
        Ok(Self(Arc::new(table)))
    }

    /// Names of the dimensions.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names.clone()
    }

    /// Names of the columns that were not chosen.
    #[getter]
    fn others(&self) -> Vec<String> {
        self.0.others.clone()
    }

    /// Times as the computation sees them: numbers, or days since the first timestamp.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.times)
    }

    /// Nanoseconds from 1970 to the first timestamp; nothing where times are numbers.
    #[getter]
    fn origin(&self) -> Option<i128> {
        self.0.calendar.origin()
    }

    /// Values, one array per dimension; NaN where nothing was seen.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<f64>>> {
        self.0.columns.iter().map(|column| PyArray1::from_slice(py, column)).collect()
    }

    fn __len__(&self) -> usize {
        self.0.times.len()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, Parts<'py>)> {
        let times = match self.0.calendar {
            Calendar::Numbers => self.times(py).into_any(),
            Calendar::Days(_) => self.0.time_texts().into_pyobject(py)?.into_any(),
        };
        Ok((py.get_type::<Self>(), (self.0.source.clone(), self.names(), times, self.columns(py), self.others())))
    }
}
