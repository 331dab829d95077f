//! Score a forecast that was written, and write its scores.

use anyhow::Result;
use std::path::PathBuf;

use crate::directory::commit;
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::failure::bad;
use crate::report::{self, score_page};
use crate::table::{self, Format};
use crate::workflow::forecast::files::Ahead;
use crate::workflow::score::summary::Scores;
use crate::workflow::score::{Rules, judge};

/// Which forecast to score, by what, and where to write the scores.
#[derive(Debug, Clone)]
pub struct Request {
    /// Directory of the forecast.
    pub forecast: PathBuf,
    /// File with the observations, or - for standard input.
    pub truth: String,
    /// How that file is written, where it does not show.
    pub format: Format,
    /// Thresholds and seed.
    pub rules: Rules,
    /// Directory for the results.
    pub out: Option<PathBuf>,
}

/// Read, align, score, write.
pub fn run(request: &Request) -> Result<Scores> {
    let lock = request.out.as_deref().map(Lock::new).transpose()?;
    let ahead = commit::steady(&request.forecast, || Ahead::read(&request.forecast))?;
    if ahead.paths < 2 {
        return Err(bad(format!("{}: has {} path; scores need at least 2", ahead.source, ahead.paths)));
    }
    let truth = table::read_sparse(&request.truth, &request.format)?;
    let scored = judge(ahead, &truth, request.rules)?;
    if let Some(lock) = lock {
        let [page, content] = report::entries(score_page(&scored.scores, &scored.ahead, &scored.truths)?)?;
        lock.save(&[page, content, Entry::json("scores.json", &scored.scores)])?;
    }
    Ok(scored.scores)
}
