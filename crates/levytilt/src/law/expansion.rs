//! Sum the two power series of the standard symmetric stable law: in x² near the centre, in x^{−α} in the tail.

use spec_math::Gamma;
use std::f64::consts::{FRAC_PI_2, PI};

/// The first term left out, relative to the leading one, where a series ends its range. It is below the rounding error
/// because for 1 < α < 2 the tail series is asymptotic and misses parts that are exponentially small but come with a
/// factor of about x⁵ as α → 2.
const TRUNCATION: f64 = 1e-20;
/// How much larger than its leading term the sum of absolute terms may be: bounds the digits lost to cancellation.
const CANCELLATION: f64 = 3.0;
/// Longest series kept; Γ(kα + 1) and Γ((2k + 1)/α) must stay below the largest f64 for 1/2 ≤ α ≤ 2.
const TAIL_TERMS: usize = 80;
const CENTER_TERMS: usize = 40;

/// Four power series with a common argument, summed together.
#[derive(Debug, Clone)]
struct Rows(Vec<[f64; 4]>);

impl Rows {
    fn at(&self, argument: f64) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for row in self.0.iter().rev() {
            for (sum, coefficient) in sums.iter_mut().zip(row) {
                *sum = *sum * argument + coefficient;
            }
        }
        sums
    }
}

/// Number of terms and largest argument for which a series meets [`TRUNCATION`] and [`CANCELLATION`].
///
/// `envelope` bounds the coefficients without their oscillating factors, `terms` are the coefficients themselves. The
/// number of terms is the best one at the largest argument; smaller arguments make every later term smaller still, so
/// one number serves the whole range, for convergent and for asymptotic series.
fn range(envelope: &[f64], terms: &[f64]) -> (usize, f64) {
    let reach = |k: usize| (TRUNCATION * envelope[0] / envelope[k]).powf(1.0 / k as f64);
    let (count, mut radius) = (1..envelope.len())
        .map(|k| (k, reach(k)))
        .fold((1, 0.0), |best, next| if next.1 > best.1 { next } else { best });
    let excess = |radius: f64| terms[..count].iter().rev().fold(0.0, |sum, term| sum * radius + term.abs());
    while excess(radius) > CANCELLATION * terms[0].abs() {
        radius *= 0.97;
    }
    (count, radius)
}

/// What a series or the contour says at one point, as plain values: f, P(X > x), P(0 < X < x), ∂f/∂x, ∂f/∂α.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    pub density: f64,
    pub upper: f64,
    pub central: f64,
    pub slope: f64,
    pub dalpha: f64,
}

/// Density and company near 0: f(x) = Σ_{k≥0} c_k x^{2k}, c_k = (−1)^k Γ((2k+1)/α) / (πα (2k)!).
///
/// Convergent for α > 1, asymptotic for α < 1.
#[derive(Debug, Clone)]
pub(super) struct Center {
    rows: Rows,
    radius: f64,
}

impl Center {
    /// Coefficients for 1/2 ≤ `alpha` ≤ 2.
    pub fn new(alpha: f64) -> Self {
        let mut terms = Vec::with_capacity(CENTER_TERMS);
        let mut factorial = 1.0;
        for k in 0..CENTER_TERMS {
            let even = 2.0 * k as f64;
            if k > 0 {
                factorial *= -even * (even - 1.0);
            }
            terms.push(libm::tgamma((even + 1.0) / alpha) / (PI * alpha * factorial));
        }
        let envelope: Vec<f64> = terms.iter().map(|c| c.abs()).collect();
        let (count, square) = range(&envelope, &terms);
        let row = |k: usize| {
            let odd = 2.0 * k as f64 + 1.0;
            // The slope needs c_{k+1}; past the last kept term the truncation bound covers it.
            let next = if k + 1 < count { (odd + 1.0) * terms[k + 1] } else { 0.0 };
            // ∂c_k/∂α = −c_k (1/α + (2k+1) ψ((2k+1)/α)/α²)
            let dalpha = -terms[k] * (1.0 + odd / alpha * (odd / alpha).digamma()) / alpha;
            [terms[k], terms[k] / odd, next, dalpha]
        };
        Self { rows: Rows((0..count).map(row).collect()), radius: square.sqrt() }
    }

    /// Largest x at which [`Center::at`] is accurate.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// All quantities at 0 ≤ x ≤ radius.
    pub fn at(&self, x: f64) -> Sums {
        let [density, mean, bend, dalpha] = self.rows.at(x * x);
        let central = x * mean;
        Sums { density, upper: 0.5 - central, central, slope: x * bend, dalpha }
    }
}

/// Density and company far out: f(x) = x^{−1} Σ_{k≥1} a_k x^{−kα}, a_k = (−1)^{k+1} Γ(kα+1) sin(kπα/2) / (π k!).
///
/// Convergent for α < 1, asymptotic for α > 1.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    alpha: f64,
    rows: Rows,
    radius: f64,
}

/// The tail in units that cannot underflow: f = x^{−1−α}·density, P(X > x) = x^{−α}·upper.
#[derive(Debug, Clone, Copy)]
pub(super) struct TailSums {
    pub density: f64,
    pub upper: f64,
    /// x ∂f/∂x in the unit of f.
    pub stretch: f64,
    /// ∂f/∂α in the unit of f.
    pub dalpha: f64,
}

impl Tail {
    /// Coefficients for 0 < `alpha` ≤ 2.
    pub fn new(alpha: f64) -> Self {
        let mut factorial = 1.0;
        let envelope: Vec<f64> = (1..=TAIL_TERMS)
            .map(|k| {
                factorial *= k as f64;
                libm::tgamma(k as f64 * alpha + 1.0) / (PI * factorial)
            })
            .collect();
        let sines: Vec<(f64, f64)> = (1..=TAIL_TERMS).map(|k| signed_sine(k, alpha)).collect();
        let terms: Vec<f64> = envelope.iter().zip(&sines).map(|(size, (sine, _))| size * sine).collect();
        let (count, radius) = range(&envelope, &terms);
        let row = |i: usize| {
            let k = (i + 1) as f64;
            // ∂a_k/∂α = a_k k ψ(kα+1) + (the derivative of the sine)
            let dalpha = terms[i] * k * (k * alpha + 1.0).digamma() + envelope[i] * sines[i].1;
            [terms[i], terms[i] / (k * alpha), k * terms[i], dalpha]
        };
        Self { alpha, rows: Rows((0..count).map(row).collect()), radius }
    }

    /// Largest x^{−α} at which [`Tail::at`] is accurate.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// All quantities at `power` = x^{−α} ≤ radius, given ln x.
    pub fn at(&self, power: f64, ln_x: f64) -> TailSums {
        let [density, upper, weighted, dcoefficient] = self.rows.at(power);
        TailSums {
            density,
            upper,
            // x d/dx x^{−kα−1} = −(kα + 1) x^{−kα−1}
            stretch: -(self.alpha * weighted + density),
            // ∂/∂α x^{−kα} = −k ln x · x^{−kα}
            dalpha: dcoefficient - ln_x * weighted,
        }
    }
}

/// (−1)^{k+1} sin(kπα/2) and its derivative in α.
///
/// For α > 1 it is sin(kπ(2−α)/2), because 2 − α is exact there and the sine goes to 0 with it.
fn signed_sine(k: usize, alpha: f64) -> (f64, f64) {
    let quarter = k as f64 * FRAC_PI_2;
    let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
    if alpha > 1.0 {
        let (sine, cosine) = (quarter * (2.0 - alpha)).sin_cos();
        (sine, -quarter * cosine)
    } else {
        let (sine, cosine) = (quarter * alpha).sin_cos();
        (sign * sine, sign * quarter * cosine)
    }
}
