//! Run `levytilt completions` and `levytilt man`: what a shell and a manual reader want from the same definition.

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::output::{check_directory, say};

/// Print the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "levytilt", &mut script);
    say(String::from_utf8(script).context("completions")?.trim_end());
    Ok(())
}

/// Print the manual page, or write those of all commands into a directory.
pub fn man(args: &ManArgs) -> Result<()> {
    let cli = Cli::command();
    let Some(dir) = &args.out else {
        let mut text = Vec::new();
        clap_mangen::Man::new(cli).render(&mut text)?;
        say(String::from_utf8(text)?.trim_end());
        return Ok(());
    };
    check_directory(dir)?;
    let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(cli, dir));
    written.with_context(|| format!("cannot write into {}", dir.display()))?;
    say(&format!("written: {}: levytilt.1 and a page per command; read one with man -l", dir.display()));
    Ok(())
}
