//! Draw paths of a particle smoother, and estimate evidence, where dimensions act on each other by an affine drift.

use crate::general::{
    DrawnPath, FilterOptions, GeneralChain, GeneralModel, Guide, Row, Smoothed, Source, evidence, final_filters,
    smooth, upper_nodes,
};
use crate::posterior::{BLOCK, Evidence, Made, Paths};
use crate::series::TimeGrid;
use crate::tilt::LogSum;
use crate::{Chain, Dimension, Error, Result, Start, StateSpace, stream};
use nalgebra::{DMatrix, DVector};
use rand::Rng;

/// Whether the particle smoother can take the model: Gaussian laws stay Gaussian along an affine drift, given the variances
/// of symmetric noise.
pub(super) fn can_smooth(chain: &Chain) -> bool {
    let model = chain.model();
    model.drift.is_affine() && chain.check_symmetric().is_ok() && model.plain_errors("particle smoother").is_ok()
}

/// The evidence, and `count` paths that count equally.
///
/// # Errors
/// A log evidence that is not finite.
pub(super) fn smoothed_paths(chain: &Chain, columns: &[&[f64]], count: usize, seed: u64) -> Result<(Evidence, Paths)> {
    let model = with_directions(chain.model())?;
    let laid_out = GeneralChain::new(&model, chain.grid(), columns)?;
    let Smoothed { evidence, paths, .. } =
        smooth(&laid_out, &Guide::new(&laid_out)?, count, &final_filters(count, seed))?;
    // First node of a jump per step and dimension.
    let jumps: Vec<Vec<usize>> = upper_nodes(&laid_out);
    let block = |(b, paths): (usize, &[DrawnPath])| made(paths, &jumps, (b * BLOCK, seed), evidence.log_evidence);
    let blocks = paths.chunks(BLOCK).enumerate().map(block).collect();
    Ok((evidence, Paths::from_blocks(chain.dim(), chain.len(), blocks)))
}

/// Filters and, at first, particles of each for one estimate of the evidence; the most there may be.
const FILTERS: usize = 2;
const PARTICLES: usize = 50;
const MOST: usize = 1600;
/// Standard deviation of an estimate of the log evidence that is small enough for weights, and estimates that measure it.
const STEADY: f64 = 0.5;
const TRIES: u64 = 8;

/// Unbiased estimates of the evidence of models whose dimensions act on each other.
pub(super) struct Particles<'a> {
    data: (&'a TimeGrid, &'a [&'a [f64]]),
    particles: usize,
    seed: u64,
}

impl<'a> Particles<'a> {
    /// As many particles as make the estimates steady at `model`.
    ///
    /// # Errors
    /// A model that the smoother cannot take; values that do not fit it.
    pub fn new(model: &StateSpace, data: (&'a TimeGrid, &'a [&'a [f64]]), seed: u64) -> Result<Self> {
        if !can_smooth(&Chain::new(model, data.0, data.1)?) {
            return Err(Error::Shape {
                what: "posterior of the parameters",
                got: "columns that act on each other by a curved drift, or with skewed noise or gross errors".into(),
                expected: "an affine drift, symmetric noise and plain errors; fit one column at a time with --column"
                    .into(),
            });
        }
        let mut all = Self { data, particles: PARTICLES, seed };
        while all.particles < MOST && all.spread(model)? > STEADY {
            all.particles *= 2;
        }
        Ok(all)
    }

    /// Standard deviation of the estimates at `model`.
    fn spread(&self, model: &StateSpace) -> Result<f64> {
        let logs = (0..TRIES).map(|k| self.log_evidence(model, u64::MAX - 1 - k)).collect::<Result<Vec<f64>>>()?;
        let mean = logs.iter().sum::<f64>() / TRIES as f64;
        Ok((logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (TRIES - 1) as f64).sqrt())
    }

    /// Estimate number `k` of the log evidence: the logarithm of an unbiased estimate.
    pub fn log_evidence(&self, model: &StateSpace, k: u64) -> Result<f64> {
        let model = with_directions(model)?;
        let laid_out = GeneralChain::new(&model, self.data.0, self.data.1)?;
        let seed = stream(self.seed, k).next_u64();
        let options = FilterOptions { filters: FILTERS, particles: self.particles, seed };
        Ok(evidence(&laid_out, &Guide::new(&laid_out)?, &options).log_evidence)
    }
}

/// The model with a noise along every axis, each of which is observed.
fn with_directions(model: &StateSpace) -> Result<GeneralModel> {
    let dim = model.dimensions.len();
    let axis = |i: usize| DVector::from_fn(dim, |k, _| f64::from(k == i));
    let values: Vec<f64> = model.drift.parameters().into_iter().map(|(_, value)| value).collect();
    let source = |(i, dimension): (usize, &Dimension)| {
        let values: Vec<f64> = dimension.noise.parameters().into_iter().map(|(_, value)| value).collect();
        Ok(Source { name: i.to_string(), noise: dimension.noise.with_parameters(&values)?, direction: axis(i) })
    };
    let row = |(i, dimension): (usize, &Dimension)| Row {
        name: i.to_string(),
        weights: axis(i),
        std: dimension.observation_std,
    };
    let start = |dimension: &Dimension| match dimension.start {
        Start::Fixed(x0) => (x0, 0.0),
        Start::Gaussian { mean, std } => (mean, std * std),
    };
    let starts: Vec<(f64, f64)> = model.dimensions.iter().map(start).collect();
    let variances: Vec<f64> = starts.iter().map(|(_, variance)| *variance).collect();
    GeneralModel {
        states: (0..dim).map(|i| i.to_string()).collect(),
        drift: model.drift.with_parameters(&values)?,
        sources: model.dimensions.iter().enumerate().map(source).collect::<Result<_>>()?,
        rows: model.dimensions.iter().enumerate().map(row).collect(),
        start_mean: DVector::from_iterator(dim, starts.iter().map(|(mean, _)| *mean)),
        start_covariance: DMatrix::from_diagonal(&DVector::from_vec(variances)),
    }
    .checked()
}

/// A block of paths; the log weight of each is the log evidence.
fn made(paths: &[DrawnPath], jumps: &[Vec<usize>], (first, seed): (usize, u64), log_evidence: f64) -> Made {
    let dim = jumps[0].len();
    let times = jumps.len() + 1;
    let mut weight = LogSum::default();
    weight.add(log_evidence);
    let by_time = (0..times).flat_map(|j| paths.iter().map(move |path| (j, path)));
    let jumped = |(j, path): (usize, &DrawnPath)| -> Vec<bool> {
        let node = |i: usize| j > 0 && usize::from(path.nodes[(j - 1) * dim + i]) >= jumps[j - 1][i];
        (0..dim).map(node).collect()
    };
    Made {
        rngs: (0..paths.len()).map(|k| stream(seed, (first + k) as u64)).collect(),
        sums: vec![weight; paths.len()],
        states: by_time.clone().flat_map(|(j, path)| path.states[j * dim..(j + 1) * dim].iter().copied()).collect(),
        jumps: by_time.flat_map(jumped).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::Linear;
    use crate::noise::{Gaussian, Noise, Stable};
    use crate::posterior::{log_evidence, marginals};
    use crate::solve::{SweepOptions, robust_start, sweep};
    use crate::{Errors, simulate};

    /// Two columns of 25 values, `push` the effect of each on the other, on a grid with four steps between values.
    fn record(push: f64, noise: impl Fn() -> Box<dyn Noise>) -> (StateSpace, TimeGrid, Vec<Vec<f64>>) {
        let matrix = DMatrix::from_row_slice(2, 2, &[-1.5, push, push, -2.0]);
        let dimension = |_| Dimension {
            noise: noise(),
            size: None,
            observation_std: 0.2,
            errors: Errors::default(),
            start: Start::Gaussian { mean: 0.0, std: 1.0 },
        };
        let drift = Box::new(Linear::new(matrix, DVector::from_vec(vec![0.5, 0.0])).unwrap());
        let model = StateSpace::multivariate(drift, (0..2).map(dimension).collect()).unwrap();
        let times: Vec<f64> = (0..25).map(|j| 0.2 * f64::from(j)).collect();
        let drawn = simulate(&model, &times, 3).unwrap();
        let columns = (0..2).map(|i| drawn.column(i)).collect();
        (model, TimeGrid::new(&times, Some(96)).unwrap(), columns)
    }

    #[test]
    fn identity_gaussian_columns_have_the_exact_evidence() {
        let (model, grid, columns) = record(0.0, || Box::new(Gaussian::new(0.8).unwrap()));
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let chain = Chain::new(&model, &grid, &columns).unwrap();
        let swept = sweep(&chain, robust_start(&chain).unwrap(), &SweepOptions::default()).unwrap();
        let (evidence, paths) = smoothed_paths(&chain, &columns, 100, 1).unwrap();
        assert!((evidence.log_evidence - swept.summary.elbo).abs() < 1e-8, "{evidence:?} {:?}", swept.summary);
        assert_eq!((paths.len(), paths.times(), paths.dim()), (100, 97, 2));
        assert!(paths.log_weights().iter().all(|weight| *weight == evidence.log_evidence));
    }

    /// Against the particle filter along quadratic potentials, within 5 standard errors of both: a false alarm has probability
    /// below 1e-4.
    #[test]
    fn statistics_coupled_columns_have_the_evidence_of_the_particle_filter() {
        let (model, grid, columns) = record(1.0, || Box::new(Stable::new(1.5, 0.5).unwrap()));
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let chain = Chain::new(&model, &grid, &columns).unwrap();
        assert!(can_smooth(&chain));
        let swept = sweep(&chain, robust_start(&chain).unwrap(), &SweepOptions::default()).unwrap();
        let other = log_evidence(&chain, &swept.potentials, 4000, 2);
        let (evidence, paths) = smoothed_paths(&chain, &columns, 500, 1).unwrap();
        let error = evidence.std_error.hypot(other.std_error).max(0.02);
        assert!((evidence.log_evidence - other.log_evidence).abs() < 5.0 * error, "{evidence:?} {other:?}");
        // States stay within the data's reach, and steps that jump are rare.
        let drawn = marginals(&paths, 0, &vec![1.0 / 500.0; 500], &[0.5]);
        let at_values = (0..25).map(|k| (drawn[4 * k].quantiles[0] - columns[0][k]).abs()).fold(0.0, f64::max);
        assert!(at_values < 1.0, "{at_values}");
        let jumps = drawn.iter().map(|marginal| marginal.jump_probability).sum::<f64>();
        assert!(jumps < 20.0, "{jumps}");
    }
}
