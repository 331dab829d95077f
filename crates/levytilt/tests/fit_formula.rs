//! A drift written as a formula learns what the built-in drift of the same equation learns.

use levytilt::drift::{DriftFamily, Formula};
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, simulate};

fn record(drift: &str, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let drift = DriftFamily::named(drift).unwrap().build(values).unwrap();
    let noise = Family::named("stable").unwrap().build(&[1.6, 0.7]).unwrap();
    let model = StateSpace::new(drift, noise, 0.1, Start::Fixed(0.5)).unwrap();
    let times: Vec<f64> = (0..=250).map(|k| 0.1 * f64::from(k)).collect();
    let series = simulate(&model, &times, 5).unwrap();
    (times, series.observations)
}

fn fitted(spec: Spec, (times, y): &(Vec<f64>, Vec<f64>), priors: bool) -> Fit {
    let spec = spec.fix("alpha", 1.6).fix("observation_std", 0.1);
    let options = FitOptions { paths: 50, priors, ..FitOptions::default() };
    fit(&spec, &TimeGrid::new(times, None).unwrap(), &[y], &options).unwrap()
}

/// Estimates within 0.02 standard errors, with the default priors and without, and evidence within 1e-6 at given values.
fn compare(name: &str, truth: &[f64], text: &str) {
    let (stable, data) = (Family::named("stable").unwrap(), record(name, truth));
    let family = DriftFamily::named(name).unwrap();
    let formula = Formula::parse(text).unwrap();
    for priors in [true, false] {
        let named = fitted(Spec::new(family, stable), &data, priors);
        let written = fitted(Spec::with_formula(formula.clone(), stable), &data, priors);
        for (a, b) in named.parameters.iter().zip(&written.parameters) {
            let error = a.std_error.unwrap_or(0.0);
            assert_eq!((&a.name, a.fixed), (&b.name, b.fixed));
            assert!((a.value - b.value).abs() <= 0.02 * error, "priors {priors}: {a:?} {b:?}");
        }
        assert!((named.evidence.log_evidence - written.evidence.log_evidence).abs() < 2e-3);
    }
    let hold = |spec: Spec| {
        let given = family.parameters.iter().zip(truth).map(|(entry, value)| (entry.name, *value));
        given.fold(spec.fix("scale", 0.7), |spec, (name, value)| spec.fix(name, value))
    };
    let named = fitted(hold(Spec::new(family, stable)), &data, true);
    let written = fitted(hold(Spec::with_formula(formula, stable)), &data, true);
    let apart = named.evidence.log_evidence - written.evidence.log_evidence;
    assert!(apart.abs() < 1e-6, "{apart}");
}

#[test]
fn identity_ou_as_a_formula() {
    compare("ou", &[1.2, 0.4], "theta*(mu - x)");
}

#[test]
fn identity_double_well_as_a_formula() {
    compare("double-well", &[1.0, 0.5], "theta1*x - theta2*x^3");
}

/// A value outside of the domain of the built-in drift leaves the formula as it is written.
#[test]
fn identity_a_formula_may_push_away_from_its_level() {
    let (stable, (times, y)) = (Family::named("stable").unwrap(), record("ou", &[1.2, 0.4]));
    let formula = Formula::parse("theta*(mu - x)").unwrap();
    let spec = Spec::with_formula(formula, stable).fix("theta", -0.1).fix("mu", 0.0).fix("scale", 0.7);
    let found = fitted(spec, &(times, y), true);
    assert_eq!(found.parameter("theta").unwrap().value, -0.1);
}
