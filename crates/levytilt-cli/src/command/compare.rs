//! Run `levytilt compare`.

use anyhow::Result;
use levytilt_run::command::compare::run as compare;
use levytilt_run::finite;
use levytilt_run::workflow::watch::terminal;

use crate::args::compare::CompareArgs;
use crate::print::{draw_figures, say};

/// Compare, tell, draw.
pub fn run(args: &CompareArgs) -> Result<()> {
    args.plots.with_place(args.out.as_deref())?;
    let show = !args.report.wordless();
    let found = compare(&args.request(), &terminal(show))?;
    if args.report.json {
        say(&finite::json(&found)?);
    } else if !args.report.quiet {
        say(&found.to_text());
        if let Some(dir) = &args.out {
            say(&format!("written: {}: report.html, compare.csv, summary.json", dir.display()));
        }
    }
    args.out.as_deref().map_or(Ok(()), |dir| draw_figures(dir, &args.plots, !show))
}
