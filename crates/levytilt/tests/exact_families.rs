//! Identities: the exact reference is converged for every noise family of the library, dense and sparse.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::exact::{Options, log_evidence, smooth};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Noise, PlusBrownian};
use levytilt::{Start, StateSpace, stream};
use rand_distr::{Distribution, StandardNormal};

const STEPS: usize = 200;

fn noises() -> Vec<Box<dyn Noise>> {
    let families: [(&str, &[f64]); 11] = [
        ("stable", &[1.5, 2.0]),
        ("stable", &[1.1, 1.0]),
        ("stable", &[1.9, 1.0]),
        ("truncated-stable", &[1.5, 1.0, 0.05, 1.0]),
        ("tempered-stable", &[1.5, 1.0, 0.5]),
        ("variance-gamma", &[1.0, 0.2]),
        ("nig", &[1.0, 1.0]),
        ("student", &[3.0, 1.0]),
        ("student", &[1.5, 1.0]),
        ("compound-poisson", &[3.0, 2.0]),
        ("gaussian", &[1.0]),
    ];
    let mut noises: Vec<Box<dyn Noise>> =
        families.iter().map(|(name, values)| Family::named(name).unwrap().build(values).unwrap()).collect();
    let jumps = Family::named("compound-poisson").unwrap().build(&[3.0, 2.0]).unwrap();
    noises.push(Box::new(PlusBrownian::new(jumps, 0.3).unwrap()));
    noises
}

/// Values at even times over 2 units, simulated with the exact sampler of the noise.
fn simulate(drift: &dyn Drift, noise: &dyn Noise, times: &[f64], observation_std: f64) -> Vec<f64> {
    let mut rng = stream(5, 0);
    let mut x = 0.5;
    let mut values = Vec::new();
    for pair in times.windows(2) {
        let error: f64 = StandardNormal.sample(&mut rng);
        values.push(x + observation_std * error);
        let mut moved = [0.0];
        drift.flow(pair[0], pair[1] - pair[0], &[x], &mut moved);
        x = moved[0] + noise.sample(pair[1] - pair[0], &mut rng);
    }
    values.push(x);
    values
}

#[test]
fn halving_the_spacing_changes_nothing() {
    let times: Vec<f64> = (0..=STEPS).map(|i| 2.0 * i as f64 / STEPS as f64).collect();
    let grid = TimeGrid::new(&times, Some(STEPS)).unwrap();
    for noise in noises() {
        let drifts: [Box<dyn Drift>; 2] =
            [Box::new(Ou::new(3.0, 1.0).unwrap()), Box::new(DoubleWell::new(4.0, 1.0).unwrap())];
        for drift in drifts {
            let name = format!("{} with {} {:?}", drift.kind(), noise.family(), noise.parameters());
            let dense = simulate(drift.as_ref(), noise.as_ref(), &times, 0.1);
            let values: Vec<f64> = noise.parameters().iter().map(|(_, value)| *value).collect();
            let noise = noise.with_parameters(&values).unwrap();
            let model = StateSpace::new(drift, noise, 0.1, Start::Fixed(0.5)).unwrap();
            for every in [1, 10] {
                let values: Vec<f64> =
                    dense.iter().enumerate().map(|(i, &y)| if i % every == 0 { y } else { f64::NAN }).collect();
                let found = smooth(&model, &grid, &values, &Options::default()).unwrap();
                let half =
                    Options { spacing: Some(0.5 * found.spacing), domain: Some(found.domain), ..Options::default() };
                let finer = log_evidence(&model, &grid, &values, &half).unwrap();
                let change = (finer - found.log_evidence).abs();
                assert!(change < 1e-3, "{name}, every {every}: {change:e}");
            }
        }
    }
}
