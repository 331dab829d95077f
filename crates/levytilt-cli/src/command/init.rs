//! Run `levytilt init`.

use anyhow::Result;
use levytilt_run::settings::init::{template, write_template};

use crate::args::InitArgs;
use crate::print::say;

/// Write the settings file, or print it.
pub fn run(args: &InitArgs) -> Result<()> {
    if args.file.as_os_str() == "-" {
        say(template().trim_end());
        return Ok(());
    }
    write_template(&args.file, args.force)?;
    let name = args.file.display();
    say(&format!("written: {name}\nnext:    levytilt fit DATA --config {name} --out run"));
    Ok(())
}
