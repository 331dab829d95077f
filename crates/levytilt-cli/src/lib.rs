//! The program `levytilt`: read arguments, have `levytilt-run` carry them out, print what was found.

pub mod args;
mod cluster;
mod command;
mod help;
mod hint;
pub mod print;
mod shell;

pub use command::{run, tell_backtest};

/// The arguments of this process; prints what is wrong with them, or the help that was asked for, and ends it.
pub fn arguments() -> args::Cli {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    <args::Cli as clap::Parser>::try_parse().unwrap_or_else(|error| hint::with_tip(error, &words).exit())
}
