//! Give the law of an observation error: Gaussian, Student, or Gaussian with rare gross errors; all are scale mixtures.
//!
//! An error is ε = σ√S·Z with Z standard normal. S is 1 for Gaussian errors, ν/χ²_ν for Student errors, and for outliers
//! k² with probability p, else 1. The mixtures have closed forms, so nothing is approximated: z = ε/σ has the density f(z)
//! of [`ErrorLaw::log_density`], and E[1/S | z] is [`ErrorLaw::precision`].

use crate::noise::sample_gamma;
use crate::parameter::{Domain, ParameterEntry};
use crate::{Error, Result, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use spec_math::cephes64::{igam, igami, psi};
use std::f64::consts::PI;
use std::sync::Arc;

/// Degrees of freedom of Student errors.
const DOF: ParameterEntry = ParameterEntry::new(
    "error_dof",
    "degrees of freedom of the observation errors; large is nearly Gaussian",
    "",
    Domain::POSITIVE,
    4.0,
    |_, _| 4.0,
)
.with_prior(|_, _| 1.0);

/// Probability of a gross error.
const PROBABILITY: ParameterEntry = ParameterEntry::new(
    "outlier_probability",
    "probability that an observation is a gross error",
    "",
    Domain { high: 0.5, expected: "must be between 0 and 0.5", ..Domain::POSITIVE },
    0.01,
    |_, _| 0.01,
)
.with_prior(|_, _| 1.5);

/// Size of a gross error.
const SIZE: ParameterEntry = ParameterEntry::new(
    "outlier_size",
    "standard deviation of a gross error in units of observation_std",
    "",
    Domain { low: 1.0, expected: "must be a finite number greater than 1", ..Domain::REAL },
    20.0,
    |_, _| 20.0,
)
.with_prior(|_, _| 1.0);

/// Prior probability of the errors that count as wrong where the law is Student: those with the largest S.
const WRONG: f64 = 0.01;

/// A family of observation errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// Gaussian.
    #[default]
    Gaussian,
    /// Student-t: errors of all sizes, large ones more often than a Gaussian has them.
    Student,
    /// Gaussian, but with a small probability a gross error.
    Outliers,
}

/// The law of an observation error with σ = 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ErrorLaw {
    /// N(0, 1).
    #[default]
    Gaussian,
    /// Student-t.
    Student {
        /// Degrees of freedom, greater than 0.
        dof: f64,
    },
    /// N(0, 1), or N(0, size²) with a probability.
    Outliers {
        /// Probability of a gross error, in (0, 0.5).
        probability: f64,
        /// Standard deviation of a gross error, greater than 1.
        size: f64,
    },
}

/// The observation errors of one dimension: their law and, if it is known, the standard deviation of each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Errors {
    /// The law.
    pub law: ErrorLaw,
    /// Known standard deviation of the value of each observation row; the model's observation_std is then a factor of it.
    pub known: Option<Arc<[f64]>>,
}

impl ErrorKind {
    /// All families.
    pub const ALL: [Self; 3] = [Self::Gaussian, Self::Student, Self::Outliers];

    /// Name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Student => "student",
            Self::Outliers => "outliers",
        }
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Gaussian => "Gaussian errors",
            Self::Student => "Student-t errors, with heavy tails; observation_std is their scale",
            Self::Outliers => "Gaussian errors and, with a small probability, gross ones",
        }
    }

    /// How the registry names it as the owner of a parameter.
    pub(crate) fn about_errors(self) -> &'static str {
        match self {
            Self::Gaussian => "errors gaussian",
            Self::Student => "errors student",
            Self::Outliers => "errors outliers",
        }
    }

    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its parameters besides observation_std.
    pub fn parameters(self) -> &'static [ParameterEntry] {
        match self {
            Self::Gaussian => &[],
            Self::Student => &[DOF],
            Self::Outliers => &[PROBABILITY, SIZE],
        }
    }

    /// The law with these values of [`ErrorKind::parameters`].
    ///
    /// # Errors
    /// A value outside its domain, or another number of values.
    pub fn build(self, values: &[f64]) -> Result<ErrorLaw> {
        let entries = self.parameters();
        if values.len() != entries.len() {
            return Err(Error::Shape {
                what: "parameters of the observation errors",
                got: values.len().to_string(),
                expected: entries.len().to_string(),
            });
        }
        entries.iter().zip(values).try_for_each(|(entry, value)| entry.check(*value).map(drop))?;
        Ok(match (self, values) {
            (Self::Student, [dof]) => ErrorLaw::Student { dof: *dof },
            (Self::Outliers, [probability, size]) => ErrorLaw::Outliers { probability: *probability, size: *size },
            _ => ErrorLaw::Gaussian,
        })
    }
}

impl ErrorLaw {
    /// Its family.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Gaussian => ErrorKind::Gaussian,
            Self::Student { .. } => ErrorKind::Student,
            Self::Outliers { .. } => ErrorKind::Outliers,
        }
    }

    /// Values of the parameters of its family.
    pub fn values(&self) -> Vec<f64> {
        match *self {
            Self::Gaussian => Vec::new(),
            Self::Student { dof } => vec![dof],
            Self::Outliers { probability, size } => vec![probability, size],
        }
    }

    /// ln f(z): the log density of an error of z standard units, normalised over z.
    pub fn log_density(&self, z: f64) -> f64 {
        self.log_peak() + self.log_relative(z)
    }

    /// ln f(0), the largest value.
    pub(crate) fn log_peak(&self) -> f64 {
        let gaussian = -0.5 * (2.0 * PI).ln();
        match *self {
            Self::Gaussian => gaussian,
            Self::Student { dof } if dof > 1e6 => gaussian - 0.25 / dof,
            Self::Student { dof } => libm::lgamma(0.5 * (dof + 1.0)) - libm::lgamma(0.5 * dof) - 0.5 * (PI * dof).ln(),
            Self::Outliers { probability, size } => gaussian + (1.0 - probability + probability / size).ln(),
        }
    }

    /// ln f(z) − ln f(0).
    #[inline]
    fn log_relative(&self, z: f64) -> f64 {
        match *self {
            Self::Gaussian => -0.5 * z * z,
            Self::Student { dof } => -0.5 * (dof + 1.0) * (z * z / dof).ln_1p(),
            Self::Outliers { probability, size } => {
                // Relative to the gross part, which does not underflow as long as the law itself does not.
                let [good, gross] = [1.0 - probability, probability / size];
                let wide = -0.5 * (z / size).powi(2);
                let more = good * (-0.5 * z * z - wide).exp();
                wide + ((gross + more) / (gross + good)).ln()
            }
        }
    }

    /// f(z)/f(0).
    #[inline]
    pub(crate) fn relative(&self, z: f64) -> f64 {
        match *self {
            Self::Outliers { probability, size } => {
                let [good, gross] = [1.0 - probability, probability / size];
                (good * (-0.5 * z * z).exp() + gross * (-0.5 * (z / size).powi(2)).exp()) / (good + gross)
            }
            _ => self.log_relative(z).exp(),
        }
    }

    /// Probability that S is that of a gross error, given z.
    fn gross(probability: f64, size: f64, z: f64) -> f64 {
        let odds = (1.0 - probability) * size / probability * (-0.5 * z * z * (1.0 - size.powi(-2))).exp();
        1.0 / (1.0 + odds)
    }

    /// E[1/S | z]: the precision, in units of 1/σ², with which a value pulls that misses by z. It is −f′(z)/(z f(z)).
    pub fn precision(&self, z: f64) -> f64 {
        match *self {
            Self::Gaussian => 1.0,
            Self::Student { dof } => (dof + 1.0) / (dof + z * z),
            Self::Outliers { probability, size } => {
                let gross = Self::gross(probability, size, z);
                1.0 - gross + gross / (size * size)
            }
        }
    }

    /// Probability that an error of `z` units is a wrong value: that it is a gross error or, for Student errors, that its
    /// S is among the largest 1% of the law. 0 for Gaussian errors.
    pub fn wrong(&self, z: f64) -> f64 {
        self.wrong_many()(z)
    }

    /// [`ErrorLaw::wrong`] for many z.
    pub(crate) fn wrong_many(&self) -> impl Fn(f64) -> f64 + use<> {
        let law = *self;
        // 1/S is gamma with shape and rate ν/2, and given z with (ν + 1)/2 and (ν + z²)/2.
        let smallest = match law {
            Self::Student { dof } => igami(0.5 * dof, WRONG) / (0.5 * dof),
            _ => 0.0,
        };
        move |z| match law {
            Self::Gaussian => 0.0,
            Self::Student { dof } => igam(0.5 * (dof + 1.0), 0.5 * smallest * (dof + z * z)),
            Self::Outliers { probability, size } => Self::gross(probability, size, z),
        }
    }

    /// ∂ ln f/∂p at z for each parameter of the family, added to `sums` with a factor.
    pub(crate) fn add_slopes(&self, z: f64, factor: f64, sums: &mut [f64]) {
        match *self {
            Self::Gaussian => {}
            Self::Student { dof } => {
                let square = z * z;
                let fall = 0.5 * (dof + 1.0) * square / (dof * (dof + square)) - 0.5 * (square / dof).ln_1p();
                sums[0] += factor * fall;
            }
            Self::Outliers { probability, size } => {
                let gross = Self::gross(probability, size, z);
                sums[0] += factor * (gross / probability - (1.0 - gross) / (1.0 - probability));
                sums[1] += factor * gross * (z * z / size.powi(3) - 1.0 / size);
            }
        }
    }

    /// What [`ErrorLaw::add_slopes`] leaves out because it does not depend on z.
    pub(crate) fn constant_slopes(&self) -> Vec<f64> {
        match *self {
            Self::Gaussian => Vec::new(),
            Self::Student { dof } => vec![0.5 * (psi(0.5 * (dof + 1.0)) - psi(0.5 * dof) - 1.0 / dof)],
            Self::Outliers { .. } => vec![0.0; 2],
        }
    }

    /// Width of the peak of f as the standard deviation of a Gaussian with the same curvature.
    pub(crate) fn core(&self) -> f64 {
        self.precision(0.0).sqrt().recip()
    }

    /// A draw of z.
    pub fn sample(&self, rng: &mut StreamRng) -> f64 {
        // One normal for every law: the same seed gives the same errors wherever they are not gross.
        let normal: f64 = StandardNormal.sample(rng);
        match *self {
            Self::Gaussian => normal,
            Self::Student { dof } => normal * (0.5 * dof / sample_gamma(0.5 * dof, rng)).sqrt(),
            Self::Outliers { probability, size } => {
                if rng.random::<f64>() < probability {
                    size * normal
                } else {
                    normal
                }
            }
        }
    }
}

impl Errors {
    /// Errors of this law, of the same size for all values.
    pub fn of(law: ErrorLaw) -> Self {
        Self { law, known: None }
    }

    /// Whether errors are Gaussian and all of the same size, which every method can take.
    pub fn is_plain(&self) -> bool {
        self.law == ErrorLaw::Gaussian && self.known.is_none()
    }

    /// Known standard deviation of the value in `row`; 1 where none is known.
    pub fn unit(&self, row: usize) -> f64 {
        self.known.as_ref().map_or(1.0, |known| known[row])
    }

    /// A typical known standard deviation: the median of those that are numbers; 1 if none is known.
    pub(crate) fn typical(&self) -> f64 {
        let mut known: Vec<f64> =
            self.known.iter().flat_map(|known| known.iter().copied()).filter(|s| !s.is_nan()).collect();
        known.sort_by(f64::total_cmp);
        known.get(known.len() / 2).copied().unwrap_or(1.0)
    }

    /// [`Errors::unit`] of an observed value.
    ///
    /// # Errors
    /// A row without a known error, or with one that is not a number greater than 0.
    pub(crate) fn checked_unit(&self, row: usize) -> Result<f64> {
        let unit = self.known.as_ref().map_or(Some(1.0), |known| known.get(row).copied()).unwrap_or(f64::NAN);
        if unit > 0.0 && unit.is_finite() {
            return Ok(unit);
        }
        let problem =
            format!("its known error is {unit}; expected a standard deviation greater than 0, or no value there");
        Err(Error::observation(row, problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    const LAWS: [ErrorLaw; 5] = [
        ErrorLaw::Gaussian,
        ErrorLaw::Student { dof: 1.0 },
        ErrorLaw::Student { dof: 4.5 },
        ErrorLaw::Outliers { probability: 0.02, size: 20.0 },
        ErrorLaw::Outliers { probability: 0.3, size: 1.5 },
    ];

    /// Golden values: Student's density is 1/π(1 + z²) for one degree of freedom and 3/8 (1 + z²/4)^{−5/2} for four.
    #[test]
    fn golden_densities() {
        let cauchy = ErrorLaw::Student { dof: 1.0 };
        assert!((cauchy.log_density(2.0) + (5.0 * PI).ln()).abs() < 1e-14);
        let four = ErrorLaw::Student { dof: 4.0 };
        assert!((four.log_density(1.0) - (0.375 * 1.25f64.powf(-2.5)).ln()).abs() < 1e-14);
        let mixed = ErrorLaw::Outliers { probability: 0.5 - 1e-15, size: 2.0 };
        assert!((mixed.log_density(0.0) - (0.75 / (2.0 * PI).sqrt()).ln()).abs() < 1e-13);
        let large = ErrorLaw::Student { dof: 1e8 };
        assert!((large.log_density(1.0) - ErrorLaw::Gaussian.log_density(1.0)).abs() < 1e-7);
    }

    #[test]
    fn identity_densities_integrate_to_one_and_agree_with_their_precision() {
        for law in LAWS {
            // z = sinh(u) reaches 10^8.
            let h = 1e-3;
            let total: f64 = (-19_000..=19_000)
                .map(|i| f64::from(i) * h)
                .map(|u: f64| law.log_density(u.sinh()).exp() * u.cosh() * h)
                .sum();
            assert!((total - 1.0).abs() < 1e-7, "{law:?}: {total}");
            for z in [0.3, 1.0, 4.0, 30.0] {
                let slope = (law.log_density(z + 1e-5) - law.log_density(z - 1e-5)) / 2e-5;
                assert!((slope + z * law.precision(z)).abs() < 1e-6 * z, "{law:?} {z}");
                let relative = (law.log_density(z) - law.log_peak()).exp();
                assert!((law.relative(z) - relative).abs() <= 1e-12 * relative, "{law:?} {z}");
            }
        }
    }

    #[test]
    fn identity_slopes_are_derivatives() {
        for law in LAWS {
            for z in [0.0, 1.0, 7.0] {
                let mut slopes = law.constant_slopes();
                law.add_slopes(z, 1.0, &mut slopes);
                for (i, slope) in slopes.iter().enumerate() {
                    let at = |by: f64| {
                        let mut values = law.values();
                        values[i] *= 1.0 + by;
                        law.kind().build(&values).unwrap().log_density(z)
                    };
                    let expected = (at(1e-6) - at(-1e-6)) / (2e-6 * law.values()[i]);
                    assert!(
                        (slope - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                        "{law:?} {z}: {slope} {expected}"
                    );
                }
            }
        }
    }

    /// 10⁵ draws; the share beyond ±2 is within 4.5 standard errors (false alarms 1 in 10⁵).
    #[test]
    fn statistics_draws_follow_the_density() {
        for law in LAWS {
            let mut rng = stream(3, 1);
            let n = 100_000;
            let draws: Vec<f64> = (0..n).map(|_| law.sample(&mut rng)).collect();
            let seen = draws.iter().filter(|z| z.abs() > 2.0).count() as f64 / f64::from(n);
            let inside: f64 =
                (0..4000).map(|i| -2.0 + (f64::from(i) + 0.5) * 1e-3).map(|z| law.log_density(z).exp() * 1e-3).sum();
            let beyond = 1.0 - inside;
            assert!((seen - beyond).abs() < 4.5 * (beyond * inside / f64::from(n)).sqrt(), "{law:?}: {seen} {beyond}");
            // The mean of P(wrong | z) is P(wrong).
            let wrong = draws.iter().map(|z| law.wrong(*z)).sum::<f64>() / f64::from(n);
            let expected = match law {
                ErrorLaw::Gaussian => 0.0,
                ErrorLaw::Student { .. } => WRONG,
                ErrorLaw::Outliers { probability, .. } => probability,
            };
            assert!((wrong - expected).abs() <= 4.5 * (expected / f64::from(n)).sqrt(), "{law:?}: {wrong}");
        }
    }

    #[test]
    fn bad_parameters_and_errors_are_named() {
        let named = |kind: ErrorKind, values: &[f64]| kind.build(values).unwrap_err().to_string();
        assert!(named(ErrorKind::Student, &[0.0]).contains("error_dof"));
        assert!(named(ErrorKind::Outliers, &[0.6, 20.0]).contains("outlier_probability"));
        assert!(named(ErrorKind::Outliers, &[0.1, 0.5]).contains("outlier_size"));
        assert!(ErrorKind::Student.build(&[]).is_err());
        let errors = Errors { known: Some([0.1, 0.0, f64::NAN].into()), ..Errors::default() };
        assert_eq!(errors.checked_unit(0).unwrap(), 0.1);
        assert!(errors.checked_unit(1).unwrap_err().to_string().contains("observation 2"));
        assert!(errors.checked_unit(2).is_err() && errors.checked_unit(3).is_err());
        assert_eq!((errors.typical(), Errors::default().checked_unit(7).unwrap()), (0.1, 1.0));
    }
}
