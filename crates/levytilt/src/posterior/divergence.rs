//! Compute the ELBO with the KL divergence of every step in closed form (Rao–Blackwell), as a check of the path
//! weights.

use super::walk::{Paths, Potentials};
use crate::tilt::TiltedStep;
use crate::{Chain, Error, Result};

/// Σ_j E[ℓ_j(x_j) | x_{j−1}] − KL_j(x_{j−1}), averaged over `paths`, with its standard error.
///
/// Its mean is that of the log-weights, because both are E[ln p(x, y) − ln q(x)]; only what is drawn and what is summed
/// differ. Near the optimum the log-weights have less noise (at the optimum none), so they are what is reported; this is
/// the plain, slower check, some microseconds per path and step.
///
/// # Errors
/// A Gaussian-sum potential: the mean of its logarithm has no closed form.
pub fn bound_by_divergence(chain: &Chain, potentials: &Potentials, paths: &Paths) -> Result<(f64, f64)> {
    let (dim, count) = (chain.dim(), paths.len());
    let mut sums = vec![0.0; count];
    let mut states = vec![0.0; count * dim];
    let mut ahead = vec![0.0; count * dim];
    for j in 0..chain.len() {
        chain.flow_many(j, &states, &mut ahead);
        for (i, column) in potentials.iter().enumerate() {
            let quadratic = column[j].quadratic().ok_or_else(|| Error::Shape {
                what: "potential",
                got: "a Gaussian sum".into(),
                expected: "one quadratic per time, as sweeps give".into(),
            })?;
            let step = TiltedStep::new(chain.nodes(i, j), quadratic);
            for (sum, x) in sums.iter_mut().zip(ahead.iter().skip(i).step_by(dim)) {
                let likelihood = chain.mean_log_likelihood(i, j, step.mean_square(*x, chain.value(i, j)));
                *sum += likelihood - step.evaluate(*x).kl;
            }
        }
        states = paths.states(j).flatten().copied().collect();
    }
    let n = count as f64;
    let mean = sums.iter().sum::<f64>() / n;
    let variance = sums.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Ok((mean, (variance / n).sqrt()))
}
