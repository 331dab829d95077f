//! The bound once more, with the divergence of every step in closed form (Rao–Blackwell): a check of the path weights.

use super::walk::{Paths, Potentials};
use crate::Chain;
use crate::potential::Potential;
use crate::tilt::{SumStep, TiltedStep};

/// Σ_j E[ℓ_j(x_j) | x_{j−1}] − KL_j(x_{j−1}), averaged over `paths`, with its standard error.
///
/// Its mean is that of the log-weights, because both are E[ln p(x, y) − ln q(x)]; only what is drawn and what is summed
/// differ. Near the optimum the log-weights have less noise (at the optimum none), so they are what is reported; this is
/// the plain, slower check, some microseconds per path and step.
pub fn bound_by_divergence(chain: &Chain, potentials: &Potentials, paths: &Paths) -> (f64, f64) {
    let (dim, count) = (chain.dim(), paths.len());
    let mut sums = vec![0.0; count];
    let mut states = vec![0.0; count * dim];
    let mut ahead = vec![0.0; count * dim];
    for j in 0..chain.len() {
        chain.flow_many(j, &states, &mut ahead);
        for (i, column) in potentials.iter().enumerate() {
            let step = Step::new(chain, &column[j], i, j);
            for (sum, x) in sums.iter_mut().zip(ahead.iter().skip(i).step_by(dim)) {
                *sum += chain.mean_log_likelihood(i, j, step.mean_square(*x, chain.value(i, j))) - step.kl(*x);
            }
        }
        states = paths.states(j).flatten().copied().collect();
    }
    let n = count as f64;
    let mean = sums.iter().sum::<f64>() / n;
    let variance = sums.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// The plain step of either kind of potential.
enum Step {
    Quadratic(TiltedStep),
    Sum(SumStep),
}

impl Step {
    fn new(chain: &Chain, potential: &Potential, i: usize, j: usize) -> Self {
        match potential {
            Potential::Quadratic(quadratic) => Self::Quadratic(TiltedStep::new(chain.nodes(i, j), *quadratic)),
            Potential::Sum(sum) => Self::Sum(SumStep::new(chain.nodes(i, j), sum.clone())),
        }
    }

    fn mean_square(&self, x: f64, target: f64) -> f64 {
        match self {
            Self::Quadratic(step) => step.mean_square(x, target),
            Self::Sum(step) => step.mean_square(x, target),
        }
    }

    fn kl(&self, x: f64) -> f64 {
        match self {
            Self::Quadratic(step) => step.evaluate(x).kl,
            Self::Sum(step) => step.kl(x),
        }
    }
}
