//! Train a neural potential on the bound.

mod frame;
mod gradient;
mod keep;
mod optimiser;
mod train;
mod trained;

pub use gradient::{BoundGradient, bound_gradient};
pub use keep::{Checkpoint, Keeper, kept};
pub use optimiser::{Optimiser, Rule, rescale};
pub use train::{TrainOptions, Trainer, train};
pub use trained::Trained;
