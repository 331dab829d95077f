//! Tests of the program from outside, in one executable.

mod backtest;
mod common;
mod compare;
mod demo;
mod docs;
mod errors;
mod exact;
mod flags;
mod formula;
mod general;
mod inputs;
mod locks;
#[cfg(feature = "two-speed")]
mod new_family;
mod panel;
mod program;
mod report;
mod report_kinds;
mod reproduce;
mod score;
mod simulate;
mod studies;
mod supply;
mod trading;
mod update;
