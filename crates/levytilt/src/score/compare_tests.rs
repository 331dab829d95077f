//! Check the paired tests against statsmodels, by hand, and by their error rates on simulated differences.

use super::*;
use rand_distr::{Distribution, StandardNormal};

fn waves() -> Vec<f64> {
    (1..=40).map(|i| f64::from(i * i).sin() + 0.4 * (0.3 * f64::from(i)).sin() + 0.15).collect()
}

/// AR(1) differences with mean 0.
fn autoregression(count: usize, slope: f64, index: u64) -> Vec<f64> {
    let mut rng = stream(77, index);
    let mut x = 0.0;
    let mut next = || {
        let noise: f64 = StandardNormal.sample(&mut rng);
        x = slope * x + noise;
        x
    };
    // The first fifty forget where it started.
    (0..50 + count).map(|_| next()).skip(50).collect()
}

#[test]
fn golden_agreement_with_statsmodels() {
    // statsmodels 0.14, OLS on a constant with HAC covariance (maxlags 0 and 3, no correction), SciPy's t distribution,
    // and the factor of Harvey, Leybourne and Newbold by hand; differences sin(i²) + 0.4 sin(0.3 i) + 0.15.
    for (lag, statistic, p_value) in
        [(0, 0.2651596338935747, 0.792283027841983), (3, 0.2509334027313905, 0.8031829977170982)]
    {
        let found = diebold_mariano(&waves(), lag).unwrap();
        assert!((found.mean - 0.03161387181171067).abs() < 1e-14);
        assert!((found.statistic / statistic - 1.0).abs() < 1e-12, "{lag}: {found:?}");
        assert!((found.p_value / p_value - 1.0).abs() < 1e-12, "{lag}: {found:?}");
    }
    assert_eq!((automatic_lag(100), automatic_lag(280), automatic_lag(1), automatic_lag(0)), (4, 5, 0, 0));
}

#[test]
fn identity_swapped_forecasters_swap_the_sign() {
    let there = diebold_mariano(&waves(), 2).unwrap();
    let back = diebold_mariano(&waves().iter().map(|x| -x).collect::<Vec<_>>(), 2).unwrap();
    assert_eq!((there.statistic, there.p_value), (-back.statistic, back.p_value));
}

#[test]
fn statistics_error_rate_of_the_test() {
    // Independent: exactly 5%; over 4000 series within four standard errors (6e-5). Dependent with slope 0.5: counting
    // four lags keeps it below 12%, counting none rejects a fifth of all.
    let rate = |slope: f64, lag: usize| {
        let rejected = |i: &u64| diebold_mariano(&autoregression(100, slope, *i), lag).unwrap().p_value < 0.05;
        (0..4000u64).filter(rejected).count() as f64 / 4000.0
    };
    assert!((rate(0.0, 0) - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / 4000.0).sqrt());
    let (some, none) = (rate(0.5, 4), rate(0.5, 0));
    assert!((0.04..0.12).contains(&some) && none > 0.2, "{some} {none}");
}

#[test]
fn identity_expected_mean_is_that_of_all_blocks() {
    let values = [1.0, 5.0, -2.0, 4.0, 7.0];
    // Blocks of 2 start at 0..3: five places are two whole blocks and the first place of a third.
    let (first, second) = ((1.0 + 5.0 - 2.0 + 4.0) / 4.0, (5.0 - 2.0 + 4.0 + 7.0) / 4.0);
    assert!((expected_mean(&values, 2) - (3.0 * first + 2.0 * second) / 5.0).abs() < 1e-15);
    assert!((expected_mean(&values, 5) - 3.0).abs() < 1e-15 && (expected_mean(&values, 1) - 3.0).abs() < 1e-15);
}

#[test]
fn statistics_interval_covers() {
    // 95% intervals over 600 series of 150: nearly nominal when independent (the bootstrap is a little narrow), at least
    // 85% at slope 0.4 with blocks of 10; single draws would cover 82% there.
    let share = |slope: f64, block: usize| {
        let how = BlockBootstrap { block: Some(block), resamples: 400, ..BlockBootstrap::default() };
        let holds = |i: &u64| {
            let (lower, upper) = block_bootstrap(&autoregression(150, slope, 10_000 + i), &how).unwrap();
            lower <= 0.0 && 0.0 <= upper
        };
        (0..600u64).filter(holds).count() as f64 / 600.0
    };
    let (free, tied, single) = (share(0.0, 1), share(0.4, 10), share(0.4, 1));
    assert!((0.90..0.98).contains(&free) && tied > 0.85 && single < tied - 0.03, "{free} {tied} {single}");
}

#[test]
fn statistics_standard_error_of_a_mean() {
    // Independent, n = 1600: 1/√1600 = 0.025 (5%: the sample's own spread 1.8%, 5000 resamples 1%). Slope 0.5 doubles it;
    // blocks of 20 see 0.93 of that, and the error of so few blocks is 8%.
    let error = |slope: f64, block: usize| {
        let how = BlockBootstrap { block: Some(block), ..BlockBootstrap::default() };
        block_std_error(&autoregression(1600, slope, 5), &how).unwrap()
    };
    assert!((error(0.0, 1) / 0.025 - 1.0).abs() < 0.1);
    assert!((0.7..1.2).contains(&(error(0.5, 20) / 0.05)) && error(0.5, 1) < 0.035);
}

#[test]
fn identity_interval_repeats_and_moves_with_the_mean() {
    let how = BlockBootstrap::default();
    let (lower, upper) = block_bootstrap(&waves(), &how).unwrap();
    assert_eq!((lower, upper), block_bootstrap(&waves(), &how).unwrap());
    let higher: Vec<f64> = waves().iter().map(|x| x + 1.0).collect();
    let moved = block_bootstrap(&higher, &how).unwrap();
    assert!((moved.0 - lower - 1.0).abs() < 1e-12 && (moved.1 - upper - 1.0).abs() < 1e-12);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!((lower, upper), pool.install(|| block_bootstrap(&waves(), &how)).unwrap());
}

#[test]
fn bad_inputs_are_errors() {
    assert!(diebold_mariano(&[1.0, 2.0], 0).is_err() && diebold_mariano(&waves(), 38).is_err());
    assert!(diebold_mariano(&[1.0, f64::NAN, 2.0, 3.0], 0).unwrap_err().to_string().contains("difference 2"));
    assert!(diebold_mariano(&[0.1; 10], 0).unwrap_err().to_string().contains("must vary"));
    assert!(diebold_mariano(&[0.0; 10], 1).is_err() && diebold_mariano(&waves(), usize::MAX).is_err());
    let with =
        |block, resamples, coverage| block_bootstrap(&waves(), &BlockBootstrap { block, resamples, coverage, seed: 1 });
    assert!(with(Some(0), 1000, 0.9).is_err() && with(Some(41), 1000, 0.9).is_err());
    assert!(with(None, 10, 0.9).is_err() && with(None, 1000, 1.0).is_err());
    assert!(block_bootstrap(&[1.0], &BlockBootstrap::default()).is_err());
    assert!(block_bootstrap(&[1.0, f64::INFINITY], &BlockBootstrap::default()).is_err());
}
