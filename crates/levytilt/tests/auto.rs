//! `auto` learns with sweeps where they do, and ends with a Gaussian sum where that is clearly better.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Learned, Method, SweepOptions, learn, parameters};
use levytilt::noise::Stable;
use levytilt::{Start, StateSpace, simulate};

/// Learn the first parameter of the drift from every n-th of 100 steps.
fn learned(drift: fn(f64) -> Box<dyn Drift>, every: usize, method: Method) -> Learned {
    let model = |first: f64| {
        let noise = Box::new(Stable::new(1.5, 1.0).unwrap());
        StateSpace::new(drift(first), noise, 0.1, Start::Fixed(0.0)).unwrap()
    };
    let times: Vec<f64> = (0..=100).map(|j| 0.05 * f64::from(j)).collect();
    let seen = simulate(&model(4.0), &times, 2).unwrap().observations;
    let pick = |values: &[f64]| values.iter().copied().step_by(every).collect::<Vec<f64>>();
    let (times, seen) = (pick(&times), pick(&seen));
    let mut all = parameters(&model(3.0));
    all[1..].iter_mut().for_each(|p| p.fixed = true);
    let sweep = SweepOptions { paths: 200, ..SweepOptions::default() };
    let options = LearnOptions { method, sweep, iterations: 3, ..LearnOptions::default() };
    learn(model(3.0), &all, &TimeGrid::new(&times, Some(100)).unwrap(), &[&seen], &options).unwrap()
}

#[test]
fn identity_auto_ends_with_the_better_method() {
    let ou = |theta: f64| Box::new(Ou::new(theta, 1.0).unwrap()) as Box<dyn Drift>;
    let dense = learned(ou, 1, Method::Auto);
    assert_eq!(dense.choice.method, Method::Sweep);
    assert!(dense.choice.why.contains("no other method could add more than"), "{:?}", dense.choice);
    let well = |theta: f64| Box::new(DoubleWell::new(theta, 1.0).unwrap()) as Box<dyn Drift>;
    let (sparse, swept) = (learned(well, 10, Method::Auto), learned(well, 10, Method::Sweep));
    assert_eq!(sparse.choice.method, Method::GaussianSum);
    assert!(sparse.summary.elbo > swept.summary.elbo + 1.0, "{:?} {:?}", sparse.summary, swept.summary);
}
