//! Compute: from tables and settings to what was found, without pages and without printing.

pub mod backtest;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod driven;
pub mod exact;
pub mod filtering;
pub mod fit;
pub mod forecast;
pub mod general;
pub mod panel;
pub mod ranking;
pub mod reproduce;
pub mod score;
pub mod simulate;
pub mod trading;
pub mod update;
pub mod watch;
