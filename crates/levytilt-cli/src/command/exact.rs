//! Run `levytilt exact`.

use anyhow::Result;
use levytilt_run::command::exact::{Request, run as infer};
use levytilt_run::finite;

use crate::args::ExactArgs;
use crate::print::say;

/// Compute and tell.
pub fn run(args: &ExactArgs) -> Result<()> {
    let summary = infer(Request {
        source: args.record.source.clone(),
        settings: args.record.settings(),
        config: args.record.config.clone(),
        out: args.out.clone(),
    })?
    .summary;
    if args.report.json {
        say(&finite::json(&summary)?);
    } else if !args.report.quiet {
        say(&summary.to_text());
        if let Some(dir) = &args.out {
            say(&format!("written       {}: summary.json, posterior.csv, settings.toml", dir.display()));
        }
    }
    Ok(())
}
