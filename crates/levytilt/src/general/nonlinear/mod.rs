//! Infer models whose drift is nonlinear in the states: particles carry states, steered by messages along a smoothed path.
//!
//! | file | does |
//! |---|---|
//! | `messages`, `guide` | the path along which the drift is replaced by tangents, and the widened messages of that model |
//! | `stage`, `filter` | jumps drawn in the light of a message, and filters whose evidence is unbiased |
//! | `smooth`, `learn` | evidence and paths, and parameters by differences of the log evidence |

mod filter;
mod guide;
mod learn;
mod messages;
mod smooth;
mod stage;

pub(super) use learn::learn;
pub(super) use messages::NonlinearGuide;
pub(super) use smooth::smooth;
pub use smooth::smooth_nonlinear;
