//! Infer hidden paths and laws of motion of systems that jump.
//!
//! The model is dX = f(X) dt + dL with heavy-tailed Lévy noise, seen through noisy observations. One idea carries the
//! crate: **noise is a vector of variances, the posterior is a message from the future, a step is a Kalman update with a
//! random gain.**
//!
//! Four names are enough for most: a [`Series`], a [`Model`], its [`Fit`] and a [`Forecast`].
//!
//! ```
//! use levytilt::{Horizon, Model, Series, drift::Ou, noise::Stable};
//!
//! # let times: Vec<f64> = (0..60).map(|j| 0.1 * f64::from(j)).collect();
//! # let values: Vec<f64> = (0..60).map(|j| (0.7 * f64::from(j)).sin() + if j > 40 { 3.0 } else { 0.0 }).collect();
//! let fit = Model::new(Ou::learned(), Stable::learned()).hold("observation_std", 0.1).fit(&Series::new(&times, &values)?)?;
//! let ahead = fit.forecast(Horizon::Span(2.5))?;
//! println!("log evidence {:.2}, median ahead {:.2}", fit.evidence.log_evidence, ahead.marginal(0, 0, &[0.5]).quantiles[0]);
//! # Ok::<(), levytilt::Error>(())
//! ```
//!
//! The rest is for those who look inside. A [`StateSpace`] is a model with a value for every parameter:
//!
//! | module | what it is for |
//! |---|---|
//! | [`noise`], [`drift`] | what a [`StateSpace`] is made of |
//! | [`series`] | times, missing values, the grid of latent times |
//! | [`exact`] | evidence and posterior in one dimension, without approximation |
//! | [`solve`], [`posterior`] | posterior paths in any dimension, parameters learned from them |
//! | [`residuals`] | whether one-step residuals are those of a right model |
//! | [`tilt`], [`potential`] | one step of a posterior path, and the message that steers it |
//! | [`context`] | watching a fit, stopping it, keeping checkpoints |
//! | [`score`] | proper scores of forecasts, calibration, paired tests |
//! | [`general`] | noise along directions: hidden states, common shocks |
//! | [`law`] | the stable law, symmetric or skewed, to full accuracy |
#![deny(missing_docs)]

mod chain;
pub mod drift;
pub mod error;
mod error_law;
pub mod exact;
pub mod fit;
pub mod forecast;
mod front;
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
mod size;
pub mod solve;
pub mod tilt;

pub use chain::Chain;
pub use error::{Error, Result};
pub use error_law::{ErrorKind, ErrorLaw, Errors};
pub use front::{Estimate, Fit, Forecast, Horizon, Model, Series};
pub use model::{Dimension, Start, StateSpace};
pub use rng::{StreamRng, stream};
pub use simulate::{Simulated, simulate};
pub use size::Size;
pub use solve::context::{self, Context};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
