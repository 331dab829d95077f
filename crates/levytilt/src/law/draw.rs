//! Draw exactly from the standard symmetric stable law.

use rand::Rng;
use rand_distr::{Distribution, Exp1};
use std::f64::consts::FRAC_PI_2;

/// One draw by Chambers, Mallows and Stuck (1976) at β = 0: with V uniform on (−π/2, π/2) and W exponential,
///
/// X = sin(αV)/cos(V)^{1/α} · (cos((1−α)V)/W)^{(1−α)/α}.
///
/// It is smooth through α = 1 (X = tan V) and gives Box–Muller at α = 2 (X = 2 sin(V) √W). Sines are taken of the
/// distance to the zero that is near, so that large draws are as accurate as small ones; powers go through one logarithm,
/// so that no 0·∞ appears for small α. A draw beyond the largest f64 is infinite.
pub(super) fn standard<R: Rng + ?Sized>(alpha: f64, rng: &mut R) -> f64 {
    let word = rng.next_u64();
    // 52 bits and a half: exactly representable in (0, 1), as is its complement. Bit 0, not among them, is the sign.
    let share = ((word >> 12) as f64 + 0.5) * (-52_f64).exp2();
    let from_edge = FRAC_PI_2 * share;
    let from_center = FRAC_PI_2 * (1.0 - share);

    let numerator = if alpha > 1.0 && from_edge < from_center {
        (FRAC_PI_2 * (2.0 - alpha) + alpha * from_edge).sin()
    } else {
        (alpha * from_center).sin()
    };
    let tilted = if alpha > 1.0 {
        FRAC_PI_2 * (2.0 - alpha) + (alpha - 1.0) * from_edge
    } else {
        FRAC_PI_2 * alpha + (1.0 - alpha) * from_edge
    };
    let power = (1.0 - alpha) * (tilted.sin() / waiting_time(rng)).ln() - from_edge.sin().ln();
    let size = (numerator.ln() + power / alpha).exp();
    if word & 1 == 0 { size } else { -size }
}

/// An exponential draw that is not 0: the event has probability 0 and would give 0·∞ at α = 1.
pub(super) fn waiting_time<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    loop {
        let time: f64 = Exp1.sample(rng);
        if time > 0.0 {
            return time;
        }
    }
}
