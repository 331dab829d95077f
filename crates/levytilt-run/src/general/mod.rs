//! Fit and forecast models that a settings file writes out: states, noise sources, observed columns.

pub mod fit;
pub mod forecast;
mod page;
pub mod settings;
mod summary;
