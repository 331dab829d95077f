//! Find the potential: a robust start places the jumps, guarded sweeps make it right.

mod learn;
pub mod neural;
mod parameters;
mod robust;
mod score;
mod sweep;

pub use learn::{LearnOptions, Learned, learn};
pub use parameters::{Parameter, Prior, Transform, parameters, rebuild};
pub use robust::robust_start;
pub use score::{Score, score};
pub use sweep::{SweepOptions, Swept, sweep};
