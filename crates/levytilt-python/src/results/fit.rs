//! Fit a model to a table, and hand out what was found.

use levytilt::internals::posterior::Marginal;
use levytilt_run::command::fit::save;
use levytilt_run::finite;
use levytilt_run::settings::inputs::take;
use levytilt_run::table;
use levytilt_run::workflow::fit::outliers::{Judged, judged};
use levytilt_run::workflow::fit::{Outcome, analyse};
use levytilt_run::workflow::forecast::Origin;
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

use crate::errors::raised;
use crate::given::keywords::settings;
use crate::given::table::{Table, Times};
use crate::results::forecast::{Ahead, Rows, look};
use crate::results::origin::End;
use crate::work::patiently;

/// A fit and its record, with the settings that made it.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct Run {
    outcome: Arc<Outcome>,
    table: Arc<table::Table>,
    origin: Arc<End>,
}

/// Fit the model that keywords describe; `progress(iteration, most, bound, error)` is told of steps.
#[pyfunction]
pub fn fit(py: Python<'_>, table: &Table, keywords: &str, progress: Option<Py<PyAny>>) -> PyResult<Run> {
    let settings = settings(keywords)?;
    let (table, threads) = (table.0.clone(), settings.solve.threads);
    patiently(py, threads, progress, move |context| {
        let mut settings = settings;
        let table = take(table.as_ref().clone(), &mut settings)?;
        let table = Arc::new(table.with_errors(settings.data.error_column.as_deref())?);
        let outcome = analyse(settings, &table, context)?;
        let origin = Arc::new(End::Plain(Box::new(Origin::of(&outcome)?)));
        Ok(Run { outcome: Arc::new(outcome), table, origin })
    })
}

/// Latent times, and arrays (time, dimension) by the names of posterior.csv.
pub fn posterior<'py>(py: Python<'py>, times: &[f64], marginals: &[Vec<Marginal>]) -> PyResult<Bound<'py, PyDict>> {
    let column = |pick: &dyn Fn(&Marginal) -> f64| -> Bound<'py, PyArray2<f64>> {
        let shape = (times.len(), marginals.len());
        Array2::from_shape_fn(shape, |(j, i)| pick(&marginals[i][j])).into_pyarray(py)
    };
    let found = PyDict::new(py);
    found.set_item("time", PyArray1::from_slice(py, times))?;
    found.set_item("mean", column(&|m| m.mean))?;
    found.set_item("sd", column(&|m| m.sd))?;
    for (k, name) in ["q05", "q25", "q50", "q75", "q95"].into_iter().enumerate() {
        found.set_item(name, column(&|m| m.quantiles[k]))?;
    }
    found.set_item("jump_probability", column(&|m| m.jump_probability))?;
    Ok(found)
}

#[pymethods]
impl Run {
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

    /// Names of the states: those of the columns.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.table.names.clone()
    }

    /// The record.
    #[getter]
    fn table(&self) -> Table {
        Table(self.table.clone())
    }

    /// Latent times, and arrays (time, dimension) by the names of posterior.csv.
    fn posterior<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fit = &self.outcome.fit;
        posterior(py, &fit.times, &fit.marginals)
    }

    /// Every observed value with the probability that it is wrong, as columns of outliers.csv; empty for Gaussian errors.
    fn outliers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (table, found) = (&self.table, PyDict::new(py));
        let all = judged(&self.outcome.fit, table);
        let column = |pick: &dyn Fn(&Judged) -> f64| -> Vec<f64> { all.iter().map(pick).collect() };
        found.set_item("time", column(&|value| table.times[value.row]).into_pyarray(py))?;
        found.set_item("column", all.iter().map(|value| table.names[value.column].clone()).collect::<Vec<_>>())?;
        found.set_item("value", column(&|value| table.columns[value.column][value.row]).into_pyarray(py))?;
        found.set_item("probability", column(&|value| value.probability).into_pyarray(py))?;
        Ok(found)
    }

    /// The columns of jumps.csv, with the number of the dimension for its name.
    fn jumps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all: Vec<(usize, &levytilt::internals::posterior::Jump)> = self
            .outcome
            .fit
            .jumps
            .iter()
            .enumerate()
            .flat_map(|(i, jumps)| jumps.iter().map(move |j| (i, j)))
            .collect();
        let column = |pick: &dyn Fn(&levytilt::internals::posterior::Jump) -> f64| -> Bound<'py, PyArray1<f64>> {
            PyArray1::from_iter(py, all.iter().map(|(_, jump)| pick(jump)))
        };
        let found = PyDict::new(py);
        found.set_item("time", column(&|jump| jump.time))?;
        found.set_item("dimension", all.iter().map(|(i, _)| self.table.names[*i].clone()).collect::<Vec<_>>())?;
        found.set_item("probability", column(&|jump| jump.probability))?;
        found.set_item("size", column(&|jump| jump.size))?;
        found.set_item("size_q05", column(&|jump| jump.size_q05))?;
        found.set_item("size_q95", column(&|jump| jump.size_q95))?;
        Ok(found)
    }

    /// The columns of residuals.csv; none where the columns act on each other.
    fn residuals<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(filtered) = &self.outcome.filtered else { return Ok(None) };
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        for ((seen, residuals), name) in filtered.seen.iter().zip(&filtered.residuals).zip(&self.table.names) {
            rows.extend(seen.iter().flatten().zip(residuals.values.iter().copied()));
            names.resize(rows.len(), name.clone());
        }
        let found = PyDict::new(py);
        found.set_item("time", PyArray1::from_iter(py, rows.iter().map(|(seen, _)| seen.time)))?;
        found.set_item("dimension", names)?;
        found.set_item("residual", PyArray1::from_iter(py, rows.iter().map(|(_, residual)| *residual)))?;
        found.set_item("log_evidence", PyArray1::from_iter(py, rows.iter().map(|(seen, _)| seen.log_evidence)))?;
        found.set_item(
            "jump_probability",
            PyArray1::from_iter(py, rows.iter().map(|(seen, _)| seen.jump_probability)),
        )?;
        Ok(Some(found))
    }

    /// Posterior paths (path, time, dimension), handed over without a further copy.
    fn paths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        let paths = &self.outcome.fit.paths;
        let mut states = Array3::zeros((paths.len(), paths.times(), paths.dim()));
        for j in 0..paths.times() {
            for i in 0..paths.dim() {
                for (path, x) in paths.column(i, j).enumerate() {
                    states[(path, j, i)] = x;
                }
            }
        }
        states.into_pyarray(py)
    }

    /// Weights of the paths, with sum 1.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.outcome.fit.weights)
    }

    /// ln p(x, y) − ln q(x) of the paths, behind the bound, the effective sample size and k̂.
    fn log_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.outcome.fit.paths.log_weights().into_pyarray(py)
    }

    /// Draws of every parameter by its name; none where errors are not known.
    fn parameter_draws<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        if let Some(draws) = self.outcome.fit.draw_parameters(count, seed) {
            for (k, parameter) in self.outcome.fit.parameters.iter().enumerate() {
                let values = PyArray1::from_iter(py, draws.iter().map(|draw| draw[k]));
                found.set_item(&parameter.name, values)?;
            }
        }
        Ok(found)
    }

    /// The columns of parameters.csv but the first, by name; nothing if no posterior was asked for.
    fn parameter_posterior<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(drawn) = &self.outcome.drawn else { return Ok(None) };
        let found = PyDict::new(py);
        found.set_item("weight", PyArray1::from_slice(py, &drawn.weights))?;
        for (k, name) in drawn.names.iter().enumerate() {
            found.set_item(name, PyArray1::from_iter(py, drawn.draws.iter().map(|draw| draw[k])))?;
        }
        let defined = |value: &f64| if value.is_finite() { *value } else { f64::NAN };
        found.set_item("log_evidence", PyArray1::from_iter(py, drawn.log_evidences.iter().map(defined)))?;
        Ok(Some(found))
    }

    /// Write the files of a run.
    fn save(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        py.detach(|| save(&dir, &self.outcome, &self.table)).map_err(raised)
    }

    /// Look ahead; see `Ahead`.
    #[pyo3(signature = (keywords, at=None, inputs=None))]
    fn forecast(&self, py: Python<'_>, keywords: &str, at: Option<Times>, inputs: Option<Rows>) -> PyResult<Ahead> {
        look(py, self.origin.clone(), keywords, (at, inputs))
    }
}
