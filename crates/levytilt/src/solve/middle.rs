//! Estimate the posterior mean of the drift parameters, which differs from the mode where the posterior is skewed.
//!
//! A log likelihood is nearly quadratic in a rate, so the posterior of its logarithm is skewed towards small values,
//! the more so the shorter the record. In coordinates z in which the posterior of the drift parameters is standard
//! normal to leading order, with the noise parameters held at their estimates, ln p = −|z|²/2 + T[z, z, z]/6 + …, and
//! to that order the mean is ½ Σ_k T[e_k, e_k, ·]: half the sum of second derivatives of the gradient. The corners of a
//! simplex around the mode give it: the linear terms of the gradients cancel, and the mean of the rest is s²/2 times
//! that sum if the corners have variance s² in every direction.
//!
//! Noise parameters and observation noise are not shifted: for them the next order is as large as this one, and a shift
//! found in this way made them worse.

use super::carry::{carry, observation_stds};
use super::expect::{Expected, expect, follow};
use super::fisher::gradient_of;
use super::learned::{LearnOptions, Learned};
use super::method::{Choice, Method};
use super::newton::System;
use super::parameter_law::ParameterLaw;
use super::parameters::{Parameter, rebuild};
use super::sweep::SweepOptions;
use crate::posterior::{Potentials, normalise};
use crate::series::TimeGrid;
use crate::{Chain, Error, Result};
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

/// Paths at every corner: with common random numbers a few are enough. More where they are weighted.
const PATHS: usize = 192;
const SUM_PATHS: usize = 256;
/// Largest distance of a corner from the mode, in standard deviations: the approximation is poor further away.
const FURTHEST: f64 = 2.0;
/// Standard deviation of the corners in every direction: larger values include more of the higher-order terms, smaller
/// ones more noise.
const SIDE: f64 = 1.0;
/// Latent times beyond which the skewness is negligible, and parameters beyond which there are too many corners.
const LONG: usize = 20_000;
const MOST_FREE: usize = 16;
/// Largest shift, in standard deviations, for which the first term of the expansion is meaningful.
const LARGEST: f64 = 2.0;

/// Compute [`Optimum::shift`](super::Optimum::shift), if it is worthwhile and reliable.
pub(super) fn find_middle(learned: &mut Learned, data: (&TimeGrid, &[&[f64]]), options: &LearnOptions) {
    let free: Vec<usize> =
        (0..learned.optimum.parameters.len()).filter(|&k| !learned.optimum.parameters[k].fixed).collect();
    let drift = learned.optimum.model.drift.parameter_count();
    let moved = free.iter().filter(|&&k| k < drift).count();
    if learned.stopped || !(1..=MOST_FREE).contains(&moved) || data.0.len() > LONG {
        return;
    }
    let Some(covariance) = conditional(&learned.optimum.covariance, free.len(), moved) else { return };
    match shift(learned, (&free[..moved], &covariance), data, options) {
        Ok(mut shift) => {
            shift.resize(free.len(), 0.0);
            learned.optimum.shift = shift;
        }
        Err(error) => {
            learned.optimum.warnings.push(format!("the intervals of the drift parameters are approximate: {error}"))
        }
    }
}

/// Covariance of the first `moved` of `free` parameters, the others known.
fn conditional(covariance: &[f64], free: usize, moved: usize) -> Option<Vec<f64>> {
    if covariance.len() != free * free {
        return None;
    }
    let information = DMatrix::from_row_slice(free, free, covariance).try_inverse()?;
    let known = information.view((0, 0), (moved, moved)).into_owned().try_inverse()?;
    // Symmetric, so that the order of the columns is that of the rows.
    Some(known.iter().copied().collect())
}

/// The shift of the parameters at the places `free`, on their free scales, from their `covariance` there.
fn shift(
    learned: &Learned,
    (free, covariance): (&[usize], &[f64]),
    data: (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
) -> Result<Vec<f64>> {
    let failed = |why: &str| Error::Numerical { what: "posterior mean of the drift parameters", why: why.into() };
    let law = ParameterLaw::new(&learned.optimum.model, free, covariance, &[]);
    let law = law.ok_or_else(|| failed("their covariance is not positive definite"))?;
    let slopes = Slopes::new(learned, (free, &law), data, options);
    let side = (FURTHEST / (free.len() as f64).sqrt()).min(SIDE);
    let mut points: Vec<DVector<f64>> = simplex(free.len()).into_iter().map(|corner| side * corner).collect();
    points.push(DVector::zeros(free.len()));
    let found = slopes.at(&points)?;
    let (centre, corners) = found.split_last().ok_or_else(|| failed("there are no points around the mode"))?;
    let mean = corners.iter().sum::<DVector<f64>>() / corners.len() as f64;
    let shift = (mean - centre) / (side * side);
    match shift.norm() {
        size if size <= LARGEST => Ok((law.root() * shift).iter().copied().collect()),
        _ => Err(failed("it is too far from the mode to be estimated reliably; use a longer record")),
    }
}

/// Gradients of the log posterior in standardised coordinates.
struct Slopes<'a> {
    learned: &'a Learned,
    law: &'a ParameterLaw<'a>,
    /// All but those that are moved are fixed.
    parameters: Vec<Parameter>,
    observation_stds: Vec<f64>,
    grid: &'a TimeGrid,
    columns: &'a [&'a [f64]],
    sweep: SweepOptions,
}

impl<'a> Slopes<'a> {
    fn new(
        learned: &'a Learned,
        (free, law): (&[usize], &'a ParameterLaw<'a>),
        (grid, columns): (&'a TimeGrid, &'a [&'a [f64]]),
        options: &LearnOptions,
    ) -> Self {
        let mut parameters = learned.optimum.parameters.clone();
        parameters.iter_mut().enumerate().for_each(|(k, p)| p.fixed = !free.contains(&k));
        let sweep = SweepOptions { paths: options.sweep.paths.min(PATHS), ..options.sweep };
        let observation_stds = observation_stds(&learned.optimum.model);
        Self { learned, law, parameters, observation_stds, grid, columns, sweep }
    }

    fn at(&self, points: &[DVector<f64>]) -> Result<Vec<DVector<f64>>> {
        // A grid fills the memory and keeps all threads busy by itself.
        match self.learned.choice.method {
            Method::Grid => points.iter().map(|z| self.slope(z)).collect(),
            _ => points.par_iter().map(|z| self.slope(z)).collect(),
        }
    }

    /// At `z`: rootᵀ times the slope on the free scales.
    fn slope(&self, z: &DVector<f64>) -> Result<DVector<f64>> {
        let Self { learned, law, .. } = *self;
        let values = law.moved(&(law.root() * z));
        let model = rebuild(&learned.optimum.model, &values)?;
        let chain = Chain::new(&model, self.grid, self.columns)?;
        let before = carry(&learned.potentials, &self.observation_stds, &chain)?;
        let expected = nearby(&chain, before, &learned.choice, &self.sweep)?;
        let gradient = gradient_of(&chain, &self.parameters, &expected)?;
        Ok(law.root().transpose() * System::new(&gradient, &self.parameters, &values).slope())
    }
}

/// Posterior paths of `chain` from potentials at nearby parameters. A new Gaussian sum would cost more than all the
/// rest; the old one is so close to the posterior that weights correct for the difference.
fn nearby(chain: &Chain, before: Potentials, choice: &Choice, options: &SweepOptions) -> Result<Expected> {
    if choice.method != Method::GaussianSum {
        return expect(chain, Some(before), choice.method, options);
    }
    let expected = follow(chain, before, &SweepOptions { paths: SUM_PATHS, ..*options }, choice.clone());
    let (_, weights) = normalise(&expected.paths.log_weights());
    Ok(Expected { weights, ..expected })
}

/// Corners of a regular simplex around 0 with unit variance in every direction (rows of Helmert's matrix).
fn simplex(dim: usize) -> Vec<DVector<f64>> {
    let corner = |i: usize| {
        DVector::from_fn(dim, |k, _| {
            let before = (k + 1) as f64;
            let side = (((dim + 1) as f64) / (before * (before + 1.0))).sqrt();
            match i {
                _ if i <= k => side,
                _ if i == k + 1 => -before * side,
                _ => 0.0,
            }
        })
    };
    (0..=dim).map(corner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_corners_of_a_simplex_have_mean_zero_and_unit_variance() {
        for dim in 1..6 {
            let corners = simplex(dim);
            let mean = corners.iter().sum::<DVector<f64>>() / corners.len() as f64;
            let square = corners.iter().map(|c| c * c.transpose()).sum::<DMatrix<f64>>() / corners.len() as f64;
            assert!(mean.norm() < 1e-12 && (square - DMatrix::identity(dim, dim)).norm() < 1e-12, "{dim}");
        }
    }
}
