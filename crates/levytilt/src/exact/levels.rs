//! Carry messages over a step whose noise has a size γ(x): interpolate between kernels of a ladder of sizes.
//!
//! The kernel of size γ is that of the noise with all increments multiplied by γ. It is computed at the sizes e^{lδ}, l a whole
//! number, and the transition from x is Σ_l c_l(ln γ(x)/δ) K_l with the weights c of 12-point interpolation, so every cell
//! takes part in 12 convolutions, each over the cells near its size. With δ = 0.05 a Gaussian is met to 1e-9 of itself at 3
//! standard deviations and to 5e-4 at 5; heavier tails are smoother. The derivative in γ is that of the interpolant.

use super::convolve::{Convolver, Rounding};
use super::lagrange::{LEFT, POINTS, slopes, weights};
use crate::Size;
use crate::noise::{NodeCache, Noise};
use crate::series::length_key;
use crate::{Result, StateSpace};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Distance of neighbouring sizes, as logarithms.
const APART: f64 = 0.05;

/// The size of a level.
pub(super) fn level_size(level: i64) -> f64 {
    (level as f64 * APART).exp()
}

/// Kernels by size.
pub(super) struct Levels<'a> {
    size: &'a Size,
    noise: &'a dyn Noise,
    spacing: f64,
    rounding: Rounding,
    nodes: NodeCache<'a>,
    by_level: BTreeMap<i64, Convolver<'a>>,
}

/// Where a size lies on the ladder: the first level with a weight, and the place between two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rung {
    first: i64,
    fraction: f64,
    weights: [f64; POINTS],
}

impl Rung {
    /// Where a size lies.
    pub fn new(size: f64) -> Self {
        let place = size.ln() / APART;
        let fraction = place - place.floor();
        Self { first: place.floor() as i64 - LEFT, fraction, weights: weights(fraction) }
    }

    /// The weight of a level.
    pub fn weight(&self, level: i64) -> f64 {
        self.weights[(level - self.first) as usize]
    }

    /// ∂/∂ ln γ of the weights of all levels from the first on.
    pub fn slopes(&self) -> [f64; POINTS] {
        slopes(self.fraction).map(|slope| slope / APART)
    }

    /// Levels with a weight.
    pub fn levels(&self) -> Range<i64> {
        self.first..self.first + POINTS as i64
    }
}

impl<'a> Levels<'a> {
    /// The levels of a model, if its noise has a size.
    pub fn of(model: &'a StateSpace, spacing: f64, rounding: Rounding) -> Option<Self> {
        let dimension = &model.dimensions[0];
        let (size, noise) = (dimension.size.as_ref()?, dimension.noise.as_ref());
        Some(Self { size, noise, spacing, rounding, nodes: NodeCache::new(noise), by_level: BTreeMap::new() })
    }

    /// Where the sizes at time `t` and these states lie.
    pub fn rungs(&self, t: f64, states: &[f64]) -> Result<Vec<Rung>> {
        Ok(self.size.at(t, states)?.into_iter().map(Rung::new).collect())
    }

    /// The same, and per state the derivatives of ln γ in the parameters.
    pub fn log_slopes(&self, t: f64, states: &[f64]) -> Result<Vec<Vec<f64>>> {
        let width = 1 + self.size.parameters().len();
        let rows = self.size.rows(t, states)?;
        Ok(rows.chunks_exact(width).map(|row| row[1..].iter().map(|by| by / row[0]).collect()).collect())
    }

    /// Convolution with the noise of a level over a step of length `dt`.
    pub fn convolver(&mut self, level: i64, dt: f64) -> Result<&mut Convolver<'a>> {
        let (noise, spacing, rounding) = (self.noise, self.spacing, self.rounding);
        let convolver = self.by_level.entry(level).or_insert_with(|| Convolver::new(noise, spacing, rounding));
        let nodes = &mut self.nodes;
        convolver.provide(length_key(dt), || Ok(Arc::new(nodes.nodes(dt)?.scaled(level_size(level)))))?;
        Ok(convolver)
    }

    /// [`Convolver::contract`] over all levels.
    pub fn contract(&mut self) -> Vec<(u64, Vec<f64>)> {
        self.by_level.values_mut().flat_map(Convolver::contract).collect()
    }
}

/// Stretches of states that take part in each level; with `all`, also where the weight is 0.
pub(super) fn stretches(rungs: &[Rung], all: bool) -> Vec<(i64, Range<usize>)> {
    let ends = rungs.iter().map(|rung| (rung.first, rung.levels().end));
    let (low, high) = ends.fold((i64::MAX, i64::MIN), |(low, high), (a, b)| (low.min(a), high.max(b)));
    let mut found = Vec::new();
    for level in low..high {
        let takes = |rung: &Rung| rung.levels().contains(&level) && (all || rung.weight(level) != 0.0);
        let mut from = 0;
        while let Some(start) = rungs[from..].iter().position(takes).map(|k| from + k) {
            let end = rungs[start..].iter().position(|rung| !takes(rung)).map_or(rungs.len(), |k| start + k);
            found.push((level, start..end));
            from = end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_weights_are_those_of_a_smooth_function_of_the_size() {
        for size in [0.3, 1.0, 1.02, 7.7] {
            let rung = Rung::new(size);
            let f = |level: i64| (0.7 * (level as f64 * APART)).sin();
            let value: f64 = rung.levels().map(|level| rung.weight(level) * f(level)).sum();
            assert!((value - (0.7 * size.ln()).sin()).abs() < 1e-12, "{size} {value}");
            let slope: f64 = rung.levels().zip(rung.slopes()).map(|(level, weight)| weight * f(level)).sum();
            assert!((slope - 0.7 * (0.7 * size.ln()).cos()).abs() < 1e-9, "{size} {slope}");
        }
    }

    #[test]
    fn identity_stretches_cover_every_weight_once() {
        let rungs: Vec<Rung> = (-40..40).map(|i| Rung::new(1.0 + 0.05 * f64::from(i).abs())).collect();
        let mut seen = vec![0; rungs.len()];
        for (level, range) in stretches(&rungs, true) {
            for i in range {
                assert!(rungs[i].levels().contains(&level));
                seen[i] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count == POINTS), "{seen:?}");
        // A size of 1 is a level by itself.
        assert_eq!(stretches(&[Rung::new(1.0); 3], false), [(0, 0..3)]);
    }
}
