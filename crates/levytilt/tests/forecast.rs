//! Forecasts: the laws they must reach, and what they refuse.

use levytilt::drift::Ou;
use levytilt::forecast::{ForecastOptions, forecast};
use levytilt::noise::Stable;
use levytilt::{Model, Start};

fn model() -> Model {
    let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
    Model::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
}

const OPTIONS: ForecastOptions = ForecastOptions { from: 10.0, longest_step: 0.01, paths: 4000, seed: 3 };

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
