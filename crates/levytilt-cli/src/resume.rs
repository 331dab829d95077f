//! Work through many pieces on all cores, keep each as it is finished, and stop at Ctrl-C without losing any.

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;

use crate::interrupt;
use crate::journal::Journal;
use crate::progress::Progress;

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
    interrupt::listen();
    let one = |task: &T| {
        if interrupt::asked() {
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
