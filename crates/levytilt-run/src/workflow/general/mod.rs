//! Fit, forecast and simulate models that a settings file writes out: states, noise sources, observed columns.

pub mod common;
pub mod fit;
pub mod forecast;
pub mod settings;
pub mod simulate;
pub mod summary;
pub mod update;
