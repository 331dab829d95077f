//! Read the command line, run the command, turn the outcome into an exit code.

mod args;
mod backtest;
mod build_model;
mod bytes;
mod demo;
mod doctor;
mod exact;
mod exact_report;
mod failure;
mod fit;
mod fit_report;
mod forecast;
mod help;
mod init;
mod input;
mod interrupt;
mod journal;
mod networks;
mod npz;
mod npz_read;
mod one_or_many;
mod output;
mod progress;
mod report;
mod reproduce;
mod resume;
mod rows;
mod score;
mod settings;
mod shell;
mod simulate;
mod state;
mod tensors;
mod threads;
mod time;
mod training;
mod watch;

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
        Command::Score(args) => score::run(args),
        Command::Backtest(args) => backtest::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Report(args) => report::run(args),
        Command::Init(args) => init::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not `eprintln`, which panics when nobody listens any more.
            drop(writeln!(std::io::stderr(), "{} {error:#}", output::alarm("error:")));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}
