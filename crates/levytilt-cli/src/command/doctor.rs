//! Run `levytilt doctor`.

use anyhow::Result;
use levytilt_run::finite;
use levytilt_run::table;
use levytilt_run::workflow::doctor::Findings;

use crate::args::DoctorArgs;
use crate::print::say;

/// Look and tell.
pub fn run(args: &DoctorArgs) -> Result<()> {
    let table = args
        .source
        .as_deref()
        .map(|source| table::read(source, &args.data.chosen(), &args.data.format()))
        .transpose()?
        .map(|table| table.with_errors(args.data.error_column.as_deref()))
        .transpose()?;
    let findings = Findings::new(table.as_ref(), &args.data.flags())?;
    if args.json {
        say(&finite::json(&findings)?);
    } else {
        findings.to_text().iter().for_each(|line| say(line));
    }
    Ok(())
}
