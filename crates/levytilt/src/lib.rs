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
//! | module | what it is for |
//! |---|---|
//! | [`noise`], [`drift`] | what a [`StateSpace`], a model with a value for every parameter, is made of |
//! | [`score`] | proper scores of forecasts, calibration, paired tests |
//! | [`context`] | watching a fit, stopping it, keeping checkpoints |
//! | [`internals`] | kernels and solvers, for research |
#![deny(missing_docs)]

mod chain;
pub mod drift;
mod front;
pub mod internals;
mod model;
pub mod noise;
mod rng;
pub mod score;
mod simulate;
mod stop;

pub use error::{Error, Result};
pub use front::{Estimate, Fit, Forecast, Horizon, Model, Series};
pub use model::error_law::ErrorKind;
pub use model::{Dimension, Start, StateSpace};
pub use rng::{StreamRng, stream};
pub use simulate::{Simulated, simulate};
pub use solve::context::{self, Context};

// Short paths within the crate.
use chain::Chain;
use internals::{
    error, exact, fit, forecast, general, law, parameter, posterior, potential, registry, series, solve, tilt,
};
use model::error_law::{ErrorLaw, Errors};
use model::size::Size;
use stop::Stop;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
