//! Read options as the program's flags, and be the program where that is asked for.

use clap::Parser;
use levytilt_cli::args::{Cli, Command};
use levytilt_cli::{print, run};
use levytilt_run::failure;
use pyo3::prelude::*;

use crate::errors::InputError;

/// The command that the words ask for; an error says what is wrong with them, without the program's usage.
pub fn command(words: &[&str], flags: &[String]) -> PyResult<Command> {
    let line = ["levytilt"].iter().chain(words).map(|word| word.to_string()).chain(flags.iter().cloned());
    let cli = Cli::try_parse_from(line).map_err(|error| {
        let text = error.render().to_string();
        let said = text.split("\n\nUsage:").next().unwrap_or(&text).split("\n\nFor more").next().unwrap_or(&text);
        InputError::new_err(said.trim_start_matches("error: ").trim().to_string())
    })?;
    Ok(cli.command)
}

/// The value of a command for the one kind that was asked for.
macro_rules! expect_command {
    ($kind:ident, $words:expr, $flags:expr) => {
        match $crate::flags::command($words, $flags)? {
            levytilt_cli::args::Command::$kind(args) => args,
            _ => return Err($crate::errors::InputError::new_err("flags of another command")),
        }
    };
}
pub(crate) use expect_command;

/// Refuse flags that a command of the program does not know.
#[pyfunction]
pub fn check(line: Vec<String>) -> PyResult<()> {
    command(&[], &line).map(drop)
}

/// The cluster that a command line of the program names, if it does.
#[pyfunction]
pub fn cluster_of(line: Vec<String>) -> Option<String> {
    match command(&[], &line) {
        Ok(Command::Backtest(args)) => args.cluster,
        _ => None,
    }
}

/// Be the program: run the command line, return the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, line: Vec<String>) -> i32 {
    let cli = match Cli::try_parse_from(std::iter::once("levytilt".to_string()).chain(line)) {
        Ok(cli) => cli,
        Err(error) => {
            drop(error.print());
            return error.exit_code();
        }
    };
    match py.detach(|| run(&cli)) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{} {error:#}", print::alarm("error:"));
            failure::exit_code(&error).into()
        }
    }
}
