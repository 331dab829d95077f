//! What the program `levytilt` does, as a library: its binary and the Python package run the same code.

pub mod args;
pub mod backtest;
pub mod build_model;
mod bytes;
pub mod claim;
mod commit;
mod demo;
mod doctor;
pub mod exact;
pub mod exact_report;
pub mod failure;
pub mod finite;
pub mod fit;
pub mod fit_report;
pub mod forecast;
mod help;
mod inflate;
mod init;
pub mod input;
pub mod interrupt;
pub mod journal;
pub mod names;
mod networks;
mod npz;
mod npz_read;
pub mod one_or_many;
pub mod output;
pub mod parameters;
#[cfg(feature = "parquet")]
mod parquet_file;
mod progress;
#[cfg(any(test, fuzzing))]
pub mod promises;
#[cfg(test)]
mod properties;
pub mod report;
mod reproduce;
mod resume;
mod rows;
mod score;
pub mod settings;
mod shell;
pub mod simulate;
pub mod state;
mod tensors;
pub mod threads;
pub mod time;
mod training;
pub mod watch;

use anyhow::Result;

use args::{Cli, Command};

/// Run the command that was asked for.
pub fn run(cli: &Cli) -> Result<()> {
    match &cli.command {
        Command::Simulate(args) => simulate::run(args),
        Command::Exact(args) => exact::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Forecast(args) => forecast::run(args),
        Command::Score(args) => score::run(args),
        Command::Backtest(args) => backtest::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Report(args) => report::run(args),
        Command::Init(args) => init::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}
