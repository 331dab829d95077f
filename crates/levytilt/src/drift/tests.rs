//! Hold every drift to the same invariants.

use super::*;
use crate::stream;
use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::StandardNormal;

/// A vector field dx/dt = f(x), written independently of the drift's own code.
type Field = Box<dyn Fn(&[f64]) -> Vec<f64>>;

fn ou(theta: Vec<f64>, mu: Vec<f64>) -> (Box<dyn Drift>, Field) {
    let drift = Ou::diagonal(theta.clone(), mu.clone()).unwrap();
    (Box::new(drift), Box::new(move |x| (0..x.len()).map(|i| theta[i] * (mu[i] - x[i])).collect()))
}

fn double_well(theta1: Vec<f64>, theta2: Vec<f64>) -> (Box<dyn Drift>, Field) {
    let drift = DoubleWell::diagonal(theta1.clone(), theta2.clone()).unwrap();
    (Box::new(drift), Box::new(move |x| (0..x.len()).map(|i| theta1[i] * x[i] - theta2[i] * x[i].powi(3)).collect()))
}

fn linear(a: &[f64], b: &[f64]) -> (Box<dyn Drift>, Field) {
    let (a, b) = (DMatrix::from_row_slice(b.len(), b.len(), a), DVector::from_column_slice(b));
    let drift = Linear::new(a.clone(), b.clone()).unwrap();
    (Box::new(drift), Box::new(move |x| (&a * DVector::from_column_slice(x) + &b).as_slice().to_vec()))
}

fn formula(states: &[(&str, &str)], values: &[f64], field: Field) -> (Box<dyn Drift>, Field) {
    (Box::new(Formula::system(states, &[]).unwrap().drift(values).unwrap()), field)
}

/// Drifts whose flow is exact or nearly so, edge cases included.
fn exact() -> Vec<(Box<dyn Drift>, Field)> {
    vec![
        (Box::new(NoDrift::new(3).unwrap()), Box::new(|x: &[f64]| vec![0.0; x.len()])),
        ou(vec![3.0], vec![1.0]),
        ou(vec![0.0], vec![1.0]),
        ou(vec![1e-9, 2.0], vec![-1.0, 4.0]),
        double_well(vec![4.0], vec![1.0]),
        double_well(vec![0.0], vec![1.0]),
        double_well(vec![1e-10], vec![0.7]),
        double_well(vec![-2.0], vec![0.5]),
        double_well(vec![-2.0], vec![0.0]),
        double_well(vec![3.0, -1.0], vec![0.2, 2.0]),
        linear(&[-1.5], &[0.3]),
        linear(&[0.0], &[0.3]),
        linear(&[0.0, 1.0, -4.0, -0.2], &[0.5, -1.0]),
        linear(&[-1.0, 30.0, 0.0, 0.0, -2.0, 1.0, 0.5, 0.0, 0.3], &[0.0, 1.0, -2.0]),
        formula(&[("x", "theta*(mu - x)")], &[3.0, 1.0], Box::new(|x| vec![3.0 * (1.0 - x[0])])),
        formula(&[("x", "a*x - b*x^3")], &[4.0, 1.0], Box::new(|x| vec![4.0 * x[0] - x[0].powi(3)])),
        formula(
            &[("x", "v"), ("v", "-k*sin(x) - c*v")],
            &[2.0, 0.5],
            Box::new(|x| vec![x[1], -2.0 * x[0].sin() - 0.5 * x[1]]),
        ),
    ]
}

fn every() -> Vec<Box<dyn Drift>> {
    let mut drifts: Vec<_> = exact().into_iter().map(|(drift, _)| drift).collect();
    for (dim, width, depth, time_input) in [(1, 5, 1, false), (2, 7, 2, true), (3, 4, 3, false)] {
        let spec = NeuralSpec { dim, width, depth, time_input, ..NeuralSpec::default() };
        let shy = Neural::new(spec.clone(), 11).unwrap();
        let mut rng = stream(5, dim as u64);
        let bold: Vec<f64> = shy.parameters().iter().map(|_| 0.8 * rng.sample::<f64, _>(StandardNormal)).collect();
        drifts.push(Box::new(shy));
        drifts.push(Box::new(Neural::from_parameters(spec, &bold).unwrap()));
    }
    drifts
}

fn values(drift: &dyn Drift) -> Vec<f64> {
    drift.parameters().into_iter().map(|(_, value)| value).collect()
}

fn flow(drift: &dyn Drift, t: f64, dt: f64, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    drift.flow(t, dt, x, &mut out);
    out
}

/// Random states of several sizes.
fn states(dim: usize) -> Vec<Vec<f64>> {
    let mut rng = stream(3, dim as u64);
    let sizes = [0.0, 0.1, 1.0, 1.0, 3.0, 30.0];
    sizes.map(|size| (0..dim).map(|_| size * rng.sample::<f64, _>(StandardNormal)).collect()).to_vec()
}

struct Jacobian {
    out: Vec<f64>,
    by_state: Vec<f64>,
    by_parameter: Vec<f64>,
}

fn jacobian(drift: &dyn Drift, t: f64, dt: f64, x: &[f64]) -> Jacobian {
    let (d, p) = (drift.dim(), drift.parameter_count());
    // Poisoned, so that an entry left unset shows.
    let [mut out, mut by_state, mut by_parameter] = [d, d * d, d * p].map(|n| vec![f64::NAN; n]);
    drift.flow_jacobian(t, dt, x, &mut out, &mut by_state, &mut by_parameter);
    Jacobian { out, by_state, by_parameter }
}

fn close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    let size = want.iter().fold(1e-3f64, |most, v| most.max(v.abs()));
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance * size, "{what}: {got:e} is not {want:e}");
    }
}

#[test]
fn protocol_of_every_drift() {
    for drift in every() {
        let (d, p) = (drift.dim(), drift.parameter_count());
        let parameters = values(&*drift);
        assert_eq!((parameters.len(), drift.domains().len()), (p, p), "{drift:?}");
        assert!(parameters.iter().zip(drift.domains()).all(|(value, domain)| domain.contains(*value)));
        let names: std::collections::HashSet<_> = drift.parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), p, "names differ: {drift:?}");

        let same = drift.with_parameters(&parameters).unwrap();
        assert_eq!((same.kind(), same.dim(), values(&*same)), (drift.kind(), d, parameters.clone()));
        assert!(matches!(drift.with_parameters(&vec![0.1; p + 1]), Err(Error::Shape { .. })));
        for (l, (name, _)) in drift.parameters().into_iter().enumerate() {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut parameters = parameters.clone();
                parameters[l] = bad;
                let error = drift.with_parameters(&parameters).unwrap_err();
                assert!(matches!(&error, Error::Parameter { name: named, .. } if *named == name), "{error}");
            }
        }
        assert!([-1.0, f64::NAN, f64::INFINITY].iter().all(|dt| drift.check_step(*dt).is_err()));
        assert!(drift.check_step(0.0).is_ok() && drift.check_step(0.1).is_ok());

        let all: Vec<f64> = states(d).concat();
        let mut together = vec![0.0; all.len()];
        drift.flow_many(0.2, 0.1, &all, &mut together);
        for (x, moved) in all.chunks(d).zip(together.chunks(d)) {
            assert_eq!(flow(&*drift, 0.2, 0.0, x), x, "no time, no motion: {drift:?}");
            // Matrix products of a batch may add in another order than those of one state.
            let rounding = if drift.kind() == "neural" { 1e-14 } else { 0.0 };
            let agrees = |alone: &[f64]| {
                alone.iter().zip(moved).all(|(a, b)| a == b || (a - b).abs() <= rounding * b.abs().max(1.0))
            };
            assert!(agrees(&flow(&*drift, 0.2, 0.1, x)) && agrees(&flow(&*same, 0.2, 0.1, x)));
            let full = jacobian(&*drift, 0.2, 0.1, x);
            assert!(agrees(&full.out));

            // λᵀJ, added to what is there.
            let lambda: Vec<f64> = (0..d).map(|i| 1.5 - i as f64).collect();
            let (mut out, mut by_state, mut by_parameter) = (vec![0.0; d], vec![f64::NAN; d], vec![2.0; p]);
            drift.pullback(0.2, 0.1, x, &lambda, &mut out, &mut by_state, &mut by_parameter);
            let product = |j: &[f64], columns: usize, base: f64| -> Vec<f64> {
                (0..columns).map(|c| base + (0..d).map(|i| lambda[i] * j[i * columns + c]).sum::<f64>()).collect()
            };
            assert!(agrees(&out));
            close(&by_state, &product(&full.by_state, d, 0.0), 1e-14, "pullback by state");
            close(&by_parameter, &product(&full.by_parameter, p, 2.0), 1e-14, "pullback by parameter");
        }
        pullbacks_together_are_pullbacks_alone(&*drift, &all);
    }
}

/// With covectors that depend on the flow, with and without derivatives in the parameters.
fn pullbacks_together_are_pullbacks_alone(drift: &dyn Drift, all: &[f64]) {
    let (d, p, size) = (drift.dim(), drift.parameter_count(), all.len());
    let mut covectors = |out: &[f64], lambda: &mut [f64]| {
        lambda.iter_mut().zip(out).for_each(|(lambda, out)| *lambda = 1.0 + 0.5 * out.tanh());
    };
    let (mut out, mut by_state, mut by_parameter) = (vec![0.0; size], vec![f64::NAN; size], vec![2.0; size / d * p]);
    drift.pullback_many(0.2, 0.1, all, &mut covectors, &mut out, &mut by_state, &mut by_parameter);
    let (mut out_only, mut state_only) = (vec![0.0; size], vec![f64::NAN; size]);
    drift.pullback_many(0.2, 0.1, all, &mut covectors, &mut out_only, &mut state_only, &mut []);
    close(&state_only, &by_state, 1e-13, "without parameters");
    for k in 0..size / d {
        let at = k * d..(k + 1) * d;
        let mut lambda = vec![0.0; d];
        covectors(&out[at.clone()], &mut lambda);
        let (mut o, mut s, mut row) = (vec![0.0; d], vec![f64::NAN; d], vec![2.0; p]);
        drift.pullback(0.2, 0.1, &all[at.clone()], &lambda, &mut o, &mut s, &mut row);
        close(&out[at.clone()], &o, 1e-13, "flows together");
        close(&by_state[at], &s, 1e-13, "slopes together");
        close(&by_parameter[k * p..(k + 1) * p], &row, 1e-13, "parameters together");
    }
}

#[test]
fn identities_two_steps_are_one() {
    for (drift, _) in exact() {
        // The flow of a formula is tabulated or integrated, not in closed form.
        let tolerance = if drift.kind() == "formula" { 1e-9 } else { 4e-14 };
        for x in states(drift.dim()) {
            for (first, second) in [(0.1, 0.25), (1e-6, 1.0), (2.0, 3.0)] {
                let twice = flow(&*drift, first, second, &flow(&*drift, 0.0, first, &x));
                close(&flow(&*drift, 0.0, first + second, &x), &twice, tolerance, drift.kind());
            }
        }
    }
}

#[test]
fn identities_flow_solves_the_equation() {
    for (drift, field) in exact() {
        for x in states(drift.dim()) {
            // Classical Runge–Kutta, 4000 steps; the cubic at |x| ≈ 30 needs the short span to be integrated so well.
            let span = if x[0].abs() > 5.0 { 0.01 } else { 0.5 };
            let h = span / 4000.0;
            let mut y = x.clone();
            for _ in 0..4000 {
                let at = |k: &[f64], c: f64| field(&y.iter().zip(k).map(|(y, k)| y + c * h * k).collect::<Vec<_>>());
                let k1 = field(&y);
                let k2 = at(&k1, 0.5);
                let k3 = at(&k2, 0.5);
                let k4 = at(&k3, 1.0);
                for i in 0..y.len() {
                    y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
                }
            }
            close(&flow(&*drift, 0.0, span, &x), &y, 1e-11, &format!("{drift:?} {x:?}"));
        }
    }
}

/// Central difference (8f(h) − 8f(−h) − f(2h) + f(−2h))/12h, or the one-sided
/// (−25f(0) + 48f(h) − 36f(2h) + 16f(3h) − 3f(4h))/12h at a bound; both are exact to h⁴.
fn difference(f: impl Fn(f64) -> Vec<f64>, h: f64, at_bound: bool) -> Vec<f64> {
    let stencil: &[(f64, f64)] = if at_bound {
        &[(0.0, -25.0), (1.0, 48.0), (2.0, -36.0), (3.0, 16.0), (4.0, -3.0)]
    } else {
        &[(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)]
    };
    let mut sum = vec![0.0; f(0.0).len()];
    stencil.iter().for_each(|(place, weight)| add_scaled(weight / (12.0 * h), &f(place * h), &mut sum));
    sum
}

#[test]
fn identities_derivatives_are_differences() {
    for drift in every() {
        let (d, p) = (drift.dim(), drift.parameter_count());
        let (parameters, bounds) = (values(&*drift), drift.domains());
        for (x, dt) in states(d).into_iter().flat_map(|x| [0.02, 0.7].map(|dt| (x.clone(), dt))) {
            let full = jacobian(&*drift, 0.3, dt, &x);
            let column =
                |j: &[f64], columns: usize, c: usize| -> Vec<f64> { (0..d).map(|i| j[i * columns + c]).collect() };
            for j in 0..d {
                let moved = |h: f64| {
                    let mut x = x.clone();
                    x[j] += h;
                    flow(&*drift, 0.3, dt, &x)
                };
                let want = difference(moved, 1e-3, false);
                close(&column(&full.by_state, d, j), &want, 2e-8, &format!("{drift:?} {x:?} {dt} state {j}"));
            }
            for l in 0..p {
                let moved = |h: f64| {
                    let mut parameters = parameters.clone();
                    parameters[l] += h;
                    flow(&*drift.with_parameters(&parameters).unwrap(), 0.3, dt, &x)
                };
                let at_bound = parameters[l] - 4e-4 < bounds[l].low;
                let want = difference(moved, if at_bound { 5e-6 } else { 2e-4 }, at_bound);
                close(&column(&full.by_parameter, p, l), &want, 1e-7, &format!("{drift:?} {x:?} {dt} parameter {l}"));
            }
        }
    }
}
