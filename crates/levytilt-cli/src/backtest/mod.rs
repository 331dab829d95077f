//! Run `levytilt backtest`: rolling windows, every model on the same ones.

pub mod args;
mod cluster;
mod plan;
pub mod score;
pub mod summary;
pub mod table;
pub mod windows;

use anyhow::Result;

use crate::backtest::args::BacktestArgs;
use crate::backtest::score::Line;
use crate::backtest::summary::Scores;
use crate::claim::Claim;
use crate::finite;
use crate::input;
use crate::output::say;
use crate::progress::Progress;
use crate::report;
use crate::resume::work_through;
use crate::threads::with_threads;

pub use plan::{Plan, Task};

/// Backtest and report.
pub fn run(args: &BacktestArgs) -> Result<()> {
    match &args.cluster {
        Some(address) => cluster::hand_over(address),
        None => tell(args, &backtest(args)?),
    }
}

/// Report what a backtest found.
pub fn tell(args: &BacktestArgs, scores: &Scores) -> Result<()> {
    if args.report.json {
        say(&finite::json(scores)?);
    } else if !args.report.quiet {
        let (used, skipped) = (scores.windows.len(), scores.skipped.len());
        say(&format!("{used} windows, {skipped} skipped, {} left out because a model failed", scores.failed.len()));
        scores.table().iter().for_each(|line| say(line));
        scores.warnings.iter().for_each(|warning| say(&format!("note: {warning}")));
        say(&format!("written: {}: report.html, windows.jsonl, scores.json, scores.md", args.out.display()));
    }
    report::draw_plots(&args.out, &args.plots, args.report.wordless())
}

/// Read, cut, forecast and score what is not finished yet, and write.
pub fn backtest(args: &BacktestArgs) -> Result<Scores> {
    let claim = Claim::new(&args.out)?;
    let plan = Plan::new(args, || input::read(&args.source, &args.data.chosen()))?;
    let lines = with_threads(Some(args.threads), || forecasts(&plan))??;
    plan.finish(claim, lines)
}

/// All lines of the models and windows, those of earlier runs included.
fn forecasts(plan: &Plan) -> Result<Vec<Line>> {
    let (journal, mut lines) = plan.open()?;
    let tasks = plan.missing(&lines);
    let progress = Progress::new("forecasts", plan.size(), plan.size() - tasks.len(), plan.args().report.quiet);
    lines.extend(work_through(&tasks, &journal, &progress, |task| Ok(plan.line(task)))?);
    Ok(lines)
}
