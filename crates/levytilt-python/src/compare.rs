//! Compare models of a table.

use levytilt_run::command::compare::save;
use levytilt_run::failure::bad;
use levytilt_run::finite;
use levytilt_run::table;
use levytilt_run::workflow::compare::entrants::{Entrant, Kind, Wanted, distinct, name_of};
use levytilt_run::workflow::compare::{Comparison as Found, compare as run};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::errors::raised;
use crate::given::keywords::settings;
use crate::given::table::Table;
use crate::results::written;
use crate::work::patiently;

/// Models of a record, ranked.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct Comparison {
    found: Arc<Found>,
    table: Arc<table::Table>,
}

/// A model: a name and the sections of a model that is written out; a name, if it has one of its own, and its keywords; or the
/// path of a settings file.
#[derive(FromPyObject)]
pub enum Given {
    Written((String,), String),
    Keywords(Option<String>, String),
    File(String),
}

/// Names of noises, drifts, laws of errors, clocks and volatilities, of which every combination is a model.
#[derive(FromPyObject)]
pub struct Lists(Vec<String>, Vec<String>, Vec<String>, Vec<String>, Vec<String>);

impl Lists {
    fn wanted(self) -> PyResult<Wanted> {
        let Self(noises, drifts, errors, clocks, volatilities) = self;
        Ok(Wanted {
            noises,
            drifts,
            errors: read_all("errors", &errors)?,
            clocks: read_all("clock", &clocks)?,
            volatilities: read_all("volatility", &volatilities)?,
            ..Wanted::default()
        })
    }
}

/// Choices by their names in a settings file.
fn read_all<T: serde::de::DeserializeOwned>(keyword: &str, names: &[String]) -> PyResult<Vec<T>> {
    let read = |name: &String| {
        serde_json::from_value(name.as_str().into()).map_err(|error| raised(bad(format!("{keyword}: {error}"))))
    };
    names.iter().map(read).collect()
}

/// Fit `models`, and every combination of `lists` with `common` keywords; `progress` is told of steps.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    table: &Table,
    models: Vec<Given>,
    lists: Lists,
    common: &str,
    holdout: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Comparison> {
    let common = settings(common)?;
    let mut entrants = Vec::new();
    for given in models {
        entrants.push(match given {
            Given::File(path) => Entrant::read(Path::new(&path), &common).map_err(raised)?,
            Given::Written((name,), sections) => {
                Entrant { name, kind: Kind::Written(Box::new(written::model(&sections)?)) }
            }
            Given::Keywords(name, keywords) => {
                let settings = settings(&keywords)?;
                Entrant::plain(name.unwrap_or_else(|| name_of(&settings)), settings)
            }
        });
    }
    let wanted = lists.wanted()?;
    if entrants.len() < 2 || wanted.has_lists() {
        entrants.extend(wanted.entrants(&common, None).map_err(raised)?);
    }
    let entrants = distinct(entrants);
    let (table, threads) = (table.0.clone(), common.solve.threads);
    patiently(py, threads, progress, move |context| {
        let table = Arc::new(table.as_ref().clone().with_errors(common.data.error_column.as_deref())?);
        let found = Arc::new(run(entrants, &table, holdout, context, &|| false)?);
        Ok(Comparison { found, table })
    })
}

#[pymethods]
impl Comparison {
    /// The content of summary.json.
    fn summary_json(&self) -> PyResult<String> {
        finite::json(self.found.as_ref()).map_err(raised)
    }

    /// The content of compare.csv.
    fn csv(&self) -> PyResult<String> {
        let mut text = Vec::new();
        self.found.write_csv(&mut text).map_err(raised)?;
        String::from_utf8(text).map_err(|error| raised(error.into()))
    }

    /// The lines that the program prints.
    fn text(&self) -> String {
        self.found.to_text()
    }

    /// Write the files of a comparison.
    fn save(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        py.detach(|| save(&dir, &self.found, &self.table)).map_err(raised)
    }
}
