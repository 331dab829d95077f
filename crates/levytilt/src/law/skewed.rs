//! Compute the standard skewed stable law (S0, scale 1) by integrals along the path of steepest descent.

use super::path::{Angles, Path, PathPoint};
use nalgebra::Complex;
use std::f64::consts::{FRAC_PI_2, PI};

/// Terms smaller than this share of the largest are left out.
const NEGLIGIBLE: f64 = 1e-19;
/// Relative change by the last halving of the step at which the rule has converged: the error is about its square.
const CONVERGED: f64 = 1e-9;
/// First step of the rule, and how often it may be halved.
const STEP: f64 = 0.25;
const HALVINGS: usize = 7;
/// |1 − α| below which derivatives are taken at fixed x of S0, whose law is smooth there.
const NEAR_ONE: f64 = 0.02;
/// Distances from 0 of S1 that are told apart.
const NEXT_TO_ZERO: f64 = 1e-200;

/// Everything about the standard law at one x of S0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SkewedPoint {
    /// ln f(x).
    pub ln_density: f64,
    /// P(X ≤ x).
    pub lower: f64,
    /// P(X > x).
    pub upper: f64,
    /// ∂ ln f/∂x.
    pub slope: f64,
    /// ∂ ln f/∂α at fixed x of S0.
    pub dalpha: f64,
    /// ∂ ln f/∂β at fixed x of S0.
    pub dbeta: f64,
}

impl SkewedPoint {
    /// Where there is no mass: beyond the end of a one-sided law.
    const ABOVE: Self = Self {
        ln_density: f64::NEG_INFINITY,
        lower: 1.0,
        upper: 0.0,
        slope: f64::NAN,
        dalpha: f64::NAN,
        dbeta: f64::NAN,
    };

    /// The limits at ±∞; NaN for NaN.
    pub fn at_infinity(x: f64) -> Self {
        match x {
            f64::INFINITY => Self::ABOVE,
            f64::NEG_INFINITY => Self::ABOVE.mirrored(),
            _ => Self { ln_density: x, lower: x, upper: x, ..Self::ABOVE },
        }
    }

    /// The same point of the mirrored law.
    fn mirrored(self) -> Self {
        Self { lower: self.upper, upper: self.lower, slope: -self.slope, dbeta: -self.dbeta, ..self }
    }
}

/// A point by its x in both parametrisations: one of the two is exact where the other is rounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abscissa {
    pub s0: f64,
    pub s1: f64,
}

/// The standard law for one α and β: S0, scale 1, location 0.
#[derive(Debug, Clone)]
pub(super) struct Skewed {
    right: Angles,
    left: Angles,
}

impl Skewed {
    /// The law for 0 < `alpha` < 2 and −1 ≤ `beta` ≤ 1, `beta` ≠ 0.
    pub fn new(alpha: f64, beta: f64) -> Self {
        Self { right: Angles::new(alpha, beta), left: Angles::new(alpha, -beta) }
    }

    /// T = β tan(πα/2), by which S1 and S0 differ: x of S1 is x of S0 plus T; 0 at α = 1.
    pub fn shift(&self) -> f64 {
        if self.right.e == 0.0 { 0.0 } else { self.right.tangent }
    }

    /// α.
    pub fn alpha(&self) -> f64 {
        self.right.alpha
    }

    /// P(X₁ ≤ 0) for X₁ of S1; not for α = 1.
    pub fn below_zero(&self) -> f64 {
        self.right.c / PI
    }

    /// The law at `x`, with derivatives only if asked for.
    pub fn at(&self, x: Abscissa, derivatives: bool) -> SkewedPoint {
        let Angles { e, tau, beta, .. } = self.right;
        let (s0, s1) = (x.s0, x.s1);
        if e == 0.0 {
            return match beta > 0.0 {
                true => self.right.at(s0, tau, derivatives),
                false => self.left.at(-s0, -tau, derivatives).mirrored(),
            };
        }
        // Next to 0 of S1 the law is flat on this scale.
        let s1 = if s1.abs() < NEXT_TO_ZERO { NEXT_TO_ZERO.copysign(s1) } else { s1 };
        match s1 > 0.0 {
            true => self.right.at(s0, e * s1, derivatives),
            false => self.left.at(-s0, -e * s1, derivatives).mirrored(),
        }
    }

    /// The abscissa with this x of S0.
    pub fn at_s0(&self, x: f64) -> Abscissa {
        Abscissa { s0: x, s1: x + self.shift() }
    }

    /// The abscissa with this x of S1.
    pub fn at_s1(&self, x: f64) -> Abscissa {
        Abscissa { s0: x - self.shift(), s1: x }
    }
}

/// Sums over the path, each term times e^{reference − g}.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// ∫ g dφ
    density: f64,
    /// ∫ η |dg| and ∫ (C + φ) |dg|
    upper: f64,
    lower: f64,
    /// ∫ g (1 − g) dφ
    bend: f64,
    /// Re ∫ −iu du and Re ∫ uψ'(u) du
    slope: f64,
    stretch: f64,
    /// Re ∫ −∂ψ/∂α du, Re ∫ −∂ψ/∂β du
    dalpha: f64,
    dbeta: f64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.density += other.density;
        self.upper += other.upper;
        self.lower += other.lower;
        self.bend += other.bend;
        self.slope += other.slope;
        self.stretch += other.stretch;
        self.dalpha += other.dalpha;
        self.dbeta += other.dbeta;
    }

    fn scaled(&self, factor: f64) -> Self {
        Self {
            density: factor * self.density,
            upper: factor * self.upper,
            lower: factor * self.lower,
            bend: factor * self.bend,
            slope: factor * self.slope,
            stretch: factor * self.stretch,
            dalpha: factor * self.dalpha,
            dbeta: factor * self.dbeta,
        }
    }

    /// Whether the positive quantities are negligible next to the largest seen, which is kept up to date.
    fn negligible(&self, largest: &mut Self) -> bool {
        largest.density = largest.density.max(self.density);
        largest.upper = largest.upper.max(self.upper);
        largest.lower = largest.lower.max(self.lower);
        self.density <= NEGLIGIBLE * largest.density
            && self.upper <= NEGLIGIBLE * largest.upper
            && self.lower <= NEGLIGIBLE * largest.lower
    }

    /// Largest relative difference of the quantities with positive terms, and of the others next to their size.
    fn change(&self, old: &Self) -> f64 {
        let relative = |a: f64, b: f64| (a - b).abs() / a.abs().max(f64::MIN_POSITIVE);
        let bend = (self.bend - old.bend).abs() / self.density.max(f64::MIN_POSITIVE);
        relative(self.density, old.density)
            .max(relative(self.upper, old.upper))
            .max(relative(self.lower, old.lower))
            .max(1e-3 * bend)
    }
}

impl Angles {
    /// The law at `x` of S0 right of the path's origin; `e_x1` is e times x of S1 (τ at α = 1).
    fn at(&self, x: f64, e_x1: f64, derivatives: bool) -> SkewedPoint {
        if self.phi_end <= 0.0 {
            return SkewedPoint::ABOVE;
        }
        let path = self.path(x, e_x1);
        let end = if self.extremal() { path.saddle() } else { 0.0 };
        let totals = Rule::new(self, &path, end, derivatives).integrate();
        let gone = (-end).exp();
        // Where the path ends at a saddle, the ends of the integrals by parts are left: Φ(1 − e^{−g}).
        let edge = if end > 0.0 { -(-end).exp_m1() } else { 0.0 };
        let (upper, lower) = if end == 0.0 {
            (totals.upper, totals.lower)
        } else if self.alpha <= 1.0 {
            (self.phi_end * edge + gone * totals.upper, gone * totals.lower)
        } else {
            (gone * totals.upper, self.c + self.phi_end * edge + gone * (totals.lower - self.c))
        };
        let ln_density = (self.alpha * totals.density / (PI * e_x1.abs())).ln() - end;
        // f in the units of the sums: f·π·e^{end}
        let f = self.alpha * totals.density / e_x1.abs();
        let near_one = self.e.abs() < NEAR_ONE;
        // Next to the origin of the formula a division by x would only magnify rounding.
        let central = if near_one { x.abs() < 1.0 } else { (e_x1 / self.e).abs() < 0.1 };
        let slope = if central {
            totals.slope / f
        } else if near_one {
            // A change of scale: f + x f' = Re ∫ uψ'(u) e^{−g} du/π, which does not cancel in the tails.
            (totals.stretch / f - 1.0) / x
        } else {
            // f ∝ x₁^{−1} ∫ g e^{−g} dφ with g ∝ x₁^{−α/e}
            -self.e / e_x1 * (1.0 + self.alpha / self.e * totals.bend / totals.density)
        };
        let (mut dalpha, mut dbeta) = (totals.dalpha / f, totals.dbeta / f);
        if !near_one {
            // From fixed x of S1 to fixed x of S0: x₁ = x + T.
            let quarter = FRAC_PI_2 * self.alpha;
            dalpha += slope * self.beta * FRAC_PI_2 / quarter.cos().powi(2);
            dbeta += slope * quarter.tan();
        }
        SkewedPoint { ln_density, lower: lower / PI, upper: upper / PI, slope, dalpha, dbeta }
    }

    /// What derivatives need of the exponent at u, ln u given: of S0 near α = 1, of S1 elsewhere.
    fn exponent(&self, ln_u: Complex<f64>) -> Exponent {
        let (e, beta, i) = (self.e, self.beta, Complex::new(0.0, 1.0));
        let power = (ln_u * self.alpha).exp();
        if e.abs() >= NEAR_ONE {
            // ψ = u^α (1 − iβ tan(πα/2))
            let (tan, cos) = ((FRAC_PI_2 * self.alpha).tan(), (FRAC_PI_2 * self.alpha).cos());
            let turn = Complex::new(1.0, -beta * tan);
            let by_alpha = -power * (ln_u * turn - i * (beta * FRAC_PI_2 / (cos * cos)));
            return Exponent { by_alpha, by_beta: i * tan * power, stretch: power * turn * self.alpha };
        }
        // ψ = u^α + iβ u A B, A = e cot(πe/2), B = (1 − u^{−e})/e
        let h = FRAC_PI_2 * e;
        let a = (1.0 - h * h / 3.0 - h.powi(4) / 45.0 - 2.0 * h.powi(6) / 945.0) / FRAC_PI_2;
        let a_slope = -2.0 * h / 3.0 - 4.0 * h.powi(3) / 45.0 - 12.0 * h.powi(5) / 945.0;
        let (b, b_slope) = difference_quotient(ln_u, e);
        let u = ln_u.exp();
        Exponent {
            // d/dα = −d/de
            by_alpha: i * beta * u * (b * a_slope + b_slope * a) - power * ln_u,
            by_beta: -(i * u * b * a),
            stretch: power * self.alpha + i * (beta * a) * (u * b + power),
        }
    }
}

/// −∂ψ/∂α, −∂ψ/∂β and uψ'(u) at one u.
struct Exponent {
    by_alpha: Complex<f64>,
    by_beta: Complex<f64>,
    stretch: Complex<f64>,
}

/// B(e) = (1 − exp(−eℓ))/e and its derivative in e, by a series where eℓ is small.
fn difference_quotient(l: Complex<f64>, e: f64) -> (Complex<f64>, Complex<f64>) {
    let z = l * e;
    if z.norm() > 0.5 {
        let decay = (-z).exp();
        let b = (Complex::new(1.0, 0.0) - decay) / e;
        return (b, (l * decay - b) / e);
    }
    // B = ℓ Σ (−z)^k/(k+1)!, B' = −ℓ² Σ_{k≥0} (k+1)(−z)^k/(k+2)!
    let (mut b, mut slope) = (Complex::new(0.0, 0.0), Complex::new(0.0, 0.0));
    let (mut power, mut factorial) = (Complex::new(1.0, 0.0), 1.0);
    for k in 0..18 {
        let n = k as f64;
        factorial *= n + 1.0;
        b += power / factorial;
        slope += power * ((n + 1.0) / (factorial * (n + 2.0)));
        power *= -z;
    }
    (l * b, -(l * l * slope))
}

/// The trapezoidal rule in t, s = middle + spread·sinh t, over the part of the path that counts.
struct Rule<'a> {
    angles: &'a Angles,
    path: &'a Path,
    /// g at the end of the path, taken out of every exponential.
    end: f64,
    middle: f64,
    start: f64,
    derivatives: bool,
}

impl<'a> Rule<'a> {
    fn new(angles: &'a Angles, path: &'a Path, end: f64, derivatives: bool) -> Self {
        let start = path.level(end.ln_1p(), 0.5 / (1.0 + end));
        Self { angles, path, end, middle: path.position(start), start, derivatives }
    }

    /// Halve the step until the sums stand still.
    fn integrate(&self) -> Totals {
        let mut step = STEP;
        let mut sum = self.sweep(0.0, step, true);
        let mut old = sum.scaled(step);
        for _ in 0..HALVINGS {
            let between = self.sweep(0.5 * step, step, false);
            sum.add(&between);
            step *= 0.5;
            let new = sum.scaled(step);
            if new.change(&old) < CONVERGED {
                return new;
            }
            old = new;
        }
        old
    }

    /// Sum of the terms at t = `offset` + k·`step` for all k.
    fn sweep(&self, offset: f64, step: f64, zero: bool) -> Totals {
        let mut total = Totals::default();
        for side in [1.0, -1.0] {
            let mut guess = self.start;
            let mut t = if zero && side > 0.0 {
                0.0
            } else if zero {
                -step
            } else {
                side * offset
            };
            let mut largest = Totals::default();
            loop {
                let s = self.middle + t.sinh();
                let (point, p) = self.path.at(s, guess);
                guess = p;
                let term = self.term(&point, t.cosh());
                total.add(&term);
                // Falling g has two humps where the law is nearly one-sided; both lie where g is at least 1e-2.
                let beyond = point.g > self.end + 60.0 || point.g < 1e-2 || p.abs() > 600.0 || self.end > 0.0;
                // Towards a saddle dg vanishes faster than dφ, and what is computed of it is rounding.
                let done =
                    term.negligible(&mut largest) || (self.end > 0.0 && term.density <= NEGLIGIBLE * largest.density);
                if (beyond && done) || t.abs() > 9.0 {
                    break;
                }
                t += side * step;
            }
        }
        total
    }

    fn term(&self, point: &PathPoint, stretch: f64) -> Totals {
        let &PathPoint { phi, eta, ln_r, g, ln_r_slope, ln_g_slope, rate } = point;
        let weight = (self.end - g).exp() * rate * stretch;
        if weight == 0.0 || !weight.is_finite() {
            return Totals::default();
        }
        let Angles { c, e, .. } = *self.angles;
        let rise = g * ln_g_slope.abs();
        let mut totals = Totals {
            density: weight * g,
            upper: weight * eta * rise,
            lower: weight * (c + phi) * rise,
            ..Totals::default()
        };
        if self.derivatives {
            let ln_u = Complex::new(ln_r, eta - FRAC_PI_2);
            let Exponent { by_alpha, by_beta, stretch } = self.angles.exponent(ln_u);
            let u = ln_u.exp();
            // du = u (d ln r − i dφ), along increasing r: against s for α > 1.
            let du = u * Complex::new(ln_r_slope, -1.0) * if e < 0.0 { -weight } else { weight };
            totals.bend = weight * g * (1.0 - g);
            totals.slope = (Complex::new(0.0, -1.0) * u * du).re;
            totals.stretch = (stretch * du).re;
            totals.dalpha = (by_alpha * du).re;
            totals.dbeta = (by_beta * du).re;
        }
        totals
    }
}
