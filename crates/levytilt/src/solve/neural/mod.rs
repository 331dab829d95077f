//! Train a neural potential on the bound.

mod gradient;
mod optimiser;
mod train;

pub use gradient::{BoundGradient, bound_gradient};
pub use optimiser::{Optimiser, Rule, rescale};
pub use train::{TrainOptions, Trained, Trainer, train};
