//! Run `levytilt simulate`.

use anyhow::Result;
use levytilt_run::command::simulate::{Request, run as draw};
use levytilt_run::workflow::general::settings::GeneralSettings;
use levytilt_run::workflow::general::simulate as general;

use crate::args::SimulateArgs;
use crate::print::say;

/// Draw and tell.
pub fn run(args: &SimulateArgs) -> Result<()> {
    if let Some(model) = args.config.as_deref().map(GeneralSettings::read).transpose()?.flatten() {
        return run_general(args, model);
    }
    let drawn = draw(Request {
        settings: args.settings(),
        config: args.config.clone(),
        inputs: args.inputs_file.clone(),
        out: args.out.clone(),
    })?;
    let truth = &drawn.truth;
    if args.report.json {
        say(&drawn.truth_json()?);
    } else if !args.report.quiet {
        let (dir, count) = (args.out.display(), truth.extent.observations);
        say(&format!(
            "{count} observations over {} steps, seed {}, in {dir}/data.csv",
            truth.extent.steps, truth.extent.seed
        ));
        say(&format!("their evidence: levytilt exact {dir}/data.csv --config {dir}/settings.toml"));
    }
    Ok(())
}

/// Draw a model that the settings file writes out.
fn run_general(args: &SimulateArgs, model: GeneralSettings) -> Result<()> {
    let truth = general::run(general::Request { model, flags: args.settings(), out: args.out.clone() })?;
    if args.report.json {
        say(&truth.json()?);
    } else if !args.report.quiet {
        let (dir, count, columns) = (args.out.display(), truth.extent.observations, truth.columns.join(", "));
        say(&format!(
            "{count} observations of {columns} over {} steps, seed {}, in {dir}/data.csv",
            truth.extent.steps, truth.extent.seed
        ));
        say(&format!("their evidence: levytilt fit {dir}/data.csv --config {dir}/settings.toml"));
    }
    Ok(())
}
