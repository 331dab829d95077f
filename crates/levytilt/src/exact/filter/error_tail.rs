//! Give the probability of an observation error beyond a value, fast for many values.

use crate::ErrorLaw;
use spec_math::cephes64::incbet;
use std::f64::consts::SQRT_2;

/// Distance of the tabulated values in u, where z = sinh(u).
const APART: f64 = 0.02;
/// Beyond this many degrees of freedom a Student error is Gaussian to all digits that matter.
const GAUSSIAN: f64 = 1e6;

/// P(Z > z) of an error law.
pub(super) enum ErrorTail {
    Gaussian,
    Outliers {
        probability: f64,
        size: f64,
    },
    /// ln P(Z > sinh(u)) at u = 0, [`APART`], … with its slope in u; interpolated by cubics, to about 1e-9 of itself.
    Student(Vec<(f64, f64)>),
}

impl ErrorTail {
    pub fn new(law: ErrorLaw) -> Self {
        match law {
            ErrorLaw::Gaussian => Self::Gaussian,
            ErrorLaw::Student { dof } if dof > GAUSSIAN => Self::Gaussian,
            ErrorLaw::Outliers { probability, size } => Self::Outliers { probability, size },
            ErrorLaw::Student { dof } => Self::Student(
                (0..)
                    .map(|k| f64::from(k) * APART)
                    .map(|u: f64| (u, 0.5 * incbet(0.5 * dof, 0.5, dof / (dof + u.sinh().powi(2)))))
                    .take_while(|(u, tail)| *u < 40.0 && *tail > 1e-300)
                    .map(|(u, tail)| (tail.ln(), -law.log_density(u.sinh()).exp() * u.cosh() / tail))
                    .collect(),
            ),
        }
    }

    /// P(Z > z).
    pub fn above(&self, z: f64) -> f64 {
        let gaussian = |z: f64| 0.5 * libm::erfc(z / SQRT_2);
        match self {
            Self::Gaussian => gaussian(z),
            Self::Outliers { probability, size } => {
                (1.0 - probability) * gaussian(z) + probability * gaussian(z / size)
            }
            Self::Student(_) if z < 0.0 => 1.0 - self.above(-z),
            Self::Student(table) => {
                let place = z.asinh() / APART;
                let k = place.floor() as usize;
                let [Some((a, slope_a)), Some((b, slope_b))] = [table.get(k), table.get(k + 1)] else {
                    // A power of z from here on, or too small for the number format.
                    let (last, slope) = table[table.len() - 1];
                    return (last + slope * (z.asinh() - (table.len() - 1) as f64 * APART)).exp();
                };
                let (t, h) = (place - k as f64, APART);
                let (s, tt) = (1.0 - t, t * t);
                let cubic =
                    s * s * ((1.0 + 2.0 * t) * a + t * h * slope_a) + tt * ((3.0 - 2.0 * t) * b - s * h * slope_b);
                cubic.exp()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Golden values: Cauchy tails are ½ − atan(z)/π, and Student's with two degrees of freedom ½ − z/(2√(2 + z²)).
    #[test]
    fn golden_student_tails() {
        let [cauchy, two] = [1.0, 2.0].map(|dof| ErrorTail::new(ErrorLaw::Student { dof }));
        for z in [0.0, 0.013, 0.7, 3.3, 41.0, 1e4] {
            let close = |got: f64, expected: f64| (got / expected - 1.0).abs() < 1e-7;
            assert!(close(cauchy.above(z), (1.0 / z).atan() / PI), "{z}");
            // ½ − z/(2√(2 + z²)) without cancellation.
            let root = (2.0 + z * z).sqrt();
            assert!(close(two.above(z), 1.0 / (root * (root + z))), "{z}: {}", two.above(z));
            assert!((two.above(z) + two.above(-z) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn identity_tails_are_integrals_of_the_density() {
        for law in [
            ErrorLaw::Gaussian,
            ErrorLaw::Student { dof: 4.5 },
            ErrorLaw::Student { dof: 300.0 },
            ErrorLaw::Outliers { probability: 0.02, size: 20.0 },
        ] {
            let tail = ErrorTail::new(law);
            for z in [-3.0, 0.4, 2.5] {
                let slope = (tail.above(z - 1e-4) - tail.above(z + 1e-4)) / 2e-4;
                assert!((slope - law.log_density(z).exp()).abs() < 1e-7, "{law:?} {z}");
            }
            assert!((tail.above(0.0) - 0.5).abs() < 1e-12);
        }
    }
}
