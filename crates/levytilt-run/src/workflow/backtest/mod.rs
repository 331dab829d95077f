//! Backtest: score every model on the same rolling windows.

mod own;
mod paper;
mod plan;
pub mod request;
pub mod score;
mod spread;
pub mod summary;
pub mod table;
pub mod windows;

use anyhow::Result;

use crate::directory::resume::work_through;
use crate::progress::Progress;
use crate::threads::with_threads;
use crate::workflow::backtest::score::Line;

pub use plan::{Plan, Task};
pub use request::Request;

/// Forecast and score what is not finished yet: all lines of the models and windows, those of earlier runs included.
pub fn forecasts(plan: &Plan) -> Result<Vec<Line>> {
    with_threads(Some(plan.request().threads), || {
        let (journal, mut lines) = plan.open()?;
        let tasks = plan.missing(&lines);
        let progress = Progress::new("forecasts", plan.size(), plan.size() - tasks.len(), plan.request().quiet);
        lines.extend(work_through(&tasks, &journal, &progress, |task| Ok(plan.line(task)))?);
        Ok(lines)
    })?
}
