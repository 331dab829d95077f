//! Read the command line, run the command, turn the outcome into an exit code.

mod args;
mod backtest;
mod backtest_args;
mod backtest_score;
mod backtest_summary;
mod backtest_table;
mod backtest_windows;
mod build_model;
mod bytes;
mod demo;
mod exact;
mod exact_report;
mod failure;
mod fit;
mod fit_report;
mod forecast;
mod forecast_files;
mod help;
mod input;
mod journal;
mod networks;
mod npz;
mod npz_read;
mod one_or_many;
mod output;
mod progress;
mod report;
mod resume;
mod rows;
mod score;
mod score_align;
mod score_report;
mod settings;
mod simulate;
mod state;
mod tensors;
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
        Command::Score(args) => score::run(args),
        Command::Backtest(args) => backtest::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Report(args) => report::run(args),
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
