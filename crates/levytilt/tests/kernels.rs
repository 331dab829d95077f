//! Throw random parameters at the numeric kernels: an error that names the parameter, or numbers that keep their promises.
//!
//! A few cases each by default; `PROPTEST_CASES` asks for more, as `scripts/fuzz` does. Drifts and the box of the tilted
//! step have their properties beside their own tests.

use levytilt::law::StableLaw;
use levytilt::noise::{FAMILIES, Noise, TruncatedStable};
use levytilt::potential::Quadratic;
use levytilt::score::{Estimator, Sample, Tail, weighted_crps};
use levytilt::tilt::TiltedStep;
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
    /// Nodes of any family at any parameters: a law, or an error; tilted by any potential: finite, Σq = 1, KL ≥ 0.
    #[test]
    fn identity_nodes_are_laws_and_tilts_are_finite(
        which in 0..FAMILIES.len(),
        values in prop::collection::vec(wild(), 4),
        dt in wild(),
        a in (-6.0..6.0f64).prop_map(|e| 10f64.powf(e)),
        c in -1e3..1e3f64,
        x in -1e3..1e3f64,
    ) {
        let family = &FAMILIES[which];
        let Ok(noise) = family.build(&values[..family.parameters.len()]) else { return Ok(()) };
        let Ok(nodes) = noise.nodes(dt) else { return Ok(()) };
        let what = format!("{} {:?}, step {dt:e}", family.name, noise.parameters());
        prop_assert!(!nodes.is_empty(), "{what}");
        prop_assert!(nodes.variances().iter().all(|s| *s >= 0.0 && s.is_finite()), "{what}: {:?}", nodes.variances());
        prop_assert!(nodes.weights().iter().all(|w| *w >= 0.0), "{what}");
        let total: f64 = nodes.weights().iter().sum();
        prop_assert!((total - 1.0).abs() < 1e-9, "{what}: weights sum to {total}");
        prop_assert!((nodes.cdf(0.0) - 0.5).abs() <= 0.5 && nodes.cdf(f64::MAX) <= 1.0 + 1e-9, "{what}");
        let tilted = TiltedStep::new(&nodes, Quadratic::new(a, c).unwrap()).evaluate(x);
        prop_assert!(!tilted.log_z.is_nan() && tilted.log_z <= 1e-9, "{what}: ln Z {}", tilted.log_z);
        prop_assert!(tilted.kl >= 0.0 && tilted.kl.is_finite(), "{what}: KL {}", tilted.kl);
        let sum: f64 = tilted.weights.iter().sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{what}: tilted weights sum to {sum}");
    }

    /// F + (1 − F) = 1, F rises, the density is no less than 0, and the quantile goes back.
    #[test]
    fn identity_the_stable_law_is_a_law(alpha in 0.3..=2.0f64, scale in wild(), x in finite(), y in finite(), p in 1e-12..1.0f64) {
        let Ok(law) = StableLaw::new(alpha, scale) else { return Ok(()) };
        for point in [x, y, x * scale, y * scale] {
            let (below, above) = (law.cdf(point), law.sf(point));
            prop_assert!((0.0..=1.0).contains(&below) && (below + above - 1.0).abs() < 1e-12, "{point}: {below} {above}");
            prop_assert!(law.pdf(point) >= 0.0 && !law.log_pdf(point).is_nan(), "{point}");
            let derivatives = law.log_pdf_derivatives(point);
            prop_assert!(!derivatives.dx.is_nan() && !derivatives.dscale.is_nan() && !derivatives.dalpha.is_nan(), "{point}");
        }
        let (low, high) = (x.min(y), x.max(y));
        prop_assert!(law.cdf(low) <= law.cdf(high) * (1.0 + 1e-13));
        let quantile = law.quantile(p).unwrap();
        prop_assert!(quantile == 0.0 || !quantile.is_normal() || (law.cdf(quantile) / p - 1.0).abs() < 1e-9, "{p}: {quantile}");
    }

    /// Scores of any draws: finite or an error; never below what the estimator allows; parts add up.
    #[test]
    fn identity_scores_are_finite(
        draws in prop::collection::vec(finite(), 2..40),
        weights in prop::collection::vec(0.0..1.0f64, 40),
        truth in finite(),
        threshold in finite(),
        level in 0.01..0.99f64,
        uniform in 0.0..1.0f64,
    ) {
        let sample = Sample::new(&draws).unwrap();
        if let Ok(crps) = sample.crps(truth, Estimator::VStatistic) {
            let size = draws.iter().fold(truth.abs(), |most, x| most.max(x.abs()));
            prop_assert!(crps.is_finite() && crps >= -1e-12 * size, "{crps}");
            let parts = [Tail::Above(threshold), Tail::Below(threshold)].map(|t| sample.tail_crps(truth, t, Estimator::VStatistic));
            if let [Ok(above), Ok(below)] = parts {
                prop_assert!((above + below - crps).abs() <= 1e-10 * size.max(threshold.abs()), "{above} + {below} = {crps}");
            }
        }
        prop_assert!((0.0..=1.0).contains(&sample.pit(truth, uniform).unwrap()));
        let quantile = sample.quantile(level).unwrap();
        prop_assert!(sample.sorted()[0] <= quantile && quantile <= sample.sorted()[draws.len() - 1]);
        if let Ok(score) = weighted_crps(&draws, &weights[..draws.len()], truth) {
            prop_assert!(score.is_finite(), "{score}");
        }
    }
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
    assert!(noise.nodes(0.96).unwrap_err().to_string().contains("beyond all numbers"));
}
