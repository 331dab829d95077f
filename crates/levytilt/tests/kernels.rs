//! Throw random parameters at the numeric kernels: an error that names the parameter, or numbers that keep their invariants.
//!
//! A few cases each by default; `PROPTEST_CASES` asks for more, as `scripts/fuzz` does. Drifts and the box of the tilted
//! step have their properties beside their own tests.

#[path = "kernels/invariants.rs"]
mod invariants;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use levytilt::internals::law::StableLaw;
use levytilt::internals::potential::Quadratic;
use levytilt::internals::tilt::TiltedStep;
use levytilt::noise::{FAMILIES, Noise, TruncatedStable};
use proptest::prelude::*;

/// Numbers over many sizes, and now and then one that is no parameter at all.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        20 => (-6.0..6.0f64).prop_map(|e| 10f64.powf(e)),
        10 => 0.0..2.5f64,
        1 => prop::sample::select(vec![0.0, -1.0, 2.0, 1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 1e300, 1e-300]),
    ]
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -1e3..1e3f64, 1 => prop::num::f64::NORMAL.prop_map(|x| x % 1e150), 1 => Just(0.0)]
}

proptest! {
    #[test]
    fn identity_nodes_are_laws_and_tilts_are_finite(
        which in 0..FAMILIES.len(),
        values in prop::collection::vec(wild(), 4),
        dt in wild(),
        a in (-6.0..6.0f64).prop_map(|e| 10f64.powf(e)),
        c in -1e3..1e3f64,
        x in -1e3..1e3f64,
    ) {
        invariants::nodes(which, &values, dt, [a, c, x]);
    }

    #[test]
    fn identity_the_stable_law_is_a_law(alpha in 0.3..=2.0f64, scale in wild(), x in finite(), y in finite(), p in 1e-12..1.0f64) {
        invariants::stable_law(alpha, scale, [x, y], p);
    }

    #[test]
    fn identity_scores_are_finite(
        draws in prop::collection::vec(finite(), 2..40),
        weights in prop::collection::vec(0.0..1.0f64, 40),
        truth in finite(),
        threshold in finite(),
        level in 0.01..0.99f64,
        uniform in 0.0..1.0f64,
    ) {
        invariants::scores(&draws, &weights[..draws.len()], [truth, threshold], [level, uniform]);
    }
}

#[test]
fn identity_the_corpus_keeps_the_invariants() {
    replay::replay(invariants::ALL);
}

/// Newton's method went round in circles here, between 0.5 and 6, and ended at the wrong place.
#[test]
fn identity_quantiles_near_alpha_2_go_back() {
    for (alpha, p) in [
        (1.9554252389927382, 0.09595624520402457),
        (1.956324915302546, 0.1051476623376052),
        (1.956324915302546, 0.0378772205927802),
        (1.9867616097671628, 0.9969337315566209),
        (1.9810184776403885, 0.7600832036450912),
        (1.975361398609902, 0.009050741816394425),
    ] {
        let law = StableLaw::new(alpha, 1.0).unwrap();
        let back = law.cdf(law.quantile(p).unwrap());
        assert!((back / p - 1.0).abs() < 1e-13, "alpha {alpha}, p {p}: {back}");
    }
}

/// Jumps beyond all numbers were a panic.
#[test]
fn identity_jumps_beyond_all_numbers_are_an_error() {
    let noise = TruncatedStable::new(0.041, 1.0, 1.0, 1.0).unwrap();
    assert!(noise.nodes(0.96).unwrap_err().to_string().contains("beyond the range of floating-point numbers"));
}

/// A weight so small that its odds against the law after the tilt are no number made the divergence −∞.
#[test]
fn identity_jumps_that_never_come_have_a_divergence() {
    let rate = 2.2250738585072014e-308;
    assert!(invariants::nodes(6, &[rate, 1.0], 2.256221929297641e-6, [1.0, 0.0, -386.6355065224232]));
    let nodes = FAMILIES[6].build(&[rate, 1.0]).unwrap().nodes(1e-6).unwrap();
    let tilted = TiltedStep::new(&nodes, Quadratic::new(1.0, 0.0).unwrap()).evaluate(-400.0);
    // All of the law is in the jump, which costs ln(1/w) = 722 nats and what moves it.
    assert!(tilted.kl > 722.0, "{}", tilted.kl);
}
