//! Learning tells of its steps, and ends early with what it has when asked to.

use levytilt::drift::Ou;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Learned, SweepOptions, learn_with, parameters};
use levytilt::noise::Stable;
use levytilt::{Context, Start, StateSpace, simulate};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

fn learned(last: usize) -> (Learned, Vec<(usize, Vec<f64>)>) {
    let model = |theta: f64| {
        let (drift, noise) = (Ou::new(theta, 1.0).unwrap(), Stable::new(1.6, 1.5).unwrap());
        StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
    };
    let times: Vec<f64> = (0..=60).map(|j| 0.01 * f64::from(j)).collect();
    let seen = simulate(&model(3.0), &times, 1).unwrap().observations;
    let guess = model(1.0);
    let all = parameters(&guess);
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = told.clone();
    let context = Context::watched(move |step| {
        notes.lock().unwrap().push((step.iteration, step.values.to_vec()));
        if step.iteration < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let options =
        LearnOptions { sweep: SweepOptions { paths: 40, ..SweepOptions::default() }, ..LearnOptions::default() };
    let grid = TimeGrid::new(&times, None).unwrap();
    let found = learn_with(guess, &all, (&grid, &[&seen]), &options, &context).unwrap();
    let told = std::mem::take(&mut *told.lock().unwrap());
    (found, told)
}

#[test]
fn identity_the_last_step_told_is_the_result() {
    let (found, told) = learned(usize::MAX);
    let values: Vec<f64> = found.optimum.parameters.iter().map(|p| p.value).collect();
    assert_eq!(told[0].0, 0);
    assert_eq!(told[told.len() - 1], (found.optimum.iterations, values));
    // The covariance holds the squares of the standard errors, each on its free scale.
    let n = found.optimum.parameters.len();
    for (k, p) in found.optimum.parameters.iter().enumerate() {
        let error = found.optimum.covariance[k * n + k].sqrt() * p.transform.slope(p.value);
        assert!((error / found.optimum.std_errors[k] - 1.0).abs() < 1e-12, "{}", p.name);
    }
}

#[test]
fn identity_a_stop_keeps_what_is_there() {
    let (found, told) = learned(1);
    assert_eq!((found.optimum.iterations, told[1].0), (1, 1));
    assert!(
        found.optimum.warnings.iter().any(|w| w.contains("stopped on request after 1 iterations")),
        "{:?}",
        found.optimum.warnings
    );
}
