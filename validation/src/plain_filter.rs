//! Filter a model with directions without any look ahead, as an oracle: particles carry Gaussian laws, variances are drawn from
//! the prior.

use levytilt::internals::general::GeneralModel;
use levytilt::noise::Nodes;
use levytilt::{Result, StreamRng, stream};
use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use std::ops::AddAssign;

/// An estimate of the log evidence of `columns` at `times`, NaN where missing. Its exponential is unbiased.
///
/// # Errors
/// A noise without nodes over a step.
pub fn plain_filter(
    model: &GeneralModel,
    times: &[f64],
    columns: &[&[f64]],
    particles: usize,
    seed: u64,
) -> Result<f64> {
    run(model, times, columns, (particles, seed), None).map(|(log_evidence, _)| log_evidence)
}

/// An estimate of the mean of the state at time number `at` given all data: particles carry the law of the state together with
/// that at this time.
///
/// # Errors
/// A noise without nodes over a step.
pub fn plain_smoother(
    model: &GeneralModel,
    times: &[f64],
    columns: &[&[f64]],
    (particles, seed): (usize, u64),
    at: usize,
) -> Result<Vec<f64>> {
    run(model, times, columns, (particles, seed), Some(at)).map(|(_, mean)| mean)
}

/// Log evidence, and the mean of what particles carry beside the state at the end.
fn run(
    model: &GeneralModel,
    times: &[f64],
    columns: &[&[f64]],
    (particles, seed): (usize, u64),
    at: Option<usize>,
) -> Result<(f64, Vec<f64>)> {
    let (mut rng, dim) = (stream(seed, 17), model.dim());
    let mut laws = vec![(model.start_mean.clone(), model.start_covariance.clone()); particles];
    let (mut log_evidence, mut beside) = (0.0, Vec::new());
    for j in 0..times.len() {
        let step = if j == 0 { None } else { Some(Step::new(model, times[j - 1], times[j] - times[j - 1])?) };
        let mut logs = Vec::with_capacity(particles);
        for law in &mut laws {
            if let Some(step) = &step {
                step.take(law, &mut rng);
            }
            logs.push(condition(model, law, columns.iter().map(|column| column[j])));
            if at == Some(j) {
                let twice = |i: usize| i % dim;
                law.0 = DVector::from_fn(2 * dim, |i, _| law.0[twice(i)]);
                law.1 = DMatrix::from_fn(2 * dim, 2 * dim, |i, k| law.1[(twice(i), twice(k))]);
            }
        }
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let total: f64 = shares.iter().sum();
        log_evidence += top + (total / particles as f64).ln();
        if j + 1 == times.len() && at.is_some() {
            let mean = |i: usize| laws.iter().zip(&shares).map(|(law, share)| share * law.0[i]).sum::<f64>() / total;
            beside = (dim..2 * dim).map(mean).collect();
        }
        if columns.iter().any(|column| !column[j].is_nan()) {
            laws = resampled(&laws, &shares, total, rng.random());
        }
    }
    Ok((log_evidence, beside))
}

/// The flow of a step and the nodes of its sources, with the sums of their weights.
struct Step<'a> {
    model: &'a GeneralModel,
    slope: DMatrix<f64>,
    offset: DVector<f64>,
    nodes: Vec<(Nodes, Vec<f64>)>,
}

impl<'a> Step<'a> {
    fn new(model: &'a GeneralModel, t: f64, dt: f64) -> Result<Self> {
        let dim = model.dim();
        let mut offset = vec![0.0; dim];
        model.drift.flow(t, dt, &vec![0.0; dim], &mut offset);
        let offset = DVector::from_vec(offset);
        let mut slope = DMatrix::zeros(dim, dim);
        for i in 0..dim {
            let (mut unit, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
            unit[i] = 1.0;
            model.drift.flow(t, dt, &unit, &mut moved);
            slope.set_column(i, &(DVector::from_vec(moved) - &offset));
        }
        let summed = |nodes: Nodes| {
            let mut sum = 0.0;
            let sums = nodes.weights().iter().map(|w| {
                sum += w;
                sum
            });
            let sums = sums.collect();
            (nodes, sums)
        };
        let nodes = model.sources.iter().map(|source| Ok(summed(source.noise.nodes(dt)?))).collect::<Result<_>>()?;
        Ok(Self { model, slope, offset, nodes })
    }

    /// Move a law of the state, and leave what it carries beside the state.
    fn take(&self, law: &mut (DVector<f64>, DMatrix<f64>), rng: &mut StreamRng) {
        let (dim, size) = (self.offset.len(), law.0.len());
        let mut slope = DMatrix::identity(size, size);
        slope.view_mut((0, 0), (dim, dim)).copy_from(&self.slope);
        law.0 = &slope * &law.0;
        law.0.rows_mut(0, dim).add_assign(&self.offset);
        law.1 = &slope * &law.1 * slope.transpose();
        for ((nodes, sums), source) in self.nodes.iter().zip(&self.model.sources) {
            let point = rng.random::<f64>();
            let place = sums.partition_point(|sum| *sum < point).min(nodes.len() - 1);
            let b = &source.direction;
            law.1.view_mut((0, 0), (dim, dim)).ger(nodes.variances()[place], b, b, 1.0);
        }
    }
}

/// Condition on one value per row; ln of their density.
fn condition(
    model: &GeneralModel,
    (mean, covariance): &mut (DVector<f64>, DMatrix<f64>),
    values: impl Iterator<Item = f64>,
) -> f64 {
    let mut log = 0.0;
    for (row, y) in model.rows.iter().zip(values).filter(|(_, y)| !y.is_nan()) {
        let dim = row.weights.len();
        let pressed = covariance.columns(0, dim) * &row.weights;
        let total = row.weights.dot(&pressed.rows(0, dim)) + row.std.powi(2);
        let miss = y - row.weights.dot(&mean.rows(0, dim));
        log -= 0.5 * (miss * miss / total + (std::f64::consts::TAU * total).ln());
        mean.axpy(miss / total, &pressed, 1.0);
        covariance.ger(-1.0 / total, &pressed, &pressed, 1.0);
    }
    log
}

/// Systematic resampling.
fn resampled<T: Clone>(all: &[T], shares: &[f64], total: f64, offset: f64) -> Vec<T> {
    let step = total / all.len() as f64;
    let (mut place, mut sum) = (0, shares[0]);
    (0..all.len())
        .map(|k| {
            let wanted = (k as f64 + offset) * step;
            while sum < wanted && place + 1 < all.len() {
                place += 1;
                sum += shares[place];
            }
            all[place].clone()
        })
        .collect()
}
