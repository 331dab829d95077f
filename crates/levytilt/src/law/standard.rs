//! Choose the formula that is accurate at each point of the standard symmetric stable law (scale 1).

use super::contour::{Contour, gaussian_density, gaussian_upper, ln_gaussian_density};
use super::expansion::{Center, Sums, Tail};
use spec_math::Gamma;
use std::f64::consts::PI;
use std::sync::OnceLock;

/// Below this α the scale of the integrand moves with x over so many decades that nodes are laid out for each x.
const NODES_FROM: f64 = 0.5;
/// Above this α the Gaussian part can still be seen where the tail series takes over.
const GAUSSIAN_TAIL_FROM: f64 = 1.97;

/// Everything about the standard law at one z ≥ 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// f(z).
    pub density: f64,
    /// ln f(z), also where f(z) underflows or overflows.
    pub ln_density: f64,
    /// P(Z > z).
    pub upper: f64,
    /// P(0 < Z < z).
    pub central: f64,
    /// ∂ ln f/∂z.
    pub slope: f64,
    /// ∂ ln f/∂α.
    pub dalpha: f64,
}

/// Tables of the standard law for one α.
#[derive(Debug, Clone)]
pub(super) struct Standard {
    alpha: f64,
    center: Option<Center>,
    tail: Tail,
    contour: OnceLock<Contour>,
}

impl Standard {
    /// Series coefficients for 0 < `alpha` ≤ 2; the contour is laid out when first needed.
    pub fn new(alpha: f64) -> Self {
        let center = (alpha >= NODES_FROM).then(|| Center::new(alpha));
        Self { alpha, center, tail: Tail::new(alpha), contour: OnceLock::new() }
    }

    /// The law at finite z ≥ 0.
    pub fn at(&self, z: f64) -> Point {
        let point = match &self.center {
            Some(center) if z <= center.radius() => plain(center.at(z)),
            None if z == 0.0 => self.at_zero(),
            _ => {
                let power = z.powf(-self.alpha);
                if power <= self.tail.radius() {
                    self.far(z, power)
                } else if self.center.is_some() {
                    plain(self.contour.get_or_init(|| Contour::new(self.alpha, 0.0, 0.0)).at(z))
                } else {
                    self.near_small_alpha(z)
                }
            }
        };
        if self.alpha == 2.0 {
            // Exact, also where the density underflows.
            return Point { ln_density: ln_gaussian_density(z), slope: -0.5 * z, ..point };
        }
        point
    }

    /// Leading term of the tail: P(Z > z) ≈ coefficient · z^{−α}.
    pub fn tail_coefficient(&self) -> f64 {
        self.tail.at(0.0, 0.0).upper
    }

    fn far(&self, z: f64, power: f64) -> Point {
        let ln_z = z.ln();
        let ln_unit = -(1.0 + self.alpha) * ln_z;
        let tail = self.tail.at(power, ln_z);
        // The series knows nothing of the Gaussian part; in the unit of the tail it cannot overflow.
        let (bulk, bulk_upper) = if self.alpha > GAUSSIAN_TAIL_FROM {
            ((ln_gaussian_density(z) - ln_unit).exp(), gaussian_upper(z))
        } else {
            (0.0, 0.0)
        };
        let density = tail.density + bulk;
        let upper = power * tail.upper + bulk_upper;
        Point {
            density: power / z * tail.density + if bulk > 0.0 { gaussian_density(z) } else { 0.0 },
            ln_density: ln_unit + density.ln(),
            upper,
            central: 0.5 - upper,
            slope: (tail.stretch / z - 0.5 * z * bulk) / density,
            dalpha: tail.dalpha / density,
        }
    }

    /// α < 1/2 left of the tail: a contour in the unit in which the integrand lives, 1/z or where r exp(−r^α) peaks.
    fn near_small_alpha(&self, z: f64) -> Point {
        let ln_unit = (-z.ln()).min(-self.alpha.ln() / self.alpha);
        let scaled = (z.ln() + ln_unit).exp();
        let sums = Contour::new(self.alpha, ln_unit, scaled).at(scaled);
        let ln_density = ln_unit + sums.density.ln();
        let unit = ln_unit.exp();
        // Next to 0 a rounding error can carry the probability past 1/2.
        let central = if sums.central < 0.0 { 0.0 } else { sums.central };
        Point {
            density: unit * sums.density,
            ln_density,
            upper: 0.5 - central,
            central,
            slope: unit * (sums.slope / sums.density),
            dalpha: sums.dalpha / sums.density,
        }
    }

    /// f(0) = Γ(1 + 1/α)/π.
    fn at_zero(&self) -> Point {
        let argument = 1.0 + 1.0 / self.alpha;
        Point {
            density: libm::tgamma(argument) / PI,
            ln_density: libm::lgamma(argument) - PI.ln(),
            upper: 0.5,
            central: 0.0,
            slope: 0.0,
            dalpha: -argument.digamma() / (self.alpha * self.alpha),
        }
    }
}

fn plain(sums: Sums) -> Point {
    Point {
        density: sums.density,
        ln_density: sums.density.ln(),
        upper: sums.upper,
        central: sums.central,
        slope: sums.slope / sums.density,
        dalpha: sums.dalpha / sums.density,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest relative difference of two answers at one point; derivatives relative to 1 where they are smaller.
    fn difference(a: Point, b: Point) -> f64 {
        let relative = |a: f64, b: f64, floor: f64| (a - b).abs() / b.abs().max(floor);
        let errors = [
            relative(a.density, b.density, 0.0),
            relative(a.upper, b.upper, 0.0),
            relative(a.slope, b.slope, 1.0),
            relative(a.dalpha, b.dalpha, 1.0),
        ];
        errors.into_iter().fold(0.0, |worst, error| if error <= worst { worst } else { error })
    }

    #[test]
    fn law_ranges_agree_where_they_meet() {
        let mut worst = (0.0, 0.0);
        for i in 1..=300 {
            let alpha = 0.5 + 0.005 * f64::from(i);
            let law = Standard::new(alpha);
            let contour = Contour::new(alpha, 0.0, 0.0);
            let near = law.center.as_ref().unwrap().radius();
            let far = law.tail.radius().powf(-1.0 / alpha) * 1.000_001;
            for z in [near, far] {
                let error = difference(law.at(z), plain(contour.at(z)));
                assert!(error < 2e-13, "alpha {alpha} at {z}: {error}");
                worst = if error > worst.0 { (error, alpha) } else { worst };
            }
        }
        for i in 1..50 {
            let alpha = 0.01 * f64::from(i);
            let law = Standard::new(alpha);
            let far = law.tail.radius().powf(-1.0 / alpha) * 1.000_001;
            let error = difference(law.at(far), law.near_small_alpha(far));
            assert!(error < 2e-13, "alpha {alpha} at {far}: {error}");
            worst = if error > worst.0 { (error, alpha) } else { worst };
        }
        println!("largest difference where ranges meet: {worst:?}");
    }
}
