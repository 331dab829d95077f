//! Statistics: simulated OU paths driven by stable noise against the law of their end, which is known.

use levytilt::drift::Ou;
use levytilt::noise::Stable;
use levytilt::{Start, StateSpace, simulate};

const THETA: f64 = 3.0;
const MU: f64 = 1.0;
const ALPHA: f64 = 1.5;
const ETA: f64 = 2.0;
const START: f64 = -2.0;
const TIME: f64 = 0.5;

/// Distribution function of the symmetric stable law with index 1 < α < 2, E e^{iuX} = exp(−|u|^α), by Zolotarev's
/// integral: 1 − F(x) = (1/π) ∫₀^{π/2} exp(−x^{α/(α−1)} V(t)) dt for x > 0, with
/// V(t) = (cos t / sin αt)^{α/(α−1)} cos((α−1)t) / cos t. Midpoint rule on a smooth integrand.
fn stable_cdf(x: f64) -> f64 {
    const POINTS: usize = 200;
    if x < 0.0 {
        return 1.0 - stable_cdf(-x);
    }
    let power = ALPHA / (ALPHA - 1.0);
    let width = std::f64::consts::FRAC_PI_2 / POINTS as f64;
    let term = |t: f64| {
        let v = (t.cos() / (ALPHA * t).sin()).powf(power) * ((ALPHA - 1.0) * t).cos() / t.cos();
        (-x.powf(power) * v).exp()
    };
    let sum: f64 = (0..POINTS).map(|i| term((i as f64 + 0.5) * width)).sum();
    1.0 - sum * width / std::f64::consts::PI
}

/// Scale of the end of a path of `steps` steps, whose jumps fall at the ends of the steps:
/// scale^α = η^α Δ Σ_{m<n} e^{−αθΔm}.
fn end_scale(steps: usize) -> f64 {
    let dt = TIME / steps as f64;
    let sum: f64 = (0..steps).map(|m| (-ALPHA * THETA * dt * m as f64).exp()).sum();
    ETA * (dt * sum).powf(1.0 / ALPHA)
}

#[test]
fn the_reference_law_is_right() {
    // Golden: 0.99 quantile at α = 1.5 from Nolan's tables.
    assert!((stable_cdf(7.7364462064853) - 0.99).abs() < 1e-5);
    assert!((stable_cdf(0.0) - 0.5).abs() < 1e-12);
    // The scale of the discrete model tends to that of continuous time, η((1−e^{−αθt})/(αθ))^{1/α}.
    let rate = ALPHA * THETA;
    let continuous = ETA * ((1.0 - (-rate * TIME).exp()) / rate).powf(1.0 / ALPHA);
    assert!((end_scale(1_000_000) / continuous - 1.0).abs() < 1e-5);
}

/// Kolmogorov–Smirnov over 20 000 paths. P(√n D > 2.7) = 2e^{−2·2.7²} ≈ 9e-7 is the false-alarm rate per row.
#[test]
fn ends_of_ou_paths_are_stable() {
    const PATHS: usize = 20_000;
    for steps in [1, 10] {
        let times: Vec<f64> = (0..=steps).map(|k| k as f64 * TIME / steps as f64).collect();
        let (drift, noise) = (Ou::new(THETA, MU).unwrap(), Stable::new(ALPHA, ETA).unwrap());
        let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(START)).unwrap();
        let location = MU + (START - MU) * (-THETA * TIME).exp();
        let scale = end_scale(steps);
        let mut ends: Vec<f64> = (0..PATHS as u64)
            .map(|seed| (simulate(&model, &times, seed).unwrap().path[steps] - location) / scale)
            .collect();
        ends.sort_by(f64::total_cmp);
        let distance = ends.iter().enumerate().map(|(i, &x)| {
            let f = stable_cdf(x);
            (f - i as f64 / PATHS as f64).abs().max((f - (i + 1) as f64 / PATHS as f64).abs())
        });
        let statistic = distance.fold(0.0, f64::max) * (PATHS as f64).sqrt();
        assert!(statistic < 2.7, "{steps} steps: √n D = {statistic}");
    }
}
