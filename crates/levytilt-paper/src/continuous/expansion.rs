//! The same rates by power series in κ: incomplete gamma functions for jumps ±s·r, incomplete beta functions for
//! mixtures.
//!
//! With x = u_τ/2 the power law has, adding the two signs before expanding (so that odd powers of the pull cancel
//! exactly; one sign alone is an alternating sum),
//!
//! ```text
//! E H      = ρ x^ρ Σ (4κ)^n/(2n)! Γ(n − ρ, x)
//! E H ln H = ρ x^ρ Σ (4κ)^n/(2n)! [2n Γ(n − ρ, x) − Γ(n + 1 − ρ, x)]
//! ```
//!
//! and the mixture, with v as variable, B_n = ∫ v^{n−ρ−1}(1−v)^{ρ−½} dv from v_τ to 1,
//!
//! ```text
//! E H      = ρ u_τ^ρ Σ κ^n/n! B_n
//! E H ln H = ρ u_τ^ρ Σ κ^n/n! [κ(2B_{n+1} − B_{n+2}) − ½B_{n+1}]
//! ```
//!
//! The sums have positive terms, about κ of them. What can go wrong: e^κ overflows (κ > 700), or coefficients
//! underflow against moments as large (r = τ large for the potential); the divergence
//! E H ln H − E H + 1 is a small difference of large numbers when the tilt is weak or small jumps abound; and the first
//! term is one when r = τ is already large for the potential. The digits lost are measured, and a result with fewer
//! than nine is an error.

use super::measure::Kernel;
use super::tilted::{TiltedMeasure, gain};
use levytilt::{Error, Result};
use spec_math::cephes64::{beta, gamma, igamc, incbet};

/// Rates of a tilted measure by power series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpansionRates {
    /// Λ.
    pub rate: f64,
    /// Divergence per time.
    pub divergence_rate: f64,
    /// Decimal digits lost to cancellation, of 14 that the special functions have; at most 5.
    pub digits_lost: f64,
    /// Number of terms added up.
    pub terms: usize,
}

/// Digits that may be lost.
const MOST_LOST: f64 = 5.0;
/// Most terms; κ is below 700, and so is the largest term.
const MOST_TERMS: usize = 10_000;

/// A sum that knows the size of what was added.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: f64,
    size: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        self.value += term;
        self.size += term.abs();
    }

    /// Largest factor by which relative errors of terms can grow.
    fn condition(&self) -> f64 {
        self.size / self.value.abs()
    }
}

/// First value of a recurrence, with its condition, and how it goes on.
struct Moments {
    first: Sum,
    current: f64,
    /// Exponent p, other exponent q (0 for gamma) and boundary term of the recurrence.
    p: f64,
    q: f64,
    boundary: f64,
    ratio: f64,
}

impl TiltedMeasure {
    /// Rates by power series; an error, not a wrong number, where fewer than nine digits would be right.
    pub fn expansion(&self) -> Result<ExpansionRates> {
        if self.least_u == 0.0 {
            return Ok(ExpansionRates { rate: self.measure.rate(), divergence_rate: 0.0, digits_lost: 0.0, terms: 1 });
        }
        let (rate, divergence, first, terms) = self.sums();
        let lost = rate.condition().max(divergence.condition()) * first.condition();
        let digits_lost = lost.log10();
        let finite = rate.value.is_finite() && divergence.value.is_finite() && terms < MOST_TERMS;
        if !finite || digits_lost.is_nan() || digits_lost > MOST_LOST {
            let reason = match finite {
                true => format!("{digits_lost:.1} of 14 digits cancel (at most {MOST_LOST} may)"),
                false => "terms leave the range of floating-point numbers".to_string(),
            };
            let why = format!("{reason} at κ = {}; use log_rate and log_divergence_rate", self.kappa);
            return Err(Error::Numerical { what: "power series of tilted rates", why });
        }
        let lambda = self.measure.rate();
        Ok(ExpansionRates { rate: lambda * rate.value, divergence_rate: lambda * divergence.value, digits_lost, terms })
    }

    /// E H, E\[H ln H − H + 1\], the first moment and the number of terms.
    fn sums(&self) -> (Sum, Sum, Sum, usize) {
        let (rho, kappa) = (self.rho(), self.kappa);
        let sign = self.measure.kernel() == Kernel::Sign;
        let start = if sign { 0.5 * self.least_u } else { self.least_u };
        let mut moments = if sign { Moments::gamma(rho, start) } else { Moments::beta(rho, gain(start)) };
        let first = moments.first;
        let mut window = [first.value, moments.next(), moments.next()];
        let mut power = rho * start.powf(rho);
        let (mut rate, mut divergence) = (Sum::default(), Sum::default());
        divergence.add(1.0);
        for n in 0..MOST_TERMS {
            let real = n as f64;
            let [now, then, later] = window.map(|moment| power * moment);
            rate.add(now);
            divergence.add(-now);
            if sign {
                divergence.add(2.0 * real * now);
                divergence.add(-then);
                power *= 4.0 * kappa / ((2.0 * real + 1.0) * (2.0 * real + 2.0));
            } else {
                divergence.add(2.0 * kappa * then);
                divergence.add(-kappa * later);
                divergence.add(-0.5 * then);
                power *= kappa / (real + 1.0);
            }
            let largest = (2.0 * real + 1.0) * now + (3.0 * kappa + 1.0) * then;
            // Terms fall from n ≈ κ on, by more than a factor of two from 2κ on.
            if real > 2.0 * kappa && largest <= 1e-17 * divergence.value.abs().min(rate.value) {
                return (rate, divergence, first, n + 1);
            }
            // A coefficient that underflows would drop terms whose moments are as large as it is small.
            if kappa > 0.0 && power < 1e-290 {
                break;
            }
            window = [window[1], window[2], moments.next()];
        }
        (rate, divergence, first, MOST_TERMS)
    }
}

impl Moments {
    /// Γ(−ρ, x), Γ(1 − ρ, x), …: Γ(p + 1, x) = p Γ(p, x) + x^p e^{−x}, whose terms are positive from p = 1 − ρ on.
    fn gamma(rho: f64, x: f64) -> Self {
        let (p, boundary) = (1.0 - rho, x.powf(1.0 - rho) * (-x).exp());
        let current = igamc(p, x) * gamma(p);
        let mut first = Sum::default();
        first.add(boundary / x / rho);
        first.add(-current / rho);
        Self { first, current, p, q: 0.0, boundary, ratio: x }
    }

    /// B(−ρ), B(1 − ρ), … with q = ρ + ½: (p + q) B(p + 1) = p B(p) + v^p(1−v)^q.
    fn beta(rho: f64, v: f64) -> Self {
        let (p, q) = (1.0 - rho, rho + 0.5);
        let boundary = v.powf(p) * (1.0 - v).powf(q);
        let current = beta(p, q) * incbet(q, p, 1.0 - v);
        let mut first = Sum::default();
        first.add(boundary / v / rho);
        first.add(-0.5 * current / rho);
        Self { first, current, p, q, boundary, ratio: v }
    }

    /// The moment after the last one given (or after `first`).
    fn next(&mut self) -> f64 {
        let out = self.current;
        let sum = self.p * self.current + self.boundary;
        self.current = if self.q == 0.0 { sum } else { sum / (self.p + self.q) };
        self.boundary *= self.ratio;
        self.p += 1.0;
        out
    }
}
