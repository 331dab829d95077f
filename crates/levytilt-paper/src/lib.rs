//! Tilt Lévy processes the published way: in continuous time, by potentials from networks of time.
//!
//! | module | what it is for |
//! |---|---|
//! | [`continuous`] | the tilted jump measure: rates, divergence, jumps, paths |
//! | [`potential`] | potentials from an encoder of time and two networks |
//! | [`training`] | training them on the ELBO of the library's chain |
//! | [`fit_neural`] | a whole fit with them |
//! | [`published`] | the published method from end to end: Algorithm 2, continuous-time ELBO, its training |
#![deny(missing_docs)]

pub mod continuous;
mod fit;
pub mod potential;
pub mod published;
pub mod training;

pub use fit::{NeuralFit, NeuralOptions, fit_neural};
