//! A backtest whose windows may be forecast anywhere: here, in other processes, on other machines.

use levytilt_run::command::backtest::save;
use levytilt_run::directory::Lock;
use levytilt_run::directory::journal::Journal;
use levytilt_run::finite;
use levytilt_run::settings::Settings;
use levytilt_run::table;
use levytilt_run::workflow::backtest::score::Line;
use levytilt_run::workflow::backtest::{Plan, Request};
use pyo3::prelude::*;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::errors::{ComputationError, InputError, raised};
use crate::given::keywords::{read, settings};
use crate::given::table::Table;
use crate::work::pooled;

/// The directory, held against other processes; its journal, and the lines in it.
type Open = (Lock, Journal, Vec<Line>);

/// Windows and models, and the journal once it is open.
#[pyclass(frozen, module = "levytilt._levytilt")]
pub struct Backtest {
    plan: Arc<Plan>,
    table: Arc<table::Table>,
    journal: Mutex<Option<Open>>,
}

#[pymethods]
impl Backtest {
    /// The backtest that JSON of a request describes; of `table`, or of the data that the request names.
    #[new]
    #[pyo3(signature = (request, table=None))]
    fn new(py: Python<'_>, request: &str, table: Option<&Table>) -> PyResult<Self> {
        let request: Request = with_own(read(request)?)?;
        let given = table.map(|table| table.0.clone());
        py.detach(|| {
            let read = || table::read(&request.source, &request.data.chosen(), &request.data.format()).map(Arc::new);
            let table = given.map_or_else(read, Ok)?;
            let plan = Plan::new(&request, || Ok(table::Table::clone(&table)))?;
            Ok(Self { plan: Arc::new(plan), table, journal: Mutex::new(None) })
        })
        .map_err(raised)
    }

    /// The record.
    #[getter]
    fn table(&self) -> Table {
        Table(self.table.clone())
    }

    /// Forecasts in all.
    fn __len__(&self) -> usize {
        self.plan.size()
    }

    /// Open the journal of the results; what is not in it yet, as window and model.
    fn open(&self) -> PyResult<Vec<(usize, String)>> {
        let lock = Lock::new(&self.plan.request().out).map_err(raised)?;
        let (journal, lines) = self.plan.open().map_err(raised)?;
        let missing = self.plan.missing(&lines).iter().map(|task| (task.id().0, task.id().1.to_string())).collect();
        *self.journal()? = Some((lock, journal, lines));
        Ok(missing)
    }

    /// Forecast one window with one model, on one thread, and score it: a line for the journal.
    fn line(&self, py: Python<'_>, window: usize, model: &str) -> PyResult<String> {
        let task = self.plan.task(window, model).map_err(raised)?;
        let line = py.detach(|| pooled(Some(1), || self.plan.line(&task))).map_err(raised)?;
        finite::check(&line).map_err(raised)?;
        serde_json::to_string(&line).map_err(|error| ComputationError::new_err(error.to_string()))
    }

    /// Put a line into the journal, unless the same window and model are there; whether it was new.
    fn append(&self, line: &str) -> PyResult<bool> {
        let line: Line = serde_json::from_str(line).map_err(|error| InputError::new_err(error.to_string()))?;
        let mut open = self.journal()?;
        let Some((_, journal, lines)) = open.as_mut() else {
            return Err(InputError::new_err("the journal is not open"));
        };
        if lines.iter().any(|known| known.window == line.window && known.model == line.model) {
            return Ok(false);
        }
        journal.append(&line).map_err(raised)?;
        lines.push(line);
        Ok(true)
    }

    /// Close the journal and keep what is in it for later.
    fn close(&self) -> PyResult<()> {
        *self.journal()? = None;
        Ok(())
    }

    /// Write scores.json, scores.md and the report, and close the journal; the content of scores.json and scores.md.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let Some((lock, journal, lines)) = self.journal()?.take() else {
            return Err(InputError::new_err("the journal is not open"));
        };
        let work = || {
            let scores = self.plan.scores(lines)?;
            save(lock, &scores)?;
            drop(journal);
            Ok((serde_json::to_string(&scores)?, scores.to_markdown()))
        };
        py.detach(work).map_err(raised)
    }
}

/// The request that JSON describes, in which models of one's own are given as keywords, or as sections of settings.
fn with_own(mut request: Value) -> PyResult<Request> {
    let wrong = |error: serde_json::Error| InputError::new_err(error.to_string());
    if let Some(own) = request.get_mut("own").and_then(Value::as_object_mut) {
        for given in own.values_mut() {
            if serde_json::from_value::<Settings>(given.clone()).is_err() {
                *given = serde_json::to_value(settings(&given.to_string())?).map_err(wrong)?;
            }
        }
    }
    serde_json::from_value(request).map_err(wrong)
}

impl Backtest {
    fn journal(&self) -> PyResult<MutexGuard<'_, Option<Open>>> {
        self.journal.lock().map_err(|_| ComputationError::new_err("a thread failed while writing the journal"))
    }
}
