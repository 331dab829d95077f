//! Check heavy-tailed and known observation errors on the grid: against sums over all outliers, against differences, and
//! against the weights of paths.

use crate::drift::{NoDrift, Ou};
use crate::exact::follow::{Follower, Memory, answer};
use crate::exact::problem::Problem;
use crate::exact::sample::sample;
use crate::exact::{Options, log_evidence};
use crate::noise::{Gaussian, Stable};
use crate::series::TimeGrid;
use crate::solve::{parameters, rebuild};
use crate::{Chain, ErrorLaw, Errors, Start, StateSpace, simulate};
use std::f64::consts::PI;

const OUTLIERS: ErrorLaw = ErrorLaw::Outliers { probability: 0.05, size: 20.0 };

fn random_walk(errors: Errors) -> StateSpace {
    let (drift, noise) = (NoDrift::new(1).unwrap(), Gaussian::new(0.5).unwrap());
    let start = Start::Gaussian { mean: 0.0, std: 1.0 };
    StateSpace::new(Box::new(drift), Box::new(noise), 0.2, start).unwrap().with_errors(&errors)
}

fn jumping(errors: Errors) -> (StateSpace, TimeGrid, Vec<f64>) {
    let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
    let start = Start::Gaussian { mean: 0.2, std: 0.5 };
    let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.1, start).unwrap().with_errors(&errors);
    let times: Vec<f64> = (0..=120).map(|j| 0.01 * f64::from(j)).collect();
    let made = simulate(&model, &times, 5).unwrap();
    let mut seen = made.observations;
    (40..46).for_each(|j| seen[j] = f64::NAN);
    (69..72).for_each(|j| seen[j] = made.path[j]);
    seen[70] += 2.0;
    (model, TimeGrid::new(&times, Some(120)).unwrap(), seen)
}

/// ln p of a random walk seen with Gaussian errors of the given variances, by the Kalman filter.
fn kalman(values: &[f64], variances: &[f64]) -> f64 {
    let (mut mean, mut variance, mut log) = (0.0, 1.0, 0.0);
    for (j, (y, error)) in values.iter().zip(variances).enumerate() {
        variance += if j > 0 { 0.25 } else { 0.0 };
        let total = variance + error;
        log -= 0.5 * ((y - mean).powi(2) / total + (2.0 * PI * total).ln());
        mean += variance / total * (y - mean);
        variance *= error / total;
    }
    log
}

/// Every value is a gross error or not: 2⁷ Kalman filters are the exact answer.
#[test]
fn identity_outliers_are_a_sum_over_all_assignments() {
    let values = [0.1, 0.4, 5.0, 0.7, 0.2, -0.3, 3.0];
    let (mut total, mut wrong) = (0.0, [0.0; 7]);
    for gross in 0..128u32 {
        let is_gross = |j: usize| gross >> j & 1 == 1;
        let variances: Vec<f64> = (0..7).map(|j| if is_gross(j) { 16.0 } else { 0.04 }).collect();
        let prior = 0.05f64.powi(gross.count_ones() as i32) * 0.95f64.powi(7 - gross.count_ones() as i32);
        let joint = prior * kalman(&values, &variances).exp();
        total += joint;
        (0..7).filter(|&j| is_gross(j)).for_each(|j| wrong[j] += joint);
    }
    let model = random_walk(Errors::of(OUTLIERS));
    let times: Vec<f64> = (0..7).map(f64::from).collect();
    let grid = TimeGrid::new(&times, Some(6)).unwrap();
    let exact = log_evidence(&model, &grid, &values, &Options::default()).unwrap();
    assert!((exact - total.ln()).abs() < 1e-5, "{exact} {}", total.ln());
    let found = answer(&Problem::new(&model, &grid, &values).unwrap(), &[0.5], Memory::default()).unwrap();
    assert!((found.run.log_evidence - total.ln()).abs() < 1e-4, "{} {}", found.run.log_evidence, total.ln());
    for (found, expected) in found.run.wrong.iter().zip(wrong.map(|w| w / total)) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}

/// Known errors times a factor, with a missing row: the Kalman filter is the exact answer.
#[test]
fn identity_known_errors_are_the_kalman_filter() {
    let (values, known) = ([0.1, 0.4, 0.9, 0.7, 0.2], [1.0, 5.0, 0.7, 2.0, 1.5]);
    let model = random_walk(Errors { known: Some(known.into()), ..Errors::default() });
    let times: Vec<f64> = (0..5).map(f64::from).collect();
    let variances: Vec<f64> = known.iter().map(|s| (0.2 * s).powi(2)).collect();
    let expected = kalman(&values, &variances);
    for steps in [4, 40] {
        // With 40 steps times without an observation are left out while learning, and the walk is finer with the same law.
        let grid = TimeGrid::new(&times, Some(steps)).unwrap();
        let exact = log_evidence(&model, &grid, &values, &Options::default()).unwrap();
        assert!((exact - expected).abs() < 1e-4, "{exact} {expected}");
        let follower = Follower::new(&model, &grid, &values).unwrap();
        let learning = follower.log_evidence(&model, &mut Memory::default(), usize::MAX).unwrap();
        assert!((learning - expected).abs() < 1e-3, "{learning} {expected}");
    }
}

fn laws() -> Vec<Errors> {
    let known = (0..=120).map(|j| 0.5 + f64::from(j % 5)).collect();
    vec![Errors::of(OUTLIERS), Errors::of(ErrorLaw::Student { dof: 3.0 }), Errors { law: OUTLIERS, known: Some(known) }]
}

#[test]
fn identity_windows_and_paths_agree_with_the_reference() {
    for errors in laws() {
        let (model, grid, seen) = jumping(errors);
        let exact = log_evidence(&model, &grid, &seen, &Options::default()).unwrap();
        let problem = Problem::new(&model, &grid, &seen).unwrap();
        let found = answer(&problem, &[0.5], Memory::default()).unwrap();
        assert!((found.run.log_evidence - exact).abs() < 1e-3, "{} {exact}", found.run.log_evidence);
        assert!(found.run.wrong[70] > 0.9, "{}", found.run.wrong[70]);
        assert!(found.run.wrong[42].is_nan());
        // Weights are computed from the chain's likelihood, path by path, and all equal the evidence.
        let chain = Chain::new(&model, &grid, &[&seen]).unwrap();
        let paths = sample((&problem, &chain), found.on(), usize::MAX, 200, 1).unwrap();
        let worst = paths.log_weights().iter().map(|w| (w - exact).abs()).fold(0.0, f64::max);
        assert!(worst < 0.05, "{worst} {:?}", model.dimensions[0].errors.law);
        // The state at the wrong value is where its neighbours are, in paths and in marginals.
        let mean = paths.states(70).flatten().sum::<f64>() / 200.0;
        assert!((mean - found.run.mean[70]).abs() < 0.1 && (mean - seen[70]).abs() > 1.5, "{mean}");
    }
}

#[test]
fn identity_slopes_are_those_of_the_evidence() {
    for errors in laws() {
        let (model, grid, seen) = jumping(errors);
        let follower = Follower::new(&model, &grid, &seen).unwrap();
        let mut memory = Memory::default();
        let gradient = follower.gradient(&model, &mut memory).unwrap();
        let values: Vec<f64> = parameters(&model).iter().map(|p| p.value).collect();
        assert_eq!(gradient.slope.len(), values.len());
        for (i, p) in parameters(&model).iter().enumerate() {
            let at = |by: f64| {
                let mut values = values.clone();
                values[i] += by;
                follower.log_evidence(&rebuild(&model, &values).unwrap(), &mut memory.clone(), usize::MAX).unwrap()
            };
            let step = 1e-3 * values[i].abs();
            let expected = (at(step) - at(-step)) / (2.0 * step);
            let miss = (gradient.slope[i] - expected).abs() * values[i].abs();
            assert!(miss < 2e-2 * (1.0 + (expected * values[i]).abs()), "{}: {} {expected}", p.name, gradient.slope[i]);
        }
    }
}
