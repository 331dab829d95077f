//! Learn the law of standardised moves and draw from it.

use crate::minimise::minimise;
use levytilt::internals::law::StableLaw;
use levytilt::{Error, Result, StreamRng};
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

/// The law of a walk's moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Increments {
    /// Gaussian, with the covariance of the moves over dimensions.
    Gaussian,
    /// Student's t: degrees of freedom and scale of each dimension by maximum likelihood, correlated like the moves.
    Student,
    /// Symmetric stable: index and scale of each dimension by maximum likelihood; dimensions are independent.
    Stable,
    /// The moves themselves, drawn with replacement, all dimensions of a time together.
    Bootstrap,
}

/// A law that was learned.
pub(crate) enum Law {
    /// Random combinations Σ g_k m_k/√n of the centred moves: Gaussian with exactly their covariance.
    Gaussian(Moves),
    /// The same in units of each dimension's deviation, stretched by √(ν/χ²_ν) and a scale per dimension.
    Student(Moves, Vec<Student>),
    /// One law per dimension.
    Stable(Vec<StableLaw>),
    /// Moves to draw from.
    Bootstrap(Moves),
}

/// Moves, one row per step.
pub(crate) struct Moves {
    rows: Vec<f64>,
    dim: usize,
}

/// Student's law of one dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Student {
    pub dof: f64,
    pub scale: f64,
}

impl Law {
    /// Learn from `columns` of moves, one per dimension; a dimension that never moves is an error.
    pub fn learn(kind: Increments, columns: &[Vec<f64>]) -> Result<Self> {
        for (i, column) in columns.iter().enumerate() {
            if deviation(column) == 0.0 {
                let problem = "all moves are the same; there is nothing to learn from".into();
                return Err(Error::Series { place: format!("dimension {}", i + 1), problem });
            }
        }
        Ok(match kind {
            Increments::Gaussian => Law::Gaussian(Moves::new(columns, |column| (mean(column), 1.0))),
            Increments::Student => {
                let laws = columns.iter().map(|column| student(column)).collect();
                Law::Student(Moves::new(columns, |column| (mean(column), deviation(column))), laws)
            }
            Increments::Stable => Law::Stable(columns.iter().map(|column| stable(column)).collect::<Result<_>>()?),
            Increments::Bootstrap => Law::Bootstrap(Moves::new(columns, |_| (0.0, 1.0))),
        })
    }

    /// Draw one move of all dimensions.
    pub fn draw(&self, rng: &mut StreamRng) -> Vec<f64> {
        match self {
            Law::Gaussian(moves) => moves.combine(rng),
            Law::Student(moves, laws) => {
                let normal = moves.combine(rng);
                normal.into_iter().zip(laws).map(|(z, law)| law.stretch(z, rng)).collect()
            }
            Law::Stable(laws) => laws.iter().map(|law| law.sample(rng)).collect(),
            Law::Bootstrap(moves) => {
                let row = rng.random_range(0..moves.rows.len() / moves.dim);
                moves.rows[row * moves.dim..][..moves.dim].to_vec()
            }
        }
    }
}

impl Moves {
    /// Every column without a shift and over a unit.
    fn new(columns: &[Vec<f64>], standard: impl Fn(&[f64]) -> (f64, f64)) -> Self {
        let standards: Vec<(f64, f64)> = columns.iter().map(|column| standard(column)).collect();
        let row =
            |k: usize| columns.iter().zip(&standards).map(move |(column, (shift, unit))| (column[k] - shift) / unit);
        Self { rows: (0..columns[0].len()).flat_map(row).collect(), dim: columns.len() }
    }

    fn combine(&self, rng: &mut StreamRng) -> Vec<f64> {
        let mut sum = vec![0.0; self.dim];
        for row in self.rows.chunks_exact(self.dim) {
            let g: f64 = StandardNormal.sample(rng);
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += g * x);
        }
        let root = ((self.rows.len() / self.dim) as f64).sqrt();
        sum.into_iter().map(|sum| sum / root).collect()
    }
}

impl Student {
    /// A draw from the law, made of a standard normal number.
    fn stretch(&self, normal: f64, rng: &mut StreamRng) -> f64 {
        // Degrees of freedom are positive; NaN would be caught as a state that is not finite.
        let chi = ChiSquared::new(self.dof).map_or(f64::NAN, |chi| chi.sample(rng));
        self.scale * normal * (self.dof / chi).sqrt()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation over n.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// ln of the density of Student's t with unit scale.
pub(crate) fn student_log_pdf(x: f64, dof: f64) -> f64 {
    let constant = libm::lgamma(0.5 * (dof + 1.0)) - libm::lgamma(0.5 * dof) - 0.5 * (std::f64::consts::PI * dof).ln();
    constant - 0.5 * (dof + 1.0) * (x * x / dof).ln_1p()
}

/// Student's law around 0 by maximum likelihood, with between 1 and about 400 degrees of freedom.
fn student(values: &[f64]) -> Student {
    let unit = deviation(values);
    // Degrees of freedom between 1 and e^6 by a logistic map of x[0]: beyond, the law is Gaussian to the eye.
    let law = |x: &[f64]| Student { dof: (6.0 / (1.0 + (-x[0]).exp())).exp(), scale: unit * x[1].exp() };
    let cost = |x: &[f64]| {
        let Student { dof, scale } = law(x);
        values.iter().map(|v| scale.ln() - student_log_pdf(v / scale, dof)).sum()
    };
    law(&minimise(cost, &[-0.7, -0.3], 0.5, 1e-8).0)
}

/// Symmetric stable law around 0 by maximum likelihood, index between 1/2 and 2.
fn stable(values: &[f64]) -> Result<StableLaw> {
    let unit = deviation(values);
    let alpha = |x: f64| 0.5 + 1.5 / (1.0 + (-x).exp());
    let law = |x: &[f64]| StableLaw::new(alpha(x[0]), unit * x[1].exp());
    let cost = |x: &[f64]| law(x).map_or(f64::INFINITY, |law| -values.iter().map(|v| law.log_pdf(*v)).sum::<f64>());
    law(&minimise(cost, &[1.5, -0.9], 0.5, 1e-8).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use levytilt::stream;

    #[test]
    fn statistics_parameters_are_found() {
        // 4000 draws: standard errors are about 0.25 for 4 degrees of freedom, 0.03 for α = 1.6, 2% for scales.
        let mut rng = stream(1, 0);
        let truth = Student { dof: 4.0, scale: 0.5 };
        let draws: Vec<f64> = (0..4000).map(|_| truth.stretch(StandardNormal.sample(&mut rng), &mut rng)).collect();
        let found = student(&draws);
        assert!((found.dof - 4.0).abs() < 1.2 && (found.scale / 0.5 - 1.0).abs() < 0.1, "{found:?}");
        let law = StableLaw::new(1.6, 2.0).unwrap();
        let draws: Vec<f64> = (0..4000).map(|_| law.sample(&mut rng)).collect();
        let found = stable(&draws).unwrap();
        assert!((found.alpha() - 1.6).abs() < 0.15 && (found.scale() / 2.0 - 1.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn statistics_gaussian_moves_have_the_covariance_of_the_record() {
        let a: Vec<f64> = (0..50).map(|k| (1.3 * f64::from(k)).sin()).collect();
        let b: Vec<f64> = (0..50).map(|k| (1.3 * f64::from(k)).sin() + (0.4 * f64::from(k)).cos()).collect();
        let covariance = |a: &[f64], b: &[f64]| {
            let (ma, mb) = (mean(a), mean(b));
            a.iter().zip(b).map(|(x, y)| (x - ma) * (y - mb)).sum::<f64>() / a.len() as f64
        };
        let law = Law::learn(Increments::Gaussian, &[a.clone(), b.clone()]).unwrap();
        let mut rng = stream(2, 0);
        let draws: Vec<Vec<f64>> = (0..40_000).map(|_| law.draw(&mut rng)).collect();
        let column = |i: usize| draws.iter().map(|row| row[i]).collect::<Vec<f64>>();
        // Relative standard error of a variance √(2/40000) = 0.7%; five of them.
        for (found, want) in [
            (covariance(&column(0), &column(0)), covariance(&a, &a)),
            (covariance(&column(0), &column(1)), covariance(&a, &b)),
            (covariance(&column(1), &column(1)), covariance(&b, &b)),
        ] {
            assert!((found - want).abs() < 0.035 * covariance(&b, &b), "{found} {want}");
        }
    }

    #[test]
    fn golden_student_density() {
        // SciPy 1.17: t.logpdf(1.3, 4.5) and t.logpdf(-20, 1.5).
        assert!((student_log_pdf(1.3, 4.5) + 1.8509193365709309).abs() < 1e-13);
        assert!((student_log_pdf(-20.0, 1.5) + 8.063828316430206).abs() < 1e-13);
    }

    #[test]
    fn still_records_are_errors() {
        for kind in [Increments::Gaussian, Increments::Student, Increments::Stable, Increments::Bootstrap] {
            assert!(Law::learn(kind, &[vec![0.0; 9]]).is_err());
        }
    }
}
