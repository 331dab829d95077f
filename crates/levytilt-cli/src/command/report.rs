//! Run `levytilt report`.

use anyhow::Result;
use levytilt_run::command::calm::no_jump;
use levytilt_run::report::render;

use crate::args::RenderArgs;
use crate::print::{draw_figures, say};

/// Render again, draw if that is asked for.
pub fn run(args: &RenderArgs) -> Result<()> {
    if let Some([from, to]) = args.no_jump.as_deref() {
        let found = no_jump(&args.run, [from, to])?;
        found.iter().for_each(|(name, probability)| say(&format!("{name}: no jump with probability {probability:.4}")));
        return Ok(());
    }
    let page = render(&args.run)?;
    if !args.quiet {
        say(&format!("written: {}", page.display()));
    }
    match args.plots.plots {
        Some(_) => draw_figures(&args.run, &args.plots, args.quiet),
        None => Ok(()),
    }
}
