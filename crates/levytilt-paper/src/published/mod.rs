//! The published method: a quadratic potential from networks of time, paths by Algorithm 2 on the truncated measure, and
//! the continuous-time ELBO.

mod bound;
mod fit;
mod jumps;
mod options;
mod path;
mod poisson;
mod power;
mod rates;
mod tape;
mod train;

pub use bound::{
    Bound, DrawnPath, NOISE, PublishedGradient, draw_paths, noise_gradient, noises_of, published_gradient,
};
pub use fit::{fit_paper, fit_paper_grid, fit_paper_with};
pub use options::{Gradient, Kl, Motion, PaperOptions};
pub use path::PaperNoise;
pub use rates::{RateTable, Rates};
pub use train::PaperTrainer;
