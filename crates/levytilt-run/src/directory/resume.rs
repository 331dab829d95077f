//! Work through many pieces on all cores, keep each as it is finished, and stop at Ctrl-C without losing any.

use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::directory::journal::Journal;
use crate::interrupt;
use crate::progress::Progress;

/// Run `work` on every task and append what it gives to the journal; results come in the order of the tasks. They are begun in
/// that order too, so that what there is of a long run is its beginning.
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
    let next = AtomicUsize::new(0);
    let one = |_| {
        if interrupt::asked() {
            return Ok(None);
        }
        let place = next.fetch_add(1, Ordering::Relaxed);
        let line = work(&tasks[place])?;
        journal.append(&line)?;
        progress.step();
        Ok(Some((place, line)))
    };
    let lines: Vec<Option<(usize, L)>> = (0..tasks.len()).into_par_iter().map(one).collect::<Result<_>>()?;
    let mut finished: Vec<(usize, L)> = lines.into_iter().flatten().collect();
    finished.sort_by_key(|(place, _)| *place);
    if finished.len() < tasks.len() {
        let (done, all) = (finished.len(), tasks.len());
        anyhow::bail!("stopped after {done} of {all} pieces, which are kept; the same command resumes from there");
    }
    Ok(finished.into_iter().map(|(_, line)| line).collect())
}
