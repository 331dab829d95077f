//! Read the command line, run the command, turn the outcome into an exit code.

use levytilt_cli::{arguments, print, run};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    levytilt_run::report::made::by(std::env::args_os().map(|word| word.to_string_lossy().into_owned()));
    match run(&arguments()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not `eprintln`, which panics when nobody listens any more.
            drop(writeln!(std::io::stderr(), "{} {error:#}", print::alarm("error:")));
            ExitCode::from(print::exit_code(&error))
        }
    }
}
