//! Infer hidden paths and laws of motion of systems that jump.
//!
//! The model is dX = f(X) dt + dL with heavy-tailed Lévy noise, seen through noisy observations. One idea carries the
//! crate: **noise is a vector of variances, the posterior is a message from the future, a step is a Kalman update with a
//! random gain.**
#![deny(missing_docs)]

mod chain;
pub mod drift;
mod error;
pub mod exact;
pub mod fit;
pub mod forecast;
pub mod law;
mod model;
pub mod noise;
pub mod posterior;
pub mod potential;
mod rng;
pub mod series;
mod simulate;
pub mod solve;
pub mod tilt;

pub use chain::Chain;
pub use error::{Error, Result};
pub use model::{Dimension, Model, Start};
pub use rng::{StreamRng, stream};
pub use simulate::{Simulated, simulate};
