//! Infer hidden paths and laws of motion of systems that jump.
//!
//! The model is dX = f(X) dt + dL with heavy-tailed Lévy noise, seen through noisy observations. One idea carries the
//! crate: **noise is a vector of variances, the posterior is a message from the future, a step is a Kalman update with a
//! random gain.**
//!
//! Simulate a jumping path, see it with errors, and compute its evidence and posterior without approximation:
//!
//! ```
//! use levytilt::{Model, Start, drift::Ou, exact::{Options, smooth}, noise::Stable, series::TimeGrid, simulate};
//!
//! let model = Model::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(Stable::new(1.5, 2.0)?), 0.1, Start::Fixed(0.0))?;
//! let times: Vec<f64> = (0..=200).map(|j| 0.01 * f64::from(j)).collect();
//! let seen = simulate(&model, &times, 1)?.observations;
//! let found = smooth(&model, &TimeGrid::new(&times, None)?, &seen, &Options::default())?;
//! println!("log evidence {:.3}, last state {:.2} ± {:.2}", found.log_evidence, found.mean[200], found.sd[200]);
//! # Ok::<(), levytilt::Error>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`noise`], [`drift`] | what a [`Model`] is made of |
//! | [`series`] | times, missing values, the grid of latent times |
//! | [`exact`] | evidence and posterior in one dimension, without approximation |
//! | [`solve`], [`posterior`] | posterior paths in any dimension, parameters learned from them |
//! | [`residuals`] | whether one-step residuals are those of a right model |
//! | [`tilt`], [`potential`] | one step of a posterior path, and the message that steers it |
//! | [`progress`] | watching a fit from outside |
//! | [`score`] | proper scores of forecasts, calibration, paired tests |
//! | [`law`] | the symmetric stable law to full accuracy |
#![deny(missing_docs)]

mod chain;
pub mod drift;
pub mod error;
mod error_law;
pub mod exact;
pub mod fit;
pub mod forecast;
pub mod front;
pub mod general;
pub mod law;
mod model;
pub mod noise;
pub mod parameter;
pub mod posterior;
pub mod potential;
pub mod registry;
pub mod residuals;
mod rng;
pub mod score;
pub mod series;
mod simulate;
pub mod solve;
pub mod tilt;

pub use chain::Chain;
pub use error::{Error, Result};
pub use error_law::{ErrorKind, ErrorLaw, Errors};
pub use model::{Dimension, Model, Start};
pub use rng::{StreamRng, stream};
pub use simulate::{Simulated, simulate};
pub use solve::progress;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
