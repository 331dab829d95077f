//! Forecasts: the laws they must reach, and what they refuse.

use levytilt::drift::Ou;
use levytilt::internals::forecast::{
    ForecastOptions, Target, WeightedDraws, forecast, forecast_drawn, forecast_resampled,
};
use levytilt::internals::solve::ParameterLaw;
use levytilt::noise::{Gaussian, Stable};
use levytilt::{Start, StateSpace};

fn model() -> StateSpace {
    let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
    StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
}

const OPTIONS: ForecastOptions =
    ForecastOptions { from: 10.0, longest_step: 0.01, paths: 4000, seed: 3, target: Target::States };

/// Far ahead the state is stable around 1 with scale 2(1/4.5)^{2/3} = 0.7337, whose median has a standard error of
/// √(π/…)-like size 0.5/(density·√n): density at the centre Γ(5/3)/(π·0.7337) = 0.3917, so 0.0202; five of them.
#[test]
fn statistics_far_ahead_is_the_stationary_law() {
    let ahead = forecast(&model(), (&[-5.0, 9.0], &[0.5, 0.5]), &[10.5, 15.0], &OPTIONS).unwrap();
    assert_eq!((ahead.paths(), ahead.times.len()), (4000, 2));
    let far = ahead.marginal(0, 1, &[0.25, 0.5, 0.75]);
    assert!((far.quantiles[1] - 1.0).abs() < 0.1, "{far:?}");
    // Half of a standard stable law of index 1.5 lies within 0.9689.
    assert!((far.quantiles[2] - far.quantiles[0] - 2.0 * 0.9689 * 0.7337).abs() < 0.15, "{far:?}");
}

#[test]
fn identity_threads_do_not_matter() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| forecast(&model(), (&[0.0, 1.0], &[0.3, 0.7]), &[10.1], &OPTIONS).unwrap())
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn times_must_lie_ahead() {
    let ask = |times: &[f64]| forecast(&model(), (&[0.0], &[1.0]), times, &OPTIONS).unwrap_err().to_string();
    assert!(ask(&[9.0]).contains("time 9 follows 10"));
    assert!(ask(&[11.0, 11.0]).contains("increasing"));
    assert!(ask(&[f64::NAN]).contains("NaN") && ask(&[]).contains("none"));
    assert!(forecast(&model(), (&[], &[]), &[11.0], &OPTIONS).is_err());
}

/// Place of the level among the parameters of [`model`]: theta, mu, alpha, scale, observation_std.
const MU: usize = 1;

#[test]
fn identity_drawn_parameters_do_not_depend_on_threads_and_nothing_to_draw_changes_nothing() {
    let model = model();
    let law = ParameterLaw::new(&model, &[MU], &[0.25], &[]).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| forecast_drawn(&law, (&[0.0, 1.0], &[0.3, 0.7]), &[10.1], &OPTIONS).unwrap())
    };
    assert_eq!(run(1), run(3));
    let plain = forecast(&model, (&[0.0, 1.0], &[0.3, 0.7]), &[10.1], &OPTIONS).unwrap();
    assert_ne!(run(1), plain);
    let nothing = ParameterLaw::new(&model, &[], &[], &[]).unwrap();
    assert_eq!(forecast_drawn(&nothing, (&[0.0, 1.0], &[0.3, 0.7]), &[10.1], &OPTIONS).unwrap(), plain);
}

/// Far ahead the state is Gaussian around a level that is Gaussian itself: the variance is σ²/(2θ) (θ = 3, σ = 2, exactly
/// σ²Δ/(1 − e^{−2θΔ}) in steps) plus that of the level, 1, which 100 draws know to 14%; five of these.
#[test]
fn statistics_drawn_parameters_add_their_variance() {
    let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Gaussian::new(2.0).unwrap());
    let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap();
    let law = ParameterLaw::new(&model, &[MU], &[1.0], &[]).unwrap();
    let variance = |ahead: levytilt::internals::forecast::Forecast| ahead.marginal(0, 0, &[]).sd.powi(2);
    let own = 4.0 * 0.01 / (1.0 - f64::exp(-0.06));
    let fixed = variance(forecast(&model, (&[1.0], &[1.0]), &[15.0], &OPTIONS).unwrap());
    assert!((fixed / own - 1.0).abs() < 5.0 * (2.0f64 / 4000.0).sqrt(), "{fixed} {own}");
    let drawn = variance(forecast_drawn(&law, (&[1.0], &[1.0]), &[15.0], &OPTIONS).unwrap());
    assert!((drawn - own - 1.0).abs() < 5.0 * 0.15, "{drawn} {own}");
}

#[test]
fn drawn_parameters_that_lead_too_far_are_named() {
    let drift = levytilt::drift::Linear::line(0.1, 0.0).unwrap();
    let noise = Box::new(Gaussian::new(2.0).unwrap());
    let model = StateSpace::new(Box::new(drift), noise, 0.1, Start::Fixed(0.0)).unwrap();
    let law = ParameterLaw::new(&model, &[0], &[1e6], &[]).unwrap();
    let error = forecast_drawn(&law, (&[1.0], &[1.0]), &[15.0], &OPTIONS).unwrap_err().to_string();
    assert!(error.contains("drawn") && error.contains("estimates"), "{error}");
}

/// Observations are the states of the same seed plus independent N(0, 0.5²). The sample variance of 8000 errors has a
/// standard error of 0.25·√(2/8000) = 0.004, their mean one of 0.0056, and the correlation of neighbours one of 0.016:
/// five of each, a false alarm in a million.
#[test]
fn statistics_observations_are_states_and_their_noise() {
    let noise = Stable::new(1.5, 2.0).unwrap();
    let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0).unwrap()), Box::new(noise), 0.5, Start::Fixed(0.0)).unwrap();
    let ask =
        |target| forecast(&model, (&[0.0], &[1.0]), &[10.1, 10.2], &ForecastOptions { target, ..OPTIONS }).unwrap();
    let (states, seen) = (ask(Target::States), ask(Target::Observations));
    assert_eq!((states.target.name(), seen.target.name()), ("states", "observations"));
    let errors: Vec<f64> = seen.states.iter().zip(&states.states).map(|(y, x)| y - x).collect();
    let mean = errors.iter().sum::<f64>() / 8000.0;
    let variance = errors.iter().map(|e| e * e).sum::<f64>() / 8000.0;
    let pairs = errors.chunks_exact(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 4000.0;
    assert!(mean.abs() < 0.028 && (variance - 0.25).abs() < 0.02 && pairs.abs() < 0.02, "{mean} {variance} {pairs}");
}

/// Draws that all say what the model says change nothing but the random numbers they do not use; a draw without weight is
/// never taken.
#[test]
fn identity_resampled_parameters_are_those_with_weight() {
    let (model, ends, times): (StateSpace, _, _) = (model(), (&[0.0][..], &[1.0][..]), [10.1]);
    let plain = forecast(&model, ends, &times, &OPTIONS).unwrap();
    let draws = [vec![1.0], vec![1e6], vec![1.0]];
    let drawn = WeightedDraws { places: &[MU], draws: &draws, weights: &[0.25, 0.0, 0.75] };
    assert_eq!(forecast_resampled(&model, drawn, ends, &times, &OPTIONS).unwrap(), plain);
    let moved = WeightedDraws { weights: &[0.0, 1.0, 0.0], ..drawn };
    let far = forecast_resampled(&model, moved, ends, &times, &OPTIONS).unwrap();
    assert!(far.marginal(0, 0, &[0.5]).quantiles[0] > 1e5);
    let short = WeightedDraws { weights: &[1.0], ..drawn };
    assert!(forecast_resampled(&model, short, ends, &times, &OPTIONS).is_err());
}
