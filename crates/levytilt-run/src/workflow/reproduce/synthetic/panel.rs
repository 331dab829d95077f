//! Posterior paths of a few data sets, with Gaussian and with stable noise, for the figures of the paper.

use levytilt::Result;
use levytilt::internals::posterior::{Paths, marginals};

use crate::workflow::reproduce::synthetic::set::DataSet;
use crate::workflow::reproduce::synthetic::task::Line;

/// Quantiles that are drawn.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// The index of the data sets that are drawn, if it is among those of the study.
const INDEX: f64 = 1.5;
/// Data sets drawn of each system, as in the paper.
const REALISATIONS: usize = 2;

/// A data set with two posteriors.
#[derive(Debug)]
pub struct Panel {
    /// The data set.
    pub set: DataSet,
    /// Times and values seen.
    pub times: Vec<f64>,
    /// The values.
    pub values: Vec<f64>,
    /// Gaussian and tilted.
    pub posteriors: [Posterior; 2],
}

/// What is drawn of a posterior.
#[derive(Debug)]
pub struct Posterior {
    /// Its name.
    pub name: &'static str,
    /// Quantiles 5, 25, 50, 75 and 95% at all times.
    pub quantiles: Vec<Vec<f64>>,
    /// One path.
    pub path: Vec<f64>,
}

impl Posterior {
    fn new(name: &'static str, paths: &Paths) -> Self {
        let weights = vec![1.0 / paths.len() as f64; paths.len()];
        let known = marginals(paths, 0, &weights, &QUANTILES);
        let quantile = |k: usize| known.iter().map(|marginal| marginal.quantiles[k]).collect();
        Self {
            name,
            quantiles: (0..QUANTILES.len()).map(quantile).collect(),
            path: (0..known.len()).filter_map(|j| paths.column(0, j).next()).collect(),
        }
    }
}

impl DataSet {
    /// Both posteriors.
    pub fn panel(&self, seed: u64) -> Result<Panel> {
        let (truth, [made, learned, drawn]) = self.drawn(seed);
        let data = self.data(truth, made)?;
        let gaussian = Posterior::new("Gaussian noise", &self.gaussian_paths(&data, [learned, drawn])?.1);
        let tilted = Posterior::new("stable noise", &self.tilt_paths(&data, [learned, drawn])?.1);
        Ok(Panel { set: self.clone(), times: data.times(), values: data.values(), posteriors: [gaussian, tilted] })
    }
}

/// Panels of the first data sets of each system that were inferred, at the first observation noise and α = 1.5 if there is one.
pub fn panels(lines: &[Line], seed: u64) -> Result<Vec<Panel>> {
    let good = lines.iter().filter(|line| line.rows.iter().all(|row| row.error.is_none())).map(|line| &line.set);
    let rank = |set: &&DataSet| (set.alpha != INDEX, set.realisation);
    let mut chosen: Vec<&DataSet> = good.collect();
    chosen.sort_by_key(rank);
    let mut taken: Vec<&DataSet> = Vec::new();
    for set in chosen {
        let like = |other: &&&DataSet| other.system == set.system;
        let same = taken
            .iter()
            .filter(like)
            .all(|other| other.alpha == set.alpha && other.observation_std == set.observation_std);
        if same && taken.iter().filter(like).count() < REALISATIONS {
            taken.push(set);
        }
    }
    taken.into_iter().map(|set| set.panel(seed)).collect()
}
