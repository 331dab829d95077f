//! Units do not matter: values in other units, or time in others, give the same posterior in those units.

use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Result, simulate};
use proptest::prelude::*;

const ROWS: usize = 120;

fn spec(noise: &str) -> Spec {
    Spec::new(DriftFamily::named("ou").unwrap(), Family::named(noise).unwrap())
}

/// Values of an irregular record that jumps twice, and their times.
fn record() -> (Vec<f64>, Vec<f64>) {
    let times: Vec<f64> = (0..ROWS).map(|j| 0.1 * j as f64 + 0.03 * (j as f64 * 1.7).sin()).collect();
    let level = |j: usize| {
        if j > 80 {
            -1.0
        } else if j > 40 {
            2.0
        } else {
            0.5
        }
    };
    (times, (0..ROWS).map(|j| level(j) + 0.2 * (j as f64 * 2.3).sin() + 0.1 * (j as f64 * 7.1).cos()).collect())
}

fn run(spec: &Spec, times: &[f64], values: &[f64]) -> Result<Fit> {
    let options = FitOptions { paths: 64, ..FitOptions::default() };
    fit(spec, &TimeGrid::new(times, None)?, &[values], &options)
}

fn given(scale: f64, time: f64) -> Spec {
    // Over a time unit 1/`time` as long, the noise of index 1.5 is `time`^(1/1.5) as small.
    spec("stable")
        .fix("theta", 1.5 / time)
        .fix("mu", 0.3 * scale)
        .fix("alpha", 1.5)
        .fix("scale", 0.8 * scale / time.powf(1.0 / 1.5))
        .fix("observation_std", 0.15 * scale)
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn identity_values_in_other_units(power in -6.0f64..6.0) {
        let unit = 10f64.powf(power);
        let (times, values) = record();
        let plain = run(&given(1.0, 1.0), &times, &values).unwrap();
        let scaled: Vec<f64> = values.iter().map(|v| v * unit).collect();
        let other = run(&given(unit, 1.0), &times, &scaled).unwrap();
        // The density of every value is that in the old unit, per new unit.
        let shift = -(ROWS as f64) * unit.ln();
        prop_assert!(close(other.summary.elbo, plain.summary.elbo + shift, 1e-6));
        prop_assert!(close(other.evidence.log_evidence, plain.evidence.log_evidence + shift, 1e-6));
        for j in (0..ROWS).step_by(10) {
            prop_assert!(close(other.marginals[0][j].mean / unit, plain.marginals[0][j].mean, 1e-6));
            prop_assert!(close(other.marginals[0][j].sd / unit, plain.marginals[0][j].sd, 1e-6));
        }
    }

    #[test]
    fn identity_time_in_other_units(power in -6.0f64..6.0) {
        let unit = 10f64.powf(power);
        let (times, values) = record();
        let plain = run(&given(1.0, 1.0), &times, &values).unwrap();
        let slow: Vec<f64> = times.iter().map(|t| t * unit).collect();
        let other = run(&given(1.0, unit), &slow, &values).unwrap();
        prop_assert!(close(other.summary.elbo, plain.summary.elbo, 1e-6));
        prop_assert!(close(other.evidence.log_evidence, plain.evidence.log_evidence, 1e-6));
    }
}

#[test]
fn identity_learned_parameters_follow_the_unit() {
    // Data that determine the parameters: where they do not, the last digit decides which way the search goes.
    let model = Spec { x0: Some(0.0), ..given(1.0, 1.0) }.model().unwrap();
    let times: Vec<f64> = (0..300).map(|j| 0.05 * j as f64).collect();
    let values = simulate(&model, &times, 3).unwrap().observations;
    // A power of two, so that only logarithms round.
    let unit = 1024.0;
    let scaled: Vec<f64> = values.iter().map(|v| v * unit).collect();
    for noise in ["stable", "nig", "student"] {
        let plain = run(&spec(noise), &times, &values).unwrap();
        let other = run(&spec(noise), &times, &scaled).unwrap();
        let of = |fit: &Fit, name: &str| fit.parameter(name).unwrap().value;
        for (name, factor) in [("theta", 1.0), ("mu", unit), ("scale", unit), ("observation_std", unit)] {
            let se = plain.parameter(name).unwrap().std_error.unwrap_or(1.0);
            let off = (of(&other, name) / factor - of(&plain, name)) / se;
            // A rounded logarithm may send one draw of one path the other way: no more than the noise of 64 paths.
            assert!(off.abs() < 0.1, "{noise}: {name} {} and {}", of(&plain, name), of(&other, name));
        }
    }
}
