//! Look ahead from the end of a run and write what was seen.

use anyhow::Result;
use std::path::{Path, PathBuf};

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::failure::bad;
use crate::report::{self, Outlook, forecast_page};
use crate::table::time::Length;
use crate::threads::with_threads;
use crate::workflow::forecast::{Look, Origin, View, file_times, write_paths, write_table};
use crate::workflow::general::forecast as general;

/// Up to when to look.
#[derive(Debug, Clone)]
pub enum Ahead {
    /// So far, such as 2.5 or 2d.
    Horizon(Length),
    /// At the times in the first column of this file.
    File(String),
}

/// Where to look ahead from, how far, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Directory of the fit.
    pub run: PathBuf,
    /// How far to look.
    pub ahead: Ahead,
    /// File with the inputs ahead, for a model that has inputs.
    pub inputs: Option<String>,
    /// How to look.
    pub look: Look,
    /// Threads, 0 or nothing for all cores.
    pub threads: Option<usize>,
    /// Directory for the results.
    pub out: Option<PathBuf>,
}

/// Read, simulate, write.
pub fn run(request: &Request) -> Result<View> {
    refuse_own_run(request)?;
    let lock = request.out.as_deref().map(Lock::new).transpose()?;
    if let Some(origin) = general::Origin::read(&request.run)? {
        return run_general(request, &origin, lock);
    }
    let mut origin = Origin::read(&request.run)?;
    let times = match &request.ahead {
        Ahead::Horizon(horizon) => origin.until(horizon)?,
        Ahead::File(file) => origin.at_file(file)?,
    };
    if let Some(file) = &request.inputs {
        origin = origin.driven_by(&origin.read_inputs(file)?, &times)?;
    }
    let view = with_threads(request.threads, || origin.look(&times, request.look))??;
    if let Some(lock) = lock {
        save(lock, &origin, &view)?;
    }
    Ok(view)
}

/// The same from a run whose model is written out.
fn run_general(request: &Request, origin: &general::Origin, lock: Option<Lock>) -> Result<View> {
    let times = match &request.ahead {
        Ahead::Horizon(horizon) => origin.until(horizon)?,
        Ahead::File(file) => file_times(file, &origin.calendar, &origin.data().format())?,
    };
    let driven = request.inputs.as_deref().map(|file| origin.driven_by(file, &times)).transpose()?;
    let origin = driven.as_ref().unwrap_or(origin);
    let view = with_threads(request.threads, || origin.look(&times, request.look))??;
    if let Some(lock) = lock {
        save_general(lock, origin, &view)?;
    }
    Ok(view)
}

/// Write the files of a forecast of a model that is written out.
///
/// # Errors
/// A directory that cannot be written to.
pub fn save_general(lock: Lock, origin: &general::Origin, view: &View) -> Result<()> {
    let outlook = Outlook {
        ahead: &view.ahead,
        names: &origin.state.columns,
        calendar: &origin.calendar,
        from: origin.state.time,
        history: Some(&origin.state.history),
        warnings: &view.summary.warnings,
        version: view.summary.version,
    };
    write(lock, &outlook, view)
}

/// Write the files of a forecast.
pub fn save(lock: Lock, origin: &Origin, view: &View) -> Result<()> {
    let View { ahead, summary } = view;
    let outlook = Outlook {
        ahead,
        names: origin.names(),
        calendar: origin.calendar(),
        from: origin.last(),
        history: origin.history(),
        warnings: &summary.warnings,
        version: summary.version,
    };
    write(lock, &outlook, view)
}

fn write(lock: Lock, outlook: &Outlook, View { ahead, summary }: &View) -> Result<()> {
    let [page, content] = report::entries(forecast_page(outlook))?;
    lock.save(&[
        page,
        content,
        Entry::new("forecast.csv", |out| write_table(out, ahead, outlook.calendar, outlook.names)),
        Entry::new("paths.npz", |out| write_paths(out, ahead)),
        Entry::json("summary.json", summary),
    ])
}

/// A forecast has files of the same names as a fit, and would replace those it was made from.
fn refuse_own_run(request: &Request) -> Result<()> {
    let place = |path: &Path| path.canonicalize().ok();
    match &request.out {
        Some(out) if place(out).is_some() && place(out) == place(&request.run) => {
            Err(bad(format!("--out {}: holds the fit itself, which must stay; use another directory", out.display())))
        }
        _ => Ok(()),
    }
}
