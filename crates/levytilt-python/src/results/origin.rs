//! Where a forecast starts: a fit of a model by drift and noise, or of one that is written out.

use anyhow::Result;
use levytilt_run::command::forecast::{save, save_general};
use levytilt_run::directory::Lock;
use levytilt_run::failure::bad;
use levytilt_run::table::Table;
use levytilt_run::table::time::{Calendar, Length};
use levytilt_run::workflow::forecast::{Look, Origin, View};
use levytilt_run::workflow::general::forecast as general;
use std::path::Path;

/// The end of a fit.
pub enum End {
    /// Drift and noise of every column.
    Plain(Box<Origin>),
    /// States, noise sources and observations.
    Written(Box<general::Origin>),
}

impl End {
    /// The end of the run in `dir`.
    pub fn read(dir: &Path) -> Result<Self> {
        match general::Origin::read(dir)? {
            Some(origin) => Ok(Self::Written(Box::new(origin))),
            None => Ok(Self::Plain(Box::new(Origin::read(dir)?))),
        }
    }

    /// Names of the observed columns.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Plain(origin) => origin.names(),
            Self::Written(origin) => &origin.state.columns,
        }
    }

    /// Names of the states.
    pub fn states(&self) -> &[String] {
        match self {
            Self::Plain(origin) => origin.names(),
            Self::Written(origin) => origin.states(),
        }
    }

    /// How times are written.
    pub fn calendar(&self) -> &Calendar {
        match self {
            Self::Plain(origin) => origin.calendar(),
            Self::Written(origin) => &origin.calendar,
        }
    }

    /// The times up to `horizon`.
    pub fn until(&self, horizon: &Length) -> Result<Vec<f64>> {
        match self {
            Self::Plain(origin) => origin.until(horizon),
            Self::Written(origin) => origin.until(horizon),
        }
    }

    /// These times, of a record whose times are numbers.
    pub fn at_numbers(&self, times: &[f64]) -> Result<Vec<f64>> {
        match self {
            Self::Plain(origin) => origin.at_numbers(times),
            Self::Written(origin) => origin.at_numbers(times),
        }
    }

    /// The times that are written so.
    pub fn at(&self, texts: &[String]) -> Result<Vec<f64>> {
        match self {
            Self::Plain(origin) => origin.at(texts),
            Self::Written(origin) => origin.at(texts),
        }
    }

    /// The same with inputs after its end.
    pub fn driven_by(&self, table: &Table, times: &[f64]) -> Result<Self> {
        match self {
            Self::Plain(origin) => Ok(Self::Plain(Box::new(origin.driven_by(table, times)?))),
            Self::Written(_) => Err(bad("inputs: a model with states written out has no inputs; leave them out")),
        }
    }

    /// Simulate to `times`.
    pub fn look(&self, times: &[f64], look: Look) -> Result<View> {
        match self {
            Self::Plain(origin) => origin.look(times, look),
            Self::Written(origin) => origin.look(times, look),
        }
    }

    /// Write the files of a forecast.
    pub fn save(&self, lock: Lock, view: &View) -> Result<()> {
        match self {
            Self::Plain(origin) => save(lock, origin, view),
            Self::Written(origin) => save_general(lock, origin, view),
        }
    }

    /// Refuse what only models by drift and noise can do.
    pub fn must_be_plain(&self, what: &str) -> Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Written(_) => Err(bad(format!(
                "{what} is not possible here for a model with states written out; save the fit and use the program: `levytilt {what}`"
            ))),
        }
    }
}
