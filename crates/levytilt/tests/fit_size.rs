//! Learn the size of the noise, and draw and forecast paths with it.

use levytilt::drift::{DriftFamily, Formula};
use levytilt::internals::fit::{FitOptions, PosteriorKind, Spec, fit};
use levytilt::internals::forecast::{ForecastOptions, Target, forecast};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::simulate;

/// False alarms: a normal estimate lies 4 standard errors off in 6e-5 of all records; the spread of 2000 paths one step ahead
/// has a standard error of 2%.
#[test]
fn statistics_the_size_is_learned_and_used() {
    let ou = DriftFamily::named("ou").unwrap();
    let size = Formula::parse("1 + s*abs(x)").unwrap().with_bounds("s", Some(0.0), None).unwrap();
    let spec = Spec::new(ou, Family::named("nig").unwrap()).with_size(size);
    let spec = spec.fix("theta", 0.5).fix("mu", 2.0).fix("observation_std", 0.05).fix("tempering", 1.0);
    let truth = Spec { x0: Some(2.0), ..spec.clone().fix("scale", 0.3).fix("s", 1.0) };
    let times: Vec<f64> = (0..250).map(|j| 0.5 * f64::from(j)).collect();
    let values = simulate(&truth.model().unwrap(), &times, 5).unwrap().observations;
    let grid = TimeGrid::unsplit(&times).unwrap();
    let options = FitOptions { paths: 40, ..FitOptions::default() };
    let found = fit(&spec, &grid, &[&values], &options).unwrap();
    for (name, value) in [("s", 1.0), ("scale", 0.3)] {
        let p = found.parameter(name).unwrap();
        // On the logarithm, on which they are learned.
        let away = (p.value / value).ln() * p.value / p.std_error.unwrap();
        assert!(away.abs() < 4.0 && !p.fixed, "{p:?}");
    }
    assert_eq!(found.posterior, PosteriorKind::Exact);
    // Every path has the same weight up to the grid.
    let weights = found.paths.log_weights();
    let top = weights.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let bottom = weights.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    assert!(top - bottom < 0.3, "{bottom} {top} {}", found.evidence.log_evidence);
    let ahead = |x: f64| {
        let look = ForecastOptions { from: 0.0, longest_step: 1e-3, paths: 2000, seed: 1, target: Target::States };
        let paths = forecast(&truth.model().unwrap(), (&[x], &[1.0]), &[1e-3], &look).unwrap();
        paths.marginal(0, 0, &[0.25, 0.75]).quantiles
    };
    let [far, near] = [9.0, 0.0].map(ahead).map(|q| q[1] - q[0]);
    assert!((far / near / 10.0 - 1.0).abs() < 0.15, "{far} {near}");
}
