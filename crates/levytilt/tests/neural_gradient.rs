//! Hold the estimated slope of the bound to finite differences of the bound itself.

#[path = "../examples/validate_neural/gradient.rs"]
mod gradient;

use levytilt::drift::{Drift, Linear, Ou};
use levytilt::noise::Stable;
use levytilt::posterior::{WeightSummary, walk};
use levytilt::potential::Quadratic;
use levytilt::series::TimeGrid;
use levytilt::solve::neural::bound_gradient;
use levytilt::{Chain, Dimension, Model, Start};
use nalgebra::{DMatrix, DVector};

const PATHS: usize = 100_000;

fn model(drift: Box<dyn Drift>) -> Model {
    let dimensions = (0..drift.dim())
        .map(|_| Dimension {
            noise: Box::new(Stable::new(1.5, 1.0).unwrap()),
            observation_std: 0.3,
            start: Start::Gaussian { mean: 0.2, std: 0.5 },
        })
        .collect();
    Model::multivariate(drift, dimensions).unwrap()
}

fn potentials(dim: usize, times: usize) -> Vec<Vec<Quadratic>> {
    let one = |i: usize, j: usize| {
        Quadratic::new(3.0 + (i + j) as f64 % 3.0, 0.4 * (j as f64).sin() + 0.3 * i as f64).unwrap()
    };
    (0..dim).map(|i| (0..times).map(|j| one(i, j)).collect()).collect()
}

/// The bound with its standard error.
fn bound(model: &Model, grid: &TimeGrid, columns: &[&[f64]], potentials: &[Vec<Quadratic>], seed: u64) -> (f64, f64) {
    let chain = Chain::new(model, grid, columns).unwrap();
    let wrapped = potentials.iter().map(|column| column.iter().map(|q| (*q).into()).collect()).collect();
    let summary = WeightSummary::new(&walk(&chain, &wrapped, PATHS, seed).log_weights());
    (summary.elbo, summary.elbo_std_error)
}

/// Central differences (f(p + h) − f(p − h))/2h against the estimate, for every potential and drift parameter. Five
/// standard errors of the difference (about 60 comparisons: false alarm below 1e-4), plus 3% for the curvature of f
/// over ±h.
fn compare(drift: impl Fn(&[f64]) -> Box<dyn Drift>, parameters: &[f64], dim: usize) {
    let times = [0.0, 0.1, 0.2, 0.4, 0.5];
    let columns: Vec<Vec<f64>> =
        (0..dim).map(|i| vec![0.1, f64::NAN, 0.9 - 0.5 * i as f64, 0.3, -0.2 + 0.4 * i as f64]).collect();
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let grid = TimeGrid::new(&times, Some(1)).unwrap();
    let at = potentials(dim, grid.len());
    let centre = model(drift(parameters));
    let chain = Chain::new(&centre, &grid, &columns).unwrap();
    let found = bound_gradient(&chain, &at, PATHS, 1).unwrap();
    let n = PATHS as f64;
    let check = |what: &str, got: f64, error: f64, up: (f64, f64), down: (f64, f64), h: f64| {
        let want = (up.0 - down.0) / (2.0 * h);
        let noise = error + up.1.hypot(down.1) / (2.0 * h);
        assert!((got - want).abs() < 5.0 * noise + 0.03 * want.abs(), "{what}: {got} against {want} ± {noise}");
    };
    for i in 0..dim {
        for j in 0..grid.len() {
            for (k, h) in [(0, 0.2), (1, 0.05)] {
                let moved = |sign: f64| {
                    let mut at = at.clone();
                    let q = at[i][j];
                    let shift = [if k == 0 { sign * h } else { 0.0 }, if k == 1 { sign * h } else { 0.0 }];
                    at[i][j] = Quadratic::new(q.a() + shift[0], q.c() + shift[1]).unwrap();
                    bound(&centre, &grid, &columns, &at, 2)
                };
                let error = (found.variances[i][j][k] / n).sqrt();
                check(&format!("{i} {j} {k}"), found.potentials[i][j][k], error, moved(1.0), moved(-1.0), h);
            }
        }
    }
    for (p, &slope) in found.drift.iter().enumerate() {
        let h = 0.1;
        let moved = |sign: f64| {
            let mut parameters = parameters.to_vec();
            parameters[p] += sign * h;
            bound(&model(drift(&parameters)), &grid, &columns, &at, 2)
        };
        check(&format!("drift {p}"), slope, 0.0, moved(1.0), moved(-1.0), h);
    }
}

#[test]
fn statistics_slope_is_that_of_the_bound() {
    compare(|p| Box::new(Ou::new(p[0], p[1]).unwrap()), &[1.5, 0.7], 1);
}

#[test]
fn statistics_slope_with_coupled_dimensions() {
    let build = |p: &[f64]| Linear::new(DMatrix::zeros(2, 2), DVector::zeros(2)).unwrap().with_parameters(p).unwrap();
    compare(build, &[-1.0, 0.8, -0.5, -1.2, 0.3, 0.1], 2);
}

/// The slopes in every layer and in every group of the encoder, at the start, at the end and half way: the short
/// version of `cargo run --release --example validate_neural -- gradient`. Six standard errors, themselves known
/// from 20 batches (about 200 comparisons: false alarm below 0.2%).
#[test]
fn statistics_slopes_in_the_networks_are_those_of_the_bound() {
    let effort = gradient::Effort { paths: 10_000, directions: 5, stages: vec![0, 80, 40] };
    let rows = gradient::compare(&effort, |_| ()).unwrap();
    assert_eq!(rows.len(), 3 * 15);
    for row in &rows {
        let worst = row.deviations().into_iter().map(f64::abs).fold(0.0, f64::max);
        assert!(worst < 6.0, "{} at {}: {:?}", row.group, row.stage, row.deviations());
    }
    assert!(rows[15].gap < rows[0].gap, "training closes the gap");
    // Where the slopes stand out from the noise, they point the same way.
    let firm = rows.iter().filter(|row| row.estimates[0] > 20.0 * row.errors[0]);
    assert!(firm.clone().count() > 10);
    firm.for_each(|row| assert!(row.cosine() > 0.99, "{} at {}: {}", row.group, row.stage, row.cosine()));
}
