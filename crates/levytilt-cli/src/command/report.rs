//! Run `levytilt report`.

use anyhow::Result;
use levytilt_run::report::render;

use crate::args::RenderArgs;
use crate::print::{draw_figures, say};

/// Render again, draw if that is asked for.
pub fn run(args: &RenderArgs) -> Result<()> {
    let page = render(&args.run)?;
    if !args.quiet {
        say(&format!("written: {}", page.display()));
    }
    match args.plots.plots {
        Some(_) => draw_figures(&args.run, &args.plots, args.quiet),
        None => Ok(()),
    }
}
