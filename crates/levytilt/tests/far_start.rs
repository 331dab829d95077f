//! Learn from starts that are far away: a system that runs for a long time to where it rests, with very heavy tails.

use levytilt::drift::Ou;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Learned, SweepOptions, learn, parameters};
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::{Start, StateSpace, simulate};

fn model(theta: f64, mu: f64, noise: impl Noise + 'static) -> StateSpace {
    StateSpace::new(Box::new(Ou::new(theta, mu).unwrap()), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
}

fn stable(scale: f64) -> Stable {
    Stable::new(1.2, scale).unwrap()
}

/// Drift and noise of `start`, learned from data of θ = 1.4, μ = −14; the error of observation is known.
fn learned(start: StateSpace, seed: u64) -> Learned {
    let times: Vec<f64> = (0..=600).map(|j| j as f64 * 0.01).collect();
    let values = simulate(&model(1.4, -14.0, stable(1.5)), &times, seed).unwrap().observations;
    let mut free = parameters(&start);
    free.last_mut().unwrap().fixed = true;
    let options = LearnOptions { sweep: SweepOptions { paths: 128, ..Default::default() }, ..Default::default() };
    learn(start, &free, &TimeGrid::new(&times, Some(600)).unwrap(), &[&values], &options).unwrap()
}

/// The evidence of a Gaussian model is known exactly, so a far start must end where a near one does.
#[test]
fn identity_gaussian_learning_does_not_depend_on_the_start() {
    for seed in 1..=4 {
        let gaussian = |scale: f64| Gaussian::new(scale).unwrap();
        let far = learned(model(2.5, 0.0, gaussian(10.0)), seed);
        let near = learned(model(1.5, -12.0, gaussian(4.0)), seed);
        for ((a, b), error) in
            far.optimum.parameters.iter().zip(&near.optimum.parameters).zip(&near.optimum.std_errors).take(3)
        {
            assert!((a.value - b.value).abs() < 0.02 * error, "{seed}: {a:?} {b:?} ± {error}");
        }
    }
}

/// Within 4 standard errors of the truth: false alarm 6e-5 per parameter, of which there are 16, if errors are Gaussian.
#[test]
fn statistics_stable_learning_finds_its_way_from_afar() {
    for seed in 1..=4 {
        let found = learned(model(2.5, 0.0, stable(4.0)), seed);
        for ((found, error), truth) in
            found.optimum.parameters.iter().zip(&found.optimum.std_errors).zip([1.4, -14.0, 1.2, 1.5])
        {
            assert!((found.value - truth).abs() < 4.0 * error, "{seed}: {found:?} ± {error}, truth {truth}");
        }
    }
}
