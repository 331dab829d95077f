//! Draw exactly from the standard skewed stable law.

use super::draw::waiting_time;
use rand::Rng;
use std::f64::consts::{FRAC_PI_2, PI};

/// |1 − α| below which draws are computed in S0, where nothing is large.
const NEAR_ONE: f64 = 0.1;

/// One draw of S0 and the same draw of S1, for 0 < `alpha` < 2 (Chambers, Mallows and Stuck 1976; Weron 1996).
///
/// With θ uniform on (−π/2, π/2), W exponential, e = 1 − α, T = β tan(πα/2), τ = eT:
///
/// X₁ = r^{−e} (T cos αθ + sin αθ)/cos θ,   r^α = W cos θ/(cos eθ + τ sin(eθ)/e),   X₀ = X₁ − T,
///
/// where near α = 1 the difference is written out so that nothing cancels; at α = 1 both are X₀.
pub(super) fn standard<R: Rng + ?Sized>(alpha: f64, beta: f64, rng: &mut R) -> (f64, f64) {
    let share = ((rng.next_u64() >> 12) as f64 + 0.5) * (-52_f64).exp2();
    let theta = PI * share - FRAC_PI_2;
    // Distance to the nearer end, so that cos θ is accurate where draws are large.
    let cos = (PI * share.min(1.0 - share)).sin();
    let e = 1.0 - alpha;
    let (tau, narrow) =
        if e == 0.0 { (beta / FRAC_PI_2, theta) } else { (e * beta / (FRAC_PI_2 * e).tan(), (e * theta).sin() / e) };
    let ln_r = (waiting_time(rng) * cos / ((e * theta).cos() + tau * narrow)).ln() / alpha;
    let (sin_alpha, cos_alpha) = (alpha * theta).sin_cos();
    if e.abs() >= NEAR_ONE {
        let tangent = tau / e;
        let s1 = (-e * ln_r).exp() * (tangent * cos_alpha + sin_alpha) / cos;
        return (s1 - tangent, s1);
    }
    let growth = (-e * ln_r).exp_m1();
    let (half, growth_rate) = if e == 0.0 { (0.5 * theta, -ln_r) } else { ((0.5 * e * theta).sin() / e, growth / e) };
    let bend = 2.0 * tau * (0.5 * (1.0 + alpha) * theta).sin() * half;
    let s0 = (bend + sin_alpha * (1.0 + growth) + tau * cos_alpha * growth_rate) / cos;
    (s0, if e == 0.0 { s0 } else { s0 + tau / e })
}
