//! Turn a jump law into variances: over a step of length Δ the increment is J = √S·Z, Z ~ N(0,1), S a random variance.
//!
//! A family is one file that says what the law of S is; [`Nodes`] is what the rest of the crate sees of it.

mod bessel;
mod cache;
mod compound_poisson;
mod condense;
mod convolution;
mod families;
pub(crate) mod fast_exp;
mod gamma;
mod gauss;
mod gaussian;
mod log_law;
mod nig;
mod nodes;
mod part;
mod plus_brownian;
mod positive_stable;
mod quadrature;
mod score_table;
mod stable;
mod step_score;
mod student;
mod tempered_stable;
mod truncated_stable;
#[cfg(feature = "two-speed")]
mod two_speed;
mod variance_gamma;

pub use cache::NodeCache;
pub use compound_poisson::CompoundPoisson;
pub use families::{FAMILIES, Family};
pub(crate) use gamma::sample_gamma;
pub use gaussian::Gaussian;
pub use nig::Nig;
pub use nodes::{LogDensity, NodeDerivative, Nodes};
pub use part::NoisePart;
pub(crate) use plus_brownian::BROWNIAN;
pub use plus_brownian::PlusBrownian;
pub use quadrature::panel_points;
pub use score_table::ScoreTable;
pub(crate) use score_table::pairs;
pub use stable::Stable;
pub use step_score::StepScore;
pub use student::Student;
pub use tempered_stable::TemperedStable;
pub use truncated_stable::TruncatedStable;
pub use variance_gamma::VarianceGamma;

use crate::parameter::Domain;
use crate::{Error, Result, StreamRng};

/// A symmetric noise whose increments are Gaussian scale mixtures.
pub trait Noise: std::fmt::Debug + Send + Sync {
    /// Name of the family as users write it, e.g. `stable`.
    fn family(&self) -> &'static str;

    /// Names and values of the parameters that can be learned, in the order of [`Nodes::derivatives`].
    fn parameters(&self) -> Vec<(&'static str, f64)>;

    /// The same family with other parameter values, in the order of [`Noise::parameters`].
    fn with_parameters(&self, values: &[f64]) -> Result<Box<dyn Noise>>;

    /// Variances S_k and weights w_k of a step of length `dt`, with their derivatives in the parameters.
    fn nodes(&self, dt: f64) -> Result<Nodes>;

    /// An exact draw of the variance S of a step of length `dt` (not through the nodes).
    fn sample_variance(&self, dt: f64, rng: &mut StreamRng) -> f64;

    /// ln E exp(iuJ) of an increment over `dt`; real, because the law is symmetric.
    fn log_characteristic(&self, dt: f64, u: f64) -> f64;

    /// Whether increments have a finite variance.
    fn has_variance(&self) -> bool;

    /// Values allowed for each parameter, in the order of [`Noise::parameters`]: those of the family's entry, and positive
    /// numbers for a noise that is not listed.
    fn domains(&self) -> Vec<Domain> {
        let family = Family::named(self.family());
        let domain = |name| family.and_then(|family| family.parameter(name)).map_or(Domain::POSITIVE, |p| p.domain);
        self.parameters().into_iter().map(|(name, _)| domain(name)).collect()
    }

    /// The change v of the parameters that acts on a step like a longer one: ∂/∂ ln Δ = Σ_p v_p ∂/∂p of the law.
    ///
    /// With it, nodes of many lengths are found from those of a few (see [`NodeCache::of_lengths`]). Nothing where no change
    /// of the parameters does it, or where nodes of a length cost next to nothing.
    fn lengthening(&self) -> Option<Vec<f64>> {
        None
    }

    /// An exact draw of the increment over `dt`.
    fn sample(&self, dt: f64, rng: &mut StreamRng) -> f64 {
        let z: f64 = rand_distr::Distribution::sample(&rand_distr::StandardNormal, rng);
        self.sample_variance(dt, rng).sqrt() * z
    }
}

/// The error of [`Noise::with_parameters`] for a wrong number of values.
fn wrong_count(got: usize, expected: usize) -> Error {
    Error::Shape { what: "noise parameter values", got: got.to_string(), expected: expected.to_string() }
}
