//! Draw paths from a tilted chain, weigh them, and say what they say together.

mod particle;
mod summary;
mod walk;
mod weights;

pub use particle::{Evidence, log_evidence};
pub(crate) use summary::weighted_marginal;
pub use summary::{Marginal, marginals};
pub(crate) use walk::{BLOCK, Made, jump_threshold};
pub use walk::{Paths, Potentials, walk};
pub use weights::{WeightSummary, normalise, pareto_k};
