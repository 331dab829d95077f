//! Kernels and solvers, for research: everything that [`Model::fit`](crate::Model::fit) is made of.
//!
//! A [`Chain`] is a model on the latent times of a record; what follows works on one.
//!
//! | module | what it is for |
//! |---|---|
//! | [`series`] | times, missing values, the grid of latent times |
//! | [`exact`] | evidence and posterior in one dimension, without approximation |
//! | [`solve`], [`posterior`] | posterior paths in any dimension, parameters learned from them |
//! | [`fit`], [`forecast`] | guess, learn and judge in one call; paths ahead |
//! | [`residuals`] | whether one-step residuals are those of the true model |
//! | [`tilt`], [`potential`] | one step of a posterior path, and the message that steers it |
//! | [`general`] | noise along directions: hidden states, common shocks |
//! | [`law`] | the stable law, symmetric or skewed, to full accuracy |
//! | [`registry`], [`parameter`] | names, meanings, bounds, first guesses and priors of all parameters |
//! | [`mod@error`] | checks of input |

#[path = "error.rs"]
pub mod error;
#[path = "exact/mod.rs"]
pub mod exact;
#[path = "fit/mod.rs"]
pub mod fit;
#[path = "forecast.rs"]
pub mod forecast;
#[path = "general/mod.rs"]
pub mod general;
#[path = "law/mod.rs"]
pub mod law;
#[path = "parameter.rs"]
pub mod parameter;
#[path = "posterior/mod.rs"]
pub mod posterior;
#[path = "potential/mod.rs"]
pub mod potential;
#[path = "registry.rs"]
pub mod registry;
#[path = "residuals/mod.rs"]
pub mod residuals;
#[path = "series/mod.rs"]
pub mod series;
#[path = "solve/mod.rs"]
pub mod solve;
#[path = "tilt/mod.rs"]
pub mod tilt;

pub use crate::chain::Chain;
pub use crate::model::error_law::{ErrorLaw, Errors};
pub use crate::model::size::Size;
