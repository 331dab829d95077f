//! Run `levytilt simulate`.

use anyhow::Result;
use levytilt_run::command::simulate::{Request, run as draw};

use crate::args::SimulateArgs;
use crate::print::say;

/// Draw and tell.
pub fn run(args: &SimulateArgs) -> Result<()> {
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
        let (dir, count) = (args.out.display(), truth.observations);
        say(&format!("{count} observations over {} steps, seed {}, in {dir}/data.csv", truth.steps, truth.seed));
        say(&format!("their evidence: levytilt exact {dir}/data.csv --config {dir}/settings.toml"));
    }
    Ok(())
}
