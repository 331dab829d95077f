//! Work through many pieces on all cores, keep each as it is finished, and stop at Ctrl-C without losing any.

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::journal::Journal;
use crate::progress::Progress;

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);
static LISTEN: Once = Once::new();

/// Run `work` on every task and append what it gives to the journal; results come in the order of the tasks.
///
/// # Errors
/// The first error of `work` or of the journal; Ctrl-C, after the pieces in hand are finished.
pub fn work_through<T: Sync, L: Serialize + Send>(
    tasks: &[T],
    journal: &Journal,
    progress: &Progress,
    work: impl Fn(&T) -> Result<L> + Sync,
) -> Result<Vec<L>> {
    listen()?;
    let one = |task: &T| {
        if STOP.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let line = work(task)?;
        journal.append(&line)?;
        progress.step();
        Ok(Some(line))
    };
    let lines: Vec<Option<L>> = tasks.par_iter().map(one).collect::<Result<_>>()?;
    let finished: Vec<L> = lines.into_iter().flatten().collect();
    if finished.len() < tasks.len() {
        let (done, all) = (finished.len(), tasks.len());
        anyhow::bail!("stopped after {done} of {all} pieces, which are kept; the same command goes on from there");
    }
    Ok(finished)
}

/// Catch Ctrl-C: the first one stops at the next safe point, the second one at once.
fn listen() -> Result<()> {
    let mut outcome = Ok(());
    LISTEN.call_once(|| {
        outcome = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    });
    outcome.context("cannot listen for Ctrl-C")
}
