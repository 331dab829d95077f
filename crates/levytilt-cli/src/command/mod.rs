//! Run the commands: arguments in, what was found on the terminal.

mod backtest;
mod compare;
mod demo;
mod doctor;
mod exact;
mod fit;
mod forecast;
mod init;
mod panel;
mod report;
mod reproduce;
mod score;
mod simulate;
mod update;

use anyhow::Result;

use crate::args::{Cli, Command};
use crate::shell;

pub use backtest::tell as tell_backtest;

/// Run the command that was asked for.
pub fn run(cli: &Cli) -> Result<()> {
    match &cli.command {
        Command::Simulate(args) => simulate::run(args),
        Command::Exact(args) => exact::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Forecast(args) => forecast::run(args),
        Command::Update(args) => update::run(args),
        Command::Score(args) => score::run(args),
        Command::Backtest(args) => backtest::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Report(args) => report::run(args),
        Command::Init(args) => init::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}
