//! Train a neural potential on the bound.

mod gradient;

pub use gradient::{BoundGradient, bound_gradient};
