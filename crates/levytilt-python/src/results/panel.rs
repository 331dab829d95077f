//! Learn what several tables share.

use levytilt_run::finite;
use levytilt_run::workflow::panel::learn;
use pyo3::prelude::*;
use std::sync::Arc;

use crate::errors::raised;
use crate::given::keywords::settings;
use crate::given::table::Table;
use crate::work::patiently;

/// Learn the parameters that the keyword `share` names from all tables together; JSON of what was found,
/// with the own parameters of each table under `own`.
#[pyfunction]
pub fn share(
    py: Python<'_>,
    tables: Vec<PyRef<'_, Table>>,
    keywords: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let settings = settings(keywords)?;
    let (tables, threads): (Vec<Arc<_>>, _) =
        (tables.iter().map(|table| table.0.clone()).collect(), settings.solve.threads);
    let found = patiently(py, threads, progress, move |context| {
        learn(&settings, &tables.iter().map(AsRef::as_ref).collect::<Vec<_>>(), context)
    })?;
    finite::json(&found).map_err(raised)
}
