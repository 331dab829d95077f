//! Fit and simulate models that are written out: states, noise sources, observed columns.

use levytilt_run::command::general::save;
use levytilt_run::directory::Lock;
use levytilt_run::finite;
use levytilt_run::settings::Settings;
use levytilt_run::table;
use levytilt_run::workflow::general::fit::{Outcome, complete};
use levytilt_run::workflow::general::forecast::Origin;
use levytilt_run::workflow::general::settings::GeneralSettings;
use levytilt_run::workflow::general::simulate::draw;
use levytilt_run::workflow::general::summary::jumps;
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

use crate::errors::{InputError, raised};
use crate::given::keywords::read;
use crate::given::table::{Table, Times};
use crate::results::fit::posterior;
use crate::results::forecast::{Ahead, Rows, look};
use crate::results::origin::End;
use crate::work::patiently;

/// A fit of a written-out model and its record.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct WrittenRun {
    outcome: Arc<Outcome>,
    table: Arc<table::Table>,
    origin: Arc<End>,
}

/// The model that JSON of sections describes.
pub fn model(sections: &str) -> PyResult<GeneralSettings> {
    GeneralSettings::from_sections(read(sections)?).map_err(raised)
}

/// Refuse sections that describe no model; the columns it observes, if it says so.
#[pyfunction]
pub fn check_written(sections: &str) -> PyResult<Vec<String>> {
    let model = model(sections)?;
    let checked = || model.spec(&model.usual_columns())?.check_names().map_err(Into::into);
    checked().map_err(raised)?;
    Ok(model.columns())
}

/// The sections of a settings text called `name`, as JSON, and whether it writes its model out.
#[pyfunction]
pub fn read_sections(text: &str, name: &str) -> PyResult<(bool, String)> {
    let written = GeneralSettings::parse(text, name).map_err(raised)?;
    let sections = match &written {
        Some(model) => serde_json::to_value(model),
        None => serde_json::to_value(Settings::parse(text, name).map_err(raised)?),
    };
    let sections: Value = sections.map_err(|error| InputError::new_err(error.to_string()))?;
    Ok((written.is_some(), sections.to_string()))
}

/// Fit the model that JSON of sections describes; `progress(iteration, most, value, error)` is told of steps.
#[pyfunction]
pub fn fit_written(py: Python<'_>, table: &Table, sections: &str, progress: Option<Py<PyAny>>) -> PyResult<WrittenRun> {
    let (model, table) = (model(sections)?, table.0.clone());
    patiently(py, model.solve.threads, progress, move |context| {
        let outcome = complete(model, &table, context)?;
        let origin = Arc::new(End::Written(Box::new(Origin::of(&outcome)?)));
        Ok(WrittenRun { outcome: Arc::new(outcome), table, origin })
    })
}

/// A data set of such a model: truth.json, and times, observations and states.
#[pyfunction]
pub fn simulate_written<'py>(py: Python<'py>, sections: &str) -> PyResult<(String, Bound<'py, PyDict>)> {
    let model = model(sections)?;
    let drawn = patiently(py, None, None, move |_| draw(model))?;
    let truth = drawn.truth.json().map_err(raised)?;
    let (every, found) = (drawn.truth.extent.every, PyDict::new(py));
    let table = |columns: &[Vec<f64>], every: usize| -> Bound<'py, PyArray2<f64>> {
        let rows = drawn.times.len().div_ceil(every);
        Array2::from_shape_fn((rows, columns.len()), |(row, i)| columns[i][row * every]).into_pyarray(py)
    };
    found.set_item("times", drawn.times.iter().copied().step_by(every).collect::<Vec<_>>().into_pyarray(py))?;
    found.set_item("values", table(&drawn.series.columns, every))?;
    found.set_item("latent_times", PyArray1::from_slice(py, &drawn.times))?;
    found.set_item("path", table(&drawn.series.states, 1))?;
    Ok((truth, found))
}

#[pymethods]
impl WrittenRun {
    /// The content of summary.json.
    fn summary_json(&self) -> PyResult<String> {
        finite::json(&self.outcome.summary).map_err(raised)
    }

    /// The lines that the program prints.
    fn text(&self) -> String {
        self.outcome.summary.to_text()
    }

    /// The content of settings.toml.
    fn settings(&self) -> PyResult<String> {
        self.outcome.settings.to_toml().map_err(raised)
    }

    /// The content of model.toml: the settings with every parameter at its estimate.
    fn model(&self) -> PyResult<String> {
        self.outcome.model.to_toml().map_err(raised)
    }

    /// The record.
    #[getter]
    fn table(&self) -> Table {
        Table(self.table.clone())
    }

    /// Names of the states.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.outcome.fit.model.states.clone()
    }

    /// Latent times, and arrays (time, state) by the names of posterior.csv.
    fn posterior<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        posterior(py, &self.outcome.fit.times, &self.outcome.fit.marginals)
    }

    /// The columns of jumps.csv.
    fn jumps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (fit, found) = (&self.outcome.fit, PyDict::new(py));
        let all = jumps(fit);
        let names: Vec<String> = all.iter().map(|jump| fit.model.sources[jump.source].name.clone()).collect();
        found.set_item("time", PyArray1::from_iter(py, all.iter().map(|jump| fit.times[jump.place])))?;
        found.set_item("dimension", names)?;
        found.set_item("probability", PyArray1::from_iter(py, all.iter().map(|jump| jump.probability)))?;
        for (k, name) in ["size", "size_q05", "size_q95"].into_iter().enumerate() {
            found.set_item(name, PyArray1::from_iter(py, all.iter().map(|jump| jump.size[k])))?;
        }
        Ok(found)
    }

    /// The columns of outliers.csv, which has no rows: observation errors are Gaussian.
    fn outliers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        found.set_item("column", Vec::<String>::new())?;
        for name in ["time", "value", "probability"] {
            found.set_item(name, Vec::<f64>::new().into_pyarray(py))?;
        }
        Ok(found)
    }

    /// Nothing: states act on each other.
    fn residuals(&self) -> Option<Py<PyDict>> {
        None
    }

    /// Nothing: no posterior of the parameters is drawn.
    fn parameter_posterior(&self) -> Option<Py<PyDict>> {
        None
    }

    /// Posterior paths (path, time, state).
    fn paths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        let fit = &self.outcome.fit;
        let (paths, dim) = (&fit.smoothed.paths, fit.model.dim());
        let shape = (paths.len(), fit.times.len(), dim);
        Array3::from_shape_fn(shape, |(path, j, i)| paths[path].states[j * dim + i]).into_pyarray(py)
    }

    /// Weights of the paths, which count equally.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let count = self.outcome.fit.smoothed.paths.len();
        vec![1.0 / count as f64; count].into_pyarray(py)
    }

    /// Write the files of a run.
    fn save(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        py.detach(|| save(Lock::new(&dir)?, &self.outcome, &self.table)).map_err(raised)
    }

    /// Look ahead; see `Ahead`.
    #[pyo3(signature = (keywords, at=None, inputs=None))]
    fn forecast(&self, py: Python<'_>, keywords: &str, at: Option<Times>, inputs: Option<Rows>) -> PyResult<Ahead> {
        look(py, self.origin.clone(), keywords, (at, inputs))
    }
}
