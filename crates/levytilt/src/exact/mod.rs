//! Compute one-dimensional posteriors without approximation, as the yardstick for everything else.

pub mod kalman;
