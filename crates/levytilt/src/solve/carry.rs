//! Carry potentials over to nearby parameters: the observation term is updated exactly, so only the message from the
//! future is out of date.

use super::robust::from_natural;
use crate::posterior::Potentials;
use crate::potential::Potential;
use crate::{Chain, Result, StateSpace};

/// Standard deviation of the observation noise per dimension.
pub(super) fn observation_stds(model: &StateSpace) -> Vec<f64> {
    model.dimensions.iter().map(|dimension| dimension.observation_std).collect()
}

/// Potentials found with observation noise `stds`, for the observation noise of `chain`.
///
/// Gaussian sums are returned unchanged: nothing is built on them.
pub(super) fn carry(potentials: &Potentials, stds: &[f64], chain: &Chain) -> Result<Potentials> {
    let mut carried = potentials.clone();
    for (i, potentials) in carried.iter_mut().enumerate() {
        for (j, potential) in potentials.iter_mut().enumerate() {
            if let (Some((firmness, y)), Potential::Quadratic(old)) = (chain.observation(i, j), &*potential) {
                let before = 0.5 / (stds[i] * stds[i]);
                let a = old.a() + (firmness - before);
                // A message of negative precision may cancel a weaker observation; then shrink the whole potential.
                let new = match a > 0.0 {
                    true => from_natural(a, old.a() * old.c() + (firmness - before) * y)?,
                    false => from_natural(old.a() * firmness / before, old.a() * old.c() * firmness / before)?,
                };
                *potential = new.into();
            }
        }
    }
    Ok(carried)
}
