//! The commands that need no fit: exact evidence and synthetic data.

use levytilt_run::finite;
use levytilt_run::workflow::exact::analyse;
use levytilt_run::workflow::simulate::draw;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raised;
use crate::given::keywords::settings;
use crate::given::table::Table;
use crate::work::patiently;

/// Exact evidence and smoother, as keywords say: summary.json and columns of posterior.csv.
#[pyfunction]
pub fn exact<'py>(py: Python<'py>, table: &Table, keywords: &str) -> PyResult<(String, Bound<'py, PyDict>)> {
    let settings = settings(keywords)?;
    let table = table.0.clone();
    let outcome = patiently(py, None, None, move |_| {
        let table = table.as_ref().clone().with_errors(settings.data.error_column.as_deref())?;
        analyse(settings, &table)
    })?;
    let summary = finite::json(&outcome.summary).map_err(raised)?;
    let (found, smoothed) = (PyDict::new(py), outcome.smoothed);
    found.set_item("time", smoothed.times.into_pyarray(py))?;
    found.set_item("mean", smoothed.mean.into_pyarray(py))?;
    found.set_item("sd", smoothed.sd.into_pyarray(py))?;
    for (name, quantile) in ["q05", "q25", "q50", "q75", "q95"].into_iter().zip(smoothed.quantiles) {
        found.set_item(name, quantile.into_pyarray(py))?;
    }
    Ok((summary, found))
}

/// A data set, as keywords say: truth.json, and times, observations and states.
#[pyfunction]
pub fn simulate<'py>(py: Python<'py>, keywords: &str) -> PyResult<(String, Bound<'py, PyDict>)> {
    let settings = settings(keywords)?;
    let drawn = patiently(py, None, None, move |_| draw(settings))?;
    let truth = drawn.truth_json().map_err(raised)?;
    let seen = |values: &[f64]| -> Vec<f64> { values.iter().copied().step_by(drawn.every()).collect() };
    let found = PyDict::new(py);
    found.set_item("times", seen(&drawn.times).into_pyarray(py))?;
    found.set_item("values", seen(&drawn.series.observations).into_pyarray(py))?;
    found.set_item("latent_times", PyArray1::from_slice(py, &drawn.times))?;
    found.set_item("path", PyArray1::from_slice(py, &drawn.series.path))?;
    Ok((truth, found))
}
