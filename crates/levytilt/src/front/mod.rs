//! Fit and forecast with four names: [`Series`], [`Model`], [`Fit`], [`Forecast`].

mod forecast;
mod model;
mod series;

pub use crate::fit::{Estimate, Fit};
pub use crate::forecast::Forecast;
pub use forecast::Horizon;
pub use model::Model;
pub use series::Series;
