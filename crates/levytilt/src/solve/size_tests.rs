//! Check noise whose size depends on the state: against quadrature, against noise of one size, and its slopes.

use super::{parameters, rebuild};
use crate::drift::{Formula, Ou};
use crate::exact::follow::{Follower, Memory};
use crate::exact::{Options, log_evidence};
use crate::noise::{Gaussian, Nig, Nodes, Noise, Stable};
use crate::series::TimeGrid;
use crate::{Size, Start, StateSpace, simulate};

fn size(text: &str, values: &[f64]) -> Size {
    Size::new(&Formula::parse(text).unwrap(), values).unwrap()
}

fn model(noise: Box<dyn Noise>, size: Option<&Size>) -> StateSpace {
    let drift = Box::new(Ou::new(1.0, 0.2).unwrap());
    let model = StateSpace::new(drift, noise, 0.1, Start::Fixed(0.3)).unwrap();
    match size {
        Some(size) => model.with_size(size),
        None => model,
    }
}

fn evidence(model: &StateSpace, times: &[f64], values: &[f64]) -> f64 {
    log_evidence(model, &TimeGrid::unsplit(times).unwrap(), values, &Options::default()).unwrap()
}

fn normal(x: f64, variance: f64) -> f64 {
    (-0.5 * x * x / variance).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
}

fn mixture(nodes: &Nodes, x: f64, factor: f64, more: f64) -> f64 {
    let each = nodes.variances().iter().zip(nodes.weights());
    each.map(|(s, w)| w * normal(x, factor * factor * s + more)).sum()
}

/// Two steps with the states between integrated out by quadrature: p(y1, y2) = ∫ p(x1) ℓ(y1 | x1) p(y2 | x1) dx1.
#[test]
fn golden_two_steps_against_quadrature() {
    let noise = || Box::new(Nig::new(1.0, 0.8).unwrap());
    let size = size("0.5 + s*x^2", &[0.4]);
    let (times, values) = ([0.0, 0.5, 1.0], [f64::NAN, 1.1, -0.4]);
    let model = model(noise(), Some(&size));
    let nodes = noise().nodes(0.5).unwrap();
    let flow = |x: f64| {
        let mut out = [0.0];
        model.drift.flow(0.0, 0.5, &[x], &mut out);
        out[0]
    };
    let gamma = |x: f64| 0.5 + 0.4 * x * x;
    let (n, low, high) = (40_000, -2.0, 4.0);
    let h = (high - low) / f64::from(n);
    let term = |i: i32| {
        let x = low + h * f64::from(i);
        let here = mixture(&nodes, x - flow(0.3), gamma(0.3), 0.0) * normal(values[1] - x, 0.01);
        here * mixture(&nodes, values[2] - flow(x), gamma(x), 0.01)
    };
    let expected = (h * (0..=n).map(term).sum::<f64>()).ln();
    let found = evidence(&model, &times, &values);
    assert!((found - expected).abs() < 1e-5, "{found} {expected}");
}

/// A size that does not depend on the state is a scale, whether it is a level of the ladder or lies between two.
#[test]
fn identity_a_constant_size_is_a_scale() {
    let times: Vec<f64> = (0..12).map(|j| 0.3 * f64::from(j)).collect();
    let values: Vec<f64> = (0..12).map(|j| (1.7 * f64::from(j)).sin() + if j > 7 { 3.0 } else { 0.0 }).collect();
    let stable = |scale| Box::new(Stable::new(1.4, scale).unwrap());
    let plain = evidence(&model(stable(1.0), None), &times, &values);
    let one = evidence(&model(stable(1.0), Some(&size("1", &[]))), &times, &values);
    assert!((plain - one).abs() < 1e-9, "{plain} {one}");
    let wide = evidence(&model(stable(2.0), None), &times, &values);
    let two = evidence(&model(stable(1.0), Some(&size("2", &[]))), &times, &values);
    assert!((wide - two).abs() < 1e-6, "{wide} {two}");
    let gaussian = |scale| Box::new(Gaussian::new(scale).unwrap());
    let wide = evidence(&model(gaussian(2.0), None), &times, &values);
    let two = evidence(&model(gaussian(1.0), Some(&size("2", &[]))), &times, &values);
    assert!((wide - two).abs() < 1e-6, "{wide} {two}");
}

/// The slope in every parameter is the difference quotient, with a gap between observations and without.
#[test]
fn identity_slopes_are_difference_quotients() {
    let times: Vec<f64> = (0..10).map(|j| 0.3 * f64::from(j)).collect();
    let mut values: Vec<f64> = (0..10).map(|j| (1.7 * f64::from(j)).sin() + if j > 6 { 2.0 } else { 0.0 }).collect();
    values[4] = f64::NAN;
    let model = model(Box::new(Nig::new(1.0, 0.7).unwrap()), Some(&size("exp(k*x)", &[0.3])));
    let grid = TimeGrid::unsplit(&times).unwrap();
    let follower = Follower::new(&model, &grid, &values).unwrap();
    let all = parameters(&model);
    let at: Vec<f64> = all.iter().map(|p| p.value).collect();
    let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["theta", "mu", "scale", "tempering", "k", "observation_std"]);
    let mut memory = Memory::default();
    let gradient = follower.gradient(&model, &mut memory).unwrap();
    for k in 0..at.len() {
        let moved = |by: f64| {
            let mut at = at.clone();
            at[k] += by;
            follower.log_evidence(&rebuild(&model, &at).unwrap(), &mut memory.clone(), usize::MAX).unwrap()
        };
        let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
        let tolerance = 2e-3 * (1.0 + slope.abs());
        assert!((gradient.slope[k] - slope).abs() < tolerance, "{} {} {slope}", names[k], gradient.slope[k]);
    }
}

#[test]
fn a_size_that_is_not_positive_is_named_with_its_state() {
    let model = model(Box::new(Gaussian::new(1.0).unwrap()), Some(&size("1 - s*x", &[1.0])));
    let grid = TimeGrid::unsplit(&[0.0, 1.0, 2.0]).unwrap();
    let said = log_evidence(&model, &grid, &[0.1, 3.0, 0.2], &Options::default()).unwrap_err().to_string();
    assert!(said.contains("size 1 - s*x") && said.contains("at state x = "), "{said}");
    let times: Vec<f64> = (0..200).map(f64::from).collect();
    let said = simulate(&model, &times, 1).unwrap_err().to_string();
    assert!(said.contains("must be a positive number for every state"), "{said}");
}
