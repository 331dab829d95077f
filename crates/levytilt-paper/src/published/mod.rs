//! The published method: a quadratic potential from networks of time, paths by Algorithm 2 on the truncated measure, and
//! the continuous-time ELBO.

mod fit;
mod options;
mod path;
mod rates;
mod train;

pub use fit::fit_paper;
pub use options::{Gradient, Kl, Motion, PaperOptions};
pub use rates::{RateTable, Rates};
pub use train::{Bound, PaperTrainer, PublishedGradient, measure_of, published_gradient, states};
