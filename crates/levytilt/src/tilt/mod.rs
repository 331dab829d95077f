//! Tilt one step of the prior by a message from the future: q(x'|x) ∝ p(x'|x) e^{φ(x')}.
//!
//! With noise nodes (S_k, w_k), x̃ = flow_Δ(x), a quadratic potential (a, c), δ = c − x̃, κ = aδ² and g_k = 1/(1 + 2aS_k):
//!
//! | quantity | closed form |
//! |---|---|
//! | normaliser Z(x̃) = E_p e^{φ(x')} | Σ w_k √g_k e^{−κ g_k} |
//! | law of the node | q_k ∝ w_k √g_k e^{−κ g_k} |
//! | next state given the node | N(x̃ + (1 − g_k)δ, S_k g_k) |
//! | divergence of the step | Σ q_k φ̄_k − ln Z, φ̄_k = −κ g_k² − (1 − g_k)/2 |
//!
//! [`TiltedStep`] is the plain version, a loop over nodes and the oracle of the tests; [`TiltTable`] is the fast one for
//! many paths through the same step. For a sum of bumps they are [`SumStep`] and [`SumTable`]; [`StepTable`] is either.
//! The crate levytilt-paper has the same tilt as Δ → 0.

mod alias;
mod derivatives;
mod expansion;
mod log_sum;
mod step;
mod step_table;
mod sum;
mod sum_table;
mod table;

pub(crate) use alias::AliasTable;
pub use derivatives::StepDerivatives;
pub use log_sum::LogSum;
pub use step::pick;
pub use step::{Draw, Moments, Tilted, TiltedStep};
pub use step_table::StepTable;
pub use sum::{SumDerivatives, SumStep};
pub use sum_table::SumTable;
pub use table::TiltTable;
