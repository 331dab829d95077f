//! Hold the estimated slope of the bound to finite differences of the bound itself.

#[path = "../../../validation/src/bin/neural/gradient.rs"]
mod gradient;

use levytilt::drift::{Drift, Linear, Ou};
use levytilt::internals::Chain;
use levytilt::internals::posterior::{Potentials, WeightSummary, walk};
use levytilt::internals::potential::{GaussianSum, Potential, Quadratic};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Stable;
use levytilt::{Dimension, Start, StateSpace};
use levytilt_paper::training::bound_gradient;
use nalgebra::{DMatrix, DVector};

const PATHS: usize = 100_000;

fn model(drift: Box<dyn Drift>) -> StateSpace {
    let dimensions = (0..drift.dim())
        .map(|_| Dimension {
            noise: Box::new(Stable::new(1.5, 1.0).unwrap()),
            size: None,
            observation_std: 0.3,
            errors: levytilt::internals::Errors::default(),
            start: Start::Gaussian { mean: 0.2, std: 0.5 },
        })
        .collect();
    StateSpace::multivariate(drift, dimensions).unwrap()
}

/// By dimension and time: bumps (ln π, a, c), the second and third wider than the first and to its sides.
fn bumps(dim: usize, times: usize, components: usize) -> Vec<Vec<Vec<[f64; 3]>>> {
    let one = |i: usize, j: usize, m: usize| {
        let (a, c) = (3.0 + (i + j) as f64 % 3.0, 0.4 * (j as f64).sin() + 0.3 * i as f64);
        [[0.0, a, c], [-0.5 + 0.2 * j as f64, 0.6 * a, c + 0.8], [-1.0, 0.3 * a, c - 0.6]][m]
    };
    let all = |i: usize, j: usize| (0..components).map(|m| one(i, j, m)).collect();
    (0..dim).map(|i| (0..times).map(|j| all(i, j)).collect()).collect()
}

fn potentials(bumps: &[Vec<Vec<[f64; 3]>>]) -> Potentials {
    let quadratic = |a: f64, c: f64| Quadratic::new(a, c).unwrap();
    let one = |bumps: &Vec<[f64; 3]>| -> Potential {
        match bumps[..] {
            [[_, a, c]] => quadratic(a, c).into(),
            _ => GaussianSum::new(bumps.iter().map(|&[l, a, c]| (l, quadratic(a, c))).collect()).unwrap().into(),
        }
    };
    bumps.iter().map(|column| column.iter().map(one).collect()).collect()
}

/// The bound with its standard error, from so many paths.
fn bound(model: &StateSpace, grid: &TimeGrid, columns: &[&[f64]], potentials: &Potentials, paths: usize) -> (f64, f64) {
    let chain = Chain::new(model, grid, columns).unwrap();
    let summary = WeightSummary::new(&walk(&chain, potentials, paths, 2).log_weights());
    (summary.elbo, summary.elbo_std_error)
}

/// Central differences (f(p + h) − f(p − h))/2h against the estimate, for every potential and drift parameter. Five
/// standard errors of the difference (about 60 comparisons: false alarm below 1e-4), plus 3% for the curvature of f
/// over ±h.
fn compare(drift: impl Fn(&[f64]) -> Box<dyn Drift>, parameters: &[f64], dim: usize, components: usize, paths: usize) {
    let times = [0.0, 0.1, 0.2, 0.4, 0.5];
    let columns: Vec<Vec<f64>> =
        (0..dim).map(|i| vec![0.1, f64::NAN, 0.9 - 0.5 * i as f64, 0.3, -0.2 + 0.4 * i as f64]).collect();
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let grid = TimeGrid::new(&times, Some(1)).unwrap();
    let at = bumps(dim, grid.len(), components);
    let centre = model(drift(parameters));
    let chain = Chain::new(&centre, &grid, &columns).unwrap();
    let found = bound_gradient(&chain, &potentials(&at), paths, 1).unwrap();
    let n = paths as f64;
    let check = |what: &str, got: f64, error: f64, up: (f64, f64), down: (f64, f64), h: f64| {
        let want = (up.0 - down.0) / (2.0 * h);
        let noise = error + up.1.hypot(down.1) / (2.0 * h);
        assert!((got - want).abs() < 5.0 * noise + 0.03 * want.abs(), "{what}: {got} against {want} ± {noise}");
    };
    for i in 0..dim {
        for j in 0..grid.len() {
            for (m, k) in (0..components).flat_map(|m| (0..3).map(move |k| (m, k))) {
                if components == 1 && k == 0 {
                    assert_eq!(found.potentials[i][j][m][k], 0.0);
                    continue;
                }
                let h = [0.2, 0.2, 0.05][k];
                let moved = |sign: f64| {
                    let mut at = at.clone();
                    at[i][j][m][k] += sign * h;
                    bound(&centre, &grid, &columns, &potentials(&at), paths)
                };
                let error = (found.variances[i][j][m][k] / n).sqrt();
                let what = format!("{i} {j} {m} {k}");
                check(&what, found.potentials[i][j][m][k], error, moved(1.0), moved(-1.0), h);
            }
        }
    }
    for (p, &slope) in found.drift.iter().enumerate() {
        let h = 0.1;
        let moved = |sign: f64| {
            let mut parameters = parameters.to_vec();
            parameters[p] += sign * h;
            bound(&model(drift(&parameters)), &grid, &columns, &potentials(&at), paths)
        };
        check(&format!("drift {p}"), slope, 0.0, moved(1.0), moved(-1.0), h);
    }
}

fn ou(p: &[f64]) -> Box<dyn Drift> {
    Box::new(Ou::new(p[0], p[1]).unwrap())
}

fn coupled(p: &[f64]) -> Box<dyn Drift> {
    Linear::new(DMatrix::zeros(2, 2), DVector::zeros(2)).unwrap().with_parameters(p).unwrap()
}

#[test]
fn statistics_slope_is_that_of_the_bound() {
    compare(ou, &[1.5, 0.7], 1, 1, PATHS);
}

#[test]
fn statistics_slope_with_three_bumps() {
    compare(ou, &[1.5, 0.7], 1, 3, PATHS / 5);
}

#[test]
fn statistics_slope_with_coupled_dimensions() {
    compare(coupled, &[-1.0, 0.8, -0.5, -1.2, 0.3, 0.1], 2, 1, PATHS);
}

#[test]
fn statistics_slope_with_coupled_dimensions_and_two_bumps() {
    compare(coupled, &[-1.0, 0.8, -0.5, -1.2, 0.3, 0.1], 2, 2, PATHS / 10);
}

/// The slopes in every layer and in every group of the encoder, at the start, at the end and half way: the short
/// version of `scripts/validate neural gradient`. Six standard errors, themselves known
/// from 20 batches (about 200 comparisons: false alarm below 0.2%).
#[test]
fn statistics_slopes_in_the_networks_are_those_of_the_bound() {
    let effort = gradient::Effort {
        paths: 10_000,
        directions: 5,
        stages: vec![0, 80, 40],
        components: 1,
        steps: gradient::STEPS,
    };
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

/// The same for networks of two bumps per time, at the start, where the second is wider and fainter, and after training.
#[test]
fn statistics_slopes_in_networks_of_two_bumps_are_those_of_the_bound() {
    let effort = gradient::Effort { paths: 10_000, directions: 4, stages: vec![0, 40], components: 2, steps: 5 };
    let rows = gradient::compare(&effort, |_| ()).unwrap();
    assert_eq!(rows.len(), 2 * 15);
    for row in &rows {
        let worst = row.deviations().into_iter().map(f64::abs).fold(0.0, f64::max);
        assert!(worst < 6.0, "{} at {}: {:?}", row.group, row.stage, row.deviations());
    }
    let firm = rows.iter().filter(|row| row.estimates[0] > 20.0 * row.errors[0]);
    assert!(firm.clone().count() > 5);
    firm.for_each(|row| assert!(row.cosine() > 0.99, "{} at {}: {}", row.group, row.stage, row.cosine()));
}

/// Values of [`short_record`].
const SHORT: [f64; 5] = [0.1, f64::NAN, 0.9, 0.3, -0.2];

/// An OU process seen four times.
fn short_record() -> (StateSpace, TimeGrid) {
    let grid = TimeGrid::new(&[0.0, 0.1, 0.2, 0.4, 0.5], Some(1)).unwrap();
    (model(Box::new(Ou::new(1.5, 0.7).unwrap())), grid)
}

/// A second bump whose weight is nothing changes nothing, to the last bit; its own slopes are 0.
#[test]
fn identity_a_bump_without_weight_is_no_bump() {
    let (centre, grid) = short_record();
    let chain = Chain::new(&centre, &grid, &[&SHORT]).unwrap();
    let one = bumps(1, chain.len(), 1);
    let mut two = bumps(1, chain.len(), 2);
    two[0].iter_mut().for_each(|at| at[1][0] = -1e4);
    let [one, two] = [one, two].map(|at| bound_gradient(&chain, &potentials(&at), 200, 1).unwrap());
    assert_eq!((&one.summary, &one.drift), (&two.summary, &two.drift));
    for (one, two) in one.potentials[0].iter().zip(&two.potentials[0]) {
        assert_eq!((one[0], [0.0; 3]), (two[0], two[1]));
    }
}

/// Two equal bumps are one: the slopes of both together are those of the one, within five standard errors of their
/// difference (15 comparisons: false alarm below 1e-5), and half of them belong to each.
#[test]
fn statistics_two_equal_bumps_are_one() {
    let (centre, grid) = short_record();
    let chain = Chain::new(&centre, &grid, &[&SHORT]).unwrap();
    let one = bumps(1, chain.len(), 1);
    let two = vec![one[0].iter().map(|at| vec![at[0], at[0]]).collect()];
    let [one, two] = [one, two].map(|at| bound_gradient(&chain, &potentials(&at), PATHS, 1).unwrap());
    for (j, both) in two.potentials[0].iter().enumerate() {
        for k in 0..3 {
            let error = (2.0 * one.variances[0][j][0][k] / PATHS as f64).sqrt();
            let (got, want) = (both[0][k] + both[1][k], one.potentials[0][j][0][k]);
            assert!((got - want).abs() <= 5.0 * error, "{j} {k}: {got} against {want} ± {error}");
            assert!((both[0][k] - both[1][k]).abs() < 1e-9, "{j} {k}: {both:?}");
        }
    }
    let error = one.summary.elbo_std_error.hypot(two.summary.elbo_std_error);
    assert!((one.summary.elbo - two.summary.elbo).abs() < 5.0 * error);
}
