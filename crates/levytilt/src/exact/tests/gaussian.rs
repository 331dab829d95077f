//! Identities: Gaussian noise and linear drift must reproduce the Kalman smoother.

use super::models::{Brown, Ou, even, simulate, thin};
use crate::exact::kalman::{self, Step};
use crate::exact::{Options, log_evidence, smooth};
use crate::series::TimeGrid;
use crate::{Start, StateSpace};

const THETA: f64 = 1.5;
const MU: f64 = 0.4;

fn model(noise: f64, observation_std: f64, start: Start) -> StateSpace {
    StateSpace::new(Box::new(Ou(THETA, MU)), Box::new(Brown(noise)), observation_std, start).unwrap()
}

/// Largest differences to the Kalman smoother: log evidence, means, sds.
fn differences(noise: f64, observation_std: f64, start: Start, grid: &TimeGrid, values: &[f64]) -> [f64; 3] {
    let model = model(noise, observation_std, start);
    let steps: Vec<Step> = (0..grid.steps())
        .map(|j| {
            let slope = (-THETA * grid.step(j)).exp();
            Step { slope, offset: MU * (1.0 - slope), variance: noise * noise * grid.step(j) }
        })
        .collect();
    let spread = grid.spread(values).unwrap();
    let expected = kalman::smooth(start, &steps, &spread, observation_std).unwrap();
    let found = smooth(&model, grid, values, &Options::default()).unwrap();
    let alone = log_evidence(&model, grid, values, &Options::default()).unwrap();
    let largest = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |top, (a, b)| top.max((a - b).abs()));
    let out = [
        (found.log_evidence - expected.log_evidence).abs().max((alone - expected.log_evidence).abs()),
        largest(&found.mean, &expected.mean),
        largest(&found.sd, &expected.sd),
    ];
    // Quantiles of a Gaussian.
    for (l, z) in [-1.6448536269514722, -0.6744897501960817, 0.0].into_iter().enumerate() {
        for j in 0..grid.len() {
            let quantile = expected.mean[j] + z * expected.sd[j];
            // Right after a known start the posterior may be narrower than the grid.
            let narrow = if expected.sd[j] < 3.0 * found.spacing { 0.5 * found.spacing } else { 1e-12 };
            assert!((found.quantiles[l][j] - quantile).abs() <= 2e-3 * expected.sd[j] + narrow, "time {j}");
        }
    }
    out
}

fn assert_small(differences: [f64; 3]) {
    assert!(differences.iter().all(|d| *d < 1e-6), "{differences:?}");
}

const STARTS: [Start; 4] = [
    Start::Fixed(0.3),
    Start::Gaussian { mean: -0.2, std: 0.7 },
    Start::Gaussian { mean: 0.1, std: 1e-3 },
    Start::Gaussian { mean: 0.1, std: 20.0 },
];

#[test]
fn dense_data() {
    for start in STARTS {
        let times = even(1000, 10.0);
        let values = simulate(&model(1.2, 0.1, start), &times, 3);
        let grid = TimeGrid::new(&times, Some(1000)).unwrap();
        assert_small(differences(1.2, 0.1, start, &grid, &values));
    }
}

#[test]
fn sparse_and_trailing_data() {
    for start in STARTS {
        let times = even(400, 4.0);
        let mut values = thin(&simulate(&model(1.2, 0.1, start), &times, 4), 20);
        values[0] = f64::NAN;
        values[20] = f64::NAN;
        values[390..].fill(f64::NAN);
        let grid = TimeGrid::new(&times, Some(400)).unwrap();
        assert_small(differences(1.2, 0.1, start, &grid, &values));
    }
}

#[test]
fn irregular_times() {
    let times: Vec<f64> = (0..150).map(|i| 0.05 * i as f64 + 0.02 * (7.3 * i as f64).sin()).collect();
    let mut values = simulate(&model(0.8, 0.2, STARTS[1]), &times, 5);
    for i in (0..150).filter(|i| i % 7 == 3 || i % 11 == 5) {
        values[i] = f64::NAN;
    }
    for steps in [Some(1), Some(200), None] {
        let grid = TimeGrid::new(&times, steps).unwrap();
        assert_small(differences(0.8, 0.2, STARTS[1], &grid, &values));
    }
}

#[test]
fn noise_far_below_and_far_above_the_observation_error() {
    let times = even(200, 2.0);
    let grid = TimeGrid::new(&times, Some(200)).unwrap();
    for noise in [0.02, 0.2, 5.0, 100.0] {
        let values = simulate(&model(noise, 0.3, STARTS[0]), &times, 6);
        assert_small(differences(noise, 0.3, STARTS[0], &grid, &values));
    }
}

#[test]
fn outliers_of_thirty_sigma() {
    let times = even(60, 3.0);
    let grid = TimeGrid::new(&times, Some(60)).unwrap();
    for (noise, every) in [(0.5, 1), (0.5, 6), (2.0, 1)] {
        let mut values = thin(&simulate(&model(noise, 0.1, STARTS[1]), &times, 7), every);
        values[30] += 3.0;
        let [evidence, mean, sd] = differences(noise, 0.1, STARTS[1], &grid, &values);
        assert!(evidence < 1e-4 && mean < 1e-5 && sd < 1e-5, "{evidence:e} {mean:e} {sd:e}");
    }
}
