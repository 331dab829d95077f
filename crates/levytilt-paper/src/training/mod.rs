//! Train a neural potential by maximising the ELBO.

mod alongside;
pub(crate) mod fingerprint;
mod frame;
mod gradient;
mod local_frame;
mod optimiser;
mod step;
mod train;
mod trained;

pub use alongside::learn_alongside;
pub use gradient::{BoundGradient, bound_gradient};
pub use levytilt::context::{Checkpoint, Keeper};
pub use optimiser::{Optimiser, Rule, rescale};
pub(crate) use train::EVERY;
pub use train::{TrainOptions, Trainer, train};
pub use trained::Trained;
