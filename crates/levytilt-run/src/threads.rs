//! Run work with as many threads as asked for.

use anyhow::{Context, Result};

use crate::failure::bad;

/// More threads than this help nobody and may not be had.
const MOST: usize = 4096;

/// Run `work` with `threads` threads, 0 or nothing for all cores.
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    match threads.unwrap_or(0) {
        0 => Ok(work()),
        count if count > MOST => Err(bad(format!("threads = {count} is not allowed: must be between 0 and {MOST}"))),
        count => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().context("cannot start threads")?;
            Ok(pool.install(work))
        }
    }
}
