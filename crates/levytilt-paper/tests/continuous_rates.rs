//! Rates of the tilted jump measure: constants from elsewhere, the three ways against each other, the limit of a step.

use levytilt::internals::potential::Quadratic;
use levytilt::internals::tilt::TiltedStep;
use levytilt::noise::{Noise, TruncatedStable};
use levytilt::stream;
use levytilt_paper::continuous::{JumpMeasure, TiltedMeasure};

/// The box of tilts with κ ≤ 5, for both measures.
fn box_of_tilts(tau: f64) -> Vec<TiltedMeasure> {
    let mut all = Vec::new();
    for alpha in [0.8, 1.2, 1.5, 1.9] {
        let mixture = JumpMeasure::mixture(alpha, 1.0, tau, 1.0).unwrap();
        let power = JumpMeasure::power_law(alpha, 1.0, tau).unwrap();
        for a in [0.3, 2.0, 50.0] {
            for kappa in [0.0f64, 0.5, 2.0, 5.0] {
                let potential = Quadratic::new(a, (kappa / a).sqrt()).unwrap();
                all.extend([mixture, power].map(|measure| measure.tilted(potential, 0.0)));
            }
        }
    }
    all
}

/// (α, scale, τ, a, c, x, ln Λ, ln divergence rate), by mpmath with 40 digits: tanh–sinh quadrature of C(r)π(r) and of
/// \[H ln H − H + 1\] in ln r, straight from the definitions.
type Golden = [f64; 8];
const MIXTURE: [Golden; 7] = [
    [1.5, 1.0, 0.01, 0.7, 0.0, 2.0, 7.206272048793571, 3.1474612804647135],
    [1.5, 1.0, 0.01, 5.0, 3.0, 1.0, 18.00714970019681, 20.917247933671938],
    [0.8, 2.0, 0.1, 0.3, 1.0, -1.0, 2.800011858049325, 1.5039818613339695],
    [1.9, 0.86, 0.01, 50.0, 0.5, 0.0, 13.114609185630961, 15.457646495734783],
    [1.2, 1.0, 0.5, 20.0, 1.0, 0.9, -0.24981399804952953, 1.041979419060524],
    [1.5, 1.0, 0.01, 1.0, 1e4, 0.0, 99999977.39573765, 99999995.81641836],
    [1.5, 1.0, 0.01, 1.0, 0.0, 0.0, 7.19261519439363, 0.03862229893929456],
];
const POWER_LAW: [Golden; 7] = [
    [1.5, 1.0, 0.01, 0.7, 0.0, 2.0, 7.2081794237435215, 3.307623401802507],
    [1.5, 1.0, 0.01, 5.0, 3.0, 1.0, 18.157923438805213, 21.06802433707664],
    [0.8, 2.0, 0.1, 0.3, 1.0, -1.0, 2.8130831822647986, 1.7459923816287866],
    [1.9, 0.86, 0.01, 50.0, 0.5, 0.0, 13.150250659437363, 15.493029240067534],
    [1.2, 1.0, 0.5, 20.0, 1.0, 0.9, -4.543607613774266, 1.3291292174402272],
    [1.5, 1.0, 0.01, 1.0, 100.0, 0.0, 9989.05965827172, 9998.269848610558],
    [1.5, 1.0, 0.01, 1.0, 0.0, 0.0, 7.192106196384389, 0.1894069263591184],
];

#[test]
fn golden_rates() {
    type Make = fn(f64, f64, f64) -> levytilt::Result<JumpMeasure>;
    let makes: [Make; 2] = [|alpha, s, tau| JumpMeasure::mixture(alpha, s, tau, 1.0), JumpMeasure::power_law];
    for (make, cases) in makes.into_iter().zip([MIXTURE, POWER_LAW]) {
        for [alpha, scale, tau, a, c, x, rate, divergence] in cases {
            let tilted = make(alpha, scale, tau).unwrap().tilted(Quadratic::new(a, c).unwrap(), x);
            // Relative in the rate up to κ = 1e4, in its logarithm beyond: ln Λ ≈ κ has no more digits.
            let tolerance = 1e-11f64.max(1e-15 * tilted.kappa());
            assert!((tilted.log_rate() - rate).abs() < tolerance, "{a} {c} {} {rate}", tilted.log_rate());
            let got = tilted.log_divergence_rate();
            assert!((got - divergence).abs() < tolerance, "{a} {c} {got} {divergence}");
        }
    }
}

#[test]
fn identity_series_agrees_with_quadrature() {
    for tilted in box_of_tilts(0.01) {
        let series = tilted.expansion().unwrap();
        assert!((series.rate / tilted.rate() - 1.0).abs() < 1e-10, "{tilted:?} {series:?} {}", tilted.rate());
        let relative = (series.divergence_rate / tilted.divergence_rate() - 1.0).abs();
        assert!(relative < 1e-8, "{tilted:?} {series:?} {}", tilted.divergence_rate());
    }
}

#[test]
fn identity_series_is_right_or_an_error_everywhere() {
    let (mut right, mut refused) = (0, 0);
    for tau in [1e-6, 1e-3, 1.0, 30.0] {
        for make in [JumpMeasure::mixture(1.5, 1.0, tau, 1.0), JumpMeasure::power_law(1.5, 1.0, tau)] {
            for kappa in [0.0, 1e-6, 1e-2, 1.0, 30.0, 300.0, 1e3, 1e6] {
                let tilted = make.as_ref().unwrap().tilted(Quadratic::new(0.5, (2.0f64 * kappa).sqrt()).unwrap(), 0.0);
                match tilted.expansion() {
                    Ok(series) => {
                        right += 1;
                        assert!((series.rate.ln() - tilted.log_rate()).abs() < 1e-8, "{tilted:?} {series:?}");
                        let gap = series.divergence_rate.ln() - tilted.log_divergence_rate();
                        assert!(gap.abs() < 1e-8, "{tilted:?} {series:?} {gap}");
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(right > 20 && refused > 15, "{right} right, {refused} refused");
}

/// Two estimates for each of 72 tilts, each within 5.5 standard errors: false alarm below 1e-5 if estimates are normal,
/// which they nearly are for κ ≤ 2 and a threshold so large that jumps of the size that matters are not rare.
#[test]
fn statistics_monte_carlo_agrees_with_quadrature() {
    for (i, tilted) in box_of_tilts(0.2).into_iter().enumerate().filter(|(_, t)| t.kappa() < 2.1) {
        let estimate = tilted.monte_carlo(40_000, &mut stream(7, i as u64)).unwrap();
        for (got, exact) in [(estimate.rate, tilted.rate()), (estimate.divergence_rate, tilted.divergence_rate())] {
            assert!((got.value - exact).abs() < 5.5 * got.std_error, "{tilted:?}: {got:?} but {exact}");
        }
    }
}

#[test]
fn identity_monte_carlo_overflow_is_an_error() {
    let measure = JumpMeasure::mixture(0.5, 1.0, 1.0, 1.0).unwrap();
    let tilted = measure.tilted(Quadratic::new(1.0, 40.0).unwrap(), 0.0);
    assert!(tilted.monte_carlo(10_000, &mut stream(1, 1)).is_err());
    assert!(tilted.monte_carlo(1, &mut stream(1, 1)).is_err());
}

/// H ln H is the derivative of H^s at s = 1: divergence = ∂Λ(sφ)/∂s − Λ + λ.
#[test]
fn identity_divergence_is_a_derivative_of_the_rate() {
    for tilted in box_of_tilts(0.01) {
        let measure = tilted.prior();
        let (a, c) = (2.0, (tilted.kappa() / 2.0).sqrt());
        let at = |s: f64| measure.tilted(Quadratic::new(s * a, c).unwrap(), 0.0);
        let h = 1e-3;
        let slope = (at(1.0 - 2.0 * h).rate() - at(1.0 + 2.0 * h).rate()
            + 8.0 * (at(1.0 + h).rate() - at(1.0 - h).rate()))
            / (12.0 * h);
        let expected = slope - at(1.0).rate() + measure.rate();
        let got = at(1.0).divergence_rate();
        // Differences of rates of size λ over 1e-3.
        let tolerance = 1e-9 * measure.rate() + 1e-8 * got;
        assert!((got - expected).abs() < tolerance, "{tilted:?}: {got} {expected}");
    }
}

#[test]
fn identity_no_message_leaves_the_prior() {
    let measure = JumpMeasure::mixture(1.5, 1.0, 0.01, 1.0).unwrap();
    let tilted = measure.tilted(Quadratic::new(0.0, 3.0).unwrap(), 1.0);
    assert_eq!(tilted.rate(), measure.rate().ln().exp());
    assert_eq!(tilted.divergence_rate(), 0.0);
    assert_eq!(tilted.expansion().unwrap().divergence_rate, 0.0);
}

/// Jumps per step, then half of them and so on: the error of the discrete step halves with Δ.
#[test]
fn identity_a_step_tends_to_the_rates() {
    for (alpha, scale, tau) in [(1.5, 1.0, 0.1), (1.2, 2.0, 0.05), (0.8, 1.0, 0.1)] {
        let noise = TruncatedStable::new(alpha, scale, tau, 1.0).unwrap();
        for (a, c) in [(0.7, 2.0), (5.0, 0.6), (0.2, 0.0)] {
            let potential = Quadratic::new(a, c).unwrap();
            let tilted = JumpMeasure::from(&noise).tilted(potential, 0.0);
            let lambda = tilted.prior().rate();
            let errors = |dt: f64| {
                let step = TiltedStep::new(&noise.nodes(dt).unwrap(), potential).evaluate(0.0);
                let rate = (step.log_z + tilted.kappa()).exp_m1() / dt;
                [rate - (tilted.rate() - lambda), step.kl / dt - tilted.divergence_rate()]
            };
            // A tenth of a jump per step, tilted jumps included, and half as many.
            let dt = 0.1 / lambda.max(tilted.rate());
            let (coarse, fine) = (errors(dt), errors(0.5 * dt));
            for (i, (e, f)) in coarse.iter().zip(fine).enumerate() {
                assert!((e / f - 2.0).abs() < 0.15, "{alpha} {a} {c} quantity {i}: {e} then {f}");
            }
        }
    }
}
