//! Scores of forecasts, the k̂ of log-weights, and the stable law. Arrays are read where they lie.

use levytilt::internals::law::StableLaw;
use levytilt::internals::posterior::pareto_k;
use levytilt::score::{Cloud, Estimator, Sample, Tail};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::errors::{InputError, raised_here};

fn estimator(fair: bool) -> Estimator {
    if fair { Estimator::Fair } else { Estimator::VStatistic }
}

/// CRPS of each row of draws.
#[pyfunction]
pub fn crps<'py>(
    py: Python<'py>,
    draws: PyReadonlyArray2<f64>,
    truth: PyReadonlyArray1<f64>,
    fair: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    rows(py, &draws, &truth, |sample, truth| sample.crps(truth, estimator(fair)))
}

/// Threshold-weighted CRPS of each row of draws, above or below a threshold.
#[pyfunction]
pub fn tail_crps<'py>(
    py: Python<'py>,
    draws: PyReadonlyArray2<f64>,
    truth: PyReadonlyArray1<f64>,
    threshold: f64,
    above: bool,
    fair: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let tail = if above { Tail::Above(threshold) } else { Tail::Below(threshold) };
    rows(py, &draws, &truth, |sample, truth| sample.tail_crps(truth, tail, estimator(fair)))
}

fn rows<'py>(
    py: Python<'py>,
    draws: &PyReadonlyArray2<f64>,
    truth: &PyReadonlyArray1<f64>,
    score: impl Fn(&Sample, f64) -> levytilt::Result<f64> + Sync,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (draws, truth) = (draws.as_array(), truth.as_array());
    let scores: levytilt::Result<Vec<f64>> = py.detach(|| {
        let one = |(row, &truth): (numpy::ndarray::ArrayView1<f64>, &f64)| match row.as_slice() {
            Some(row) => score(&Sample::new(row)?, truth),
            None => score(&Sample::new(&row.to_vec())?, truth),
        };
        draws.rows().into_iter().zip(truth).map(one).collect()
    });
    Ok(scores.map_err(raised_here)?.into_pyarray(py))
}

/// Energy score of each cloud of points (case, point, coordinate).
#[pyfunction]
pub fn energy_score<'py>(
    py: Python<'py>,
    points: PyReadonlyArray3<f64>,
    truth: PyReadonlyArray2<f64>,
    fair: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_clouds(py, points, truth, |cloud, truth| cloud.energy_score(truth, estimator(fair)))
}

/// Variogram score of every case: points (case, point, coordinate), truth (case, coordinate).
#[pyfunction]
pub fn variogram_score<'py>(
    py: Python<'py>,
    points: PyReadonlyArray3<f64>,
    truth: PyReadonlyArray2<f64>,
    order: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    of_clouds(py, points, truth, |cloud, truth| cloud.variogram_score(truth, order))
}

/// A score of every cloud of points (case, point, coordinate) against its truth (case, coordinate), with Python free meanwhile.
fn of_clouds<'py>(
    py: Python<'py>,
    points: PyReadonlyArray3<f64>,
    truth: PyReadonlyArray2<f64>,
    score: impl Fn(&Cloud, &[f64]) -> levytilt::Result<f64> + Sync,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (points, truth) = (points.as_array(), truth.as_array());
    let scores: levytilt::Result<Vec<f64>> = py.detach(|| {
        let one = |(points, truth): (ArrayView2<f64>, ArrayView1<f64>)| {
            score(&Cloud::new(points.iter().copied().collect(), points.ncols())?, &truth.to_vec())
        };
        points.outer_iter().zip(truth.outer_iter()).map(one).collect()
    });
    Ok(scores.map_err(raised_here)?.into_pyarray(py))
}

/// k̂ of log-weights.
#[pyfunction]
pub fn k_hat(log_weights: PyReadonlyArray1<f64>) -> f64 {
    pareto_k(&log_weights.as_array().to_vec())
}

/// Density ("pdf") or distribution ("cdf") of the symmetric stable law of scale 1.
#[pyfunction]
pub fn stable_law<'py>(
    py: Python<'py>,
    what: &str,
    points: PyReadonlyArray1<f64>,
    alpha: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let law = StableLaw::new(alpha, 1.0).map_err(raised_here)?;
    let points = points.as_array();
    let values: Vec<f64> = match what {
        "pdf" => points.iter().map(|&x| law.pdf(x)).collect(),
        "cdf" => points.iter().map(|&x| law.cdf(x)).collect(),
        _ => return Err(InputError::new_err(format!("stable law: \"{what}\" is not known: pdf or cdf"))),
    };
    Ok(values.into_pyarray(py))
}
