//! Backtest a record and write what was found.

use anyhow::Result;

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::report;
use crate::table;
use crate::workflow::backtest::summary::Scores;
use crate::workflow::backtest::{Plan, Request, forecasts};

/// Read, cut, forecast and score what is not finished yet, and write.
pub fn run(request: &Request) -> Result<Scores> {
    let lock = Lock::for_files(&request.out, &["scores.json", "scores.md", "report.html", "report.json"])?;
    let plan = Plan::new(request, || table::read(&request.source, &request.data.chosen(), &request.data.format()))?;
    let scores = plan.scores(forecasts(&plan)?)?;
    save(lock, &scores)?;
    Ok(scores)
}

/// Write the files of a backtest, but for the journal.
pub fn save(lock: Lock, scores: &Scores) -> Result<()> {
    let [page, content] = report::entries(report::backtest_page(scores))?;
    let table = Entry::text("scores.md", scores.to_markdown());
    lock.save(&[Entry::json("scores.json", scores), table, page, content])
}
