//! Tabulate the positive ρ-stable law, E e^{−tS} = exp(−t^ρ), with its derivative in ρ, and draw from it.
//!
//! Kanter's representation S = (A(U)/E)^{(1−ρ)/ρ}, U uniform on (0, π), E exponential, says that
//! v = (ρ/(1−ρ)) ln S = ln A(U) − ln E is a sum of two independent variables, the second a Gumbel variable of width one.
//! So the density of v is smooth on the scale of one for every ρ, even where S itself is a spike (ρ → 1). From a little
//! above s = 1 on, the convergent series in s^{−ρ} takes over.

use super::log_law::LogPoint;
use super::quadrature::panel_points;
use crate::StreamRng;
use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use spec_math::cephes64::psi;
use std::f64::consts::PI;

/// The positive ρ-stable law, ready to be evaluated.
#[derive(Debug, Clone)]
pub(crate) struct PositiveStable {
    rho: f64,
    /// ln A(0), the smallest value of ln A.
    floor: f64,
    /// ln s from which the series is used.
    expansion_from: f64,
    /// Trapezoid points in z = √(ln A(θ) − ln A(0)).
    angles: Vec<Angle>,
}

/// One trapezoid point over the angle θ of Kanter's representation.
#[derive(Debug, Clone, Copy)]
struct Angle {
    /// ln A(θ) − ln A(0) = z².
    height: f64,
    /// ln of (dθ/dz)·Δz/π.
    log_weight: f64,
    /// ∂ ln A(θ)/∂ρ.
    by_rho: f64,
}

impl PositiveStable {
    /// The law for 0 < ρ < 1, to be evaluated from `lowest` = ln s upwards.
    pub(crate) fn new(rho: f64, lowest: f64) -> Self {
        Self::between(rho, lowest, f64::INFINITY)
    }

    /// The law for 0 < ρ < 1, to be evaluated between `lowest` and `highest`, however deep in the lower tail.
    pub(crate) fn between(rho: f64, lowest: f64, highest: f64) -> Self {
        let c = 1.0 - rho;
        let floor = rho / c * rho.ln() + c.ln();
        // Near ρ = 1 the spike at s = 1 has width 1−ρ and the series may start right behind it.
        let expansion_from = (20.0 * c).clamp(0.004, 0.4);
        let top = highest.min(expansion_from) * rho / c - floor;
        let deepest = (floor - lowest * rho / c).max(0.0);
        // Heights up to which exp(−e^{−w}), w = top − height, is more than e^{−90} of its value at height 0.
        let z_max = (top.max(0.0) + (90.0 * top.min(0.0).exp()).ln_1p()).sqrt();
        // Gumbel's density has to be resolved at both ends: width 1/(2z) at the top, e^{−w/2} at the bottom.
        let dz = (0.12 / z_max).min(0.25 * (-0.5 * deepest).exp()).min(0.1);
        let mut theta = 0.0;
        let mut angles = Vec::with_capacity((z_max / dz) as usize + 2);
        for i in 0..=(z_max / dz).ceil() as usize {
            let z = i as f64 * dz;
            // ln A − ln A(0) = ρθ²/2 to first order, which is all that rounding leaves of it below 1e-3.
            let near_zero = (2.0 / rho).sqrt();
            theta = if z < 1e-3 { z * near_zero } else { solve_height(rho, floor + z * z, theta) };
            let a = log_a(rho, theta);
            let slope = if z < 1e-3 { near_zero } else { 2.0 * z / a.by_theta };
            let share = if i == 0 { 0.5 } else { 1.0 };
            angles.push(Angle { height: z * z, log_weight: (share * slope * dz / PI).ln(), by_rho: a.by_rho });
        }
        Self { rho, floor, expansion_from, angles }
    }

    /// ln of the density of ln S at `u`, and its derivatives in u and ρ.
    pub(crate) fn log_mass(&self, u: f64) -> LogPoint<1> {
        if u >= self.expansion_from { self.by_expansion(u) } else { self.by_convolution(u) }
    }

    /// c·G(v), v = c·u, c = ρ/(1−ρ), with G = ∫ k(v − ln A(θ)) dθ/π and k(w) = exp(−w − e^{−w}).
    fn by_convolution(&self, u: f64) -> LogPoint<1> {
        let (rho, odds) = (self.rho, self.rho / (1.0 - self.rho));
        let top = odds * u - self.floor;
        // Everything relative to the largest value of k on the range w ≤ top.
        let peak = if top > 0.0 { -1.0 } else { -top - (-top).exp() };
        let (mut g, mut by_v, mut by_rho) = (0.0, 0.0, 0.0);
        for angle in &self.angles {
            let w = top - angle.height;
            if w > 40.0 {
                continue;
            }
            let decay = (-w).exp();
            let term = (angle.log_weight - w - decay - peak).exp();
            if term == 0.0 && w < 0.0 {
                break;
            }
            let slope = (decay - 1.0) * term; // k'(w) = k(w)(e^{−w} − 1)
            g += term;
            by_v += slope;
            by_rho -= slope * angle.by_rho;
        }
        // d/dρ of ln(c·G(c·u; ρ)) with dc/dρ = 1/(1−ρ)².
        let odds_by_rho = 1.0 / ((1.0 - rho) * (1.0 - rho));
        LogPoint {
            value: odds.ln() + peak + g.ln(),
            by_u: odds * by_v / g,
            by_shape: [odds_by_rho / odds + (by_v * odds_by_rho * u + by_rho) / g],
        }
    }

    /// s·f(s) = (1/π) Σ_k (−1)^{k+1} Γ(kρ+1)/k! sin(πkρ) s^{−kρ}, with its derivative term by term.
    fn by_expansion(&self, u: f64) -> LogPoint<1> {
        let rho = self.rho;
        let (mut sum, mut by_u, mut by_rho) = (0.0, 0.0, 0.0);
        let mut largest: f64 = 0.0;
        for k in 1..200_000 {
            let kf = k as f64;
            let size = (libm::lgamma(kf * rho + 1.0) - libm::lgamma(kf + 1.0) - kf * rho * u).exp();
            // sin(πkρ)·(−1)^{k+1} = sin(πk(1−ρ)), accurate for ρ near 1.
            let (sin, cos) = (PI * ((kf * (1.0 - rho)) % 2.0)).sin_cos();
            sum += size * sin;
            by_u -= size * sin * kf * rho;
            by_rho += size * kf * (sin * (digamma(kf * rho + 1.0) - u) - PI * cos);
            largest = largest.max(size);
            if kf * size < 1e-19 * largest {
                break;
            }
        }
        LogPoint { value: (sum / PI).ln(), by_u: by_u / sum, by_shape: [by_rho / sum] }
    }

    /// ln s beyond which the tail P(S > s) ~ s^{−ρ}/Γ(1−ρ) holds at most `mass`.
    pub(crate) fn tail(rho: f64, mass: f64) -> f64 {
        -(mass.ln() + libm::lgamma(1.0 - rho)) / rho
    }

    /// ln P(ln S > u) for large u, where it is s^{−ρ}/Γ(1−ρ), with its derivatives in u and ρ.
    pub(crate) fn log_tail(rho: f64, u: f64) -> LogPoint<1> {
        let slope = psi(1.0 - rho) - u;
        LogPoint { value: -rho * u - libm::lgamma(1.0 - rho), by_u: -rho, by_shape: [slope] }
    }

    /// Points and quadrature weights in ln s that resolve the law between `low` and `high`, in panels up to `widest`.
    pub(crate) fn points(&self, low: f64, high: f64, widest: f64) -> Vec<(f64, f64)> {
        let unit = (1.0 - self.rho) / self.rho;
        // Panels of two Gumbel widths through the spike, then growing with the distance to it, never over the widest.
        let mut edges = vec![low];
        let spike = unit * (self.floor + 4.0);
        while edges[edges.len() - 1] < high {
            let u = edges[edges.len() - 1];
            let width = (2.0 * unit + 0.35 * (u - spike).max(0.0)).min(widest);
            edges.push((u + width).min(high));
        }
        panel_points(&edges)
    }

    /// An exact draw: (A(U)/E)^{(1−ρ)/ρ}.
    pub(crate) fn sample(rho: f64, rng: &mut StreamRng) -> f64 {
        // Open interval: 53 random bits and a half.
        let uniform = (rng.random::<u64>() >> 11) as f64 + 0.5;
        let theta = PI * uniform * 2f64.powi(-53);
        let exponential: f64 = Exp1.sample(rng);
        ((log_a(rho, theta).value - exponential.ln()) * (1.0 - rho) / rho).exp()
    }
}

/// ln s at which the left tail exp(−A(0) s^{−ρ/(1−ρ)}) falls to e^{−depth}.
pub(crate) fn lowest(rho: f64, depth: f64) -> f64 {
    let c = 1.0 - rho;
    (rho / c * rho.ln() + c.ln() - depth.ln()) * c / rho
}

/// ln A(θ) with its derivatives.
struct LogA {
    value: f64,
    by_theta: f64,
    by_rho: f64,
}

/// ln A(θ), A(θ) = sin(ρθ)^{ρ/(1−ρ)} sin((1−ρ)θ) / sin(θ)^{1/(1−ρ)}, written with ratios to sin θ so that nothing
/// cancels for small θ.
fn log_a(rho: f64, theta: f64) -> LogA {
    let c = 1.0 - rho;
    if theta < 1e-6 {
        // ln A(θ) = ln A(0) + ρθ²/2 + …
        return LogA { value: rho / c * rho.ln() + c.ln(), by_theta: rho * theta, by_rho: rho.ln() / (c * c) };
    }
    let cot = |x: f64| x.cos() / x.sin();
    let ratio = ((rho * theta).sin() / theta.sin()).ln();
    LogA {
        value: rho / c * ratio + ((c * theta).sin() / theta.sin()).ln(),
        by_theta: rho / c * (rho * cot(rho * theta) - cot(theta)) + c * cot(c * theta) - cot(theta),
        by_rho: ratio / (c * c) + rho / c * theta * cot(rho * theta) - theta * cot(c * theta),
    }
}

/// θ with ln A(θ) = `height`, by Newton's method kept inside a bracket; ln A increases on (0, π).
fn solve_height(rho: f64, height: f64, guess: f64) -> f64 {
    let (mut low, mut high) = (guess, PI);
    let mut theta = guess.max(1e-4);
    for _ in 0..60 {
        let a = log_a(rho, theta);
        let miss = a.value - height;
        if miss > 0.0 {
            high = theta;
        } else {
            low = theta;
        }
        let mut next = theta - miss / a.by_theta;
        if !(next > low && next < high) {
            next = 0.5 * (low + high);
        }
        if (next - theta).abs() <= 1e-15 * theta {
            return next;
        }
        theta = next;
    }
    theta
}

/// ψ(x) for x ≥ 1: recurrence up to 8, then the asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 8.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y * (1.0 / 132.0)))));
    shift + x.ln() - 0.5 / x - tail
}
