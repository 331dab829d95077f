//! Test draws against the law, with fixed seeds and a stated false-alarm rate.

use super::{close, common, law};
use levytilt::internals::law::StableLaw;
use levytilt::stream;
use rand::SeedableRng;
use rand_distr::Distribution;

const DRAWS: usize = 1_000_000;
/// False alarms per test and law; seeds are fixed, so a failure is a change of the code or of the generator.
const FALSE_ALARM: f64 = 1e-6;

fn draws_follow_the_law(alpha: f64) {
    let law = StableLaw::new(alpha, 0.4).unwrap();
    let mut rng = stream(20, alpha.to_bits());
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut rng)).collect();
    draws.sort_by(f64::total_cmp);
    let statistic = common::ks_statistic(&draws, |x| law.cdf(x));
    let p = common::ks_p_value(statistic, DRAWS);
    assert!(p > FALSE_ALARM, "alpha {alpha}: D = {statistic}, p = {p}");
    // The same in the tail, which D hardly sees: given |X| > its 0.999 quantile, P(|X| > x)/0.001 is uniform.
    let start = law.upper_quantile(5e-4).unwrap();
    let mut tail: Vec<f64> = draws.iter().map(|x| x.abs()).filter(|&x| x > start).collect();
    tail.sort_by(f64::total_cmp);
    let p = common::ks_p_value(common::ks_statistic(&tail, |x| 1.0 - law.sf(x) / 5e-4), tail.len());
    assert!(p > FALSE_ALARM, "alpha {alpha}: tail p = {p}");
}

#[test]
fn draws_below_one() {
    [0.3, 0.6, 0.95].into_iter().for_each(draws_follow_the_law);
}

#[test]
fn draws_around_one() {
    [0.999_999, 1.0, 1.000_001].into_iter().for_each(draws_follow_the_law);
}

#[test]
fn draws_above_one() {
    [1.2, 1.5, 1.8].into_iter().for_each(draws_follow_the_law);
}

#[test]
fn draws_near_two() {
    [1.95, 1.9999, 2.0].into_iter().for_each(draws_follow_the_law);
}

#[test]
fn any_generator_can_draw() {
    let law = law(1.5);
    let mut rng = rand_xoshiro::SplitMix64::seed_from_u64(3);
    let n = 100_000;
    let mut draws: Vec<f64> = Distribution::sample_iter(&law, &mut rng).take(n).collect();
    draws.sort_by(f64::total_cmp);
    assert!(common::ks_p_value(common::ks_statistic(&draws, |x| law.cdf(x)), n) > FALSE_ALARM);
}

#[test]
fn p_value_sees_a_wrong_law() {
    // Known points of Kolmogorov's law: P(K ≥ 1.3581) = 0.05, P(K ≥ 0.8276) = 0.5.
    let n = 1_000_000_000;
    let scaled = |k: f64| k / f64::from(n).sqrt();
    assert!(close(common::ks_p_value(scaled(1.358_099), n as usize), 0.05, 1e-4, 0.0));
    assert!(close(common::ks_p_value(scaled(0.827_574), n as usize), 0.5, 1e-4, 0.0));
    let (law, other) = (law(1.5), law(1.6));
    let mut rng = stream(21, 0);
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut rng)).collect();
    draws.sort_by(f64::total_cmp);
    assert!(common::ks_p_value(common::ks_statistic(&draws, |x| other.cdf(x)), DRAWS) < FALSE_ALARM);
}
