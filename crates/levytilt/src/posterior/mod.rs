//! Draw paths from a tilted chain, weight them, and summarise them.

mod bridge;
mod diagnose;
mod divergence;
mod jump;
mod jump_table;
mod particle;
mod summary;
mod walk;
mod weights;

pub use bridge::Bridge;
pub use diagnose::{Closeness, Diagnosis, Gap, Weighting};
pub use divergence::bound_by_divergence;
pub use jump::{JumpLaw, jump_law};
pub use jump_table::{Jump, jump_table, jumps};
pub use particle::{Evidence, log_evidence};
pub use summary::{Marginal, marginals};
pub(crate) use summary::{jump_probability, marginal, weighted_marginal};
pub use walk::{BLOCK, Made};
pub use walk::{Paths, Potentials, walk};
pub(crate) use walk::{jump_threshold, upper_tail};
pub(crate) use weights::systematic;
pub use weights::{WeightSummary, normalise, pareto_k};
