//! Test every sampler of increments against the distribution of the nodes, whose own error is below 1e-5.

use crate::common::{ks_p_value, ks_statistic};
use levytilt::noise::{
    CompoundPoisson, Gaussian, Nig, Nodes, Noise, PlusBrownian, Stable, Student, TemperedStable, TruncatedStable,
    VarianceGamma,
};
use levytilt::stream;

/// Probability that a correct sampler fails one of these tests.
const FALSE_ALARM: f64 = 1e-6;

/// P(J ≤ x, J ≠ 0) of the nodes on a fine grid of asinh(x/unit), interpolated: 10⁶ sums over the nodes would be slow.
struct Table {
    unit: f64,
    step: f64,
    values: Vec<f64>,
}

impl Table {
    fn new(nodes: &Nodes, atom: f64, unit: f64, largest: f64) -> Self {
        let step = 2e-3;
        let half = ((largest / unit).asinh() / step).ceil() as i64 + 2;
        let moved = |x: f64| if x >= 0.0 { nodes.cdf(x) - atom } else { nodes.cdf(x) };
        let values = (-half..=half).map(|i| moved(unit * (step * i as f64).sinh())).collect();
        Self { unit, step, values }
    }

    fn cdf(&self, x: f64) -> f64 {
        let half = (self.values.len() / 2) as f64;
        let place = (x / self.unit).asinh() / self.step + half;
        let i = (place.floor() as usize).min(self.values.len() - 2);
        let share = place - i as f64;
        self.values[i] * (1.0 - share) + self.values[i + 1] * share
    }
}

/// KS test of `count` draws over a step `dt`. Draws that are exactly zero are the atom: their number is binomial
/// (normal approximation), the others follow the law given that something moved.
fn check(noise: &dyn Noise, dt: f64, count: usize) {
    let label = format!("{} {:?} dt {dt}", noise.family(), noise.parameters());
    let mut rng = stream(20_240_601, dt.to_bits());
    let mut draws: Vec<f64> = (0..count).map(|_| noise.sample(dt, &mut rng)).collect();
    assert!(draws.iter().all(|x| x.is_finite()), "{label}");
    let nodes = noise.nodes(dt).unwrap();
    let atom = if nodes.variances()[0] == 0.0 { nodes.weights()[0] } else { 0.0 };
    draws.retain(|&x| x != 0.0);
    let zeros = (count - draws.len()) as f64;
    let spread = (count as f64 * atom * (1.0 - atom)).sqrt();
    // Five standard deviations: probability 6e-7.
    assert!((zeros - count as f64 * atom).abs() <= 5.0 * spread, "{label}: {zeros} zeros, expected {atom} of {count}");
    if draws.len() < 100 {
        return;
    }
    draws.sort_by(f64::total_cmp);
    let (unit, largest) = (draws[draws.len() * 3 / 5].abs(), draws[0].abs().max(draws[draws.len() - 1]));
    let table = Table::new(&nodes, atom, unit, largest);
    let statistic = ks_statistic(&draws, |x| table.cdf(x) / (1.0 - atom));
    let p = ks_p_value(statistic, draws.len());
    assert!(p >= FALSE_ALARM, "{label}: D = {statistic:e} for {} draws, p = {p:e}", draws.len());
}

const MILLION: usize = 1_000_000;

#[test]
fn statistics_gaussian() {
    check(&Gaussian::new(0.7).unwrap(), 0.3, MILLION);
}

#[test]
fn statistics_stable() {
    for alpha in [0.5, 1.0, 1.5, 1.9, 2.0] {
        check(&Stable::new(alpha, 1.0).unwrap(), 0.1, MILLION);
    }
}

#[test]
fn statistics_student() {
    for dof in [0.8, 3.0, 30.0] {
        check(&Student::new(dof, 2.0).unwrap(), 0.1, MILLION);
    }
}

#[test]
fn statistics_variance_gamma() {
    // Shapes 0.3, 1 and 20. Much smaller ones put most draws below the smallest variance of the nodes.
    for dt in [0.15, 0.5, 10.0] {
        check(&VarianceGamma::new(1.0, 0.5).unwrap(), dt, MILLION);
    }
}

#[test]
fn statistics_nig() {
    for dt in [1e-3, 1.0, 100.0] {
        check(&Nig::new(1.0, 2.0).unwrap(), dt, MILLION);
    }
}

#[test]
fn statistics_tempered_stable() {
    for (alpha, dt) in [(0.7, 0.1), (1.5, 0.01), (1.5, 1.0), (1.9, 0.5), (1.2, 4.0)] {
        check(&TemperedStable::new(alpha, 1.0, 1.5).unwrap(), dt, MILLION);
    }
}

#[test]
fn statistics_compound_poisson() {
    for dt in [1e-3, 1.0, 100.0] {
        check(&CompoundPoisson::new(3.0, 0.5).unwrap(), dt, MILLION);
    }
}

#[test]
fn statistics_truncated_stable() {
    for (alpha, tau, dt) in [(1.5, 1.0, 0.1), (1.5, 0.3, 1.0), (0.8, 0.1, 1.0), (1.9, 0.2, 0.5)] {
        check(&TruncatedStable::new(alpha, 1.0, tau, 1.0).unwrap(), dt, MILLION);
    }
    // 1330 jumps in each step.
    check(&TruncatedStable::new(1.5, 1.0, 0.01, 1.0).unwrap(), 1.0, 50_000);
}

#[test]
fn statistics_plus_brownian() {
    let inner = TruncatedStable::new(1.5, 1.0, 0.5, 1.0).unwrap();
    check(&PlusBrownian::new(Box::new(inner), 0.3).unwrap(), 0.2, MILLION);
}
