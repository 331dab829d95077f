//! The program `levytilt`: read arguments, have `levytilt-run` carry them out, print what was found.

pub mod args;
mod cluster;
mod command;
mod help;
pub mod print;
mod shell;

pub use command::{run, tell_backtest};
