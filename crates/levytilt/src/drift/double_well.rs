//! Let the state roll between two wells: dx = (θ₁x − θ₂x³) dt, solved exactly for states of any size.

use super::diagonal::{Diagonal, Local};
use super::family::{DriftFamily, halves};
use super::{DriftPart, component, expect_length};
use crate::Result;
use crate::error::check;
use crate::parameter::{Domain, ParameterEntry};
use std::f64::consts::SQRT_2;

/// Motion in the potential −θ₁x²/2 + θ₂x⁴/4, separately in each dimension.
///
/// flow_Δ(x) = x e^{θ₁Δ} / √(1 + θ₂x² (e^{2θ₁Δ} − 1)/θ₁), with (e^{2θ₁Δ} − 1)/θ₁ = 2Δ at θ₁ = 0. For θ₁ > 0 there are
/// wells at ±√(θ₁/θ₂), for θ₁ ≤ 0 only the one at 0. Domain: θ₁ finite, θ₂ ≥ 0, and for θ₁ > 0 wells below 1e300 (so
/// θ₂ > 0: without the cubic term the motion would run away).
///
/// The flow is finite for every finite state and every Δ ≥ 0; a state of 1e150 comes down to about 1/√(2θ₂Δ) in one
/// step, where a discretised x³ would explode. A derivative is infinite only where its true value exceeds the largest
/// floating number; ∂/∂x then rounds to that number.
#[derive(Debug, Clone, PartialEq)]
pub struct DoubleWell {
    theta1: Vec<f64>,
    theta2: Vec<f64>,
}

/// The push away from 0; by default ten relaxation times in the span.
const THETA1: ParameterEntry = ParameterEntry::new(
    "theta1",
    "rate of repulsion from 0, dx = (theta1 x - theta2 x³) dt",
    "1/time",
    Domain::REAL,
    1.0,
    |scales, _| 10.0 / scales.span,
)
.with_prior(|own, _| 100.0 / own.span);

/// The pull back; by default there are wells at the root mean square of the middle half of the values.
const THETA2: ParameterEntry = ParameterEntry::new(
    "theta2",
    "strength of the cubic restoring term",
    "1/(time value²)",
    Domain::NON_NEGATIVE,
    1.0,
    |scales, given| given(THETA1.name).unwrap_or(10.0 / scales.span) / (scales.level * scales.level),
);

/// The entry of the family.
pub(super) const FAMILY: DriftFamily = DriftFamily {
    name: "double-well",
    about: "Two stable states",
    parameters: &[THETA1, THETA2],
    formula: Some("theta1*x - theta2*x^3"),
    coupled: false,
    build: |dim, values| {
        let (theta1, theta2) = halves(dim, values);
        Ok(Box::new(DoubleWell::diagonal(theta1, theta2)?))
    },
};

impl DoubleWell {
    /// This drift with every parameter learned.
    pub fn learned() -> DriftPart {
        DriftPart::learned(const { &FAMILY })
    }

    /// A one-dimensional double well.
    pub fn new(theta1: f64, theta2: f64) -> Result<Self> {
        Self::diagonal(vec![theta1], vec![theta2])
    }

    /// One double well per dimension; at least one dimension.
    pub fn diagonal(theta1: Vec<f64>, theta2: Vec<f64>) -> Result<Self> {
        let dim = theta1.len().max(1);
        expect_length("theta1", theta1.len(), dim)?;
        expect_length("theta2", theta2.len(), dim)?;
        for i in 0..dim {
            let name = component(THETA2.name, i, dim);
            THETA1.check_as(&component(THETA1.name, i, dim), theta1[i])?;
            THETA2.check_as(&name, theta2[i])?;
            let held = theta1[i] <= 0.0 || theta1[i].sqrt() / theta2[i].sqrt() <= 1e300;
            check(
                &name,
                theta2[i],
                held,
                "must be greater than 0 when theta1 > 0, with wells √(theta1/theta2) ≤ 1e300",
            )?;
        }
        Ok(Self { theta1, theta2 })
    }
}

/// What depends on the parameters and Δ alone.
///
/// With h = (1 − e^{−2|θ₁|Δ})/|θ₁| the flow is front · x / √(lead² + θ₂hx²), where (lead, front) is (e^{−θ₁Δ}, 1) for
/// θ₁ ≥ 0 and (1, e^{θ₁Δ}) for θ₁ < 0: no exponential can overflow and no difference cancels.
struct Step {
    dt: f64,
    /// θ₁Δ.
    growth: f64,
    lead: f64,
    front: f64,
    /// √h.
    root: f64,
    /// √θ₂.
    cubic: f64,
    /// √(θ₂h).
    bend: f64,
}

/// The flow of one state and the pieces its derivatives are made of, with n = √(lead² + θ₂hx²).
struct Moved {
    out: f64,
    /// ∂out/∂x = front · lead² / n³.
    slope: f64,
    /// lead / n.
    linear: f64,
    /// √h |x| / n.
    ratio: f64,
}

impl Step {
    fn new(theta1: f64, theta2: f64, dt: f64) -> Self {
        let growth = theta1 * dt;
        let shrink = (-growth.abs()).exp();
        let (lead, front) = if theta1 < 0.0 { (1.0, shrink) } else { (shrink, 1.0) };
        let twice = 2.0 * growth.abs();
        // Below 1e-17 the quotient is 2Δ to all digits, and 0/0 at θ₁ = 0 is out of the way. Roots are taken before
        // they meet, because their squares can leave the floating range.
        let root = if twice < 1e-17 { SQRT_2 * dt.sqrt() } else { (-(-twice).exp_m1()).sqrt() / theta1.abs().sqrt() };
        let cubic = theta2.sqrt();
        Self { dt, growth, lead, front, root, cubic, bend: (cubic * root).min(f64::MAX) }
    }

    fn apply(&self, x: f64) -> Moved {
        let size = x.abs();
        let reach = self.bend * size;
        if self.growth > 300.0 {
            return self.apply_long(x);
        }
        if reach > 1e150 {
            // lead ≤ 1 adds less than a digit to n = reach, whose square would overflow.
            let linear = self.lead / self.bend / size;
            let out = (self.front / self.bend).copysign(x);
            return Moved { out, slope: out / x * linear * linear, linear, ratio: 1.0 / self.cubic };
        }
        let inverse = 1.0 / (self.lead * self.lead + reach * reach).sqrt();
        let linear = self.lead * inverse;
        Moved {
            out: x * (self.front * inverse),
            slope: self.front * inverse * linear * linear,
            linear,
            ratio: self.root * size * inverse,
        }
    }

    /// [`Step::apply`] for θ₁Δ > 300, where lead² = e^{−2θ₁Δ} leaves the floating range: everything is divided by |x| and
    /// e^{−θ₁Δ}/|x| is formed in one exponential.
    fn apply_long(&self, x: f64) -> Moved {
        if x == 0.0 {
            return Moved { out: x, slope: self.growth.exp().min(f64::MAX), linear: 1.0, ratio: 0.0 };
        }
        let lead = (-self.growth - x.abs().ln()).exp();
        let norm = lead.hypot(self.bend);
        let linear = lead / norm;
        // lead²/n³ = (lead/n)³ e^{θ₁Δ}, in one exponential again.
        let slope = if linear > 0.0 { (self.growth + 3.0 * linear.ln()).exp().min(f64::MAX) } else { 0.0 };
        Moved { out: (1.0 / norm).copysign(x), slope, linear, ratio: self.root / norm }
    }
}

/// w(v) = 1/v − 1/(e^v − 1), the relative rate at which −(1 − e^{−v})/v changes: 1 at −∞, ½ at 0, 0 at ∞.
fn bernoulli(v: f64) -> f64 {
    if v.abs() < 0.3 {
        // The two poles cancel near 0; the series in Bernoulli numbers is exact to rounding here.
        let s = v * v;
        return 0.5
            - v * (1.0 / 12.0 - s * (1.0 / 720.0 - s * (1.0 / 30_240.0 - s * (1.0 / 1_209_600.0 - s / 47_900_160.0))));
    }
    1.0 / v - 1.0 / v.exp_m1()
}

impl Diagonal for DoubleWell {
    const FAMILY: &'static DriftFamily = &FAMILY;
    const AFFINE: bool = false;

    fn values(&self) -> [&[f64]; 2] {
        [&self.theta1, &self.theta2]
    }

    fn advance(&self, i: usize, dt: f64) -> impl Fn(f64) -> f64 {
        let step = Step::new(self.theta1[i], self.theta2[i], dt);
        move |x| step.apply(x).out
    }

    /// With n² = lead² + θ₂hx²: ∂/∂x = front·lead²/n³, ∂/∂θ₂ = −½·out·hx²/n²,
    /// ∂/∂θ₁ = Δ·out·(lead²/n² + (θ₂hx²/n²)·w(2θ₁Δ)), w(v) = 1/v − 1/(e^v − 1).
    fn local(&self, i: usize, dt: f64) -> impl Fn(f64) -> Local {
        let step = Step::new(self.theta1[i], self.theta2[i], dt);
        let bernoulli = bernoulli(2.0 * step.growth);
        move |x| {
            let Moved { out, slope, linear, ratio } = step.apply(x);
            let cubic = step.cubic * ratio;
            let rate = linear * linear + cubic * cubic * bernoulli;
            let by_parameters = [out * (step.dt * rate), -0.5 * (out * ratio) * ratio];
            Local { out, by_state: slope, by_parameters }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::drift::Drift;
    use proptest::prelude::*;

    fn all(theta1: f64, theta2: f64, dt: f64, x: f64) -> [f64; 4] {
        let (mut out, mut by_state, mut by_parameter) = ([0.0], [0.0], [0.0; 2]);
        let drift = DoubleWell::new(theta1, theta2).unwrap();
        drift.flow_jacobian(0.0, dt, &[x], &mut out, &mut by_state, &mut by_parameter);
        let mut plain = [0.0];
        drift.flow(0.0, dt, &[x], &mut plain);
        assert_eq!(plain, out);
        [out[0], by_state[0], by_parameter[0], by_parameter[1]]
    }

    /// Independent values from mpmath with 800 digits: θ₁, θ₂, Δ, x, then flow, ∂/∂x, ∂/∂θ₁, ∂/∂θ₂.
    #[test]
    fn golden_flow_and_derivatives() {
        for row in &include!("double_well_golden.in") {
            let [theta1, theta2, dt, x, golden @ ..]: [f64; 8] = *row;
            // e^{θ₁Δ} amplifies the rounding of θ₁Δ by θ₁Δ itself while the state is far below its well.
            let tolerance = 1e-15 * (theta1 * dt).abs().clamp(1.0, 1e3);
            for (got, want) in all(theta1, theta2, dt, x).into_iter().zip(golden) {
                let error = (got - want).abs();
                assert!(error <= tolerance * want.abs() + 1e-307, "{row:?}: {got:e} {want:e}");
            }
        }
    }

    #[test]
    fn identities_limits() {
        assert_eq!(all(4.0, 1.0, 0.1, 0.0)[0], 0.0);
        assert_eq!(all(4.0, 1.0, 0.0, 0.7), [0.7, 1.0, 0.0, 0.0]);
        assert_eq!(all(4.0, 1.0, 1e300, -1e-300)[0], -2.0);
        assert_eq!(all(4.0, 1.0, 1e300, 0.0)[1], f64::MAX);
        let forever = all(1e10, 1.0, 1e300, 1.0);
        assert!((forever[0] - 1e5).abs() < 1e-10 && forever[1] == 0.0, "{forever:?}");
        assert_eq!(all(-1.0, f64::MAX, f64::MAX, 0.0)[0], 0.0);
        let free = all(0.0, 0.0, 1.0, 3.0);
        assert_eq!(free[..3], [3.0, 1.0, 3.0]);
        assert!((free[3] + 27.0).abs() < 1e-14);
        assert_eq!(bernoulli(0.0), 0.5);
        for v in [0.299_999, 0.300_001, 2.0, 40.0, 1e3] {
            // w(v) + w(−v) = 1.
            assert!((bernoulli(v) + bernoulli(-v) - 1.0).abs() < 4e-15, "{v}");
        }
    }

    #[test]
    fn errors_name_the_parameter() {
        let named = |theta1, theta2| match DoubleWell::new(theta1, theta2) {
            Err(Error::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(named(f64::NAN, 1.0), "theta1");
        assert_eq!(named(1.0, -1.0), "theta2");
        assert_eq!(named(1.0, f64::INFINITY), "theta2");
        assert_eq!(named(1.0, 0.0), "theta2");
        assert!(DoubleWell::new(-1.0, 0.0).is_ok());
        assert!(matches!(DoubleWell::diagonal(vec![], vec![]), Err(Error::Shape { what: "theta1", .. })));
        assert!(matches!(DoubleWell::diagonal(vec![1.0], vec![]), Err(Error::Shape { what: "theta2", .. })));
        let drift = DoubleWell::new(4.0, 1.0).unwrap();
        assert!(matches!(drift.with_parameters(&[1.0, 2.0, 3.0]), Err(Error::Shape { .. })));
        assert!(drift.with_parameters(&[1.0, -2.0]).is_err());
    }

    fn magnitude(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), range.prop_map(|e| 10f64.powf(e))]
    }

    proptest! {
        /// The flow keeps the sign and never leaves the interval of the state and the wells; derivatives are not NaN.
        #[test]
        fn identities_flow_stays_between_state_and_well(
            size in magnitude(-300.0..100.0), sign in prop::bool::ANY,
            theta2 in (-100.0..300.0f64).prop_map(|e| 10f64.powf(e)),
            dt in magnitude(-300.0..300.0),
            x in prop::num::f64::ANY.prop_filter("finite", |x| x.is_finite()),
        ) {
            let theta1 = if sign { size } else { -size };
            let [out, slope, ..] = all(theta1, theta2, dt, x);
            let well = theta1.max(0.0).sqrt() / theta2.sqrt();
            prop_assert!(out.is_finite() && out * x >= 0.0, "{out}");
            prop_assert!(out.abs() <= x.abs().max(well) * (1.0 + 1e-15), "{out} {well}");
            prop_assert!((0.0..=f64::MAX).contains(&slope), "{slope}");
        }
    }
}
