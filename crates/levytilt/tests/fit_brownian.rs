//! Learn a diffusion beside the jumps: found where there is one, and said to be none where there is none.

use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Method};
use levytilt::noise::Family;
use levytilt::simulate;

fn spec(drift: &str, noise: &str) -> Spec {
    Spec::new(DriftFamily::named(drift).unwrap(), Family::named(noise).unwrap()).fix("observation_std", 0.05)
}

fn record(brownian: f64, times: &[f64], seed: u64) -> Vec<f64> {
    let truth = spec("ou", "stable").fix("theta", 1.0).fix("mu", 0.0).fix("alpha", 1.2).fix("scale", 0.3);
    let truth = Spec { x0: Some(0.0), ..truth.fix("brownian", brownian) };
    simulate(&truth.model().unwrap(), times, seed).unwrap().observations
}

/// False alarms of the first part: a normal estimate lies 4 standard errors off in 6e-5 of all records.
#[test]
fn statistics_a_diffusion_is_told_from_none() {
    let times: Vec<f64> = (0..600).map(|j| 0.1 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, None).unwrap();
    let options = FitOptions { paths: 50, ..FitOptions::default() };
    let learned = |brownian: f64| {
        let values = record(brownian, &times, 3);
        fit(&spec("ou", "stable").with_learned_brownian(), &grid, &[&values], &options).unwrap()
    };
    let found = learned(0.8);
    let sigma = found.parameter("brownian").unwrap();
    let error = sigma.std_error.unwrap();
    assert!(!sigma.fixed && (sigma.value - 0.8).abs() < 4.0 * error && error < 0.2, "{sigma:?}");
    let (name, evidence) = &found.brownian[0];
    assert!(name == "brownian" && evidence.is_told_apart(), "{evidence:?}");
    assert_eq!(evidence.with, found.evidence.log_evidence);
    let plain = fit(&spec("ou", "stable"), &grid, &[&record(0.8, &times, 3)], &options).unwrap();
    assert!((plain.evidence.log_evidence - evidence.without).abs() < 0.02, "{evidence:?}");
    let none = learned(0.0);
    assert!(!none.brownian[0].1.is_told_apart(), "{:?}", none.brownian);
    assert!(
        none.warnings.iter().any(|w| w.starts_with("brownian is not distinguishable from 0")),
        "{:?}",
        none.warnings
    );
}

#[test]
fn what_cannot_be_learned_is_named() {
    let times: Vec<f64> = (0..40).map(|j| 0.1 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, None).unwrap();
    let values = record(0.5, &times, 1);
    let said = |spec: Spec, columns: &[&[f64]], method| {
        let options = FitOptions { learn: LearnOptions { method, ..LearnOptions::default() }, ..FitOptions::default() };
        fit(&spec.with_learned_brownian(), &grid, columns, &options).unwrap_err().to_string()
    };
    let text = said(spec("ou", "gaussian"), &[&values], Method::Auto);
    assert!(text.contains("gaussian noise, which is Brownian motion itself"), "{text}");
    let text = said(spec("linear", "stable").named(&["A", "B"]), &[&values, &values], Method::Auto);
    assert!(text.contains("coupled dimensions") && text.contains("brownian"), "{text}");
    let text = said(spec("ou", "stable"), &[&values], Method::Sweep);
    assert!(text.contains("method sweep") && text.contains("use method auto"), "{text}");
}

/// Columns that do not act on each other have a diffusion each; one that is given stays.
#[test]
fn identity_columns_are_learned_one_by_one() {
    let times: Vec<f64> = (0..150).map(|j| 0.1 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, None).unwrap();
    let [a, b] = [1, 2].map(|seed| record(0.8, &times, seed));
    let options = FitOptions { paths: 20, ..FitOptions::default() };
    let held = |spec: Spec| spec.fix("theta", 1.0).fix("mu", 0.0).fix("alpha", 1.2);
    let both = held(spec("ou", "stable")).named(&["A", "B"]).fix("brownian[B]", 0.8).with_learned_brownian();
    let both = fit(&both, &grid, &[&a, &b], &options).unwrap();
    let alone = fit(&held(spec("ou", "stable")).with_learned_brownian(), &grid, &[&a], &options).unwrap();
    let [one, other] = [both.parameter("brownian[A]").unwrap(), both.parameter("brownian[B]").unwrap()];
    assert!(other.fixed && other.value == 0.8 && both.brownian.len() == 1, "{other:?}");
    assert_eq!((one.value, both.brownian[0].1), (alone.parameter("brownian").unwrap().value, alone.brownian[0].1));
    assert_eq!(both.brownian[0].0, "brownian[A]");
}
