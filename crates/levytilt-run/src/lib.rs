//! Files in, files out: read tables and settings, run workflows, keep run directories, make report pages.
//!
//! Modules lie in layers, and none uses a later one: `table` → `settings` → `directory` → `workflow` → `report` →
//! `command`. A workflow takes a table and settings and returns what it found; a page is a function of that; a command
//! locks the directory, runs the workflow and writes its files. Arguments and printing are the program's.

pub mod command;
pub mod directory;
pub mod failure;
pub mod finite;
pub mod interrupt;
#[cfg(any(test, fuzzing))]
pub mod invariants;
pub mod number;
pub mod one_or_many;
pub mod progress;
#[cfg(test)]
mod properties;
pub mod report;
pub mod settings;
pub mod shell;
pub mod table;
pub mod threads;
pub mod units;
pub mod workflow;
