//! Carry out what was asked for: lock the directory, read, run the workflow, make the page, write all files at once.

pub mod backtest;
pub mod calm;
pub mod compare;
pub mod demo;
pub mod exact;
pub mod fit;
pub mod forecast;
pub mod general;
pub mod panel;
pub mod reproduce;
pub mod score;
pub mod simulate;
pub mod update;
