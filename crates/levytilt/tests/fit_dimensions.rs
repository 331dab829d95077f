//! Fits of several dimensions: alone where they do not act on each other, together where they do.

use levytilt::drift::{DriftFamily, Linear};
use levytilt::internals::exact;
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit, parameter_posterior};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Gaussian};
use levytilt::{Dimension, Start, StateSpace, simulate};
use nalgebra::{DMatrix, DVector};

fn spec(drift: &str, noise: &str) -> Spec {
    Spec::new(DriftFamily::named(drift).unwrap(), Family::named(noise).unwrap())
}

fn even_times(steps: usize, dt: f64) -> Vec<f64> {
    (0..=steps).map(|i| i as f64 * dt).collect()
}

/// Two OU processes that differ in everything.
fn two_processes(times: &[f64]) -> [Vec<f64>; 2] {
    let one = |theta: f64, mu: f64, alpha: f64, scale: f64, error: f64, seed: u64| {
        let spec = spec("ou", "stable").fix("theta", theta).fix("mu", mu).fix("alpha", alpha).fix("scale", scale);
        let model = Spec { x0: Some(0.0), ..spec.fix("observation_std", error) }.model().unwrap();
        simulate(&model, times, seed).unwrap().observations
    };
    [one(3.0, 1.0, 1.5, 2.0, 0.1, 5), one(1.0, -20.0, 1.8, 10.0, 0.5, 6)]
}

const OPTIONS: fn() -> FitOptions = || FitOptions { paths: 100, ..FitOptions::default() };

/// Dimensions that do not act on each other are learned as they would be alone, digit by digit; the evidence of both
/// is the sum of the two exact ones, within four standard errors of the particles.
#[test]
fn identity_strangers_are_learned_as_if_alone() {
    let times = even_times(200, 0.02);
    let grid = TimeGrid::new(&times, Some(200)).unwrap();
    let [a, mut b] = two_processes(&times);
    b[17] = f64::NAN;
    let both = spec("ou", "stable").named(&["A", "B"]).fix("alpha[B]", 1.8);
    let both = fit(&both, &grid, &[&a, &b], &OPTIONS()).unwrap();
    let alone = [
        fit(&spec("ou", "stable"), &grid, &[&a], &OPTIONS()).unwrap(),
        fit(&spec("ou", "stable").fix("alpha", 1.8), &grid, &[&b], &OPTIONS()).unwrap(),
    ];
    let mut exact = 0.0;
    for ((one, name), y) in alone.iter().zip(["A", "B"]).zip([&a, &b]) {
        for p in &one.parameters {
            let joint = both.parameter(&format!("{}[{name}]", p.name)).unwrap();
            assert_eq!((joint.value, joint.std_error, joint.fixed), (p.value, p.std_error, p.fixed), "{}", p.name);
        }
        exact += exact::log_evidence(&one.model, &grid, y, &exact::Options::default()).unwrap();
    }
    assert_eq!(both.parameters.len(), 10);
    assert_eq!((both.observations, both.marginals.len(), both.end_states().len()), (401, 2, 200));
    assert!((both.evidence.log_evidence - exact).abs() < 4.0 * both.evidence.std_error, "{:?} {exact}", both.evidence);
}

fn coupled_model() -> StateSpace {
    let matrix = DMatrix::from_row_slice(2, 2, &[-2.0, 3.0, 0.0, -1.0]);
    let drift = Linear::new(matrix, DVector::from_vec(vec![1.0, 0.0])).unwrap();
    let dimension = |scale| Dimension {
        noise: Box::new(Gaussian::new(scale).unwrap()),
        size: None,
        observation_std: 0.05,
        errors: levytilt::internals::Errors::default(),
        start: Start::Fixed(0.0),
    };
    StateSpace::multivariate(Box::new(drift), vec![dimension(0.5), dimension(1.0)]).unwrap()
}

/// The coupled model fitted to 500 steps of itself, with the error of observation given or not.
fn coupled_fit(given: bool) -> Fit {
    let times = even_times(500, 0.05);
    let grid = TimeGrid::new(&times, Some(500)).unwrap();
    let data = simulate(&coupled_model(), &times, 2).unwrap();
    let spec = spec("linear", "gaussian").named(&["A", "B"]).fix("x0", 0.0);
    let spec = if given { spec.fix("observation_std", 0.05) } else { spec };
    fit(&spec, &grid, &[&data.column(0), &data.column(1)], &FitOptions { paths: 400, ..OPTIONS() }).unwrap()
}

/// In these data a larger scale of A explains what its error of observation does: the maximum lies near no error at all,
/// at an evidence that is hardly higher than with the true error given. The fit must say that it cannot tell.
#[test]
fn statistics_an_error_of_observation_that_cannot_be_told_is_said_so() {
    let (given, learned) = (coupled_fit(true), coupled_fit(false));
    let gain = learned.evidence.log_evidence - given.evidence.log_evidence;
    assert!((-0.5..1.0).contains(&gain), "{gain}");
    assert!(learned.parameter("observation_std[A]").unwrap().value < 0.03);
    assert!(learned.warnings.iter().any(|w| w.contains("observation_std[A]")), "{:?}", learned.warnings);
}

/// Four standard errors for each of eight parameters, the error of observation given: false alarm below 1e-3 if the
/// errors are Gaussian; the seed is fixed. The push of B on A is far from nothing, and seen so.
#[test]
fn statistics_a_push_between_dimensions_is_found() {
    let fit = coupled_fit(true);
    let truth = [
        ("slope[A,A]", -2.0),
        ("slope[A,B]", 3.0),
        ("slope[B,A]", 0.0),
        ("slope[B,B]", -1.0),
        ("offset[A]", 1.0),
        ("offset[B]", 0.0),
        ("scale[A]", 0.5),
        ("scale[B]", 1.0),
    ];
    assert_eq!(fit.parameters.len(), truth.len() + 2);
    for (name, truth) in truth {
        let p = fit.parameter(name).unwrap();
        let off = (p.value - truth).abs() / p.std_error.unwrap();
        assert!(off < 4.0, "{p:?}, {} iterations, {:?}", fit.iterations, fit.warnings);
    }
    let push = fit.parameter("slope[A,B]").unwrap();
    assert!(push.value > 6.0 * push.std_error.unwrap(), "{push:?}");
}

/// Draws weighted by estimates of the evidence, which are exact for Gaussian noise, agree with the standard errors as those of one
/// column do: means within 0.6 and spreads within half of a standard error, several times what 120 draws need.
#[test]
fn statistics_draws_of_columns_that_act_on_each_other_agree_with_the_standard_errors() {
    let times = even_times(80, 0.1);
    let grid = TimeGrid::new(&times, Some(80)).unwrap();
    let data = simulate(&coupled_model(), &times, 2).unwrap();
    let columns = [&data.column(0)[..], &data.column(1)[..]];
    let spec = spec("linear", "gaussian").named(&["A", "B"]).fix("x0", 0.0).fix("observation_std", 0.05);
    let spec = spec.fix("slope[B,A]", 0.0).fix("offset", 0.0).fix("offset[A]", 1.0);
    let fit = fit(&spec, &grid, &columns, &OPTIONS()).unwrap();
    let drawn = parameter_posterior(&fit, &spec, (&grid, &columns), true, (120, 1)).unwrap();
    assert!(drawn.effective_sample_size > 48.0 && drawn.k_hat < 0.7, "{} {}", drawn.effective_sample_size, drawn.k_hat);
    for (i, name) in drawn.names.iter().enumerate() {
        let ((mean, sd), p) = (drawn.moments(i), fit.parameter(name).unwrap());
        let error = p.std_error.unwrap();
        assert!((mean - p.value).abs() < 0.6 * error && (sd / error - 1.0).abs() < 0.5, "{p:?}: {mean} {sd}");
    }
}

#[test]
fn columns_and_names_must_fit() {
    let times = even_times(20, 0.1);
    let grid = TimeGrid::new(&times, Some(20)).unwrap();
    let y: Vec<f64> = times.iter().map(|t| (7.0 * t).sin()).collect();
    let flat = vec![1.0; 21];
    let refused = |spec: Spec, columns: &[&[f64]], part: &str| {
        let error = fit(&spec, &grid, columns, &OPTIONS()).map(|_: Fit| ()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let two = || spec("ou", "stable").named(&["A", "B"]);
    refused(spec("ou", "stable"), &[&y, &y], "columns");
    refused(two(), &[&y], "columns");
    refused(two().named(&["A", "A"]), &[&y, &y], "distinct");
    refused(two().fix("theta[C]", 1.0), &[&y, &y], "theta[C]");
    refused(two(), &[&y, &flat], "of B");
    refused(spec("linear", "stable").named(&["A", "B"]).fix("slope[A,C]", 1.0), &[&y, &y], "slope[A,C]");
}
