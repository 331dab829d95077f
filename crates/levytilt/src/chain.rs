//! Lay a model out on its latent times: per step the nodes of every dimension, per time the values observed there.

use crate::drift::Drift;
use crate::noise::{NodeCache, Nodes};
use crate::series::TimeGrid;
use crate::{Error, ErrorLaw, Result, Start, StateSpace};
use std::sync::Arc;

/// A model on a grid with its data: x_j = flow(x_{j−1}) + J_j for j ≥ 1, and x_0 from its start.
///
/// The start is a step like any other, from the start's mean with one node: its variance (zero for a known state). So
/// every sum over steps in this crate runs over j = 0, 1, …, steps.
#[derive(Debug)]
pub struct Chain<'a> {
    model: &'a StateSpace,
    grid: &'a TimeGrid,
    lengths: Vec<f64>,
    /// Per dimension and time: nodes of the step that ends there.
    nodes: Vec<Vec<Arc<Nodes>>>,
    /// Per dimension and time: the value observed, NaN if none.
    values: Vec<Vec<f64>>,
    /// Per dimension: law of the observation errors, 1/σ and ln f(0) − ln σ with its density f at σ = 1.
    likelihoods: Vec<(ErrorLaw, f64, f64)>,
    /// Per dimension and time: the known error that σ is a factor of; empty where errors are not known.
    units: Vec<Vec<f64>>,
}

impl<'a> Chain<'a> {
    /// What was found, unless a flow failed on the way: then why it did, which says more than what followed from it.
    pub fn unless_failed<T>(&self, found: Result<T>) -> Result<T> {
        match self.drift().failure() {
            Some(error) => Err(error),
            None => found,
        }
    }

    /// Lay out a model; `columns` holds one value per observation row for each dimension, NaN where missing.
    pub fn new(model: &'a StateSpace, grid: &'a TimeGrid, columns: &[&[f64]]) -> Result<Self> {
        if columns.len() != model.dim() {
            return Err(Error::Shape {
                what: "observations",
                got: format!("{} columns", columns.len()),
                expected: format!("{} (one per dimension of the model)", model.dim()),
            });
        }
        let values = columns.iter().map(|column| grid.spread(column)).collect::<Result<Vec<_>>>()?;
        let lengths: Vec<f64> = (0..grid.steps()).map(|j| grid.step(j)).collect();
        for &dt in &lengths {
            model.drift.check_step(dt)?;
        }
        let mut nodes = Vec::with_capacity(model.dim());
        for dimension in &model.dimensions {
            let mut cache = NodeCache::of_lengths(dimension.noise.as_ref(), &lengths);
            let mut steps = vec![Arc::new(start_nodes(dimension.start)?)];
            for &dt in &lengths {
                steps.push(cache.nodes(dt)?);
            }
            nodes.push(steps);
        }
        let likelihoods = model
            .dimensions
            .iter()
            .map(|d| (d.errors.law, 1.0 / d.observation_std, d.errors.law.log_peak() - d.observation_std.ln()))
            .collect();
        let mut units = Vec::with_capacity(model.dim());
        for (dimension, values) in model.dimensions.iter().zip(&values) {
            let unit = |j: usize| match grid.observation(j).filter(|_| !values[j].is_nan()) {
                Some(row) => dimension.errors.checked_unit(row),
                None => Ok(1.0),
            };
            let known = dimension.errors.known.is_some();
            units.push(if known { (0..grid.len()).map(unit).collect::<Result<_>>()? } else { Vec::new() });
        }
        Ok(Self { model, grid, lengths, nodes, values, likelihoods, units })
    }

    /// The same with noise over other lengths than those of the steps: what is left of it where steps were gathered.
    pub(crate) fn with_noise_lengths(mut self, lengths: &[f64]) -> Result<Self> {
        for (dimension, nodes) in self.model.dimensions.iter().zip(&mut self.nodes) {
            let mut cache = NodeCache::of_lengths(dimension.noise.as_ref(), lengths);
            nodes.truncate(1);
            for &length in lengths {
                nodes.push(cache.nodes(length)?);
            }
        }
        Ok(self)
    }

    /// Sweeps, sums of Gaussians and particles tilt symmetric noise only.
    pub(crate) fn check_symmetric(&self) -> Result<()> {
        self.model.even_noise("sweeps and sums of Gaussians")?;
        let skewed = |i: &usize| self.nodes[*i].iter().any(|nodes| nodes.means().is_some());
        match (0..self.dim()).find(skewed) {
            None => Ok(()),
            Some(i) => Err(only_exact(self.model.dimensions[i].noise.family(), "")),
        }
    }

    /// The model.
    pub fn model(&self) -> &StateSpace {
        self.model
    }

    /// Dimension of the state.
    pub fn dim(&self) -> usize {
        self.nodes.len()
    }

    /// Latent times.
    pub fn times(&self) -> &[f64] {
        self.grid.times()
    }

    /// The grid of latent times.
    pub fn grid(&self) -> &'a TimeGrid {
        self.grid
    }

    /// Number of latent times.
    pub fn len(&self) -> usize {
        self.times().len()
    }

    /// Never true: a grid has at least two times.
    pub fn is_empty(&self) -> bool {
        self.times().is_empty()
    }

    /// Length of the step that ends at time `j` ≥ 1.
    pub fn length(&self, j: usize) -> f64 {
        self.lengths[j - 1]
    }

    /// Nodes of the step that ends at time `j` in dimension `i`; the start for `j` = 0.
    pub fn nodes(&self, i: usize, j: usize) -> &Arc<Nodes> {
        &self.nodes[i][j]
    }

    /// Value observed at time `j` in dimension `i`, NaN if none.
    pub fn value(&self, i: usize, j: usize) -> f64 {
        self.values[i][j]
    }

    /// What the observation at time `j` says in dimension `i` as a quadratic message, if there is one: its firmness 1/(2σ²)
    /// and its centre, the value.
    pub fn observation(&self, i: usize, j: usize) -> Option<(f64, f64)> {
        let y = self.values[i][j];
        (!y.is_nan()).then(|| (0.5 / (self.model.dimensions[i].observation_std * self.unit(i, j)).powi(2), y))
    }

    /// Values observed in dimension `i`, one per time, NaN where none.
    pub fn values(&self, i: usize) -> &[f64] {
        &self.values[i]
    }

    /// Values of dimension `i` as they were given, one per observation row.
    pub fn rows(&self, i: usize) -> Vec<f64> {
        (0..self.len()).filter(|&j| self.grid.observation(j).is_some()).map(|j| self.values[i][j]).collect()
    }

    /// Number of values observed in all.
    pub fn observations(&self) -> usize {
        self.values.iter().flatten().filter(|v| !v.is_nan()).count()
    }

    /// Known error of the value at time `j` in dimension `i`; 1 where none is known.
    fn unit(&self, i: usize, j: usize) -> f64 {
        self.units[i].get(j).copied().unwrap_or(1.0)
    }

    /// ln p(y_j | x) in dimension `i`, with its constant; 0 where nothing is observed.
    pub fn log_likelihood(&self, i: usize, j: usize, x: f64) -> f64 {
        let y = self.values[i][j];
        if y.is_nan() {
            return 0.0;
        }
        let (law, precision, constant) = self.likelihoods[i];
        if self.units[i].is_empty() && law == ErrorLaw::Gaussian {
            let z = (y - x) * precision;
            return constant - 0.5 * z * z;
        }
        let unit = self.unit(i, j);
        law.log_density((y - x) * precision / unit) + (precision / unit).ln()
    }

    /// The mean of [`Chain::log_likelihood`] of Gaussian errors where the mean of (y − x)² is `square`.
    pub(crate) fn mean_log_likelihood(&self, i: usize, j: usize, square: f64) -> f64 {
        let (_, precision, constant) = self.likelihoods[i];
        if self.values[i][j].is_nan() { 0.0 } else { constant - 0.5 * square * precision * precision }
    }

    /// ∂/∂x of [`Chain::log_likelihood`].
    pub fn log_likelihood_slope(&self, i: usize, j: usize, x: f64) -> f64 {
        let y = self.values[i][j];
        let (law, precision, _) = self.likelihoods[i];
        if y.is_nan() {
            return 0.0;
        }
        let precision = precision / self.unit(i, j);
        (y - x) * precision * precision * law.precision((y - x) * precision)
    }

    /// Move states (dimension fastest) from time `j` − 1 over the step that ends at `j`; for `j` = 0 set the start's mean.
    pub fn flow_many(&self, j: usize, states: &[f64], out: &mut [f64]) {
        if j == 0 {
            for x in out.chunks_exact_mut(self.dim()) {
                for (x, dimension) in x.iter_mut().zip(&self.model.dimensions) {
                    *x = dimension.start.mean();
                }
            }
        } else {
            self.drift().flow_many(self.times()[j - 1], self.length(j), states, out);
        }
    }

    /// The drift.
    pub fn drift(&self) -> &dyn Drift {
        self.model.drift.as_ref()
    }
}

/// The error of a method that does not take skewed noise, and why an exact one was not used, if it was tried.
pub(crate) fn only_exact(family: &str, why_not: &str) -> Error {
    let tried = if why_not.is_empty() { String::new() } else { format!("; that failed: {why_not}") };
    Error::Numerical {
        what: "skewed noise",
        why: format!(
            "{family} noise is fitted exactly on a grid only{tried}. Use method auto with one column or a drift that does \
             not couple the columns, or the symmetric family {}",
            family.trim_start_matches("skewed-")
        ),
    }
}

/// The start as the nodes of a step from its mean.
fn start_nodes(start: Start) -> Result<Nodes> {
    let variance = match start {
        Start::Fixed(_) => 0.0,
        Start::Gaussian { std, .. } => std * std,
    };
    Nodes::new(vec![variance], vec![1.0], Vec::new())
}
