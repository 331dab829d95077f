//! Read the command line, run the command, turn the outcome into an exit code.

mod args;
mod build_model;
mod bytes;
mod demo;
mod exact;
mod failure;
mod fit;
mod fit_report;
mod forecast;
mod help;
mod input;
mod npz;
mod one_or_many;
mod output;
mod report;
mod rows;
mod settings;
mod simulate;
mod state;
mod threads;
mod time;

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

use args::{Cli, Command};

fn main() -> ExitCode {
    let outcome = match &Cli::parse().command {
        Command::Simulate(args) => simulate::run(args),
        Command::Exact(args) => exact::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Forecast(args) => forecast::run(args),
        Command::Demo(args) => demo::run(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not `eprintln`, which panics when nobody listens any more.
            drop(writeln!(std::io::stderr(), "error: {error:#}"));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}
