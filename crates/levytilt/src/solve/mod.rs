//! Find the potential: a robust start places the jumps, guarded sweeps make it right.

mod robust;
mod sweep;

pub use robust::robust_start;
pub use sweep::{SweepOptions, Swept, sweep};
