//! Where the mean of the law of learned parameters lies: beside its maximum, where the law leans.
//!
//! In coordinates z in which the law is round, ln p = −|z|²/2 + T[z, z, z]/6 + …, and to that order the mean is
//! ½ Σ_k T[e_k, e_k, ·]: half the sum of second derivatives of the slope. The corners of a simplex around the maximum give it:
//! slopes that grow with the distance cancel, and the mean of the others is s²/2 times that sum if the corners have
//! variance s² in every direction.

use super::carry::{carry, observation_stds};
use super::expect::{Expected, expect, follow};
use super::learn::{LearnOptions, Learned};
use super::method::{Choice, Method};
use super::newton::System;
use super::parameters::rebuild;
use super::score::score_of;
use super::sweep::SweepOptions;
use crate::posterior::{Potentials, normalise};
use crate::series::TimeGrid;
use crate::{Chain, Error, Result};
use nalgebra::DVector;
use rayon::prelude::*;

/// Paths at every corner: they share their random numbers, so that few will do. More where they have weights.
const PATHS: usize = 192;
const SUM_PATHS: usize = 256;
/// Largest distance of a corner from the maximum, in standard deviations: a law is hardly known further away.
const FURTHEST: f64 = 2.0;
/// Standard deviation of the corners in every direction: larger ones see more of the next terms, smaller ones more noise.
const SIDE: f64 = 1.0;
/// Latent times beyond which a law does not lean by anything that could be seen, and free parameters beyond which there are
/// too many corners.
const LONG: usize = 20_000;
const MOST_FREE: usize = 16;
/// Shifts, in standard deviations, that a reader should know of, and beyond which the first term of an expansion says nothing.
const LARGE: f64 = 1.0;
const LARGEST: f64 = 2.0;

/// Find [`Learned::shift`], or say why there is none.
pub(super) fn find_middle(learned: &mut Learned, data: (&TimeGrid, &[&[f64]]), options: &LearnOptions) {
    let free = learned.parameters.iter().filter(|p| !p.fixed).count();
    let worth_it = (1..=MOST_FREE).contains(&free) && data.0.len() <= LONG && !learned.covariance.is_empty();
    if learned.stopped || !worth_it {
        return;
    }
    match shift(learned, data, options) {
        Ok((shift, size)) => {
            learned.shift = shift;
            if size > LARGE {
                learned.warnings.push(format!(
                    "the posterior of the parameters leans: its mean lies {size:.1} standard errors from the estimates, where \
                     it is highest; intervals and forecasts go by the mean, a longer record or a prior makes it even"
                ));
            }
        }
        Err(error) => {
            let note = format!("the law of the parameters is taken as even around the estimates: {error}");
            learned.warnings.push(note);
        }
    }
}

/// The shift on the free scales, and its length in standard deviations.
fn shift(
    learned: &Learned,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
) -> Result<(Vec<f64>, f64)> {
    let stds = observation_stds(&learned.model);
    let failed = |why: String| Error::Numerical { what: "their mean", why };
    let law = learned.parameter_law().ok_or_else(|| failed("their covariance is not one".into()))?;
    let sweep = SweepOptions { paths: options.sweep.paths.min(PATHS), ..options.sweep };
    // Round coordinates: the slope there is rootᵀ times that on the free scales.
    let slope = |z: &DVector<f64>| -> Result<DVector<f64>> {
        let values = law.moved(&(law.root() * z));
        let model = rebuild(&learned.model, &values)?;
        let chain = Chain::new(&model, grid, columns)?;
        let before = carry(&learned.potentials, &stds, &chain)?;
        let expected = nearby(&chain, before, &learned.choice, &sweep)?;
        let score = score_of(&chain, &learned.parameters, &expected)?;
        Ok(law.root().transpose() * System::new(&score, &learned.parameters, &values).slope())
    };
    let free = law.root().nrows();
    let side = (FURTHEST / (free as f64).sqrt()).min(SIDE);
    let mut points: Vec<DVector<f64>> = simplex(free).into_iter().map(|corner| side * corner).collect();
    points.push(DVector::zeros(free));
    // A grid fills the memory and keeps all threads busy by itself.
    let slopes: Result<Vec<DVector<f64>>> = match learned.choice.method {
        Method::Grid => points.iter().map(slope).collect(),
        _ => points.par_iter().map(slope).collect(),
    };
    let slopes = slopes?;
    let (centre, corners) = slopes.split_last().ok_or_else(|| failed("there are no corners".into()))?;
    let mean = corners.iter().sum::<DVector<f64>>() / corners.len() as f64;
    let shift = (mean - centre) / (side * side);
    match shift.norm() {
        size if size <= LARGEST => Ok(((law.root() * shift).iter().copied().collect(), size)),
        size => Err(failed(format!("it seems to lie {size:.1} standard errors away, so read errors with care"))),
    }
}

/// Posterior paths of `chain` from potentials at parameters nearby. A new Gaussian sum would cost more than all the rest:
/// the old one is so close to the posterior that weights make up for the difference.
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
    use nalgebra::DMatrix;

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
