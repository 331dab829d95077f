//! Print lines, and what became of figures.

use anyhow::Result;
use levytilt_run::failure::{Kind, kind};
use levytilt_run::report::{Drawn, draw_plots};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use crate::args::PlotArgs;

/// A word in bold red on a terminal that shows colours, and plain anywhere else.
pub fn alarm(word: &str) -> String {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colours { format!("\x1b[1;31m{word}\x1b[0m") } else { word.into() }
}

/// Print a line; a reader that has left (`| head`) is no error, a full disk is one.
pub fn say(line: &str) {
    let mut out = std::io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            drop(writeln!(std::io::stderr(), "{} cannot write to standard output: {error}", alarm("error:")));
            std::process::exit(1);
        }
        _ => {}
    }
}

/// The exit code an error asks for: 2 for input, 1 for everything else.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    match kind(error) {
        Kind::Input => 2,
        Kind::Computation => 1,
    }
}

/// Draw the figures of the result in `dir`, if that is asked for, and say so unless `quiet`.
pub fn draw_figures(dir: &Path, wanted: &PlotArgs, quiet: bool) -> Result<()> {
    let line = match draw_plots(dir, wanted.plots.map(Into::into))? {
        Drawn::None => return Ok(()),
        Drawn::Stale(plots) => format!("note: {} is of an earlier result; --plots redraws it", plots.display()),
        Drawn::Written(plots, count) => format!("written: {}: {count} figures", plots.display()),
    };
    if !quiet {
        say(&line);
    }
    Ok(())
}
