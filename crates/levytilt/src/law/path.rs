//! Lay the path of steepest descent through the Fourier integral of a skewed stable law.
//!
//! With u = r e^{−iθ} the exponent of ∫ exp(−ixu − ψ(u)) du is real and negative, −g, on the path
//!
//! ```text
//! r^{α−1} = x₁ cos(αθ₀) sin η / sin αφ,     g = x₁ r sin(C + (1−α)φ) / sin αφ,
//! φ = θ + θ₀ ∈ (0, Φ),   η = Φ − φ,   Φ = π/2 + θ₀,   C = π/2 − θ₀,   tan αθ₀ = T = β tan(πα/2),   x₁ = x + T > 0
//! ```
//!
//! (Zolotarev 1986; Nolan 1997), so that every integral over it has positive terms. Angles are kept as distances from the
//! end that is near, and everything is written in e = 1 − α so that α → 1 is no special case.

use std::f64::consts::{FRAC_PI_2, PI};

/// Tangent T beyond which x₁ = x + T is large and ln r is computed from x itself.
const STEEP: f64 = 10.0;

/// The path for one α, β and x, for x₁ > 0 (α = 1: β > 0).
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    pub alpha: f64,
    /// 1 − α, exact.
    pub e: f64,
    /// e·T.
    pub tau: f64,
    /// x in S0.
    x: f64,
    /// T; infinite at α = 1.
    tangent: f64,
    /// C/e.
    c_over_e: f64,
    /// C = π/2 − θ₀.
    pub c: f64,
    /// D = π − αΦ.
    d: f64,
    /// δ = π/2 − αθ₀.
    delta: f64,
    /// Φ.
    pub phi_end: f64,
    /// ln(x₁ cos αθ₀); not used at α = 1.
    ln_reach: f64,
    /// e·x₁.
    pub e_x1: f64,
}

/// A point of the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathPoint {
    pub phi: f64,
    pub eta: f64,
    /// ln r.
    pub ln_r: f64,
    /// g: minus the exponent.
    pub g: f64,
    /// ∂ ln r/∂φ and ∂ ln g/∂φ along the path.
    pub ln_r_slope: f64,
    pub ln_g_slope: f64,
    /// ∂φ/∂s.
    pub rate: f64,
}

/// The angles of a law, which do not depend on x.
#[derive(Debug, Clone, Copy)]
pub(super) struct Angles {
    pub alpha: f64,
    pub beta: f64,
    pub e: f64,
    pub tangent: f64,
    pub tau: f64,
    pub c: f64,
    c_over_e: f64,
    pub d: f64,
    pub phi_end: f64,
}

impl Angles {
    /// Angles for 0 < `alpha` < 2 and −1 ≤ `beta` ≤ 1; `beta` > 0 at α = 1.
    pub fn new(alpha: f64, beta: f64) -> Self {
        let e = 1.0 - alpha;
        if alpha <= 1.0 {
            // k = 1/tan(πα/2), small near α = 1; T = β/k; αC = atan(1/k) − atan(β/k).
            let k = (FRAC_PI_2 * e).tan();
            let alpha_c = if k == 0.0 || beta > 0.0 {
                ((1.0 - beta) * k / (k * k + beta)).atan()
            } else {
                FRAC_PI_2 * alpha - (beta / k).atan()
            };
            let c = alpha_c / alpha;
            let (tau, c_over_e) =
                if e > 0.0 { (e * beta / k, c / e) } else { (beta / FRAC_PI_2, FRAC_PI_2 * (1.0 - beta) / beta) };
            // αΦ = πα/2 + atan T, without cancellation for β < 0.
            let alpha_phi =
                if beta < 0.0 && k > 0.0 { ((1.0 + beta) * k / (k * k - beta)).atan() } else { PI * alpha - alpha_c };
            let d = PI * e + alpha_c;
            Self { alpha, beta, e, tangent: beta / k, tau, c, c_over_e, d, phi_end: alpha_phi / alpha }
        } else {
            // t = tan(π(2−α)/2) ≥ 0 and T = −βt; D = atan t + atan βt.
            let t = if alpha < 1.5 { 1.0 / (-FRAC_PI_2 * e).tan() } else { (FRAC_PI_2 * (2.0 - alpha)).tan() };
            let d = if beta < 0.0 {
                (t * (1.0 + beta) / (1.0 - beta * t * t)).atan()
            } else {
                FRAC_PI_2 * (2.0 - alpha) + (beta * t).atan()
            };
            let c = (d - PI * e) / alpha;
            Self {
                alpha,
                beta,
                e,
                tangent: -beta * t,
                tau: -e * beta * t,
                c,
                c_over_e: c / e,
                d,
                phi_end: (PI - d) / alpha,
            }
        }
    }

    /// Whether the path ends at a saddle instead of r = 0: one tail is lighter than exponential.
    pub fn extremal(&self) -> bool {
        if self.alpha <= 1.0 { self.c == 0.0 } else { self.d == 0.0 }
    }

    /// The path for x in S0 with e·x₁ = `e_x1` ≠ 0 of the sign of e.
    pub fn path(&self, x: f64, e_x1: f64) -> Path {
        let Self { alpha, e, tangent, tau, c, c_over_e, d, phi_end, .. } = *self;
        let ln_reach = if e == 0.0 { f64::NAN } else { (e_x1 / e).ln() - 0.5 * (tangent * tangent).ln_1p() };
        let delta = if e < 0.0 { d - FRAC_PI_2 * e } else { alpha * c + FRAC_PI_2 * e };
        Path { alpha, e, tau, x, tangent, c_over_e, c, d, delta, phi_end, ln_reach, e_x1 }
    }
}

impl Path {
    /// φ, η, sin αφ and ln r at the logit p = ln(φ/η).
    fn place(&self, p: f64) -> (f64, f64, f64, f64) {
        let Self { e, phi_end, .. } = *self;
        let (phi, eta) = (phi_end / (1.0 + (-p).exp()), phi_end / (1.0 + p.exp()));
        let sin_eta = self.sin_eta(phi, eta);
        let sin_alpha_phi = self.sin_alpha_phi(phi, eta);
        let plain = || -(self.ln_reach + sin_eta.ln() - sin_alpha_phi.ln()) / e;
        let ln_r = if e == 0.0 || self.tangent > STEEP {
            // r^{α−1} = 1 + e·y with sin αφ·y·e = x cos αθ₀ sin η + sin αθ₀ sin η − sin αφ, sin αθ₀ = 1 − 2 sin²(δ/2)
            let (middle, half) = self.near_one(phi, eta);
            let rest = if e == 0.0 { 0.0 } else { 2.0 * (0.5 * self.delta).sin().powi(2) / e };
            let reach = self.x * self.sign() / e.hypot(self.tau);
            let y = (reach * sin_eta + 2.0 * middle.cos() * half - rest * sin_eta) / sin_alpha_phi;
            match e {
                0.0 => -y,
                // Far from 1 there is nothing to cancel.
                _ if (e * y).abs() > 0.5 => plain(),
                _ => -(e * y).ln_1p() / e,
            }
        } else {
            plain()
        };
        (phi, eta, sin_alpha_phi, ln_r)
    }

    /// (C + (1+α)φ)/2 and sin((C + eφ)/2)/e, for sin(C + φ) − sin αφ.
    fn near_one(&self, phi: f64, eta: f64) -> (f64, f64) {
        let e = self.e;
        let narrow = if e < 0.0 { self.d - e * eta } else { self.c + e * phi };
        let half = if e == 0.0 { 0.5 * (self.c_over_e + phi) } else { (0.5 * narrow).sin() / e };
        (0.5 * (self.c + (1.0 + self.alpha) * phi), half)
    }

    fn sin_eta(&self, phi: f64, eta: f64) -> f64 {
        if eta < FRAC_PI_2 { eta.sin() } else { (self.c + phi).sin() }
    }

    fn sin_alpha_phi(&self, phi: f64, eta: f64) -> f64 {
        if self.alpha * phi < FRAC_PI_2 { (self.alpha * phi).sin() } else { (self.d + self.alpha * eta).sin() }
    }

    /// sin(C + eφ)/e, from the end that is near.
    fn wedge(&self, phi: f64, eta: f64) -> f64 {
        let e = self.e;
        if e == 0.0 {
            self.c_over_e + phi
        } else if e > 0.0 {
            (self.c + e * phi).sin() / e
        } else {
            (self.d - e * eta).sin() / e
        }
    }

    /// The point at logit `p`, taking ln r as given.
    fn point(&self, p: f64, ln_r: f64) -> PathPoint {
        let (phi, eta) = (self.phi_end / (1.0 + (-p).exp()), self.phi_end / (1.0 + p.exp()));
        let (sin_eta, sin_alpha_phi) = (self.sin_eta(phi, eta), self.sin_alpha_phi(phi, eta));
        let wedge = self.wedge(phi, eta);
        let cot = (self.alpha * phi).cos() / sin_alpha_phi;
        // ∂ ln r/∂φ = (cot η + α cot αφ)/e = sin(C + eφ)/(e sin αφ sin η) − cot αφ
        let ln_r_slope = wedge / (sin_alpha_phi * sin_eta) - cot;
        let g = ln_r.exp() * self.e_x1 * wedge / sin_alpha_phi;
        let bend = if self.e == 0.0 { 1.0 } else { self.wedge_cosine(phi, eta) };
        let ln_g_slope = ln_r_slope + bend / wedge - self.alpha * cot;
        let rate = 1.0 / (self.phi_end / (phi * eta) + self.sign() * ln_r_slope);
        PathPoint { phi, eta, ln_r, g, ln_r_slope, ln_g_slope, rate }
    }

    fn wedge_cosine(&self, phi: f64, eta: f64) -> f64 {
        if self.e > 0.0 { (self.c + self.e * phi).cos() } else { (self.d - self.e * eta).cos() }
    }

    fn sign(&self) -> f64 {
        if self.e < 0.0 { -1.0 } else { 1.0 }
    }

    /// A logit p at which ln g is `level` to within `close`, as far as it gets there for |p| ≤ 600; ln g rises with sign(e)·p.
    pub fn level(&self, level: f64, close: f64) -> f64 {
        let (mut low, mut high) = (-600.0, 600.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            let excess = self.ln_g(middle) - level;
            if excess.abs() < close || high - low <= 1e-15 * middle.abs() {
                return middle;
            }
            if (excess > 0.0) == (self.sign() > 0.0) { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }

    /// ln g at logit `p`.
    pub fn ln_g(&self, p: f64) -> f64 {
        let (phi, eta, sin_alpha_phi, ln_r) = self.place(p);
        ln_r + (self.e_x1 * self.wedge(phi, eta) / sin_alpha_phi).ln()
    }

    /// s at logit `p`: s = p + sign(e)·ln r.
    pub fn position(&self, p: f64) -> f64 {
        p + self.sign() * self.place(p).3
    }

    /// The point at `s`, and its logit, by Newton's method from the guess `p`.
    ///
    /// Taking ln r = sign(e)·(s − p) keeps it accurate where φ hardly moves along the path (β → 0 at α = 1).
    pub fn at(&self, s: f64, guess: f64) -> (PathPoint, f64) {
        let mut p = guess;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for _ in 0..100 {
            let (phi, eta, sin_alpha_phi, ln_r) = self.place(p);
            let excess = p + self.sign() * ln_r - s;
            if excess > 0.0 {
                high = p
            } else {
                low = p
            }
            let slope = self.wedge(phi, eta) / (sin_alpha_phi * self.sin_eta(phi, eta))
                - (self.alpha * phi).cos() / sin_alpha_phi;
            let step = excess / (1.0 + self.sign() * slope * phi * eta / self.phi_end);
            let next = p - step;
            // ds/dp ≥ 1, so the bracket closes; a step outside it bisects.
            p = if next >= low && next <= high { next } else { 0.5 * (low.max(p - 50.0) + high.min(p + 50.0)) };
            if step.abs() <= 1e-14 * p.abs().max(1.0) {
                break;
            }
        }
        (self.point(p, self.sign() * (s - p)), p)
    }

    /// The limit of g at the end of the path if that is a saddle.
    pub fn saddle(&self) -> f64 {
        self.ln_g(-40.0 * self.sign()).exp()
    }
}
