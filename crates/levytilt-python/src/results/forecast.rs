//! Look ahead from a fit, fresh or read back from its directory.

use levytilt_run::command::calm::no_jump;
use levytilt_run::command::update::{Request, update};
use levytilt_run::directory::Lock;
use levytilt_run::one_or_many::OneOrMany;
use levytilt_run::table::Table;
use levytilt_run::table::input::from_sparse_columns;
use levytilt_run::table::time::Length;
use levytilt_run::workflow::forecast::{Look, View};
use levytilt_run::workflow::update::{Answer, Watch};
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

use crate::errors::{InputError, raised};
use crate::given::column::Column;
use crate::given::keywords::read;
use crate::given::table::Times;
use crate::results::origin::End;
use crate::work::patiently;

/// Predictive paths.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct Ahead {
    origin: Arc<End>,
    view: View,
}

/// A figure of an answer.
type Pick = fn(&Answer) -> Option<&OneOrMany<Option<f64>>>;

/// How to look ahead, by keywords.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keywords {
    horizon: Option<Length>,
    paths: Option<usize>,
    seed: Option<u64>,
    threads: Option<usize>,
    fixed_parameters: bool,
    state: bool,
}

/// Rows of a table: names of its columns, times, columns.
pub type Rows = (Vec<String>, Times, Vec<Column>);

/// A table of rows, one or more.
fn rows_table(source: &str, (names, times, columns): Rows) -> PyResult<Table> {
    let times: Vec<String> = match times {
        Times::Texts(texts) => texts,
        Times::Numbers(Column(times)) => times.iter().map(f64::to_string).collect(),
    };
    let columns: Vec<Vec<f64>> = columns.into_iter().map(|Column(values)| values).collect();
    from_sparse_columns(source, "time", names, &times, &columns).map_err(raised)
}

/// Simulate from `origin` as keywords say, to a horizon among them or to the times `at`.
pub fn look(
    py: Python<'_>,
    origin: Arc<End>,
    keywords: &str,
    (at, inputs): (Option<Times>, Option<Rows>),
) -> PyResult<Ahead> {
    let Keywords { horizon, paths, seed, threads, fixed_parameters, state } = read(keywords)?;
    let times = match (&at, &horizon) {
        (Some(Times::Numbers(Column(at))), _) => origin.at_numbers(at),
        (Some(Times::Texts(at)), _) => origin.at(at),
        (None, Some(horizon)) => origin.until(horizon),
        (None, None) => return Err(InputError::new_err("forecast needs a horizon or times")),
    };
    let times = times.map_err(raised)?;
    let origin = match inputs {
        Some(rows) => Arc::new(origin.driven_by(&rows_table("inputs", rows)?, &times).map_err(raised)?),
        None => origin,
    };
    let look = Look { paths, seed, fixed_parameters, state };
    patiently(py, threads, None, move |_| {
        let view = origin.look(&times, look)?;
        Ok(Ahead { origin, view })
    })
}

#[pymethods]
impl Ahead {
    /// Names of the dimensions.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.origin.names().to_vec()
    }

    /// Nanoseconds from 1970 to the first timestamp of the record; nothing where times are numbers.
    #[getter]
    fn origin(&self) -> Option<i128> {
        self.origin.calendar().origin()
    }

    /// Times as the computation sees them.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.view.ahead.times)
    }

    /// Paths (path, time, dimension).
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let ahead = &self.view.ahead;
        PyArray1::from_slice(py, &ahead.states).reshape([ahead.paths(), ahead.times.len(), ahead.dim])
    }

    /// Means (time, dimension).
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let ahead = &self.view.ahead;
        let places = (0..ahead.times.len()).flat_map(|j| (0..ahead.dim).map(move |i| (i, j)));
        let means: Vec<f64> = places.map(|(i, j)| ahead.marginal(i, j, &[]).mean).collect();
        means.into_pyarray(py).reshape([ahead.times.len(), ahead.dim])
    }

    /// Quantiles (time, dimension, level), as in forecast.csv.
    fn quantile<'py>(&self, py: Python<'py>, levels: Vec<f64>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        if let Some(level) = levels.iter().find(|level| !(0.0..=1.0).contains(*level)) {
            return Err(InputError::new_err(format!("quantile level {level} is not allowed: must lie in [0, 1]")));
        }
        let ahead = &self.view.ahead;
        let mut found = Array3::zeros((ahead.times.len(), ahead.dim, levels.len()));
        for j in 0..ahead.times.len() {
            for i in 0..ahead.dim {
                for (k, quantile) in ahead.marginal(i, j, &levels).quantiles.into_iter().enumerate() {
                    found[(j, i, k)] = quantile;
                }
            }
        }
        Ok(found.into_pyarray(py))
    }

    /// The content of summary.json.
    fn summary_json(&self) -> PyResult<String> {
        self.view.summary_json().map_err(raised)
    }

    /// Write the files of a forecast.
    fn save(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        let write = || self.origin.save(Lock::new(&dir)?, &self.view);
        py.detach(write).map_err(raised)
    }
}

/// A run that was saved: what a forecast needs of it.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct SavedRun {
    dir: PathBuf,
    origin: Arc<End>,
}

#[pymethods]
impl SavedRun {
    #[new]
    fn new(dir: PathBuf) -> PyResult<Self> {
        let origin = Arc::new(End::read(&dir).map_err(raised)?);
        Ok(Self { dir, origin })
    }

    /// Names of the dimensions.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.origin.names().to_vec()
    }

    /// Names of the states, which the posterior is of.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.origin.states().to_vec()
    }

    /// Nanoseconds from 1970 to the first timestamp of the record; nothing where times are numbers.
    #[getter]
    fn origin(&self) -> Option<i128> {
        self.origin.calendar().origin()
    }

    /// Take new rows into the run: per answer of the program, an array (row, dimension).
    fn update<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        times: Times,
        columns: Vec<Column>,
        watch: (f64, usize, Option<f64>),
    ) -> PyResult<Bound<'py, PyDict>> {
        self.origin.must_be_plain("update").map_err(raised)?;
        let table = rows_table("new rows", (names, times, columns))?;
        let (alarm, lag, jump_above) = watch;
        let watch = Watch { alarm, lag, jump_above };
        let (mut answers, request) = (Vec::new(), Request { run: self.dir.clone(), watch });
        py.detach(|| update(&request, &table, &mut |answer| answers.push(answer.clone()))).map_err(raised)?;
        let shape = (answers.len(), self.origin.names().len());
        let found = PyDict::new(py);
        found.set_item("time", PyArray1::from_iter(py, answers.iter().map(|answer| answer.at)))?;
        let mut picks: Vec<(&str, Pick)> = vec![
            ("value", |answer| Some(&answer.value)),
            ("log_evidence", |answer| Some(&answer.log_evidence)),
            ("p_value", |answer| Some(&answer.p_value)),
            ("jump_probability", |answer| Some(&answer.jump_probability)),
            ("mean", |answer| Some(&answer.mean)),
            ("sd", |answer| Some(&answer.sd)),
        ];
        let outliers = answers.first().is_some_and(|answer: &Answer| answer.outlier_probability.is_some());
        if outliers {
            picks.push(("outlier_probability", |answer| answer.outlier_probability.as_ref()));
        }
        if lag > 0 {
            picks.push(("revised_p_value", |answer| Some(&answer.revised.as_ref()?.p_value)));
            picks.push(("revised_jump_probability", |answer| Some(&answer.revised.as_ref()?.jump_probability)));
        }
        if lag > 0 && outliers {
            picks.push(("revised_outlier_probability", |answer| answer.revised.as_ref()?.outlier_probability.as_ref()));
        }
        for (name, pick) in picks {
            let mut array = Array2::from_elem(shape, f64::NAN);
            for (row, answer) in answers.iter().enumerate() {
                let figures = pick(answer).into_iter().flat_map(OneOrMany::iter).enumerate();
                figures.for_each(|(i, value)| array[(row, i)] = value.unwrap_or(f64::NAN));
            }
            found.set_item(name, array.into_pyarray(py))?;
        }
        Ok(found)
    }

    /// Per column or noise source: the probability that it does not jump after the first of these times and up to the second.
    fn no_jump(&self, py: Python<'_>, start: &str, end: &str) -> PyResult<Vec<(String, f64)>> {
        py.detach(|| no_jump(&self.dir, [start, end])).map_err(raised)
    }

    /// Times of the record that are written so, as the computation sees them.
    fn read_times<'py>(&self, py: Python<'py>, times: Vec<String>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.origin.at(&times).map_err(raised)?.into_pyarray(py))
    }

    /// Look ahead; see `Ahead`.
    #[pyo3(signature = (keywords, at=None, inputs=None))]
    fn forecast(&self, py: Python<'_>, keywords: &str, at: Option<Times>, inputs: Option<Rows>) -> PyResult<Ahead> {
        look(py, self.origin.clone(), keywords, (at, inputs))
    }
}
