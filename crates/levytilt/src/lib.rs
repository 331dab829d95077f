//! Infer hidden paths and laws of motion of systems that jump.
//!
//! The model is dX = f(X) dt + dL with heavy-tailed Lévy noise, seen through noisy observations. One idea carries the
//! crate: **noise is a vector of variances, the posterior is a message from the future, a step is a Kalman update with a
//! random gain.**
#![deny(missing_docs)]

pub mod drift;
mod error;
pub mod exact;
pub mod law;
mod model;
pub mod noise;
pub mod potential;
mod rng;
pub mod series;
pub mod tilt;

pub use error::{Error, Result};
pub use model::{Model, Start};
pub use rng::{StreamRng, stream};
