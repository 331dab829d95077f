//! Run `levytilt fit`.

use anyhow::Result;
use levytilt_run::command::fit::{Request, run as fit};
use levytilt_run::command::general;
use levytilt_run::command::panel::is_asked_for;
use levytilt_run::directory::training;
use levytilt_run::failure::bad;
use levytilt_run::finite;
use levytilt_run::workflow::fit::summary::Summary;
use levytilt_run::workflow::general::settings::GeneralSettings;
use levytilt_run::workflow::watch::terminal;
use std::path::Path;

use crate::args::{FitArgs, ReportArgs};
use crate::command::panel;
use crate::print::{draw_figures, say};

/// Fit, tell, draw.
pub fn run(args: &FitArgs) -> Result<()> {
    args.plots.with_place(args.out.as_deref())?;
    let show = !args.report.wordless();
    if let Some(model) = args.record.config.as_deref().map(GeneralSettings::read).transpose()?.flatten() {
        if args.noise_common.is_some() {
            return Err(bad(
                "--noise-common cannot be combined with a settings file that has [states]: add a [noise.NAME] there",
            ));
        }
        let request = general::Request {
            source: args.record.source.clone(),
            model,
            flags: args.settings(),
            out: args.out.clone(),
        };
        return tell_general(args, &general::run(request, &terminal(show))?);
    }
    if let Some(family) = args.noise_common {
        let request = general::CommonRequest {
            source: args.record.source.clone(),
            settings: args.settings(),
            config: args.record.config.clone(),
            family,
            out: args.out.clone(),
        };
        return tell_general(args, &general::run_common(request, &terminal(show))?);
    }
    if is_asked_for(&args.settings(), args.record.config.as_deref())? {
        return panel::run(args);
    }
    let request = Request {
        source: args.record.source.clone(),
        settings: args.settings(),
        config: args.record.config.clone(),
        out: args.out.clone(),
    };
    let outcome = fit(request, &terminal(show));
    if let (true, Some(dir)) = (show, &args.out) {
        training::tell_of_rest(dir);
    }
    let outcome = outcome?;
    tell(&outcome.summary, args.out.as_deref(), &args.report)?;
    args.out.as_deref().map_or(Ok(()), |dir| draw_figures(dir, &args.plots, !show))
}

/// Tell of a fit of a model that is written out.
fn tell_general(args: &FitArgs, summary: &general::Summary) -> Result<()> {
    if args.report.json {
        say(&finite::json(summary)?);
    } else if !args.report.quiet {
        say(&summary.to_text());
        if let Some(dir) = args.out.as_deref().map(Path::display) {
            let files = "summary.json, posterior.csv, jumps.csv, paths.npz, settings.toml, model.toml";
            say(&format!("written       {dir}: {files}"));
            say(&format!("open          {dir}/report.html"));
            say(&format!("next          levytilt forecast {dir} --horizon H"));
        }
    }
    args.out.as_deref().map_or(Ok(()), |dir| draw_figures(dir, &args.plots, args.report.wordless()))
}

fn tell(summary: &Summary, dir: Option<&Path>, how: &ReportArgs) -> Result<()> {
    if how.json {
        say(&finite::json(summary)?);
    } else if !how.quiet {
        say(&summary.to_text());
        if let Some(dir) = dir {
            let dir = dir.display();
            let paths = match summary.paths_written < summary.paths {
                true => format!("paths.npz ({} of {} paths)", summary.paths_written, summary.paths),
                false => "paths.npz".into(),
            };
            say(&format!(
                "written       {dir}: summary.json, posterior.csv, jumps.csv, {paths}, settings.toml, model.toml"
            ));
            say(&format!("open          {dir}/report.html"));
            say(&format!("next          levytilt forecast {dir} --horizon H"));
        }
    }
    Ok(())
}
