//! Compute the nodes of a step length once, however many steps share it, and those of many lengths from a few.

use super::{Nodes, Noise};
use crate::Result;
use crate::error::positive;
use crate::series::length_key;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Nodes of a noise by step length.
///
/// Lengths that differ by less than about 1e-12 of themselves share their nodes: the rounding of times such as
/// 0.1 + 0.2 must not cost a new computation per step.
#[derive(Debug)]
pub struct NodeCache<'a> {
    noise: &'a dyn Noise,
    by_length: HashMap<u64, Arc<Nodes>>,
    lattice: Option<Lattice>,
}

/// Nodes at even places of ln Δ.
#[derive(Debug)]
struct Lattice {
    /// The change of the parameters that acts like a longer step.
    lengthening: Vec<f64>,
    nodes: HashMap<i64, Nodes>,
}

/// Lengths beyond which a lattice serves them, and its places per unit of ln Δ.
const MANY: usize = 64;
const PLACES: f64 = 64.0;

impl<'a> NodeCache<'a> {
    /// An empty cache for `noise`.
    pub fn new(noise: &'a dyn Noise) -> Self {
        Self { noise, by_length: HashMap::new(), lattice: None }
    }

    /// An empty cache for steps of these lengths.
    ///
    /// If they are more than 64 different ones, and the noise knows [`Noise::lengthening`], nodes are computed at every
    /// 1/64 of ln Δ and moved from there to first order: a relative error of the density of h²/2 ≤ 3e-5 of its second
    /// derivative in ln Δ, |h| ≤ 1/128. Far out in the tails the nodes of one length and the next differ by more, up to the
    /// 2e-3 that nodes promise there.
    pub fn of_lengths(noise: &'a dyn Noise, lengths: &[f64]) -> Self {
        let different: HashSet<u64> = lengths.iter().map(|&dt| length_key(dt)).collect();
        let lengthening = noise.lengthening().filter(|_| different.len() > MANY);
        let lattice = lengthening.map(|lengthening| Lattice { lengthening, nodes: HashMap::new() });
        Self { lattice, ..Self::new(noise) }
    }

    /// Nodes for a step of length `dt`.
    pub fn nodes(&mut self, dt: f64) -> Result<Arc<Nodes>> {
        positive("step length", dt)?;
        let key = length_key(dt);
        if let Some(nodes) = self.by_length.get(&key) {
            return Ok(nodes.clone());
        }
        let nodes = Arc::new(match &mut self.lattice {
            Some(lattice) => lattice.nodes(self.noise, dt)?,
            None => self.noise.nodes(dt)?,
        });
        self.by_length.insert(key, nodes.clone());
        Ok(nodes)
    }

    /// Number of different step lengths seen so far.
    pub fn lengths(&self) -> usize {
        self.by_length.len()
    }
}

impl Lattice {
    /// Nodes for a step of length `dt`, from the nearest place.
    fn nodes(&mut self, noise: &dyn Noise, dt: f64) -> Result<Nodes> {
        let place = (dt.ln() * PLACES).round();
        let nearest = match self.nodes.entry(place as i64) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(noise.nodes((place / PLACES).exp())?),
        };
        nearest.moved(&self.lengthening, dt.ln() - place / PLACES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Nig, PlusBrownian, TemperedStable, VarianceGamma};

    #[test]
    fn identity_nodes_of_many_lengths_have_the_density_of_each() {
        let nig = || Box::new(Nig::new(1.0, 3.0).unwrap());
        let noises: [Box<dyn Noise>; 4] = [
            nig(),
            Box::new(VarianceGamma::new(1.0, 0.5).unwrap()),
            Box::new(TemperedStable::new(1.5, 1.0, 0.5).unwrap()),
            Box::new(PlusBrownian::new(nig(), 0.2).unwrap()),
        ];
        let lengths: Vec<f64> = (0..100).map(|j| 0.02 * 1.013f64.powi(j)).collect();
        for noise in noises {
            let mut cache = NodeCache::of_lengths(noise.as_ref(), &lengths);
            for &dt in lengths.iter().step_by(9) {
                let (near, own) = (cache.nodes(dt).unwrap(), noise.nodes(dt).unwrap());
                let unit = own.variances()[own.len() / 2].sqrt();
                for i in 1..30 {
                    let r = 0.2 * unit * f64::from(i);
                    let (got, want) = (near.log_density_value(r), own.log_density_value(r));
                    let allowed = if want > own.log_density_value(0.0) - 8.0 { 3e-4 } else { 2e-3 };
                    assert!((got - want).abs() < allowed, "{} {dt} {r}: {got} {want}", noise.family());
                }
            }
        }
    }
}
