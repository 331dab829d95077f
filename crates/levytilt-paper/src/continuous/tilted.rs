//! The tilted rate of jumps seen from one state, as a function of ϑ = 2 ln(r/τ).
//!
//! Under the prior ϑ is exponential with rate ρ = α/2 and u = u_τ e^ϑ. So a tilted measure is four numbers: λ, ρ, u_τ
//! and κ.

use super::measure::{JumpMeasure, Kernel};
use levytilt::internals::potential::Quadratic;

/// A jump measure tilted by a quadratic potential, for a process at a given state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TiltedMeasure {
    pub(super) measure: JumpMeasure,
    /// δ = c − x, what the potential would like to add.
    pub(super) pull: f64,
    /// κ = aδ².
    pub(super) kappa: f64,
    /// u at r = τ, 2as²τ².
    pub(super) least_u: f64,
}

impl JumpMeasure {
    /// The measure tilted by a potential, for a process at `x`.
    pub fn tilted(&self, potential: Quadratic, x: f64) -> TiltedMeasure {
        TiltedMeasure::new(*self, potential, x)
    }
}

impl TiltedMeasure {
    pub(super) fn new(measure: JumpMeasure, potential: Quadratic, x: f64) -> Self {
        let least_u = 2.0 * potential.a() * (measure.unit() * measure.tau()).powi(2);
        Self { measure, pull: potential.c() - x, kappa: -potential.log_value(x), least_u }
    }

    /// κ = a(c − x)².
    pub fn kappa(&self) -> f64 {
        self.kappa
    }

    /// The measure before the tilt.
    pub fn prior(&self) -> JumpMeasure {
        self.measure
    }

    /// ρ = α/2, the rate of ϑ under the prior.
    pub(super) fn rho(&self) -> f64 {
        0.5 * self.measure.alpha()
    }

    /// u = 2as²r².
    pub(super) fn u(&self, theta: f64) -> f64 {
        grown(self.least_u, theta)
    }

    /// r = τ e^{ϑ/2}.
    pub(super) fn r(&self, theta: f64) -> f64 {
        self.measure.tau() * (0.5 * theta).exp()
    }

    /// ln C − κ: how likely the potential makes a jump with this ϑ, relative to the most that it can. Never positive.
    pub(super) fn log_factor(&self, theta: f64) -> f64 {
        let u = self.u(theta);
        match self.measure.kernel() {
            Kernel::Gaussian => log_gaussian_factor(self.kappa, u, u),
            Kernel::Sign => {
                let (near, far) = self.misses(u);
                -near * near + 0.5f64.ln() + (near * near - far * far).exp().ln_1p()
            }
        }
    }

    /// ln of the divergence per jump of the prior with this ϑ, E\[H ln H − H + 1\] for H = e^{φ(x+y)−φ(x)}, less κ.
    ///
    /// Given ϑ it splits into terms that cannot be negative: for a Gaussian kernel, with c = ln C, into C times the
    /// divergence of two Gaussians, κv(1−v) + ½(ln(1+u) − v), and c e^c − e^c + 1.
    pub(super) fn log_divergence(&self, theta: f64) -> f64 {
        let u = self.u(theta);
        match self.measure.kernel() {
            Kernel::Gaussian => {
                let g = 1.0 / (1.0 + u);
                let v = gain(u);
                let c = self.kappa * v - 0.5 * u.ln_1p();
                let shape = self.kappa * v * g + 0.5 * shrinkage(u);
                if c > 1.0 {
                    return self.log_factor(theta) + (shape + c - 1.0 + (-c).exp()).ln();
                }
                (c.exp() * shape + entropy(c)).ln() - self.kappa
            }
            Kernel::Sign => {
                let (near, far) = self.misses(u);
                let log_h = |miss: f64| self.kappa - miss * miss;
                let (first, second) = (log_entropy(log_h(near)), log_entropy(log_h(far)));
                let top = first.max(second);
                if top == f64::NEG_INFINITY {
                    return top;
                }
                top - self.kappa + (0.5 * ((first - top).exp() + (second - top).exp())).ln()
            }
        }
    }

    /// How far a jump +s·r, −s·r in the direction of the pull ends from the centre, times √a: ln H = κ − miss².
    fn misses(&self, u: f64) -> (f64, f64) {
        let (size, pull) = ((0.5 * u).sqrt(), self.kappa.sqrt());
        (size - pull, size + pull)
    }
}

/// u e^ϑ; a potential that says nothing (u = 0) says nothing about large jumps either.
pub(super) fn grown(u: f64, theta: f64) -> f64 {
    if u == 0.0 { 0.0 } else { u * theta.exp() }
}

/// v = u/(1 + u), also for infinite u.
pub(super) fn gain(u: f64) -> f64 {
    1.0 / (1.0 + 1.0 / u)
}

/// ln C − κ = −κ/(1 + u) − ½ ln(1 + u), with one u for each of the two places.
pub(super) fn log_gaussian_factor(kappa: f64, u_pull: f64, u_width: f64) -> f64 {
    -kappa / (1.0 + u_pull) - 0.5 * u_width.ln_1p()
}

/// ln(1 + u) − u/(1 + u) ≥ 0, by its series where the terms cancel.
fn shrinkage(u: f64) -> f64 {
    if u < 1e-3 { u * u * (0.5 - u * (2.0 / 3.0 - u * (0.75 - 0.8 * u))) } else { u.ln_1p() - gain(u) }
}

/// l e^l − e^l + 1 ≥ 0, by its series Σ (k−1) l^k/k! where the terms cancel.
fn entropy(l: f64) -> f64 {
    if l.abs() < 1e-3 {
        l * l * (0.5 + l * (1.0 / 3.0 + l * (0.125 + l / 30.0)))
    } else if l < -700.0 {
        1.0
    } else {
        l * l.exp() - l.exp_m1()
    }
}

/// ln(l e^l − e^l + 1), for any l.
fn log_entropy(l: f64) -> f64 {
    if l > 1.0 { l + (l - 1.0 + (-l).exp()).ln() } else { entropy(l).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_small_and_large_arguments_meet() {
        for l in [-1e-3f64, 1e-3] {
            let plain = |l: f64| l * l.exp() - l.exp_m1();
            assert!((entropy(l * 0.999_999) / plain(l * 0.999_999) - 1.0).abs() < 1e-9);
        }
        assert!((log_entropy(1.0 + 1e-12) - log_entropy(1.0)).abs() < 1e-11);
        let u: f64 = 0.999_999e-3;
        assert!((shrinkage(u) / (u.ln_1p() - u / (1.0 + u)) - 1.0).abs() < 1e-9);
    }
}
