//! Run `levytilt backtest`.

use anyhow::Result;
use levytilt_run::command::backtest::run as backtest;
use levytilt_run::finite;
use levytilt_run::workflow::backtest::summary::Scores;

use crate::args::backtest::BacktestArgs;
use crate::cluster;
use crate::print::{draw_figures, say};

/// Backtest and tell; on a cluster, hand over to the Python package.
pub fn run(args: &BacktestArgs) -> Result<()> {
    match &args.cluster {
        Some(address) => cluster::hand_over(address),
        None => tell(args, &backtest(&args.request())?),
    }
}

/// Tell what a backtest found, and draw.
pub fn tell(args: &BacktestArgs, scores: &Scores) -> Result<()> {
    if args.report.json {
        say(&finite::json(scores)?);
    } else if !args.report.quiet {
        let (used, skipped) = (scores.windows.len(), scores.skipped.len());
        say(&format!("{used} windows, {skipped} skipped, {} excluded because a model failed", scores.failed.len()));
        scores.table().iter().for_each(|line| say(line));
        scores.warnings.iter().for_each(|warning| say(&format!("note: {warning}")));
        say(&format!("written: {}: report.html, windows.jsonl, scores.json, scores.md", args.out.display()));
    }
    draw_figures(&args.out, &args.plots, args.report.wordless())
}
