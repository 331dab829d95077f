//! Check the linear drift's own invariants: growth, storage, derivatives by two ways.

use super::*;
use crate::drift::Ou;
use crate::stream;
use proptest::prelude::*;
use rand::RngExt;
use rand_distr::StandardNormal;

fn random(dim: usize, size: f64, seed: u64) -> Linear {
    let mut rng = stream(seed, 0);
    let mut draw = || rng.sample::<f64, _>(StandardNormal);
    let mut matrix = DMatrix::from_fn(dim, dim, |_, _| draw());
    // Shifted, so that long steps decay.
    (0..dim).for_each(|i| matrix[(i, i)] -= 2.0 * (dim as f64).sqrt());
    matrix *= size / norm(&matrix);
    Linear::new(matrix, DVector::from_fn(dim, |_, _| draw())).unwrap()
}

fn jacobian(drift: &Linear, dt: f64, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let dim = drift.dim();
    let (mut out, mut by_state) = (vec![0.0; dim], vec![0.0; dim * dim]);
    let mut by_parameter = vec![0.0; dim * dim * (dim + 1)];
    drift.flow_jacobian(0.0, dt, x, &mut out, &mut by_state, &mut by_parameter);
    (by_state, by_parameter)
}

/// Gauss–Legendre times and the block exponential are two ways to the same Fréchet derivative.
#[test]
fn identities_two_ways_to_the_derivative() {
    for (dim, length) in [(1, 0.1), (2, 1.0), (3, 7.9), (6, 4.0), (2, 1e-6)] {
        let drift = random(dim, length / 0.5, 7);
        let x: Vec<f64> = (0..dim).map(|i| 100.0 * (i as f64 - 0.7)).collect();
        let (_, by_parameter) = jacobian(&drift, 0.5, &x);
        assert!(!drift.stages(0.5).is_empty());
        for i in 0..dim {
            let mut lambda = vec![0.0; dim];
            lambda[i] = 1.0;
            let mut block = vec![0.0; dim * dim];
            drift.add_matrix_pullback(0.5, &x, &lambda, &mut block);
            let stages = &by_parameter[i * dim * (dim + 1)..];
            let size = block.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            for (a, b) in stages.iter().zip(&block) {
                assert!((a - b).abs() < 1e-14 * size, "{dim} {length}: {a} {b}");
            }
        }
    }
}

/// One dimension is an OU drift with θ = −a, μ = −b/a: ∂/∂a = −∂/∂θ + (b/a²) ∂/∂μ, ∂/∂b = −(1/a) ∂/∂μ; here over steps
/// from short to so long that the block exponential is needed.
#[test]
fn identities_one_dimension_is_ou() {
    let (a, b) = (-3.0, 1.2);
    let linear = Linear::new(DMatrix::from_element(1, 1, a), DVector::from_element(1, b)).unwrap();
    let ou = Ou::new(-a, -b / a).unwrap();
    for dt in [1e-6, 0.1, 2.0, 3.0, 10.0, 1e3] {
        for x in [0.0, -2.0, 1e6] {
            let (mut out, mut by_state, mut by_parameter) = ([0.0], [0.0], [0.0; 2]);
            ou.flow_jacobian(0.0, dt, &[x], &mut out, &mut by_state, &mut by_parameter);
            let [by_theta, by_mu] = by_parameter;
            let (state, parameter) = jacobian(&linear, dt, &[x]);
            let mut flow = [0.0];
            linear.flow(0.0, dt, &[x], &mut flow);
            let want = [out[0], by_state[0], -by_theta + b / (a * a) * by_mu, -by_mu / a];
            for (got, want) in [flow[0], state[0], parameter[0], parameter[1]].into_iter().zip(want) {
                assert!((got - want).abs() <= 2e-14 * want.abs().max(1e-3), "{dt} {x}: {got:e} {want:e}");
            }
        }
    }
}

/// Directional derivative over a long step (‖A‖Δ = 60) against the central difference (f(h) − f(−h))/2h.
#[test]
fn identities_long_step_derivative_is_a_difference() {
    let (drift, dt, x) = (random(3, 60.0, 9), 1.0, [1.0, -2.0, 3.0]);
    let values: Vec<f64> = drift.parameters().into_iter().map(|(_, value)| value).collect();
    let (_, by_parameter) = jacobian(&drift, dt, &x);
    assert!(drift.stages(dt).is_empty());
    for l in 0..values.len() {
        let moved = |h: f64| {
            let (mut values, mut out) = (values.clone(), [0.0; 3]);
            values[l] += h;
            drift.with_parameters(&values).unwrap().flow(0.0, dt, &x, &mut out);
            out
        };
        let (up, down) = (moved(1e-4), moved(-1e-4));
        for i in 0..3 {
            let want = (up[i] - down[i]) / 2e-4;
            assert!((by_parameter[i * 12 + l] - want).abs() < 1e-9, "{l} {i}");
        }
    }
}

#[test]
fn identities_growth_is_refused_not_hidden() {
    let drift = Linear::new(DMatrix::from_element(1, 1, 1.0), DVector::zeros(1)).unwrap();
    assert!(drift.check_step(200.0).is_ok());
    for dt in [300.0, 1e3, 1e300] {
        let error = drift.check_step(dt).unwrap_err();
        assert!(matches!(error, Error::Numerical { .. }) && error.to_string().contains("shorter steps"), "{error}");
        let mut out = [0.0];
        drift.flow(0.0, dt, &[1.0], &mut out);
        assert!(out[0].is_nan());
    }
}

#[test]
fn identities_steps_are_kept_and_shared() {
    let drift = random(2, 1.0, 1);
    let first = drift.step(0.1);
    assert!(Arc::ptr_eq(&first, &drift.clone().step(0.1)));
    assert!(!Arc::ptr_eq(&first, &drift.step(0.1 + 1e-17 + f64::EPSILON)));
}

#[test]
fn errors_name_the_parameter() {
    let new = |rows, columns, offsets, value| {
        Linear::new(DMatrix::from_element(rows, columns, value), DVector::zeros(offsets)).unwrap_err()
    };
    assert!(matches!(new(0, 0, 0, 0.0), Error::Parameter { name, .. } if name == "dim"));
    assert!(matches!(new(2, 3, 2, 0.0), Error::Shape { what: "matrix", .. }));
    assert!(matches!(new(2, 2, 3, 0.0), Error::Shape { what: "offset", .. }));
    assert!(matches!(new(2, 2, 2, f64::NAN), Error::Parameter { name, .. } if name == "a[0,0]"));
    let offset = Linear::new(DMatrix::zeros(2, 2), DVector::from_vec(vec![0.0, f64::INFINITY])).unwrap_err();
    assert!(matches!(offset, Error::Parameter { name, .. } if name == "b[1]"));
    assert!(matches!(random(2, 1.0, 1).with_parameters(&[0.0]), Err(Error::Shape { .. })));
}

proptest! {
    /// Where the step is accepted, states up to 1e200 stay finite.
    #[test]
    fn identities_flow_is_finite(
        entries in prop::collection::vec(-1e3..1e3f64, 9),
        shift in 0.0..4e3f64,
        x in prop::collection::vec(-1e200..1e200f64, 3),
        exponent in -12.0..3.0f64,
    ) {
        let matrix = DMatrix::from_row_slice(3, 3, &entries) - DMatrix::identity(3, 3) * shift;
        let drift = Linear::new(matrix, DVector::from_column_slice(&entries[..3])).unwrap();
        let dt = 10f64.powf(exponent);
        let mut out = [0.0; 3];
        drift.flow(0.0, dt, &x, &mut out);
        let sound = drift.check_step(dt).is_ok();
        prop_assert!(out.iter().all(|v| v.is_finite() == sound && v.is_nan() != sound), "{:?}", out);
    }
}
