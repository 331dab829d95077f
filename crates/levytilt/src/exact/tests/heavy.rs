//! Heavy tails: convergence, identities, a dense matrix, and what is said in words.

use super::models::{Fixed, Ou, Student, Tide, Well, even, simulate, thin};
use crate::exact::convolve::Rounding;
use crate::exact::problem::Problem;
use crate::exact::transition::Transition;
use crate::exact::{Options, Smoothed, forward, layout::Layout, log_evidence, smooth};
use crate::series::TimeGrid;
use crate::{Start, StateSpace};

const CELLS: usize = 1 << 20;

fn model(well: bool) -> StateSpace {
    let noise = Box::new(Student(1.5, 1.0));
    let start = Start::Fixed(0.5);
    if well {
        StateSpace::new(Box::new(Well(4.0, 1.0)), noise, 0.1, start).unwrap()
    } else {
        StateSpace::new(Box::new(Ou(3.0, 1.0)), noise, 0.1, start).unwrap()
    }
}

fn default(model: &StateSpace, grid: &TimeGrid, values: &[f64]) -> Smoothed {
    smooth(model, grid, values, &Options::default()).unwrap()
}

fn off(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).filter(|(a, _)| a.is_finite()).fold(0.0f64, |top, (a, b)| top.max((a - b).abs()))
}

#[test]
fn halving_the_spacing_and_doubling_the_domain_change_nothing() {
    let times = even(300, 3.0);
    let grid = TimeGrid::new(&times, Some(300)).unwrap();
    for well in [false, true] {
        let model = model(well);
        let dense = simulate(&model, &times, 11);
        for every in [1, 5, 20] {
            let values = thin(&dense, every);
            let found = default(&model, &grid, &values);
            let half = Options {
                spacing: Some(0.5 * found.spacing),
                domain: Some((
                    1.5 * found.domain.0 - 0.5 * found.domain.1,
                    1.5 * found.domain.1 - 0.5 * found.domain.0,
                )),
                ..Options::default()
            };
            let finer = smooth(&model, &grid, &values, &half).unwrap();
            let alone = log_evidence(&model, &grid, &values, &Options::default()).unwrap();
            let change = (finer.log_evidence - found.log_evidence).abs();
            // Relative to the spread; quantiles between two modes are worse determined than anything else.
            let spread: Vec<f64> =
                (0..found.mean.len()).map(|j| f64::max(0.05, finer.quantiles[4][j] - finer.quantiles[0][j])).collect();
            let relative = |a: &[f64]| a.iter().zip(&spread).map(|(a, s)| a / s).collect::<Vec<f64>>();
            let off = |a: &[f64], b: &[f64]| off(&relative(a), &relative(b));
            let (mean, sd) = (off(&found.mean, &finer.mean), off(&found.sd, &finer.sd));
            let quantiles = (0..5).fold(0.0f64, |top, l| top.max(off(&found.quantiles[l], &finer.quantiles[l])));
            assert!(change < 1e-3 && (alone - found.log_evidence).abs() < 1e-6, "{change:e}");
            assert!(
                mean < if well { 3e-2 } else { 2e-3 } && sd < 2e-3 && quantiles < 1e-2,
                "{mean:e} {sd:e} {quantiles:e}"
            );
            assert_eq!(found.notes.iter().any(|note| note.contains("domain widened")), every > 1);
            // The double well brings back any state at once, so between observations the tail is that of one jump.
            assert_eq!(found.sd.iter().any(|sd| sd.is_infinite()), well && every > 1, "{:?}", found.notes);
        }
    }
}

#[test]
fn evidence_is_the_same_at_every_time() {
    let times = even(200, 2.0);
    let grid = TimeGrid::new(&times, Some(200)).unwrap();
    let tide =
        StateSpace::new(Box::new(Tide), Box::new(Student(1.5, 1.0)), 0.1, Start::Gaussian { mean: 0.0, std: 1.0 });
    for model in [model(false), model(true), tide.unwrap()] {
        let dense = simulate(&model, &times, 12);
        for every in [1, 7] {
            let values = thin(&dense, every);
            let problem = Problem::new(&model, &grid, &values).unwrap();
            let layout = Layout::new(&problem, 0.02, (-30.0, 30.0), CELLS).unwrap();
            let fast = forward::smooth(&problem, &layout, &[], CELLS, Rounding::Reference).unwrap().0;
            let careful = forward::smooth(&problem, &layout, &[], CELLS, Rounding::Careful).unwrap().0;
            assert!(fast.disagreement < 1e-9 && careful.disagreement < 1e-9, "{:e}", fast.disagreement);
            assert!((fast.log_evidence - careful.log_evidence).abs() < 1e-9);
            assert!(off(&fast.mean, &careful.mean) < 1e-9);
        }
    }
}

#[test]
fn push_is_the_transpose_of_pull() {
    let times = [0.0, 0.1, 0.35, 0.5];
    let grid = TimeGrid::new(&times, Some(1)).unwrap();
    let model = model(true);
    for values in [[0.1, 0.3, 0.2, 0.4], [0.1, f64::NAN, f64::NAN, 0.4]] {
        let problem = Problem::new(&model, &grid, &values).unwrap();
        let layout = Layout::new(&problem, 0.05, (-6.0, 7.0), CELLS).unwrap();
        let mut transition = Transition::new(&problem, &layout, CELLS, Rounding::Reference);
        for j in 0..3 {
            let vector = |n: usize, k: f64| (0..n).map(|i| (k * i as f64).sin() + 1.1).collect::<Vec<f64>>();
            let (a, b) = (vector(layout.support(j).len, 0.7), vector(layout.support(j + 1).len, 0.31));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let left = dot(&a, &transition.pull(j, &b).unwrap().0);
            let right = dot(&transition.push(j, &a).unwrap().0, &b);
            assert!((left / right - 1.0).abs() < 1e-13, "{left} {right}");
            if values[j + 1].is_nan() {
                // Mass is kept: states beyond the domain count as its ends.
                let total: f64 = transition.push(j, &a).unwrap().0.iter().sum();
                assert!((total / a.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn a_dense_matrix_agrees() {
    // Nodes as wide as the posterior, so that plain sums with the exact kernel at the exact flow converge.
    let nodes = vec![(0.2, 0.6), (1.5, 0.3), (20.0, 0.1)];
    let model =
        StateSpace::new(Box::new(Well(0.5, 0.3)), Box::new(Fixed(nodes.clone())), 0.4, Start::Fixed(0.2)).unwrap();
    let times = [0.0, 0.3, 1.0, 1.4, 2.0, 2.3];
    let values = [f64::NAN, 0.9, f64::NAN, f64::NAN, -1.0, 3.0];
    let grid = TimeGrid::new(&times, Some(1)).unwrap();
    let (n, h, lo) = (1601, 0.05, -40.0);
    let state = |i: usize| lo + h * i as f64;
    let normal = |x: f64, s: f64| (-0.5 * x * x / s).exp() / (2.0 * std::f64::consts::PI * s).sqrt();
    let density = |x: f64, to: f64, dt: f64| {
        let mut moved = [0.0];
        model.drift.flow(0.0, dt, &[x], &mut moved);
        nodes.iter().map(|(s, w)| w * normal(to - moved[0], *s)).sum::<f64>()
    };
    let likelihood = |j: usize, x: f64| if values[j].is_nan() { 1.0f64 } else { normal(values[j] - x, 0.16) };
    let mut beta = vec![vec![1.0; n]; 6];
    for j in (1..5).rev() {
        for i in 0..n {
            beta[j][i] = (0..n)
                .map(|k| h * density(state(i), state(k), grid.step(j)) * likelihood(j + 1, state(k)) * beta[j + 1][k])
                .sum();
        }
    }
    let mut alpha: Vec<f64> = (0..n).map(|k| density(0.2, state(k), grid.step(0))).collect();
    let found = default(&model, &grid, &values);
    for (j, beta) in beta.iter().enumerate().skip(1) {
        if j > 1 {
            alpha = (0..n)
                .map(|k| {
                    let from =
                        |i: usize| h * density(state(i), state(k), grid.step(j - 1)) * likelihood(j - 1, state(i));
                    (0..n).map(|i| alpha[i] * from(i)).sum()
                })
                .collect();
        }
        let joint: Vec<f64> = (0..n).map(|i| alpha[i] * likelihood(j, state(i)) * beta[i] * h).collect();
        let total: f64 = joint.iter().sum();
        let mean = joint.iter().enumerate().map(|(i, p)| p * state(i)).sum::<f64>() / total;
        let sd = (joint.iter().enumerate().map(|(i, p)| p * (state(i) - mean).powi(2)).sum::<f64>() / total).sqrt();
        assert!((total.ln() - found.log_evidence).abs() < 1e-5, "{} {}", total.ln(), found.log_evidence);
        assert!((found.mean[j] - mean).abs() < 1e-4 && (found.sd[j] - sd).abs() < 1e-3, "{j}: {} {sd}", found.sd[j]);
    }
}

#[test]
fn atoms_and_tiny_variances() {
    // Without any movement the posterior is that of repeated measurements of one Gaussian start.
    let (std, sigma, n) = (1.5, 0.3, 41);
    let times = even(n - 1, 4.0);
    let grid = TimeGrid::new(&times, Some(n - 1)).unwrap();
    let values: Vec<f64> = (0..n).map(|i| 0.4 + 0.3 * (2.1 * i as f64).sin()).collect();
    let precision = 1.0 / (std * std) + n as f64 / (sigma * sigma);
    let mean = values.iter().sum::<f64>() / (sigma * sigma) / precision;
    for tiny in [0.0, 1e-18, 1e-12] {
        let noise = Box::new(Fixed(vec![(tiny, 1.0)]));
        let start = Start::Gaussian { mean: 0.0, std };
        let still = StateSpace::new(Box::new(Ou(1e-300, 0.0)), noise, sigma, start).unwrap();
        let found = default(&still, &grid, &values);
        for j in 0..n {
            assert!((found.mean[j] - mean).abs() < 1e-6, "{tiny}");
            assert!((found.sd[j] * precision.sqrt() - 1.0).abs() < 1e-6, "{tiny}");
        }
    }
    // An atom beside jumps: rare large jumps, otherwise no movement at all.
    let noise = Box::new(Fixed(vec![(0.0, 0.9), (1e-9, 0.05), (9.0, 0.05)]));
    let jumps = StateSpace::new(Box::new(Ou(0.2, 0.0)), noise, 0.2, Start::Fixed(0.0)).unwrap();
    let dense = simulate(&jumps, &times, 13);
    for every in [1, 4] {
        let values = thin(&dense, every);
        let found = default(&jumps, &grid, &values);
        let half = Options { spacing: Some(0.5 * found.spacing), ..Options::default() };
        let finer = smooth(&jumps, &grid, &values, &half).unwrap();
        assert!((finer.log_evidence - found.log_evidence).abs() < 1e-4);
    }
}

#[test]
fn a_jump_of_a_million_is_an_ordinary_jump() {
    let times = even(50, 1.0);
    let grid = TimeGrid::new(&times, Some(50)).unwrap();
    let walk = StateSpace::new(Box::new(Ou(1e-9, 0.0)), Box::new(Student(1.5, 1.0)), 0.1, Start::Fixed(0.0)).unwrap();
    let values: Vec<f64> = times.iter().map(|t| if *t < 0.5 { 0.0 } else { 1e6 }).collect();
    let found = default(&walk, &grid, &values);
    assert!((found.mean[40] - 1e6).abs() < 0.1 && found.cells < 1000);
    // Nothing else changes, so a jump ten times as far costs ten times to the power 1 + 1.5.
    let farther: Vec<f64> = values.iter().map(|y| 10.0 * y).collect();
    let drop = found.log_evidence - default(&walk, &grid, &farther).log_evidence;
    assert!((drop - 2.5 * 10f64.ln()).abs() < 0.2, "{drop}");
}

#[test]
fn prediction_after_the_last_observation() {
    let times = even(60, 3.0);
    let grid = TimeGrid::new(&times, Some(60)).unwrap();
    let model = model(false);
    let mut values = simulate(&model, &times, 14);
    values[40..].fill(f64::NAN);
    let found = default(&model, &grid, &values);
    assert!(found.sd[..40].iter().all(|sd| sd.is_finite()) && found.sd[40..].iter().all(|sd| sd.is_infinite()));
    assert!(found.notes.iter().any(|note| note.contains("no finite variance")), "{:?}", found.notes);
    // The median of a symmetric noise under a linear flow relaxes to the centre, and so does the balanced mean.
    let last = (found.mean[39] - 1.0) * (-3.0f64 * 1.05).exp() + 1.0;
    assert!((found.quantiles[2][60] - last).abs() < 1e-3 && (found.mean[60] - last).abs() < 5e-3);
    // A longer domain moves no quantile.
    let wide = Options { domain: Some((4.0 * found.domain.0, 4.0 * found.domain.1)), ..Options::default() };
    let wide = smooth(&model, &grid, &values, &wide).unwrap();
    for l in 0..5 {
        assert!(off(&wide.quantiles[l], &found.quantiles[l]) < 2e-2);
    }
}
