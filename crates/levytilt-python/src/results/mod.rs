//! What calls give back: fits, forecasts and panels.

pub mod fit;
pub mod forecast;
pub mod origin;
pub mod panel;
pub mod written;
