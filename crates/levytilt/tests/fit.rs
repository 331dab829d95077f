//! Fits of whole series: against the exact evidence, the Kalman filter, the truth, and bad input.

use levytilt::drift::DriftFamily;
use levytilt::internals::exact;
use levytilt::internals::exact::kalman::{self, Step};
use levytilt::internals::fit::{Fit, FitOptions, IntervalSource, PosteriorKind, Spec, fit, parameter_posterior};
use levytilt::internals::forecast::{ForecastOptions, Target, forecast};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Result, Start, StateSpace, simulate};

fn spec(drift: &str, noise: &str) -> Spec {
    Spec::new(DriftFamily::named(drift).unwrap(), Family::named(noise).unwrap())
}

fn even_times(steps: usize, dt: f64) -> Vec<f64> {
    (0..=steps).map(|i| i as f64 * dt).collect()
}

/// Observations of an OU process (θ = 3, μ = 1) with this noise, scale 2 and observation error 0.1.
fn ou_data(noise: &str, values: &[f64], times: &[f64], seed: u64) -> Vec<f64> {
    let drift = DriftFamily::named("ou").unwrap().build(&[3.0, 1.0]).unwrap();
    let noise = Family::named(noise).unwrap().build(values).unwrap();
    simulate(&StateSpace::new(drift, noise, 0.1, Start::Fixed(0.0)).unwrap(), times, seed).unwrap().observations
}

fn all_finite(fit: &Fit) {
    let figures = [fit.summary.elbo, fit.evidence.log_evidence, fit.summary.effective_sample_size];
    assert!(figures.iter().all(|figure| figure.is_finite()), "{figures:?}");
    for m in fit.marginals.iter().flatten() {
        assert!(m.mean.is_finite() && m.sd.is_finite() && m.quantiles.iter().all(|q| q.is_finite()), "{m:?}");
        assert!((0.0..=1.0).contains(&m.jump_probability));
    }
    assert!(fit.parameters.iter().all(|p| p.value.is_finite() && p.std_error.is_none_or(f64::is_finite)));
}

/// Four standard errors for each of five parameters: false alarm below 1e-3 if the errors are Gaussian; the seed is
/// fixed. The bound may be above the evidence only by its own error, and the evidence is that of the reference.
#[test]
fn statistics_ou_stable_is_recovered() {
    let times = even_times(600, 0.01);
    let y = ou_data("stable", &[1.5, 2.0], &times, 4);
    let grid = TimeGrid::new(&times, Some(600)).unwrap();
    let options = FitOptions { paths: 300, ..FitOptions::default() };
    let fit = fit(&spec("ou", "stable"), &grid, &[&y], &options).unwrap();
    all_finite(&fit);
    for (name, truth) in [("theta", 3.0), ("mu", 1.0), ("alpha", 1.5), ("scale", 2.0), ("observation_std", 0.1)] {
        let p = fit.parameter(name).unwrap();
        assert!((p.value - truth).abs() < 4.0 * p.std_error.unwrap(), "{p:?}");
        assert!(!p.fixed && !p.held_by_prior, "{p:?}");
    }
    let exact = exact::log_evidence(&fit.model, &grid, &y, &exact::Options::default()).unwrap();
    let (elbo, particles) = (&fit.summary, &fit.evidence);
    assert!(elbo.elbo <= exact + 3.0 * elbo.elbo_std_error, "{elbo:?} {exact}");
    assert!(exact - elbo.elbo < 3.0, "{elbo:?} {exact}");
    assert!((particles.log_evidence - exact).abs() < 4.0 * particles.std_error + 1e-3, "{particles:?} {exact}");
    assert_eq!(fit.posterior, PosteriorKind::Exact);
}

/// At the ends of an interval by profile likelihood the evidence, maximised over the other parameters, lies half of the 90%
/// quantile of χ² below its maximum: 1.35, but for the priors of the others and an interpolation, together below 0.3.
#[test]
fn identity_a_short_record_has_profile_intervals() {
    let times = even_times(300, 0.01);
    let grid = TimeGrid::new(&times, None).unwrap();
    let y = ou_data("stable", &[1.5, 2.0], &times, 4);
    let options = FitOptions { paths: 2, ..FitOptions::default() };
    let found = fit(&spec("ou", "stable"), &grid, &[&y], &options).unwrap();
    for name in ["theta", "mu"] {
        let interval = found.parameter(name).unwrap().interval.unwrap();
        assert_eq!(interval.source, IntervalSource::Profile);
        for end in [interval.low, interval.high] {
            let held = fit(&spec("ou", "stable").fix(name, end), &grid, &[&y], &options).unwrap();
            let fall = found.evidence.log_evidence - held.evidence.log_evidence;
            assert!((fall - 1.353).abs() < 0.3, "{name} {end}: {fall}");
        }
    }
    assert_eq!(found.parameter("alpha").unwrap().interval.unwrap().source, IntervalSource::Gaussian);
}

/// ln p(y) of a fitted OU process with Gaussian noise and x0 = 0, from the flow μ + (x − μ)e^{−θΔ} and variance scale²Δ.
fn kalman_evidence(fit: &Fit, dt: f64, y: &[f64]) -> f64 {
    let [theta, mu, scale, error] =
        ["theta", "mu", "scale", "observation_std"].map(|p| fit.parameter(p).unwrap().value);
    let slope = (-theta * dt).exp();
    let step = Step { slope, offset: mu * (1.0 - slope), variance: scale * scale * dt };
    kalman::smooth(Start::Fixed(0.0), &vec![step; y.len() - 1], y, error).unwrap().log_evidence
}

/// With Gaussian noise and a linear drift the best potential is quadratic, so the bound is the evidence itself.
#[test]
fn identity_gaussian_bound_is_the_kalman_evidence() {
    let times = even_times(200, 0.05);
    let y = ou_data("gaussian", &[2.0], &times, 2);
    let grid = TimeGrid::new(&times, Some(200)).unwrap();
    for given in [true, false] {
        let mut spec = Spec { x0: Some(0.0), ..spec("ou", "gaussian") };
        if given {
            spec = spec.fix("theta", 3.0).fix("mu", 1.0).fix("scale", 2.0).fix("observation_std", 0.1);
        }
        let fit = fit(&spec, &grid, &[&y], &FitOptions { paths: 100, ..FitOptions::default() }).unwrap();
        let kalman = kalman_evidence(&fit, 0.05, &y);
        assert!((fit.summary.elbo - kalman).abs() < 1e-6, "{} {kalman}", fit.summary.elbo);
        assert!((fit.evidence.log_evidence - kalman).abs() < 1e-6);
        assert_eq!(fit.parameters.iter().all(|p| p.fixed), given);
    }
}

/// A series for each trap; every fit ends with finite numbers or with an error that names the trouble.
#[test]
fn bad_series_give_a_result_or_a_clear_error() {
    let times = even_times(60, 0.1);
    let good = ou_data("stable", &[1.5, 2.0], &times, 3);
    let with = |value: f64| -> Vec<f64> { (0..good.len()).map(|i| if i == 30 { value } else { good[i] }).collect() };
    let (outlier, fill) = (with(300.0), with(1e6));
    let gaps: Vec<f64> = good.iter().enumerate().map(|(i, y)| if i % 4 == 0 { *y } else { f64::NAN }).collect();
    let mut close = times.clone();
    close[31] = close[30] + 1e-12;
    let stable = || spec("ou", "stable");
    let cases: [(&str, Spec, &[f64], &[f64]); 6] = [
        ("outlier", stable(), &times, &outlier),
        ("gaps", stable(), &times, &gaps),
        ("close", stable(), &close, &good),
        ("far start", Spec { x0: Some(1e4), ..stable() }, &times, &good),
        ("far gaussian start", Spec { x0: Some(1e4), ..spec("ou", "gaussian") }, &times, &good),
        ("two", stable(), &times[..2], &good[..2]),
    ];
    for (name, spec, times, values) in cases {
        let fit = try_fit(&spec, times, values).unwrap_or_else(|error| panic!("{name}: {error}"));
        all_finite(&fit);
        assert_eq!(fit.warnings.iter().any(|w| w.contains("x0 is")), name.starts_with("far"), "{name}");
    }
    let refused = |spec: Spec, values: &[f64], part: &str| {
        let error = try_fit(&spec, &times[..values.len()], values).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(stable(), &fill, "observation 31: 1000000 is");
    refused(stable(), &[1.0; 40], "all observed values are equal");
    refused(stable(), &[1.0, f64::NAN, f64::NAN], "fewer than 2");
    refused(stable().fix("observation_std", 0.0), &good, "observation_std = 0");
    refused(stable().fix("dof", 3.0), &good, "dof");
    let given = stable().fix("theta", 3.0).fix("mu", 1.0).fix("alpha", 1.5).fix("scale", 2.0);
    all_finite(&try_fit(&given.fix("observation_std", 0.1), &times[..40], &[1.0; 40]).unwrap());
}

fn try_fit(spec: &Spec, times: &[f64], values: &[f64]) -> Result<Fit> {
    let grid = TimeGrid::new(times, Some(times.len() - 1))?;
    fit(spec, &grid, &[values], &FitOptions { paths: 64, ..FitOptions::default() })
}

/// Draws of parameters have the estimates, shifted, as medians and the standard errors as spread, on the free scales (to a
/// seventh: four standard errors of 2000 draws, which are the same in every run); those given stay.
#[test]
fn statistics_drawn_parameters_have_the_law_of_the_estimates() {
    let times = even_times(300, 0.01);
    let y = ou_data("stable", &[1.5, 2.0], &times, 4);
    let spec = spec("ou", "stable").fix("alpha", 1.5);
    let grid = TimeGrid::new(&times, Some(300)).unwrap();
    let fit = fit(&spec, &grid, &[&y], &FitOptions { paths: 64, ..FitOptions::default() }).unwrap();
    let draws = fit.draw_parameters(2000, 1).unwrap();
    assert_eq!(draws, fit.draw_parameters(2000, 1).unwrap());
    let mut shifts = fit.shift.iter();
    for (k, (p, transform)) in fit.parameters.iter().zip(fit.transforms()).enumerate() {
        let mut values: Vec<f64> = draws.iter().map(|draw| draw[k]).collect();
        values.sort_by(f64::total_cmp);
        let Some(error) = p.std_error else {
            assert!(values[0] == p.value && values[1999] == p.value, "{p:?}");
            continue;
        };
        let [low, median, high] = [317, 1000, 1682].map(|k| transform.forward(values[k]));
        let (error, middle) = (error / transform.slope(p.value), transform.forward(p.value) + shifts.next().unwrap());
        assert!((median - middle).abs() < 0.14 * error, "{p:?}: median {median}, not {middle}");
        assert!((0.5 * (high - low) / error - 1.0).abs() < 0.14, "{p:?}: from {low} to {high}");
    }
}

/// A stable noise of index 2 is Gaussian with variance 2·scale²: the fit is that of a Gaussian noise, under its own names.
#[test]
fn identity_index_two_given_is_a_gaussian_fit() {
    let times = even_times(300, 0.01);
    let y = ou_data("gaussian", &[2.0], &times, 4);
    let stable = try_fit(&spec("ou", "stable").fix("alpha", 2.0), &times, &y).unwrap();
    let gaussian = try_fit(&spec("ou", "gaussian"), &times, &y).unwrap();
    let names = |fit: &Fit| fit.parameters.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&stable), names(&gaussian));
    let value = |fit: &Fit, name: &str| fit.parameter(name).unwrap().value;
    for (name, factor) in [("theta", 1.0), ("scale", 2.0f64.sqrt()), ("observation_std", 1.0)] {
        let (a, b) = (factor * value(&stable, name), value(&gaussian, name));
        assert!((a / b - 1.0).abs() < 1e-3, "{name}: {a} and {b}");
    }
}

/// A fit looks ahead with parameters drawn; its model alone with its estimates. Where all is given they are the same.
#[test]
fn identity_a_fit_forecasts_with_drawn_parameters() {
    let times = even_times(100, 0.01);
    let y = ou_data("nig", &[3.0, 1.0], &times, 4);
    let given = spec("ou", "nig").fix("theta", 3.0).fix("mu", 1.0).fix("observation_std", 0.1);
    let options =
        ForecastOptions { from: times[100], longest_step: 0.01, paths: 30, seed: 1, target: Target::Observations };
    for (spec, same) in [(given.clone().fix("scale", 3.0).fix("tempering", 1.0), true), (given, false)] {
        let fit = try_fit(&spec, &times, &y).unwrap();
        let held = forecast(&fit.model, (&fit.end_states(), &fit.weights), &[2.0], &options).unwrap();
        assert_eq!(fit.forecast_at(&[2.0], &options).unwrap() == held, same);
    }
}

/// The law of the parameters is a Gaussian with the errors stated, so that draws weighted by the evidence agree with it: means
/// within 0.6 and spreads within half of a standard error, several times what 300 draws and a law that leans need.
#[test]
fn statistics_draws_weighted_by_evidence_agree_with_the_standard_errors() {
    let times = even_times(400, 0.01);
    let y = ou_data("stable", &[1.5, 2.0], &times, 4);
    let spec = spec("ou", "stable");
    let grid = TimeGrid::new(&times, Some(400)).unwrap();
    let fit = fit(&spec, &grid, &[&y], &FitOptions { paths: 16, ..FitOptions::default() }).unwrap();
    let drawn = parameter_posterior(&fit, &spec, (&grid, &[&y]), true, (300, 1)).unwrap();
    assert!(drawn.effective_sample_size > 100.0 && drawn.k_hat < 0.7, "{drawn:?}");
    assert!(drawn.log_marginal < fit.evidence.log_evidence);
    for (i, p) in fit.parameters.iter().enumerate() {
        assert_eq!(drawn.names[i], p.name);
        let ((mean, sd), error) = (drawn.moments(i), p.std_error.unwrap());
        assert!((mean - p.value).abs() < 0.6 * error, "{p:?}: mean {mean}");
        assert!((sd / error - 1.0).abs() < 0.5, "{p:?}: sd {sd}");
        let median = drawn.quantiles(i, &[0.5])[0];
        assert!((median - mean).abs() < 0.5 * error, "{p:?}: {median} {mean}");
    }
}
