//! Rate of jumps and divergence per time at one precision a, for any number of states, with their derivatives.
//!
//! With ϑ = 2 ln(r/τ), u = u_τ e^ϑ, v = u/(1+u), ρ = α/2, prior rate λ, κ = aδ² and C = e^{κv}/√(1+u):
//!
//! ```text
//! Λ = λ ∫ C ρe^{−ρϑ} dϑ,    D = λ ∫ [C(κ(2v − v²) − v/2 − 1) + 1] ρe^{−ρϑ} dϑ
//! ```
//!
//! by Gauss–Legendre panels in ϑ that are shared by all states. Beyond the last panel C vanishes and a jump costs 1.

use crate::continuous::JumpMeasure;
use levytilt::noise::panel_points;
use levytilt::{Error, Result};

/// Largest κ: e^κ is still a number.
pub(super) const MOST_KAPPA: f64 = 650.0;
/// Width of a panel.
const WIDTH: f64 = 2.0;
/// How far the panels reach beyond the jumps that the largest κ prefers.
const BEYOND: f64 = 20.0;

/// Quadrature points at one precision.
#[derive(Debug, Clone)]
pub struct RateTable {
    a: f64,
    points: Vec<Point>,
    tail: f64,
    prior: f64,
}

/// A point of the quadrature.
#[derive(Debug, Clone, Copy)]
struct Point {
    weight: f64,
    v: f64,
    /// ∂v/∂a.
    v_by_a: f64,
    /// ½ ln(1 + u).
    width: f64,
}

/// Rates at one state, with derivatives in δ (at fixed a) and in a (at fixed δ).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// Λ, and its derivatives.
    pub rate: f64,
    /// ∂Λ/∂δ.
    pub rate_by_delta: f64,
    /// ∂Λ/∂a.
    pub rate_by_a: f64,
    /// D, and its derivatives.
    pub divergence: f64,
    /// ∂D/∂δ.
    pub divergence_by_delta: f64,
    /// ∂D/∂a.
    pub divergence_by_a: f64,
}

impl RateTable {
    /// The points for a measure tilted with precision `a` > 0.
    pub fn new(measure: &JumpMeasure, a: f64) -> Self {
        let rho = 0.5 * measure.alpha();
        let least = 2.0 * a * (measure.unit() * measure.tau()).powi(2);
        let end = (MOST_KAPPA / least).ln().max(0.0) + BEYOND;
        let panels = (end / WIDTH).ceil();
        let edges: Vec<f64> = (0..=panels as usize).map(|i| end * i as f64 / panels).collect();
        let prior = measure.rate();
        let point = |(theta, weight): (f64, f64)| {
            let u = least * f64::exp(theta);
            let (v, g) = (u / (1.0 + u), 1.0 / (1.0 + u));
            let weight = weight * prior * rho * (-rho * theta).exp();
            Point { weight, v, v_by_a: v * g / a, width: 0.5 * u.ln_1p() }
        };
        let points = panel_points(&edges).into_iter().map(point).collect();
        Self { a, points, tail: prior * (-rho * end).exp(), prior }
    }

    /// λ, the rate of the prior.
    pub fn prior(&self) -> f64 {
        self.prior
    }

    /// The rates for a potential whose centre is `delta` away.
    ///
    /// # Errors
    /// κ = aδ² above 650: the rate is not a number a path could follow.
    pub fn at(&self, delta: f64) -> Result<Rates> {
        let (a, kappa) = (self.a, self.a * delta * delta);
        if !(0.0..=MOST_KAPPA).contains(&kappa) {
            return Err(Error::Numerical {
                what: "tilted rate of jumps",
                why: format!(
                    "κ = a(c − x)² = {kappa:.0} at a = {a:.2e}, c − x = {delta:.2e}: the tilt is too strong; \
                              use a smaller learning rate"
                ),
            });
        }
        let (mut sums, mut by_kappa) = (Rates { divergence: self.tail, ..Rates::default() }, [0.0; 2]);
        for &Point { weight, v, v_by_a, width } in &self.points {
            let c = weight * (kappa * v - width).exp();
            let gain = v * (2.0 - v);
            let cost = kappa * gain - 0.5 * v - 1.0;
            // ∂ ln C/∂a at fixed κ.
            let log_by_a = kappa * v_by_a - 0.5 * v / a;
            sums.rate += c;
            by_kappa[0] += c * v;
            sums.rate_by_a += c * log_by_a;
            sums.divergence += c * cost + weight;
            by_kappa[1] += c * (v * cost + gain);
            sums.divergence_by_a += c * (log_by_a * cost + (2.0 * kappa * (1.0 - v) - 0.5) * v_by_a);
        }
        let [rate, divergence] = by_kappa;
        sums.rate_by_a += delta * delta * rate;
        sums.divergence_by_a += delta * delta * divergence;
        sums.rate_by_delta = 2.0 * a * delta * rate;
        sums.divergence_by_delta = 2.0 * a * delta * divergence;
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levytilt::potential::Quadratic;

    /// Against the adaptive quadrature of [`crate::continuous`], and central differences.
    #[test]
    fn identity_rates_and_slopes_are_those_of_the_continuous_view() {
        for (alpha, a, delta) in
            [(1.5, 0.7, 2.0), (1.2, 30.0, 0.3), (1.8, 2.0, -1.4), (1.5, 0.01, 5.0), (1.5, 5.0, 2.0)]
        {
            let measure = JumpMeasure::mixture(alpha, 0.9, 0.01, 1.0).unwrap();
            let at = |a: f64, delta: f64| RateTable::new(&measure, a).at(delta).unwrap();
            let tilted = measure.tilted(Quadratic::new(a, delta).unwrap(), 0.0);
            let found = at(a, delta);
            assert!((found.rate / tilted.rate() - 1.0).abs() < 1e-9, "{alpha} {a} {delta}");
            assert!((found.divergence / tilted.divergence_rate() - 1.0).abs() < 1e-8, "{alpha} {a} {delta}");
            let near = |found: f64, [high, low]: [f64; 2], h: f64, scale: f64| {
                let want = (high - low) / (2.0 * h);
                assert!((found - want).abs() < 1e-5 * (want.abs() + scale), "{alpha} {a} {delta}: {found} {want}");
            };
            let h = 1e-5 * a;
            near(found.rate_by_a, [a + h, a - h].map(|a| at(a, delta).rate), h, found.rate);
            near(found.divergence_by_a, [a + h, a - h].map(|a| at(a, delta).divergence), h, found.divergence);
            let h = 1e-5;
            near(found.rate_by_delta, [h, -h].map(|h| at(a, delta + h).rate), h, found.rate);
            near(found.divergence_by_delta, [h, -h].map(|h| at(a, delta + h).divergence), h, found.divergence);
        }
    }
}
