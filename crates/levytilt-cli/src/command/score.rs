//! Run `levytilt score`.

use anyhow::Result;
use levytilt_run::command::score::{Request, run as score};
use levytilt_run::finite;
use levytilt_run::workflow::score::Rules;

use crate::args::ScoreArgs;
use crate::print::{draw_figures, say};

/// Score, tell, draw.
pub fn run(args: &ScoreArgs) -> Result<()> {
    args.plots.with_place(args.out.as_deref())?;
    let scores = score(&Request {
        forecast: args.forecast.clone(),
        truth: args.truth.clone(),
        format: args.table.format(),
        rules: Rules { above: args.above, below: args.below, seed: args.seed, state: args.state },
        out: args.out.clone(),
    })?;
    if args.report.json {
        say(&finite::json(&scores)?);
    } else if !args.report.quiet {
        say(&scores.to_text());
        if let Some(dir) = &args.out {
            say(&format!("written: {}: report.html, scores.json", dir.display()));
        }
    }
    args.out.as_deref().map_or(Ok(()), |dir| draw_figures(dir, &args.plots, args.report.wordless()))
}
