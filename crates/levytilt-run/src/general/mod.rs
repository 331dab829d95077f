//! Fit, forecast and simulate models that a settings file writes out: states, noise sources, observed columns.

mod common;
pub mod fit;
pub mod forecast;
mod page;
pub mod settings;
pub mod simulate;
mod summary;
