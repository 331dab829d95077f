//! Read what keywords ask for: JSON of a dictionary, through serde into the settings that files and flags fill too.

use levytilt_run::settings::keywords::keywords;
use levytilt_run::settings::{DriftName, Settings};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::PathBuf;

use crate::errors::{InputError, raised};
use crate::names::of_backtest;

/// A value from its JSON.
pub fn read<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| InputError::new_err(error.to_string()))
}

/// The settings that keywords describe; `config` among them names a settings file for the rest.
pub fn settings(json: &str) -> PyResult<Settings> {
    let mut given: Map<String, Value> = read(json)?;
    let config = given.remove("config").and_then(|path| path.as_str().map(PathBuf::from));
    let make = || Settings::from_keywords(given)?.over(Settings::default())?.with_config(config.as_deref());
    make().map_err(raised)
}

/// The keywords of some sections of the settings, or of `backtest`.
#[pyfunction]
pub fn known(sections: Vec<String>) -> Vec<String> {
    if sections == ["backtest"] {
        return of_backtest();
    }
    keywords(&sections.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Names of the parameters of a drift that is written as a formula; none for a drift with a name.
#[pyfunction]
pub fn formula_parameters(drift: &str) -> Vec<String> {
    DriftName::read(drift).map_or(Vec::new(), |drift| drift.formula_names())
}

/// Refuse keywords that do not describe settings.
#[pyfunction]
pub fn check(keywords: &str) -> PyResult<()> {
    settings(keywords).map(drop)
}
