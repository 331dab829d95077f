//! Find the potential: a robust start places the jumps, guarded sweeps make it right.

mod adam;
mod bayes;
mod carry;
mod climb;
pub mod context;
#[cfg(test)]
mod error_tests;
mod estimate;
mod exact_learn;
mod exact_paths;
#[cfg(test)]
mod exact_tests;
mod expect;
mod fisher;
mod gaussian_sum;
mod gradient;
mod kept;
mod learn;
mod learned;
mod linear_gaussian;
mod method;
mod middle;
mod neural_drift;
mod newton;
mod panel;
mod parameter_law;
mod parameters;
mod profile;
mod robust;
#[cfg(test)]
mod size_tests;
mod sweep;

pub use adam::Adam;
pub use bayes::{EvidenceOf, ParameterPosterior};
pub use estimate::{Estimate, Interval, IntervalSource, NINETY};
pub(crate) use exact_learn::{ExactLearned, learn_exact};
pub(crate) use exact_paths::exact_paths_of;
pub use exact_paths::{ExactPosterior, exact_paths};
pub use expect::{Expected, expect, follow};
pub use fisher::gradient;
pub use gaussian_sum::{GaussianSumOptions, gaussian_sum};
pub use gradient::Gradient;
pub(crate) use kept::Mark;
pub use learn::{Expect, learn, learn_by, learn_from, learn_with};
pub use learned::{LearnOptions, Learned, Optimum};
pub use method::{Choice, Method};
pub use neural_drift::{LearnedNeural, NeuralOptions, Regularisation, learn_neural};
pub use panel::{LearnedBefore, Share, Shared};
pub(crate) use panel::{Member, learn_panel};
pub use parameter_law::ParameterLaw;
pub use parameters::{Parameter, Prior, Transform, parameters, rebuild};
pub(crate) use profile::profile_intervals;
pub use robust::{from_natural, interpolate, robust_start};
pub use sweep::{SweepOptions, Swept, sweep};
