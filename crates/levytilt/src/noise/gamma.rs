//! Give the gamma law in the log domain and draw from it, for any shape.

use super::log_law::LogPoint;
use crate::StreamRng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use spec_math::cephes64::psi;

/// ln density of u = ln(G/a), G a gamma variable of shape a, with its derivative in a.
///
/// a ln a − a − ln Γ(a) − a(e^u − 1 − u): relative to its maximum, so that nothing large cancels for large a.
pub(crate) fn gamma_point(a: f64, u: f64) -> LogPoint<1> {
    let rise = u.exp_m1();
    LogPoint { value: log_peak(a) - a * (rise - u), by_u: -a * rise, by_shape: [a.ln() - psi(a) - (rise - u)] }
}

/// ln P(ln(G/a) < u) for so small u that it is (a·e^u)^a/Γ(a+1), with its derivatives in u and a.
pub(crate) fn gamma_tail(a: f64, u: f64) -> LogPoint<1> {
    let log = a.ln() + u;
    LogPoint { value: a * log - libm::lgamma(a + 1.0), by_u: a, by_shape: [log + 1.0 - psi(a + 1.0)] }
}

/// a ln a − a − ln Γ(a), by Stirling's series where the difference cancels.
fn log_peak(a: f64) -> f64 {
    if a < 1e3 {
        a * a.ln() - a - libm::lgamma(a)
    } else {
        0.5 * (a / (2.0 * std::f64::consts::PI)).ln() - 1.0 / (12.0 * a)
    }
}

/// An exact draw of a gamma variable of shape a > 0 (Marsaglia and Tsang 2000).
///
/// A shape below one is drawn as G(1+a)·e^{−E/a}, which underflows to zero only where the variable is below 1e-308.
pub(crate) fn sample_gamma(a: f64, rng: &mut StreamRng) -> f64 {
    if a < 1.0 {
        let exponential: f64 = Exp1.sample(rng);
        return sample_gamma(a + 1.0, rng) * (-exponential / a).exp();
    }
    let d = a - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z: f64 = StandardNormal.sample(rng);
        let v = (1.0 + c * z).powi(3);
        let exponential: f64 = Exp1.sample(rng);
        // Accept with probability exp(z²/2 + d − dv + d ln v).
        if v > 0.0 && -exponential < 0.5 * z * z + d * (1.0 - v + v.ln()) {
            return d * v;
        }
    }
}
