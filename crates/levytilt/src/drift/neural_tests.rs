//! Check the neural drift's own invariants: bounded steps, order two, a quiet start.

use super::*;
use proptest::prelude::*;

fn spec(dim: usize, width: usize, depth: usize, time_input: bool) -> NeuralSpec {
    NeuralSpec { dim, width, depth, time_input, ..NeuralSpec::default() }
}

fn bold(spec: NeuralSpec, size: f64, seed: u64) -> Neural {
    let count = shape(&spec).unwrap().count();
    let mut rng = stream(seed, 0);
    let draws: Vec<f64> = (0..count).map(|_| size * rng.sample::<f64, _>(StandardNormal)).collect();
    Neural::from_parameters(spec, &draws).unwrap()
}

/// M_i = |bias_i| + Σ_k |weight_ik| of the output layer.
fn bound(drift: &Neural, i: usize) -> f64 {
    let layer = drift.shape.layer(drift.shape.depth);
    let weights = &drift.parameters[layer.start + i * layer.columns..][..layer.columns];
    weights.iter().map(|w| w.abs()).sum::<f64>() + drift.parameters[layer.start + layer.rows * layer.columns + i].abs()
}

#[test]
fn identities_a_step_is_bounded_for_huge_states() {
    for size in [1.0, 1e3, 1e30, 1e99] {
        let drift = bold(spec(2, 16, 3, true), size, 4);
        for x in [[1e300, -1e300], [f64::MAX, 5e-324], [0.0, 1e150], [-3.0, 2.0]] {
            let mut out = [0.0; 2];
            drift.flow(1e300, 1e3, &x, &mut out);
            for i in 0..2 {
                let allowed = 1e3 * bound(&drift, i) + 1e-15 * x[i].abs();
                assert!(out[i].is_finite() && (out[i] - x[i]).abs() <= allowed * (1.0 + 1e-12), "{size} {x:?} {out:?}");
            }
        }
    }
}

#[test]
fn identities_derivatives_at_huge_states_are_finite() {
    let drift = bold(spec(2, 16, 3, true), 5.0, 4);
    let p = drift.parameter_count();
    let (mut out, mut by_state, mut by_parameter) = ([0.0; 2], [0.0; 4], vec![0.0; 2 * p]);
    drift.flow_jacobian(0.0, 1e3, &[1e300, -1e200], &mut out, &mut by_state, &mut by_parameter);
    assert_eq!(by_state, [1.0, 0.0, 0.0, 1.0], "saturated units do not feel the state");
    assert!(by_parameter.iter().all(|v| v.is_finite()));
}

/// The error over a fixed span falls by four when the step is halved.
#[test]
fn identities_order_two() {
    let drift = bold(spec(2, 8, 2, true), 1.0, 21);
    let run = |steps: u32| {
        let (dt, mut x, mut out) = (1.0 / f64::from(steps), [0.3, -0.8], [0.0; 2]);
        for k in 0..steps {
            drift.flow(f64::from(k) * dt, dt, &x, &mut out);
            x = out;
        }
        x
    };
    let fine = run(20_000);
    let error = |steps| run(steps).iter().zip(fine).map(|(a, b)| (a - b).abs()).sum::<f64>();
    let ratio = error(50) / error(100);
    assert!((3.6..4.4).contains(&ratio), "{ratio}");
}

/// The midpoint rule from its formula, with the network evaluated apart.
#[test]
fn identities_step_is_the_midpoint_rule() {
    let drift = bold(spec(1, 6, 2, true), 1.0, 2);
    let f = |t: f64, x: f64| {
        let (mut tape, mut out) = (Tape::default(), [0.0]);
        drift.velocity(&[(t, 0.0)], 0.0, &[x], &mut tape, &mut out);
        out[0]
    };
    let (t, dt, x) = (0.4, 0.3, -1.1);
    let mut out = [0.0];
    drift.flow(t, dt, &[x], &mut out);
    assert!((out[0] - (x + dt * f(t + 0.5 * dt, x + 0.5 * dt * f(t, x)))).abs() < 1e-15);
}

#[test]
fn identities_centre_and_scale_are_units() {
    // The same network sees (x − 5)/2 and (t − 1)/4.
    let plain = bold(spec(1, 6, 2, true), 1.0, 2);
    let scaled = NeuralSpec { centre: vec![5.0, 1.0], scale: vec![2.0, 4.0], ..plain.spec.clone() };
    let scaled = Neural::from_parameters(scaled, &plain.parameters).unwrap();
    let evaluate = |drift: &Neural, t: f64, x: f64| {
        let (mut tape, mut out) = (Tape::default(), [0.0]);
        drift.velocity(&[(t, 0.0)], 0.0, &[x], &mut tape, &mut out);
        out[0]
    };
    assert_eq!(evaluate(&scaled, 3.0, 8.0), evaluate(&plain, 0.5, 1.5));
}

#[test]
fn identities_names_and_seed() {
    let drift = Neural::new(spec(2, 3, 2, true), 1).unwrap();
    let names: Vec<_> = drift.parameters().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..4], ["w0[0,0]", "w0[0,1]", "w0[0,2]", "w0[1,0]"]);
    assert_eq!(names[9..13], ["b0[0]", "b0[1]", "b0[2]", "w1[0,0]"]);
    assert_eq!(names[names.len() - 3..], ["w2[1,2]", "b2[0]", "b2[1]"]);
    assert_eq!(drift, Neural::new(spec(2, 3, 2, true), 1).unwrap());
    assert_ne!(drift, Neural::new(spec(2, 3, 2, true), 2).unwrap());
}

#[test]
fn identities_spec_survives_json() {
    let full = NeuralSpec { centre: vec![1.0], scale: vec![2.0], ..spec(1, 8, 2, false) };
    let text = serde_json::to_string(&full).unwrap();
    assert_eq!(serde_json::from_str::<NeuralSpec>(&text).unwrap(), full);
    assert_eq!(serde_json::from_str::<NeuralSpec>("{\"width\": 8}").unwrap().width, 8);
    assert!(serde_json::from_str::<NeuralSpec>("{\"widht\": 8}").is_err());
}

/// Hidden weights times √inputs and the first biases are standard normal, output weights 100 times smaller: mean and
/// variance of n draws lie within 5 standard errors (1/√n and √(2/n)), a false alarm in 10⁶; and the seed is fixed.
#[test]
fn statistics_initial_weights() {
    let drift = Neural::new(spec(4, 64, 2, false), 8).unwrap();
    let part = |l: usize, factor: f64| {
        let layer = drift.shape.layer(l);
        drift.parameters[layer.start..][..layer.rows * layer.columns].iter().map(|w| w * factor).collect::<Vec<_>>()
    };
    let first = drift.shape.layer(0);
    let biases = drift.parameters[first.rows * first.columns..first.end()].to_vec();
    for draws in [part(0, 2.0), part(1, 8.0), part(2, 800.0), biases] {
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|w| w * w).sum::<f64>() / n;
        assert!(mean.abs() < 5.0 / n.sqrt() && (variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{mean} {variance}");
    }
    let mut out = [0.0; 4];
    drift.flow(0.0, 1.0, &[1.0, -1.0, 0.5, 2.0], &mut out);
    assert!((0..4).all(|i| (out[i] - [1.0, -1.0, 0.5, 2.0][i]).abs() < 0.05), "the first drift is nearly 0: {out:?}");
}

#[test]
fn errors_name_the_parameter() {
    let named = |spec: NeuralSpec| match Neural::new(spec, 0) {
        Err(Error::Parameter { name, .. }) => name,
        Err(Error::Shape { what, .. }) => what.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(named(spec(0, 8, 2, false)), "dim");
    assert_eq!(named(spec(1, 0, 2, false)), "width");
    assert_eq!(named(spec(1, 8, 0, false)), "depth");
    assert_eq!(named(spec(1, 1_000_000, 2, false)), "width");
    assert_eq!(named(spec(1, usize::MAX, usize::MAX, false)), "width");
    let with = |centre: &[f64], scale: &[f64]| {
        named(NeuralSpec { centre: centre.to_vec(), scale: scale.to_vec(), ..spec(1, 8, 2, true) })
    };
    assert_eq!(with(&[0.0], &[]), "centre");
    assert_eq!(with(&[], &[1.0; 3]), "scale");
    assert_eq!(with(&[0.0, f64::NAN], &[]), "centre[1]");
    assert_eq!(with(&[], &[0.0, 1.0]), "scale[0]");
    assert!(matches!(Neural::from_parameters(spec(1, 2, 1, false), &[0.0; 3]), Err(Error::Shape { .. })));
    let mut values = vec![0.0; 7];
    values[6] = 1e101;
    let error = Neural::from_parameters(spec(1, 2, 1, false), &values).unwrap_err();
    assert!(matches!(error, Error::Parameter { name, .. } if name == "b1[0]"));
}

proptest! {
    #[test]
    fn identities_flow_is_finite(
        seed in 0..1000u64,
        size in (-100.0..98.0f64).prop_map(|e| 10f64.powf(e)),
        dt in (-300.0..150.0f64).prop_map(|e| 10f64.powf(e)),
        x in prop::collection::vec(-1e307..1e307f64, 2),
        t in -1e307..1e307f64,
    ) {
        let mut out = [0.0; 2];
        bold(spec(2, 5, 2, true), size, seed).flow(t, dt, &x, &mut out);
        prop_assert!(out.iter().all(|v| v.is_finite()), "{out:?}");
    }
}
