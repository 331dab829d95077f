//! Pull the state back to a level: dx = θ (μ − x) dt, the drift of an Ornstein–Uhlenbeck process.

use super::diagonal::{Diagonal, Local};
use super::family::{DriftFamily, halves};
use super::{DriftPart, component, expect_length};
use crate::Result;
use crate::parameter::{Domain, HALF_CAUCHY, ParameterEntry, Prior, UNIFORM_STD};

/// Mean reversion at rate `theta` to the level `mu`, separately in each dimension.
///
/// flow_Δ(x) = μ + (x − μ) e^{−θΔ}, computed as x·e^{−θΔ} + μ·(1 − e^{−θΔ}): a weighted mean, so it lies between x and μ
/// and cannot overflow. Domain: θ ≥ 0 and μ finite. θ = 0 means no motion (μ then has no effect); θΔ → ∞ gives μ. A
/// negative θ would repel the state from μ without bound and is an error; [`super::Linear`] models such motion.
#[derive(Debug, Clone, PartialEq)]
pub struct Ou {
    theta: Vec<f64>,
    mu: Vec<f64>,
}

/// A return is seen if it happened this many times over the record, or if its rate is this many standard errors from none.
const FEWEST_RETURNS: f64 = 10.0;
const CLEAR: f64 = 2.0;

/// The mean-reversion rate; by default ten relaxation times in the span, with a prior log-uniform from one in the span to one between
/// two observations, or as wide as a half-Cauchy law where these are few.
const THETA: ParameterEntry = ParameterEntry::new(
    "theta",
    "mean-reversion rate, dx = theta (mu - x) dt",
    "1/time",
    Domain {
        expected: "must be a finite number, 0 or greater; use drift linear for motion away from mu",
        ..Domain::NON_NEGATIVE
    },
    1.0,
    |scales, _| 10.0 / scales.span,
)
.with_prior_at(|own| {
    let (slowest, fastest) = (own.span.recip().ln(), own.lag.recip().ln());
    Prior { mean: 0.5 * (slowest + fastest), std: (UNIFORM_STD * (fastest - slowest)).max(HALF_CAUCHY) }
})
.with_doubt(|learned| {
    let unclear = learned.std_error.is_some_and(|error| learned.value < CLEAR * error);
    let rare = learned.value * learned.span < FEWEST_RETURNS;
    let doubt = "not clearly above 0. This record does not show mean reversion, and mu is poorly determined; compare \
                 with drift none";
    (unclear && rare).then_some(doubt)
});

/// The mean-reversion level.
const MU: ParameterEntry =
    ParameterEntry::new("mu", "mean-reversion level", "value", Domain::REAL, 0.0, |scales, _| scales.median);

/// The entry of the family.
pub(super) const FAMILY: DriftFamily = DriftFamily {
    name: "ou",
    about: "Ornstein-Uhlenbeck, mean reversion to a level",
    parameters: &[THETA, MU],
    formula: Some("theta*(mu - x)"),
    coupled: false,
    build: |dim, values| {
        let (theta, mu) = halves(dim, values);
        Ok(Box::new(Ou::diagonal(theta, mu)?))
    },
};

impl Ou {
    /// This drift with every parameter learned.
    pub fn learned() -> DriftPart {
        DriftPart::learned(const { &FAMILY })
    }

    /// A one-dimensional drift with rate `theta` ≥ 0 and level `mu`.
    pub fn new(theta: f64, mu: f64) -> Result<Self> {
        Self::diagonal(vec![theta], vec![mu])
    }

    /// One rate and one level per dimension; at least one dimension.
    pub fn diagonal(theta: Vec<f64>, mu: Vec<f64>) -> Result<Self> {
        let dim = theta.len().max(1);
        expect_length("theta", theta.len(), dim)?;
        expect_length("mu", mu.len(), dim)?;
        for i in 0..dim {
            THETA.check_as(&component(THETA.name, i, dim), theta[i])?;
            MU.check_as(&component(MU.name, i, dim), mu[i])?;
        }
        Ok(Self { theta, mu })
    }
}

/// Weights (e^{−θΔ}, 1 − e^{−θΔ}) of the state and of the level; the second keeps its digits when θΔ is small.
fn weights(theta: f64, dt: f64) -> (f64, f64) {
    let decay = -theta * dt;
    (decay.exp(), -decay.exp_m1())
}

impl Diagonal for Ou {
    const FAMILY: &'static DriftFamily = &FAMILY;
    const AFFINE: bool = true;

    fn values(&self) -> [&[f64]; 2] {
        [&self.theta, &self.mu]
    }

    fn advance(&self, i: usize, dt: f64) -> impl Fn(f64) -> f64 {
        let (keep, pull) = weights(self.theta[i], dt);
        let level = pull * self.mu[i];
        move |x| keep * x + level
    }

    /// ∂/∂x = e^{−θΔ}, ∂/∂θ = Δ (μ − x) e^{−θΔ}, ∂/∂μ = 1 − e^{−θΔ}: smooth through θ = 0.
    fn local(&self, i: usize, dt: f64) -> impl Fn(f64) -> Local {
        let (keep, pull) = weights(self.theta[i], dt);
        let mu = self.mu[i];
        // The weight goes in before the difference: where it is 0, an overflow of μ − x must not matter.
        move |x| Local {
            out: keep * x + pull * mu,
            by_state: keep,
            by_parameters: [(dt * keep) * mu - (dt * keep) * x, pull],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::drift::Drift;
    use proptest::prelude::*;

    #[test]
    fn identities_limits() {
        let mut out = [0.0];
        let mut flow = |theta, mu, dt, x| {
            Ou::new(theta, mu).unwrap().flow(0.0, dt, &[x], &mut out);
            out[0]
        };
        assert_eq!(flow(0.0, 5.0, 1e300, 1.25), 1.25);
        assert_eq!(flow(3.0, 5.0, 0.0, 1.0 / 3.0), 1.0 / 3.0);
        assert_eq!(flow(1e300, 5.0, 1e300, -2.0), 5.0);
        assert_eq!(flow(1e5, -f64::MAX, 1.0, f64::MAX), -f64::MAX);
    }

    #[test]
    fn golden_flow_and_derivatives() {
        // mpmath, 40 digits: θ = 3, μ = 1, Δ = 0.01, x = −2.
        let drift = Ou::new(3.0, 1.0).unwrap();
        let (mut out, mut by_state, mut by_parameter) = ([0.0], [0.0], [0.0; 2]);
        drift.flow_jacobian(0.0, 0.01, &[-2.0], &mut out, &mut by_state, &mut by_parameter);
        let golden = [-1.9113366006455246, 0.9704455335485082, 0.029113366006455248, 0.029554466451491825];
        for (got, want) in [out[0], by_state[0], by_parameter[0], by_parameter[1]].into_iter().zip(golden) {
            assert!((got - want).abs() <= 4e-16 * want.abs().max(1.0), "{got} {want}");
        }
    }

    #[test]
    fn identities_dimensions_do_not_mix() {
        let both = Ou::diagonal(vec![0.5, 2.0], vec![1.0, -1.0]).unwrap();
        let states = [3.0, 4.0, 5.0, 6.0];
        let mut out = [0.0; 4];
        both.flow_many(0.0, 0.3, &states, &mut out);
        for (k, (theta, mu)) in [(0.5, 1.0), (2.0, -1.0), (0.5, 1.0), (2.0, -1.0)].into_iter().enumerate() {
            let mut one = [0.0];
            Ou::new(theta, mu).unwrap().flow(0.0, 0.3, &[states[k]], &mut one);
            assert_eq!(one[0], out[k]);
        }
        let names: Vec<_> = both.parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["theta[0]", "theta[1]", "mu[0]", "mu[1]"]);
    }

    #[test]
    fn errors_name_the_parameter() {
        let named = |result: Result<Ou>| match result {
            Err(Error::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(named(Ou::new(-0.1, 0.0)), "theta");
        assert_eq!(named(Ou::new(f64::NAN, 0.0)), "theta");
        assert_eq!(named(Ou::new(f64::INFINITY, 0.0)), "theta");
        assert_eq!(named(Ou::new(1.0, f64::NAN)), "mu");
        assert_eq!(named(Ou::diagonal(vec![1.0, -1.0], vec![0.0; 2])), "theta[1]");
        assert!(matches!(Ou::diagonal(vec![], vec![]), Err(Error::Shape { what: "theta", .. })));
        assert!(matches!(Ou::diagonal(vec![1.0], vec![0.0; 2]), Err(Error::Shape { what: "mu", .. })));
        assert!(matches!(Ou::new(1.0, 0.0).unwrap().with_parameters(&[1.0]), Err(Error::Shape { .. })));
        assert!(Ou::new(1.0, 0.0).unwrap().with_parameters(&[-1.0, 0.0]).is_err());
        assert!(Ou::new(1.0, 0.0).unwrap().check_step(-1.0).is_err());
    }

    proptest! {
        /// The flow lies between the state and the level, so it is finite.
        #[test]
        fn identities_flow_is_a_mean(
            theta in prop_oneof![Just(0.0), (-300.0..300.0f64).prop_map(|e| 10f64.powf(e))],
            dt in (-300.0..300.0f64).prop_map(|e| 10f64.powf(e)),
            mu in prop::num::f64::NORMAL,
            x in prop::num::f64::NORMAL,
        ) {
            let mut out = [0.0];
            Ou::new(theta, mu).unwrap().flow(0.0, dt, &[x], &mut out);
            let slack = 1e-15 * x.abs().max(mu.abs());
            prop_assert!(out[0] >= x.min(mu) - slack && out[0] <= x.max(mu) + slack && out[0].is_finite());
        }
    }
}
