//! Find the potential: a robust start places the jumps, guarded sweeps make it right.

mod bayes;
mod carry;
mod climb;
pub mod context;
#[cfg(test)]
mod error_tests;
mod exact_learn;
#[cfg(test)]
mod exact_tests;
mod expect;
mod gaussian_sum;
mod gradient;
mod grid;
mod learn;
mod learned;
mod linear_gaussian;
mod method;
mod middle;
mod network;
mod newton;
mod panel;
mod parameter_law;
mod parameters;
mod profile;
mod robust;
mod score;
#[cfg(test)]
mod size_tests;
mod sweep;

pub use bayes::ParameterPosterior;
pub(crate) use exact_learn::{ExactLearned, learn_exact};
pub use expect::{Expected, expect, follow};
pub use gaussian_sum::{GaussianSumOptions, gaussian_sum};
pub use gradient::Score;
pub(crate) use grid::grid_of;
pub use grid::{GridPosterior, grid};
pub use learn::{Expect, learn, learn_by, learn_from, learn_with};
pub use learned::{LearnOptions, Learned};
pub use method::{Choice, Method};
pub use network::{LearnedNetwork, NetworkOptions, Regularisation, learn_network};
pub use panel::{LearnedBefore, Share, Shared};
pub(crate) use panel::{Member, learn_panel};
pub use parameter_law::ParameterLaw;
pub use parameters::{Parameter, Prior, Transform, parameters, rebuild};
pub(crate) use profile::profile_interval;
pub use robust::{from_natural, interpolate, robust_start};
pub use score::score;
pub use sweep::{SweepOptions, Swept, sweep};
