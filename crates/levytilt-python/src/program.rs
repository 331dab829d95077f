//! Be the program where that is asked for.

use clap::Parser;
use levytilt_cli::args::{Cli, Command};
use levytilt_cli::{print, run, tell_backtest};
use levytilt_run::workflow::backtest::summary::Scores;
use pyo3::prelude::*;

use crate::errors::{InputError, raised};

fn parsed(line: Vec<String>) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("levytilt".to_string()).chain(line))
}

/// The cluster and the backtest that a command line of the program asks for, if it does.
#[pyfunction]
pub fn on_cluster(line: Vec<String>) -> PyResult<Option<(String, String)>> {
    let Ok(Cli { command: Command::Backtest(args) }) = parsed(line) else { return Ok(None) };
    let request = serde_json::to_string(&args.request()).map_err(|error| InputError::new_err(error.to_string()))?;
    Ok(args.cluster.map(|address| (address, request)))
}

/// Print what the program prints after this backtest.
#[pyfunction]
pub fn tell(py: Python<'_>, line: Vec<String>, scores: &str) -> PyResult<()> {
    let scores: Scores = serde_json::from_str(scores).map_err(|error| InputError::new_err(error.to_string()))?;
    let Ok(Cli { command: Command::Backtest(args) }) = parsed(line) else { return Ok(()) };
    py.detach(|| tell_backtest(&args, &scores)).map_err(raised)
}

/// Be the program: run the command line, return the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, line: Vec<String>) -> i32 {
    let cli = match parsed(line) {
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
            print::exit_code(&error).into()
        }
    }
}
