//! Compute the energy score of a multivariate forecast.

use super::{Estimator, all_finite, finite_score};
use crate::{Error, Result};
use rayon::prelude::*;

/// Draws in one block: two blocks of a dozen dimensions fit into the L1 cache.
const BLOCK: usize = 64;

/// Draws of a multivariate forecast: M points of `dim` coordinates each.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloud {
    points: Vec<f64>,
    dim: usize,
}

impl Cloud {
    /// Points one after the other, `dim` ≥ 1 coordinates each; a coordinate that is not finite is an error.
    pub fn new(points: Vec<f64>, dim: usize) -> Result<Self> {
        if dim == 0 || points.is_empty() || !points.len().is_multiple_of(dim) {
            return Err(Error::Shape {
                what: "forecast cloud",
                got: format!("{} numbers for {dim} dimensions", points.len()),
                expected: "a positive multiple of the dimension".into(),
            });
        }
        all_finite("coordinate", &points)?;
        Ok(Self { points, dim })
    }

    /// Number M of points, at least 1.
    pub fn len(&self) -> usize {
        self.points.len() / self.dim
    }

    /// Number of coordinates, at least 1.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The points, one after the other.
    pub(super) fn points(&self) -> impl Iterator<Item = &[f64]> {
        self.points.chunks_exact(self.dim)
    }

    /// Never true: there is at least one point.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Energy score E‖X − y‖ − ½ E‖X − X'‖ with Euclidean distances; the CRPS in one dimension. O(M²·dim), on all cores,
    /// with the same bits for any number of them.
    ///
    /// # Errors
    /// A truth of another dimension or not finite; [`Estimator::Fair`] with a single point; sums that overflow.
    pub fn energy_score(&self, truth: &[f64], estimator: Estimator) -> Result<f64> {
        if truth.len() != self.dim {
            let (got, expected) = (truth.len().to_string(), self.dim.to_string());
            return Err(Error::Shape { what: "truth of the energy score", got, expected });
        }
        all_finite("truth", truth)?;
        let count = self.len() as f64;
        let pairs = match estimator {
            Estimator::VStatistic => count * count,
            Estimator::Fair if self.len() < 2 => {
                let (got, expected) = ("1 point".to_string(), "at least 2 for the fair energy score".to_string());
                return Err(Error::Shape { what: "forecast cloud", got, expected });
            }
            Estimator::Fair => count * (count - 1.0),
        };
        let to_truth: f64 = self.points.chunks_exact(self.dim).map(|x| distance(x, truth)).sum();
        finite_score("energy score", to_truth / count - self.sum_over_pairs() / pairs)
    }

    /// Σ_{i<j} ‖x_i − x_j‖, block by block. Blocks are summed in order, so threads do not matter.
    fn sum_over_pairs(&self) -> f64 {
        let blocks: Vec<&[f64]> = self.points.chunks(BLOCK * self.dim).collect();
        let row = |i: usize| {
            let inside: f64 = (0..blocks[i].len() / self.dim)
                .map(|k| self.sum_from(&blocks[i][k * self.dim..][..self.dim], &blocks[i][(k + 1) * self.dim..]))
                .sum();
            let across =
                |other: &&[f64]| -> f64 { blocks[i].chunks_exact(self.dim).map(|x| self.sum_from(x, other)).sum() };
            inside + blocks[i + 1..].iter().map(across).sum::<f64>()
        };
        let rows: Vec<f64> = (0..blocks.len()).into_par_iter().map(row).collect();
        rows.iter().sum()
    }

    fn sum_from(&self, x: &[f64], points: &[f64]) -> f64 {
        points.chunks_exact(self.dim).map(|other| distance(x, other)).sum()
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    square.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Sample;
    use crate::stream;
    use rand::RngExt;

    fn draws(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, 0);
        (0..count).map(|_| rng.random::<f64>() * 4.0 - 2.0).collect()
    }

    #[test]
    fn identity_one_dimension_is_crps() {
        for count in [2, 63, 64, 65, 300] {
            let points = draws(count, 1);
            for estimator in [Estimator::Fair, Estimator::VStatistic] {
                let energy = Cloud::new(points.clone(), 1).unwrap().energy_score(&[0.7], estimator).unwrap();
                let crps = Sample::new(&points).unwrap().crps(0.7, estimator).unwrap();
                assert!((energy - crps).abs() < 1e-13, "{count}: {energy} {crps}");
            }
        }
    }

    #[test]
    fn identity_turned_space_gives_the_same_score() {
        let points = draws(400, 2);
        let (sine, cosine) = 0.8f64.sin_cos();
        let turn = |x: &[f64]| [cosine * x[0] - sine * x[1], sine * x[0] + cosine * x[1]];
        let turned: Vec<f64> = points.chunks(2).flat_map(turn).collect();
        let truth = [0.3, -1.0];
        let plain = Cloud::new(points, 2).unwrap().energy_score(&truth, Estimator::Fair).unwrap();
        let other = Cloud::new(turned, 2).unwrap().energy_score(&turn(&truth), Estimator::Fair).unwrap();
        assert!((plain - other).abs() < 1e-13);
    }

    #[test]
    fn golden_agreement_with_scoringrules() {
        // scoringrules 0.10.0, es_ensemble(obs, fct, estimator = "nrg" and "fair"), fct[i][k] = sin(1 + 2i + 3k + ik),
        // i < 5, k < 3, obs = (0.5, -0.25, 1).
        let points = (0..5).flat_map(|i| (0..3).map(move |k| f64::from(1 + 2 * i + 3 * k + i * k).sin())).collect();
        let cloud = Cloud::new(points, 3).unwrap();
        let truth = [0.5, -0.25, 1.0];
        let nrg = cloud.energy_score(&truth, Estimator::VStatistic).unwrap();
        let fair = cloud.energy_score(&truth, Estimator::Fair).unwrap();
        assert!((nrg - 0.8049407428593489).abs() < 1e-12 && (fair - 0.6363114322873343).abs() < 1e-12, "{nrg} {fair}");
    }

    #[test]
    fn bad_clouds_are_errors() {
        assert!(Cloud::new(vec![], 1).is_err() && Cloud::new(vec![0.0; 3], 2).is_err());
        assert!(Cloud::new(vec![0.0; 3], 0).is_err());
        assert!(Cloud::new(vec![0.0, f64::NAN], 2).unwrap_err().to_string().contains("coordinate 2"));
        let one = Cloud::new(vec![0.0, 0.0], 2).unwrap();
        assert!(one.energy_score(&[0.0, 0.0], Estimator::Fair).unwrap_err().to_string().contains("at least 2"));
        assert_eq!(one.energy_score(&[3.0, 4.0], Estimator::VStatistic).unwrap(), 5.0);
        assert!(one.energy_score(&[0.0], Estimator::VStatistic).is_err());
        assert!(one.energy_score(&[0.0, f64::INFINITY], Estimator::VStatistic).is_err());
    }
}
