//! Forecast with models to compare others with: random walks, GARCH and trained networks, behind one trait.
//!
//! ```
//! use levytilt_baselines::{Forecaster, Record, Walk};
//!
//! let times: Vec<f64> = (0..100).map(f64::from).collect();
//! let values = vec![times.iter().map(|t| (1.7 * t).sin()).collect()];
//! let record = Record::new(times, values)?;
//! let ahead = Walk::gaussian().forecast(&record, &[100.0, 101.0], 500, 1)?;
//! assert_eq!(ahead.draws(1, 0).len(), 500);
//! # Ok::<(), levytilt::Error>(())
//! ```
//!
//! The networks that Kındap et al. compare with stand beside them: DeepAR, DLinear, N-HiTS, Neural Jump SDE and Neural
//! MJD.
#![deny(missing_docs)]

mod basis;
mod forecaster;
mod garch;
mod increments;
mod minimise;
pub mod neural;
mod pace;
mod registry;
mod tilt;
mod walk;

pub use forecaster::{Forecaster, ForecasterOptions, Paths, Record};
pub use garch::{Garch, GarchFit};
pub use increments::Increments;
pub use pace::{LearnedPace, Pace};
pub use registry::{KINDS, Kind, forecaster, is_network};
pub use tilt::Tilt;
pub use walk::Walk;
