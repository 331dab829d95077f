//! Hold the tilted step to its definitions: identities, derivatives, the whole box of inputs, and fast against plain.

use crate::common::chi_square;
use levytilt::internals::potential::{GaussianSum, Quadratic};
use levytilt::internals::tilt::{SumStep, SumTable, TiltTable, TiltedStep};
use levytilt::noise::{Nodes, Noise, Stable};
use levytilt::stream;
use proptest::prelude::*;
use std::sync::Arc;

fn stable_nodes(alpha: f64, dt: f64) -> Nodes {
    Stable::new(alpha, 2.0).unwrap().nodes(dt).unwrap()
}

fn table(nodes: &Nodes, a: f64, c: f64) -> TiltTable {
    TiltTable::new(Arc::new(nodes.clone()), Quadratic::new(a, c).unwrap())
}

fn step(nodes: &Nodes, a: f64, c: f64) -> TiltedStep {
    TiltedStep::new(nodes, Quadratic::new(a, c).unwrap())
}

/// Trapezoid of Σ w_k N(x'; x̃, S_k)·f(x') over all reals, in sinh spacing so that every node is resolved.
fn integrate(nodes: &Nodes, x: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (h, n) = (0.002, 20_000);
    let narrow = 0.02 * nodes.variances().iter().find(|s| **s > 0.0).unwrap().sqrt();
    (-n..=n)
        .map(|i| {
            let t = f64::from(i) * h;
            let y = x + narrow * t.sinh();
            nodes.log_density(y - x).value.exp() * f(y) * narrow * t.cosh() * h
        })
        .sum()
}

#[test]
fn identity_normaliser_and_divergence_are_integrals() {
    let nodes = stable_nodes(1.5, 0.01);
    for (a, c, x) in [(0.5, 1.0, 0.0), (80.0, 0.3, 0.0), (80.0, 2.0, 0.5), (5.0, -3.0, 4.0)] {
        let step = step(&nodes, a, c);
        let phi = |y: f64| -a * (y - c) * (y - c);
        let tilted = step.evaluate(x);
        let z = integrate(&nodes, x, |y| phi(y).exp());
        assert!((tilted.log_z - z.ln()).abs() < 1e-9, "{a} {c} {x}: {} {}", tilted.log_z, z.ln());
        // KL(q ‖ p) = E_q[φ] − ln Z
        let kl = integrate(&nodes, x, |y| phi(y) * (phi(y) - tilted.log_z).exp()) - tilted.log_z;
        assert!((tilted.kl - kl).abs() < 1e-8 * kl.abs().max(1.0), "{a} {c} {x}: {} {kl}", tilted.kl);
        assert!((tilted.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn identity_flat_potential_leaves_the_prior() {
    let nodes = stable_nodes(1.7, 0.1);
    let tilted = step(&nodes, 0.0, 3.0).evaluate(-1.0);
    assert!(tilted.log_z.abs() < 1e-14 && tilted.kl.abs() < 1e-14);
    for (q, w) in tilted.weights.iter().zip(nodes.weights()) {
        assert!((q / w - 1.0).abs() < 1e-12);
    }
}

#[test]
fn identity_one_gaussian_node_is_a_kalman_update() {
    // Prior N(x̃, S), message N(c, 1/(2a)): the posterior has variance 1/(1/S + 2a).
    let nodes = Nodes::new(vec![0.3], vec![1.0], vec![]).unwrap();
    let step = step(&nodes, 2.0, 1.5);
    let (x, s, a, c) = (0.2, 0.3, 2.0, 1.5);
    let variance = 1.0 / (1.0 / s + 2.0 * a);
    assert!((step.move_from(x, 0, 0.0) - variance * (x / s + 2.0 * a * c)).abs() < 1e-15);
    assert!((step.move_from(x, 0, 1.0) - step.move_from(x, 0, 0.0) - variance.sqrt()).abs() < 1e-15);
}

/// Nodes with one variance and one weight moved; weights are not renormalised by less than they were moved, so the
/// quotient uses the plain sum of the definition instead of `Nodes::new`.
fn log_z_by_definition(s: &[f64], w: &[f64], a: f64, c: f64, x: f64) -> f64 {
    let kappa = a * (c - x).powi(2);
    let z: f64 = s
        .iter()
        .zip(w)
        .map(|(s, w)| (w, 1.0 / (1.0 + 2.0 * a * s)))
        .map(|(w, g)| w * g.sqrt() * (-kappa * g).exp())
        .sum();
    z.ln()
}

/// KL = E_q[φ̄] − ln Z, φ̄_k = −κ g_k² − (1 − g_k)/2, weights as they are.
fn kl_by_definition(s: &[f64], w: &[f64], a: f64, c: f64, x: f64) -> f64 {
    let log_z = log_z_by_definition(s, w, a, c, x);
    let kappa = a * (c - x).powi(2);
    let mean: f64 = s
        .iter()
        .zip(w)
        .map(|(s, w)| {
            let g = 1.0 / (1.0 + 2.0 * a * s);
            w * g.sqrt() * (-kappa * g - log_z).exp() * (-kappa * g * g - 0.5 * (1.0 - g))
        })
        .sum();
    mean - log_z
}

type Definition = fn(&[f64], &[f64], f64, f64, f64) -> f64;

#[test]
fn identity_derivatives_are_difference_quotients() {
    let nodes = stable_nodes(1.4, 0.05);
    let (s, w) = (nodes.variances().to_vec(), nodes.weights().to_vec());
    for (a, c, x) in [(0.7, 1.0, 0.2), (30.0, 0.5, 0.1), (30.0, -2.0, 1.0), (500.0, 0.05, 0.0)] {
        let step = step(&nodes, a, c);
        let cases: [(Definition, _); 2] =
            [(log_z_by_definition, step.log_z_derivatives(x)), (kl_by_definition, step.kl_derivatives(x))];
        for (f, d) in cases {
            // (f(p + h) − f(p − h))/(2h)
            let close = |got: f64, up: f64, down: f64, h: f64, name: &str| {
                let want = (up - down) / (2.0 * h);
                let size = want.abs().max(1e-3 * f(&s, &w, a, c, x).abs()).max(1e-6);
                assert!((got - want).abs() < 2e-6 * size, "{name} at {a} {c} {x}: {got} {want}");
            };
            let h = 1e-6;
            close(d.state, f(&s, &w, a, c, x + h), f(&s, &w, a, c, x - h), h, "state");
            close(d.c, f(&s, &w, a, c + h, x), f(&s, &w, a, c - h, x), h, "c");
            let h = 1e-6 * a;
            close(d.a, f(&s, &w, a + h, c, x), f(&s, &w, a - h, c, x), h, "a");
            for k in (0..s.len()).step_by(7) {
                let nudged = |values: &[f64], h: f64| {
                    let mut moved = values.to_vec();
                    moved[k] += h;
                    moved
                };
                let h = 1e-5 * s[k];
                let up = f(&nudged(&s, h), &w, a, c, x);
                let down = f(&nudged(&s, -h), &w, a, c, x);
                // Compare per relative change of the node, where rounding of f is 1e-16/1e-5.
                assert!((d.variances[k] * s[k] - (up - down) / 2e-5).abs() < 1e-8, "variance {k}");
                let h = 1e-5 * w[k];
                let up = f(&s, &nudged(&w, h), a, c, x);
                let down = f(&s, &nudged(&w, -h), a, c, x);
                assert!((d.weights[k] * w[k] - (up - down) / 2e-5).abs() < 1e-8, "weight {k}");
            }
        }
        // ∂ ln q_k/∂x̃ by (ln q_k(x + h) − ln q_k(x − h))/(2h)
        let (h, gradient) = (1e-6, step.node_gradient(x));
        let (up, down) = (step.evaluate(x + h).weights, step.evaluate(x - h).weights);
        for k in 0..s.len() {
            let want = (up[k] / down[k]).ln() / (2.0 * h);
            assert!((gradient[k] - want).abs() < 1e-6 * want.abs().max(1.0), "gradient {k}: {} {want}", gradient[k]);
        }
    }
}

fn sum_potential() -> GaussianSum {
    let q = |a, c| Quadratic::new(a, c).unwrap();
    GaussianSum::new(vec![(-0.5, q(50.0, 0.4)), (-3.0, q(0.5, 0.1)), (-8.0, q(0.001, -1.0))]).unwrap()
}

#[test]
fn identity_gaussian_sum_is_the_integral_of_its_bumps() {
    let nodes = stable_nodes(1.3, 0.02);
    let potential = sum_potential();
    for x in [0.0, 0.5, 3.0, -40.0] {
        let step = SumStep::new(&nodes, potential.clone());
        let z = integrate(&nodes, x, |y| potential.log_value(y).exp());
        assert!((step.log_z(x) - z.ln()).abs() < 1e-8, "{x}");
        let log_z = step.log_z(x);
        let mean = integrate(&nodes, x, |y| potential.log_value(y) * (potential.log_value(y) - log_z).exp());
        assert!((step.kl(x) - (mean - log_z)).abs() < 1e-7, "{x}: {} {}", step.kl(x), mean - log_z);
        assert!((step.node_weights(x).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn identity_gaussian_sum_derivatives_are_difference_quotients() {
    let nodes = stable_nodes(1.3, 0.02);
    let base = sum_potential();
    let x = 0.3;
    let d = SumStep::new(&nodes, base.clone()).log_z_derivatives(x);
    let h = 1e-6;
    // (ln Z(p + h) − ln Z(p − h))/(2h)
    let quotient = |change: &dyn Fn(f64) -> (GaussianSum, f64)| {
        let value = |h| {
            let (potential, x) = change(h);
            SumStep::new(&nodes, potential).log_z(x)
        };
        (value(h) - value(-h)) / (2.0 * h)
    };
    assert!((d.state - quotient(&|h| (base.clone(), x + h))).abs() < 1e-6);
    for m in 0..base.components().len() {
        let moved = |weight: f64, a: f64, c: f64| {
            let mut parts = base.components().to_vec();
            let (l, q) = parts[m];
            parts[m] = (l + weight, Quadratic::new(q.a() + a, q.c() + c).unwrap());
            (GaussianSum::new(parts).unwrap(), x)
        };
        assert!((d.components[m][0] - quotient(&|h| moved(h, 0.0, 0.0))).abs() < 1e-7);
        assert!((d.components[m][1] - quotient(&|h| moved(0.0, h, 0.0))).abs() < 1e-6);
        assert!((d.components[m][2] - quotient(&|h| moved(0.0, 0.0, h))).abs() < 1e-6);
    }
}

#[test]
fn identity_sum_of_one_is_quadratic() {
    let nodes = stable_nodes(1.6, 0.02);
    let q = Quadratic::new(20.0, 0.4).unwrap();
    let sum = SumStep::new(&nodes, GaussianSum::new(vec![(0.0, q)]).unwrap());
    let plain = TiltedStep::new(&nodes, q);
    let (one, other) = (sum.evaluate_pair(0.1), plain.evaluate(0.1));
    assert!((one.0 - other.log_z).abs() < 1e-13 && (one.1 - other.kl).abs() < 1e-8);
}

trait EvaluatePair {
    fn evaluate_pair(&self, x: f64) -> (f64, f64);
}

impl EvaluatePair for SumStep {
    fn evaluate_pair(&self, x: f64) -> (f64, f64) {
        (self.log_z(x), self.kl(x))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// κ from 0 to 10⁸, a from 10⁻⁸ to 10⁸, S from 0 to 10¹⁶: nothing infinite, nothing undefined, Σq = 1, KL ≥ 0.
    #[test]
    fn identity_the_whole_box_is_finite(
        log_a in -8.0..8.0f64,
        log_kappa in -9.0..8.0f64,
        side in prop::bool::ANY,
        log_s in prop::collection::vec(-16.0..16.0f64, 1..40),
        log_w in prop::collection::vec(-16.0..0.0f64, 41),
        atom in prop::bool::ANY,
        centre in -1e3..1e3f64,
    ) {
        let a = 10f64.powf(log_a);
        let kappa = if log_kappa < -8.5 { 0.0 } else { 10f64.powf(log_kappa) };
        let delta = (kappa / a).sqrt() * if side { 1.0 } else { -1.0 };
        let mut s: Vec<f64> = log_s.iter().map(|l| 10f64.powf(*l)).collect();
        if atom { s.push(0.0) }
        s.sort_by(f64::total_cmp);
        s.dedup();
        let w: Vec<f64> = (0..s.len()).map(|k| 10f64.powf(log_w[k])).collect();
        let nodes = Nodes::new(s, w, vec![]).unwrap();
        let (x, plain) = (centre - delta, step(&nodes, a, centre));
        let tilted = plain.evaluate(x);
        prop_assert!(tilted.log_z.is_finite() && tilted.log_z <= 1e-12);
        prop_assert!((tilted.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(tilted.kl >= 0.0 && tilted.kl.is_finite(), "kl {}", tilted.kl);
        prop_assert!((0.0..=1.0 + 1e-12).contains(&tilted.mean_g));
        for d in [plain.log_z_derivatives(x), plain.kl_derivatives(x)] {
            prop_assert!(d.state.is_finite() && d.a.is_finite() && d.c.is_finite());
            prop_assert!(d.variances.iter().chain(&d.weights).all(|v| v.is_finite()));
        }
        let mut rng = stream(7, 0);
        prop_assert!(plain.draw(x, &mut rng).state.is_finite());
        let table = table(&nodes, a, centre);
        let (fast, size) = (table.log_z(x), tilted.log_z.abs().max(1.0));
        prop_assert!((fast - tilted.log_z).abs() < 1e-9 * size, "{fast} {}", tilted.log_z);
        prop_assert!(table.draw(x, &mut rng).state.is_finite());
    }
}

#[test]
fn identity_fast_normaliser_is_within_1e_9() {
    let mut worst: f64 = 0.0;
    for alpha in [0.6, 1.1, 1.5, 1.9, 1.99, 2.0] {
        let nodes = stable_nodes(alpha, 0.01);
        for a in [1e-3, 1.0, 90.0, 1e5] {
            let table = table(&nodes, a, 0.0);
            for i in 0..3000 {
                let kappa = 1e-3 * (1.01f64).powi(i) - 1e-3;
                let x = (kappa / a).sqrt();
                if kappa < 1e8 {
                    let plain = table.step().log_z(x);
                    worst = worst.max((table.log_z(x) - plain).abs() / plain.abs().max(1.0));
                }
            }
        }
    }
    println!("largest difference of ln Z, fast and plain: {worst:e}");
    assert!(worst < 1e-9);
}

/// False-alarm rate: 1e-6 per case, 14 cases.
#[test]
fn statistics_fast_draws_follow_the_plain_law() {
    let draws = 1_000_000;
    for (alpha, a) in [(1.2, 90.0f64), (1.8, 90.0)] {
        let nodes = stable_nodes(alpha, 0.01);
        let table = table(&nodes, a, 0.0);
        for (i, kappa) in [0.0, 0.3, 0.9, 5.1, 11.7, 40.0, 3000.0].into_iter().enumerate() {
            let x = (kappa / a).sqrt();
            let mut rng = stream(11, i as u64);
            let mut counts = vec![0.0; nodes.len()];
            let (mut first, mut second) = (0.0, 0.0);
            for _ in 0..draws {
                let drawn = table.draw(x, &mut rng);
                counts[drawn.node] += 1.0;
                let z = (drawn.state - table.step().move_from(x, drawn.node, 0.0))
                    / (table.step().move_from(x, drawn.node, 1.0) - table.step().move_from(x, drawn.node, 0.0));
                first += z;
                second += z * z;
            }
            let (statistic, bound) = chi_square(&counts, &table.step().evaluate(x).weights);
            assert!(statistic < bound, "{alpha} {kappa}: {statistic} of {bound}");
            let n = draws as f64;
            assert!((first / n).abs() < 4.9 / n.sqrt() && (second / n - 1.0).abs() < 4.9 * (2.0 / n).sqrt());
        }
    }
}

/// Bumps that leave each other behind by far more than a table keeps, and one that says nothing.
#[test]
fn identity_sum_tables_agree_with_the_plain_sum() {
    let q = |a, c| Quadratic::new(a, c).unwrap();
    let parts = vec![(-0.5, q(50.0, 0.4)), (-3.0, q(0.5, 0.1)), (-8.0, q(0.001, -1.0)), (-45.0, q(0.0, 0.0))];
    let potential = GaussianSum::new(parts).unwrap();
    for alpha in [1.2, 1.8] {
        let nodes = stable_nodes(alpha, 0.01);
        let (plain, fast) =
            (SumStep::new(&nodes, potential.clone()), SumTable::new(&Arc::new(nodes), potential.clone()));
        for x in [0.4, 0.0, 0.5, -1.3, 3.0, -40.0, 1e3, 1e5] {
            assert!((fast.log_z(x) - plain.log_z(x)).abs() < 1e-9, "{alpha} {x}");
            let (pull, want) = (fast.pull(x), plain.log_z_derivatives(x).state);
            assert!((pull - want).abs() < 1e-8 * want.abs().max(1.0), "{alpha} {x}: {pull} {want}");
            assert!((fast.log_potential(x) - potential.log_value(x)).abs() < 1e-12 * (1.0 + x.abs()), "{alpha} {x}");
        }
    }
}

/// False-alarm rate: 1e-6 per case, 16 cases.
#[test]
fn statistics_sum_tables_draw_by_the_plain_law() {
    let draws = 200_000;
    for alpha in [1.2, 1.8] {
        let nodes = Arc::new(stable_nodes(alpha, 0.01));
        let (plain, fast) = (SumStep::new(&nodes, sum_potential()), SumTable::new(&nodes, sum_potential()));
        for (i, x) in [0.4, 0.9, -3.0, 30.0].into_iter().enumerate() {
            let mut rng = stream(12, i as u64);
            let mut nodes_drawn = vec![0.0; nodes.len()];
            // Twentieths of the states, by the plain sampler's own draws: mixes node and component.
            let mut reference: Vec<f64> = (0..draws).map(|_| plain.draw(x, &mut rng).state).collect();
            reference.sort_by(f64::total_cmp);
            let mut cells = vec![0.0; 20];
            for _ in 0..draws {
                let drawn = fast.draw(x, &mut rng);
                nodes_drawn[drawn.node] += 1.0;
                let rank = reference.partition_point(|y| *y < drawn.state);
                cells[(rank * 20 / draws).min(19)] += 1.0;
            }
            let (statistic, bound) = chi_square(&nodes_drawn, &plain.node_weights(x));
            assert!(statistic < bound, "nodes, {alpha} {x}: {statistic} of {bound}");
            // Both samples are random, which doubles the variance of the difference.
            let (statistic, bound) = chi_square(&cells, &[0.05; 20]);
            assert!(0.5 * statistic < bound, "states, {alpha} {x}: {statistic} of {bound}");
        }
    }
}

#[test]
fn identity_potentials_refuse_bad_numbers() {
    for (a, c) in [(-1.0, 0.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0), (1.0, f64::NAN)] {
        let message = Quadratic::new(a, c).unwrap_err().to_string();
        assert!(message.contains("is not allowed"), "{message}");
    }
    assert!(GaussianSum::new(vec![]).unwrap_err().to_string().contains("at least 1 component"));
}

/// Two nodes so far apart in weight that they balance at κ ≈ 600, where a table's proposals are hopeless: must not hang.
#[test]
fn identity_hopeless_proposals_fall_back_to_the_plain_sum() {
    let nodes = Nodes::new(vec![1e-9, 1e3], vec![1.0, 1e-260], vec![]).unwrap();
    let table = table(&nodes, 1.0, 0.0);
    let mut rng = stream(3, 0);
    for kappa in [500.0f64, 550.0, 590.0, 600.0, 610.0, 650.0] {
        let x = kappa.sqrt();
        assert!((table.log_z(x) / table.step().log_z(x) - 1.0).abs() < 1e-12);
        let expected = table.step().evaluate(x).weights[1];
        let far = (0..2000).filter(|_| table.draw(x, &mut rng).node == 1).count() as f64 / 2000.0;
        assert!((far - expected).abs() < 0.06, "{kappa}: {far} {expected}");
    }
}
