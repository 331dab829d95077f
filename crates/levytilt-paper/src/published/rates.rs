//! The rate of tilted jumps and its divergence, with derivatives, as functions of the state at one time.
//!
//! For a potential −a(x − c)² and δ = c − x, a jump of mixing variable r has u = 2a s²r², v = u/(1 + u), κ = aδ² and
//! C = e^{κv}/√(1 + u). With ϑ = 2 ln(r/τ), exponential of rate ρ = α/2 under the prior, and the moments
//! M_k(κ) = λ ∫ v^k C ρe^{−ρϑ} dϑ,
//!
//! ```text
//! Λ = M₀,   D = λ − M₀ − ½M₁ + κ(2M₁ − M₂),
//! ∂Λ/∂κ = M₁,                       a ∂Λ/∂a = (κ − ½)M₁ − κM₂
//! ∂D/∂κ = M₁ + (2κ − 3/2)M₂ − κM₃,  a ∂D/∂a = κM₁ + (2κ² − 9κ/2 + 3/4)M₂ + 3κ(1 − κ)M₃ + κ²M₄
//! ```
//!
//! where ∂/∂a holds κ. The moments are integrated by Gauss–Legendre panels in ϑ at κ = 0, ½, 1, …, once for all states that
//! need them; in between M_k(κ + h) = Σ_n M_{k+n}(κ) hⁿ/n!, whose terms with n > 11 are below 1e-16 of the first. Beyond the
//! last panel C vanishes and a jump costs 1.

use crate::continuous::JumpMeasure;
use levytilt::noise::panel_points;
use levytilt::{Error, Result};
use std::sync::OnceLock;

/// Largest κ: e^κ is still a number.
pub(super) const MOST_KAPPA: f64 = 650.0;
/// Width of a panel.
const WIDTH: f64 = 2.0;
/// How far the panels reach beyond the jumps that the largest κ prefers.
const BEYOND: f64 = 20.0;
/// Distance between the κ at which moments are integrated.
const SPACING: f64 = 0.5;
/// Number of these κ. Beyond them every state has its own integral.
const NODES: usize = 96;
/// Moments that are integrated, and those that the rates need.
const MOMENTS: usize = 16;
const NEEDED: usize = 5;

/// Rates at one precision.
#[derive(Debug)]
pub struct RateTable {
    a: f64,
    points: Vec<Point>,
    /// What all jumps cost that C does not change: λ by the same quadrature.
    total: f64,
    prior: f64,
    nodes: Box<[OnceLock<Box<[f64; MOMENTS]>>]>,
}

/// A point of the quadrature.
#[derive(Debug, Clone, Copy)]
struct Point {
    /// Its weight over √(1 + u).
    weight: f64,
    v: f64,
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
    /// ∂Λ/∂ln u, of all jumps at once: half the derivative in the logarithm of their size.
    pub rate_by_log_u: f64,
    /// ∂D/∂ln u.
    pub divergence_by_log_u: f64,
}

impl RateTable {
    /// The points for a measure tilted with precision `a` > 0.
    pub fn new(measure: &JumpMeasure, a: f64) -> Self {
        Self::weighted(measure, a, |_| 1.0, |_| 1.0)
    }

    /// The same for the derivative of the measure in α, −ln r times its density: its rates are the derivatives of Λ and D.
    pub fn by_alpha(measure: &JumpMeasure, a: f64) -> Self {
        let log = measure.tau().ln();
        let factor = |theta: f64| -log - 0.5 * theta;
        Self::weighted(measure, a, factor, |end| factor(end) - 1.0 / measure.alpha())
    }

    /// The points of a density times `factor`, a function of ϑ; `beyond` is its mean over larger ϑ.
    fn weighted(measure: &JumpMeasure, a: f64, factor: impl Fn(f64) -> f64, beyond: impl Fn(f64) -> f64) -> Self {
        let rho = 0.5 * measure.alpha();
        let least = 2.0 * a * (measure.unit() * measure.tau()).powi(2);
        let end = (MOST_KAPPA / least).ln().max(0.0) + BEYOND;
        let panels = (end / WIDTH).ceil();
        let edges: Vec<f64> = (0..=panels as usize).map(|i| end * i as f64 / panels).collect();
        let prior = measure.rate();
        let mut total = prior * (-rho * end).exp() * beyond(end);
        let mut points = panel_points(&edges);
        let point = |(theta, weight): (f64, f64)| {
            let u = least * f64::exp(theta);
            let weight = weight * prior * rho * (-rho * theta).exp() * factor(theta);
            total += weight;
            Point { weight: weight / (1.0 + u).sqrt(), v: u / (1.0 + u) }
        };
        let points = points.drain(..).map(point).collect();
        Self { a, points, total, prior, nodes: (0..NODES).map(|_| OnceLock::new()).collect() }
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
        let [m0, m1, m2, m3, m4] = self.moments(kappa);
        let by_kappa = [m1, m1 + (2.0 * kappa - 1.5) * m2 - kappa * m3];
        let by_a = [
            (kappa - 0.5) * m1 - kappa * m2,
            kappa * m1
                + ((2.0 * kappa - 4.5) * kappa + 0.75) * m2
                + 3.0 * kappa * (1.0 - kappa) * m3
                + kappa * kappa * m4,
        ];
        let squared = delta * delta;
        Ok(Rates {
            rate: m0,
            rate_by_delta: 2.0 * a * delta * by_kappa[0],
            rate_by_a: by_a[0] / a + squared * by_kappa[0],
            divergence: self.total - m0 - 0.5 * m1 + kappa * (2.0 * m1 - m2),
            divergence_by_delta: 2.0 * a * delta * by_kappa[1],
            divergence_by_a: by_a[1] / a + squared * by_kappa[1],
            rate_by_log_u: by_a[0],
            divergence_by_log_u: by_a[1],
        })
    }

    /// M₀ … M₄ at κ.
    fn moments(&self, kappa: f64) -> [f64; NEEDED] {
        let place = (kappa / SPACING).round() as usize;
        let fresh;
        let (node, h) = match self.nodes.get(place) {
            Some(node) => {
                let near = SPACING * place as f64;
                (&**node.get_or_init(|| Box::new(self.integrate(near))), kappa - near)
            }
            None => {
                fresh = self.integrate(kappa);
                (&fresh, 0.0)
            }
        };
        let mut power = 1.0;
        let mut sums = [0.0; NEEDED];
        for n in 0..=MOMENTS - NEEDED {
            for (sum, moment) in sums.iter_mut().zip(&node[n..n + NEEDED]) {
                *sum += power * moment;
            }
            power *= h / (n + 1) as f64;
        }
        sums
    }

    /// All moments at κ, four at a time.
    fn integrate(&self, kappa: f64) -> [f64; MOMENTS] {
        let mut sums = [0.0; MOMENTS];
        for &Point { weight, v } in &self.points {
            let c = weight * (kappa * v).exp();
            let square = v * v;
            let (mut powers, fourth) = ([c, c * v, c * square, c * square * v], square * square);
            for four in sums.chunks_exact_mut(4) {
                four.iter_mut().zip(&mut powers).for_each(|(sum, power)| {
                    *sum += *power;
                    *power *= fourth;
                });
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levytilt::internals::potential::Quadratic;

    /// Against the adaptive quadrature of [`crate::continuous`], and central differences; κ up to 67, beyond the nodes.
    #[test]
    fn identity_rates_and_slopes_are_those_of_the_continuous_view() {
        for (alpha, a, delta) in [
            (1.5, 0.7, 2.0),
            (1.2, 30.0, 0.3),
            (1.8, 2.0, -1.4),
            (1.5, 0.01, 5.0),
            (1.5, 5.0, 2.0),
            (1.5, 300.0, 0.05),
            (1.6, 3.0, 0.41),
            (1.7, 30.0, 1.5),
        ] {
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
            // ln u is twice the logarithm of the scale.
            let scaled = |h: f64| JumpMeasure::mixture(alpha, 0.9 * (0.5 * h).exp(), 0.01, 1.0).unwrap();
            let with = |measure: JumpMeasure| RateTable::new(&measure, a).at(delta).unwrap();
            near(found.rate_by_log_u, [h, -h].map(|h| with(scaled(h)).rate), h, found.rate);
            near(found.divergence_by_log_u, [h, -h].map(|h| with(scaled(h)).divergence), h, found.divergence);
            let moved = |h: f64| with(JumpMeasure::mixture(alpha + h, 0.9, 0.01, 1.0).unwrap());
            let by_alpha = RateTable::by_alpha(&measure, a).at(delta).unwrap();
            near(by_alpha.rate, [h, -h].map(|h| moved(h).rate), h, found.rate);
            near(by_alpha.divergence, [h, -h].map(|h| moved(h).divergence), h, found.divergence);
        }
    }

    /// The expansion about the nearest node against the integral itself: 1e-13, also halfway between nodes.
    #[test]
    fn identity_moments_between_nodes_are_integrals() {
        let table = RateTable::new(&JumpMeasure::mixture(1.5, 1.0, 0.01, 1.0).unwrap(), 20.0);
        for kappa in [0.0, 0.1, 0.25, 0.7499, 3.2, 12.75, 47.7, 47.8, 200.0] {
            let (found, want) = (table.moments(kappa), table.integrate(kappa));
            for (found, want) in found.iter().zip(want) {
                assert!((found / want - 1.0).abs() < 1e-13, "{kappa}: {found} {want}");
            }
        }
    }
}
