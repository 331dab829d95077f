//! Run `levytilt fit`.

use anyhow::Result;
use levytilt_run::command::fit::{Request, run as fit};
use levytilt_run::directory::training;
use levytilt_run::finite;
use levytilt_run::workflow::fit::summary::Summary;
use levytilt_run::workflow::watch::terminal;
use std::path::Path;

use crate::args::{FitArgs, ReportArgs};
use crate::print::{draw_figures, say};

/// Fit, tell, draw.
pub fn run(args: &FitArgs) -> Result<()> {
    args.plots.with_place(args.out.as_deref())?;
    let show = !args.report.wordless();
    let request = Request {
        source: args.record.source.clone(),
        settings: args.settings(),
        config: args.record.config.clone(),
        out: args.out.clone(),
    };
    let outcome = fit(request, || terminal(show))?;
    if let (true, Some(dir)) = (show, &args.out) {
        training::tell_of_rest(dir);
    }
    tell(&outcome.summary, args.out.as_deref(), &args.report)?;
    args.out.as_deref().map_or(Ok(()), |dir| draw_figures(dir, &args.plots, !show))
}

fn tell(summary: &Summary, dir: Option<&Path>, how: &ReportArgs) -> Result<()> {
    if how.json {
        say(&finite::json(summary)?);
    } else if !how.quiet {
        say(&summary.to_text());
        if let Some(dir) = dir {
            let dir = dir.display();
            say(&format!(
                "written       {dir}: summary.json, posterior.csv, jumps.csv, paths.npz, settings.toml, model.toml"
            ));
            say(&format!("open          {dir}/report.html"));
            say(&format!("next          levytilt forecast {dir} --horizon H"));
        }
    }
    Ok(())
}
