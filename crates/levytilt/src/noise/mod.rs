//! Turn a jump law into nodes: over a step of length Δ the increment is J = M + √S·Z, Z ~ N(0,1), S a random variance and
//! M a random mean, 0 for symmetric noise.
//!
//! A family is one file that says what the law of S is; [`Nodes`] is what the rest of the crate sees of it.

mod bessel;
mod cache;
mod compound_poisson;
mod condense;
mod convolution;
mod families;
mod family;
pub(crate) mod fast_exp;
mod gamma;
mod gauss;
mod gaussian;
mod gradient_table;
mod lengths;
mod log_law;
mod nig;
mod nodes;
mod nonnegative;
mod part;
mod plus_brownian;
mod positive_stable;
mod quadrature;
mod skewed_compound_poisson;
mod skewed_mixture;
mod skewed_nig;
mod skewed_stable;
mod skewed_stable_fit;
mod skewed_tempered_stable;
mod skewed_variance_gamma;
mod stable;
mod step_gradient;
mod student;
mod tempered_stable;
mod truncated_stable;
#[cfg(feature = "two-speed")]
mod two_speed;
mod variance_gamma;

pub use cache::NodeCache;
pub use compound_poisson::CompoundPoisson;
pub use families::FAMILIES;
pub(crate) use families::{has_effect, skews};
pub use family::Family;
pub(crate) use gamma::sample_gamma;
pub use gaussian::Gaussian;
pub use gradient_table::GradientTable;
pub(crate) use gradient_table::pairs;
pub use lengths::Lengths;
pub use nig::Nig;
pub use nodes::{LogDensity, NodeDerivative, Nodes};
pub use part::NoisePart;
pub(crate) use plus_brownian::BROWNIAN;
pub use plus_brownian::PlusBrownian;
pub use quadrature::panel_points;
pub use skewed_compound_poisson::SkewedCompoundPoisson;
pub use skewed_nig::SkewedNig;
pub use skewed_stable::SkewedStable;
pub use skewed_tempered_stable::SkewedTemperedStable;
pub use skewed_variance_gamma::SkewedVarianceGamma;
pub use stable::Stable;
pub use step_gradient::StepGradient;
pub use student::Student;
pub use tempered_stable::TemperedStable;
pub use truncated_stable::TruncatedStable;
pub use variance_gamma::VarianceGamma;

use crate::parameter::Domain;
use crate::{Error, Result, StreamRng};

/// A noise whose increments are mixtures of Gaussians: of variances alone if it is symmetric, else of means as well.
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

    /// An exact draw of mean M and variance S of a step; M = 0 for symmetric noise. A law that is not known as a mixture
    /// gives the increment itself, with variance 0.
    fn sample_mean_and_variance(&self, dt: f64, rng: &mut StreamRng) -> (f64, f64) {
        (0.0, self.sample_variance(dt, rng))
    }

    /// ln |E exp(iuJ)| of an increment over `dt`; for symmetric noise, ln E exp(iuJ).
    fn log_characteristic(&self, dt: f64, u: f64) -> f64;

    /// Phase of E exp(iuJ), the imaginary part of its logarithm; 0 for symmetric noise.
    fn characteristic_phase(&self, _dt: f64, _u: f64) -> f64 {
        0.0
    }

    /// Whether increments have a finite variance.
    fn has_variance(&self) -> bool;

    /// Values allowed for each parameter, in the order of [`Noise::parameters`]: those of the family's entry, and positive
    /// numbers for a noise that is not listed.
    fn domains(&self) -> Vec<Domain> {
        let family = Family::named(self.family());
        let domain = |name| family.and_then(|family| family.parameter(name)).map_or(Domain::POSITIVE, |p| p.domain);
        self.parameters().into_iter().map(|(name, _)| domain(name)).collect()
    }

    /// How increments over steps of different lengths are related.
    fn lengths(&self) -> Lengths {
        Lengths::Unrelated
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
        let (mean, variance) = self.sample_mean_and_variance(dt, rng);
        mean + variance.sqrt() * z
    }
}

/// The error of [`Noise::with_parameters`] for a wrong number of values.
fn wrong_count(got: usize, expected: usize) -> Error {
    Error::Shape { what: "noise parameter values", got: got.to_string(), expected: expected.to_string() }
}
