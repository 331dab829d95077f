//! Run `levytilt completions` and `levytilt man`: what a shell and a manual reader want from the same definition.

use anyhow::{Context, Result};
use clap::CommandFactory;
use levytilt_run::directory::{Entry, Lock};

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::print::say;

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
    Lock::of_any_version(dir)?.save(&pages(cli)?)?;
    say(&format!("written: {}: levytilt.1 and a page per command; read one with man -l", dir.display()));
    Ok(())
}

/// The page of the program and those of its commands.
fn pages<'a>(mut cli: clap::Command) -> Result<Vec<Entry<'a>>> {
    cli.build();
    let mut pages = Vec::new();
    let commands: Vec<clap::Command> =
        cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    for command in std::iter::once(cli).chain(commands) {
        let page = clap_mangen::Man::new(command);
        let mut text = Vec::new();
        page.render(&mut text)?;
        pages.push(Entry::text(page.get_filename(), String::from_utf8(text)?));
    }
    Ok(pages)
}
