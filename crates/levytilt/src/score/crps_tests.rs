//! Check the CRPS by hand, against scoringrules, by its identities, and against the closed form of the normal law.

use super::Estimator::{Fair, VStatistic};
use super::*;
use crate::stream;
use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};

fn sample(draws: &[f64]) -> Sample {
    Sample::new(draws).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * (1.0 + a.abs().max(b.abs()))
}

/// CRPS of N(0, 1) at y: y(2Φ(y) − 1) + 2φ(y) − 1/√π.
fn normal_crps(y: f64) -> f64 {
    let density = (-0.5 * y * y).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let centred = libm::erf(y / std::f64::consts::SQRT_2);
    y * centred + 2.0 * density - 1.0 / std::f64::consts::PI.sqrt()
}

/// Mean over pairs, as written in the definition.
fn by_definition(draws: &[f64], y: f64, estimator: Estimator) -> f64 {
    let m = draws.len() as f64;
    let pairs = if estimator == Fair { m * (m - 1.0) } else { m * m };
    let spread: f64 = draws.iter().flat_map(|a| draws.iter().map(move |b| (a - b).abs())).sum();
    draws.iter().map(|x| (x - y).abs()).sum::<f64>() / m - 0.5 * spread / pairs
}

#[test]
fn golden_small_samples() {
    assert_eq!(sample(&[0.0, 1.0]).crps(0.0, VStatistic).unwrap(), 0.25);
    assert_eq!(sample(&[0.0, 1.0]).crps(2.0, VStatistic).unwrap(), 1.25);
    assert!(close(sample(&[0.0, 0.0, 1.0]).crps(0.0, VStatistic).unwrap(), 1.0 / 9.0));
    assert!(close(weighted_crps(&[0.0, 2.0], &[0.8, 0.2], 1.0).unwrap(), 0.68));
}

#[test]
fn golden_agreement_with_scoringrules() {
    // scoringrules 0.10.0, crps_ensemble and twcrps_ensemble (a = −0.5 and 0.2 for above, b for below), estimators "nrg"
    // and "fair", draws sin(1 + 2i), i < 7.
    let draws: Vec<f64> = (0..7).map(|i| f64::from(1 + 2 * i).sin()).collect();
    let draws = sample(&draws);
    let rows = [
        (
            0.3,
            VStatistic,
            0.1810052724904193,
            [0.1427039861528659, 0.038301286337553433, 0.07955296656713806, 0.10145230592328125],
        ),
        (
            0.3,
            Fair,
            0.11954097079241638,
            [0.09768743390369555, 0.021853536888720868, 0.058746482290349566, 0.06079448850206681],
        ),
        (
            -2.0,
            VStatistic,
            1.7044925658749976,
            [0.4401668455985421, 1.2643257202764557, 0.09383868085285232, 1.6106538850221457],
        ),
        (
            -2.0,
            Fair,
            1.6430282641769947,
            [0.39515029334937174, 1.2478779708276233, 0.07303219657606383, 1.5699960676009312],
        ),
    ];
    for (y, estimator, whole, tails) in rows {
        assert!(close(draws.crps(y, estimator).unwrap(), whole), "{y}");
        let of = |tail| draws.tail_crps(y, tail, estimator).unwrap();
        let found = [Tail::Above(-0.5), Tail::Below(-0.5), Tail::Above(0.2), Tail::Below(0.2)].map(of);
        assert!(found.iter().zip(tails).all(|(a, b)| close(*a, b)), "{y}: {found:?}");
    }
}

#[test]
fn golden_normal_law() {
    // scoringrules 0.10.0: crps_normal(0, 0, 1), crps_normal(1.3, 0.2, 0.7).
    assert!(close(normal_crps(0.0), 0.23369497725510913));
    assert!(close(0.7 * normal_crps(1.1 / 0.7), 0.7398623742125295));
    // Evenly spaced quantiles of the law: what is missing of the tails beyond the outermost is below 1e-4 in the mean.
    let law = crate::law::StableLaw::new(2.0, std::f64::consts::FRAC_1_SQRT_2).unwrap();
    let draws: Vec<f64> = (0..4000).map(|i| law.quantile((f64::from(i) + 0.5) / 4000.0).unwrap()).collect();
    for y in [-3.0, -0.4, 0.0, 1.0, 2.5] {
        let found = sample(&draws).crps(y, VStatistic).unwrap();
        assert!((found - normal_crps(y)).abs() < 5e-5, "{y}: {found}");
    }
}

#[test]
fn statistics_fair_is_unbiased_and_the_v_statistic_is_not() {
    // 40 000 samples of three normal draws at y = 0.5: mean fair score within four standard errors (6e-5) of the law's.
    // The V-statistic is larger by the law's spread over M, (1/√π)/3.
    let mut rng = stream(5, 0);
    let (mut fair, mut square, mut plain) = (0.0, 0.0, 0.0);
    let count = 40_000.0;
    for _ in 0..40_000 {
        let draws: [f64; 3] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        let score = sample(&draws).crps(0.5, Fair).unwrap();
        fair += score / count;
        square += score * score / count;
        plain += sample(&draws).crps(0.5, VStatistic).unwrap() / count;
    }
    let error = ((square - fair * fair) / count).sqrt();
    assert!((fair - normal_crps(0.5)).abs() < 4.0 * error, "{fair} ± {error}");
    let excess = 1.0 / std::f64::consts::PI.sqrt() / 3.0;
    assert!((plain - fair - excess).abs() < 0.01, "{plain} {fair} {excess}");
}

#[test]
fn identity_a_far_sample_loses_no_digits() {
    let near: Vec<f64> = (0..100).map(|i| f64::from(i) / 64.0).collect();
    let far: Vec<f64> = near.iter().map(|x| x + 1e9).collect();
    let (a, b) = (sample(&near).crps(0.5, Fair).unwrap(), sample(&far).crps(1e9 + 0.5, Fair).unwrap());
    assert!((a - b).abs() < 1e-13, "{a} {b}");
}

#[test]
fn bad_inputs_are_errors() {
    let draws = sample(&[0.0, 1.0]);
    for truth in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(draws.crps(truth, Fair).is_err() && draws.tail_crps(truth, Tail::Above(0.0), Fair).is_err());
        assert!(weighted_crps(&[0.0], &[1.0], truth).is_err());
    }
    for tail in
        [Tail::Above(f64::NAN), Tail::Below(f64::NAN), Tail::Above(f64::INFINITY), Tail::Below(f64::NEG_INFINITY)]
    {
        assert!(draws.tail_crps(0.0, tail, Fair).unwrap_err().to_string().contains("threshold"));
    }
    assert!(sample(&[1.0]).crps(0.0, Fair).unwrap_err().to_string().contains("at least 2"));
    assert!(sample(&[1.7e308, -1.7e308]).crps(0.0, Fair).unwrap_err().to_string().contains("rescale"));
    for (points, weights) in [(vec![0.0], vec![]), (vec![0.0], vec![0.0]), (vec![0.0, 1.0], vec![2.0, -1.0])] {
        assert!(weighted_crps(&points, &weights, 0.0).is_err(), "{weights:?}");
    }
    assert!(weighted_crps(&[], &[], 0.0).is_err() && weighted_crps(&[f64::NAN], &[1.0], 0.0).is_err());
}

proptest! {
    #[test]
    fn identity_sorted_sum_is_the_definition(draws in prop::collection::vec(-50.0..50.0f64, 2..40), y in -60.0..60.0f64) {
        for estimator in [Fair, VStatistic] {
            prop_assert!(close(sample(&draws).crps(y, estimator).unwrap(), by_definition(&draws, y, estimator)));
        }
        prop_assert!(sample(&draws).crps(y, VStatistic).unwrap() >= -1e-12);
        let equal = vec![0.3; draws.len()];
        prop_assert!(close(weighted_crps(&draws, &equal, y).unwrap(), sample(&draws).crps(y, VStatistic).unwrap()));
    }

    #[test]
    fn identity_a_point_mass_scores_the_absolute_error(x in -1e6..1e6f64, y in -1e6..1e6f64, count in 2usize..9) {
        let mass = sample(&vec![x; count]);
        for estimator in [Fair, VStatistic] {
            prop_assert!(close(mass.crps(y, estimator).unwrap(), (x - y).abs()));
        }
        prop_assert!(close(mass.absolute_error(y).unwrap(), (x - y).abs()));
    }

    #[test]
    fn identity_tails_add_up(
        draws in prop::collection::vec(-5.0..5.0f64, 2..40), y in -6.0..6.0f64, threshold in -6.0..6.0f64,
    ) {
        let draws = sample(&draws);
        for estimator in [Fair, VStatistic] {
            let whole = draws.crps(y, estimator).unwrap();
            let of = |tail| draws.tail_crps(y, tail, estimator).unwrap();
            prop_assert!(close(of(Tail::Above(threshold)) + of(Tail::Below(threshold)), whole));
            prop_assert_eq!(of(Tail::Above(f64::NEG_INFINITY)), whole);
            prop_assert_eq!(of(Tail::Below(f64::INFINITY)), whole);
        }
    }
}
