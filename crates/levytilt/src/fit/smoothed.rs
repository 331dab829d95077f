//! Draw paths of a particle smoother, where dimensions act on each other by an affine drift.

use crate::general::upper_nodes;
use crate::general::{DrawnPath, GeneralChain, GeneralModel, Guide, Row, Smoothed, Source, final_filters, smooth};
use crate::posterior::{BLOCK, Made, Paths};
use crate::tilt::LogSum;
use crate::{Chain, Dimension, Result, Start, StateSpace, stream};
use nalgebra::{DMatrix, DVector};

/// Whether the particle smoother can take the model: Gaussian laws stay Gaussian along an affine drift, given the variances
/// of symmetric noise.
pub(super) fn can_smooth(chain: &Chain) -> bool {
    let model = chain.model();
    let plain = |dimension: &Dimension| dimension.errors.is_plain() && dimension.size.is_none();
    let symmetric =
        |dimension: &Dimension| !crate::noise::Family::named(dimension.noise.family()).is_some_and(|f| f.is_skewed());
    model.drift.is_affine() && model.dimensions.iter().all(|dimension| plain(dimension) && symmetric(dimension))
}

/// The evidence, and `count` paths that count equally.
///
/// # Errors
/// A log evidence that is not finite.
pub(super) fn smoothed_paths(
    chain: &Chain,
    columns: &[&[f64]],
    count: usize,
    seed: u64,
) -> Result<(crate::posterior::Evidence, Paths)> {
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
