//! Integrate the Fourier representation of the standard symmetric stable law along a ray in the complex plane.
//!
//! f(x) = (1/π) Re ∫ exp(ixu − u^α) du over u = r e^{iψ}. On the ray the integrand decays in both factors, so nothing
//! oscillates for long, and the trapezoidal rule in a stretched ln r converges geometrically: about 50 nodes.

use super::expansion::Sums;
use nalgebra::Complex;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// From this α on, the Gaussian exp(−u²) is taken out of the integrand and added back in closed form. What is left has
/// size 2 − α, so small densities between the Gaussian bulk and the heavy tail keep their relative accuracy as α → 2.
const GAUSSIAN_FROM: f64 = 1.5;
/// Negligible parts of the integral are those smaller than exp(−DEPTH) relative to the rest.
const DEPTH: f64 = 45.0;

/// One node u with the weights of its exp(ixu).
#[derive(Debug, Clone, Copy)]
struct Node {
    u: Complex<f64>,
    /// exp(−u^α) d ln u, less the reference.
    value: Complex<f64>,
    /// The derivative of `value` in α.
    dalpha: Complex<f64>,
}

/// Nodes along the ray for one α.
#[derive(Debug, Clone)]
pub(super) struct Contour {
    nodes: Vec<Node>,
    gaussian: bool,
    /// (π/2 − ψ), the part of the distribution that comes from the pole at u = 0; zero if the reference removes it.
    pole: f64,
}

impl Contour {
    /// Nodes for `alpha`, in the unit exp(−`ln_unit`) of x, that serve every x ≥ `least` in that unit.
    ///
    /// The ray lies in the middle of the sector 0 < arg u < π/(2α) where both factors decay, at most on the imaginary
    /// axis.
    pub fn new(alpha: f64, ln_unit: f64, least: f64) -> Self {
        let gaussian = alpha >= GAUSSIAN_FROM;
        let angle: f64 = if gaussian { FRAC_PI_4 / 2.0 } else { (FRAC_PI_4 / alpha).min(FRAC_PI_2) };
        // The error of the rule is about exp(−2π·(half width of the sector)/step), but the stretching narrows the sector.
        // Below α = 1/2 the sector is wide and the integrand slow, so a gentler stretching takes longer steps.
        let (step, stretch, rate) =
            if alpha < 0.5 { (1.0 / 6.0, 2.0, 0.7) } else { ((angle / 5.2).min(1.0 / 7.0), 0.5, 2.0) };
        let ray = Ray { alpha, ln_unit, angle, step, stretch, rate, gaussian };

        let mut nodes = Vec::with_capacity(96);
        // Towards 0, until the powers of r that the integrand starts with are negligible.
        let power = if gaussian { alpha } else { alpha.min(1.0) };
        let mut t = -step;
        loop {
            let (ln_r, _) = ray.position(t);
            if power * ln_r + alpha * ln_unit < -DEPTH {
                break;
            }
            nodes.push(ray.node(t));
            t -= step;
        }
        nodes.reverse();
        // Towards infinity, until the decay has passed its slowest point by DEPTH.
        let mut shallowest = f64::INFINITY;
        let mut t = 0.0;
        loop {
            let (ln_r, _) = ray.position(t);
            let decay =
                least * ln_r.exp() * angle.sin() + (alpha * (ln_r + ln_unit)).exp() * (alpha * angle).cos() - ln_r;
            shallowest = shallowest.min(decay);
            if decay > shallowest + DEPTH {
                break;
            }
            nodes.push(ray.node(t));
            t += step;
        }
        Self { nodes, gaussian, pole: if gaussian { 0.0 } else { FRAC_PI_2 - angle } }
    }

    /// All quantities at x > 0, in the unit of the nodes.
    pub fn at(&self, x: f64) -> Sums {
        let (mut density, mut turn, mut slope, mut dalpha) = (0.0, 0.0, 0.0, 0.0);
        for node in &self.nodes {
            let depth = x * node.u.im;
            if depth > DEPTH + 5.0 {
                break;
            }
            let (sine, cosine) = (x * node.u.re).sin_cos();
            let wave = Complex::new(cosine, sine).scale((-depth).exp());
            let term = node.value * wave;
            let first = node.u * term;
            turn += term.im;
            density += first.re;
            // d/dx exp(ixu) = iu exp(ixu)
            slope -= (node.u * first).im;
            dalpha += (node.u * node.dalpha * wave).re;
        }
        let mut sums = Sums {
            density: density / PI,
            upper: (self.pole - turn) / PI,
            central: 0.0,
            slope: slope / PI,
            dalpha: dalpha / PI,
        };
        if self.gaussian {
            let bulk = gaussian_density(x);
            sums.density += bulk;
            sums.upper += gaussian_upper(x);
            sums.slope -= 0.5 * x * bulk;
        }
        sums.central = 0.5 - sums.upper;
        sums
    }
}

/// Density exp(−x²/4)/(2√π) of the law at α = 2.
pub(super) fn gaussian_density(x: f64) -> f64 {
    ln_gaussian_density(x).exp()
}

/// ln of [`gaussian_density`].
pub(super) fn ln_gaussian_density(x: f64) -> f64 {
    -0.25 * x * x - 0.5 * (4.0 * PI).ln()
}

/// P(X > x) at α = 2.
pub(super) fn gaussian_upper(x: f64) -> f64 {
    0.5 * libm::erfc(0.5 * x)
}

/// The ray and the rule along it: ln r = t − stretch·exp(−rate·t), doubly exponential towards r = 0, where r^α is not
/// smooth.
struct Ray {
    alpha: f64,
    ln_unit: f64,
    angle: f64,
    step: f64,
    stretch: f64,
    rate: f64,
    gaussian: bool,
}

impl Ray {
    /// ln r and its weight at the rule's variable t.
    fn position(&self, t: f64) -> (f64, f64) {
        let stretch = self.stretch * (-self.rate * t).exp();
        (t - stretch, self.step * (1.0 + self.rate * stretch))
    }

    fn node(&self, t: f64) -> Node {
        let (ln_r, weight) = self.position(t);
        let ln_u = Complex::new(ln_r + self.ln_unit, self.angle);
        let power = (ln_u * self.alpha).exp();
        let damped = (-power).exp();
        let value = if self.gaussian {
            // exp(−u^α) − exp(−u²) without subtracting like from like
            let square = (ln_u * 2.0).exp();
            (-square).exp() * expm1(-square * expm1(ln_u * (self.alpha - 2.0)))
        } else {
            damped
        };
        Node {
            u: Complex::from_polar(ln_r.exp(), self.angle),
            value: value * weight,
            dalpha: -power * ln_u * damped * weight,
        }
    }
}

/// exp(z) − 1, accurate for small z.
fn expm1(z: Complex<f64>) -> Complex<f64> {
    let (half_sine, _) = (0.5 * z.im).sin_cos();
    let real = z.re.exp_m1() * z.im.cos() - 2.0 * half_sine * half_sine;
    Complex::new(real, z.re.exp() * z.im.sin())
}
