//! Run `levytilt fit --panel`.

use anyhow::Result;
use levytilt_run::command::panel::{Request, run as fit_panel};
use levytilt_run::failure::bad;
use levytilt_run::finite;
use levytilt_run::number::readable;
use levytilt_run::workflow::panel::SharedRow;
use levytilt_run::workflow::panel::summary::PanelSummary;
use std::path::Path;

use crate::args::FitArgs;
use crate::print::say;

/// Most failures that are told of one by one.
const MOST_TOLD: usize = 10;

/// Fit every series, and tell.
pub fn run(args: &FitArgs) -> Result<()> {
    let Some(out) = args.out.clone() else {
        return Err(bad("--panel writes a directory for every series; give --out DIR too"));
    };
    if args.plots.plots.is_some() {
        return Err(bad("--plots is for one record; leave it out with --panel, and use `levytilt report` on a series"));
    }
    let request = Request {
        source: args.record.source.clone(),
        settings: args.settings(),
        config: args.record.config.clone(),
        out: out.clone(),
        quiet: args.report.wordless(),
    };
    let summary = fit_panel(request)?;
    if args.report.json {
        say(&finite::json(&summary)?);
    } else if !args.report.quiet {
        tell(&summary, &out);
    }
    Ok(())
}

fn tell(summary: &PanelSummary, out: &Path) {
    let (out, failed) = (out.display(), summary.failures.len());
    say(&format!("{} series: {} fitted, {failed} failed", summary.series, summary.fitted));
    let shared = summary.shared.iter().flat_map(|found| &found.shared);
    shared.for_each(|row| say(&line(row)));
    summary.warnings.iter().for_each(|warning| say(&format!("note: {warning}")));
    summary.failures.iter().take(MOST_TOLD).for_each(|f| say(&format!("failed        {}: {}", f.id, f.reason)));
    if failed > MOST_TOLD {
        say(&format!("failed        and {} more, see panel.csv", failed - MOST_TOLD));
    }
    say(&format!("written       {out}: panel.csv, summary.json, settings.toml, series/"));
    say(&format!("open          {out}/index.html"));
}

fn line(row: &SharedRow) -> String {
    let or_not = |value: Option<f64>| value.map_or("?".into(), readable);
    let value = format!("{:<13} {} ± {}", row.name, readable(row.estimate), or_not(row.std_error));
    match row.spread {
        None => format!("{value}, the same for all series"),
        Some(spread) => {
            format!("{value} in a typical series, spread {} ± {}", readable(spread), or_not(row.spread_std_error))
        }
    }
}
