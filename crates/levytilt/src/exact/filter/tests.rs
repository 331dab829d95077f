use super::*;
use crate::drift::{DoubleWell, Drift, NoDrift, Ou};
use crate::exact::{self, Options};
use crate::noise::{Gaussian, Noise, Stable, VarianceGamma};
use crate::{Start, stream};
use rand_distr::{Distribution, StandardNormal};

type Case = (Box<dyn Drift>, Box<dyn Noise>, f64);

fn models() -> Vec<StateSpace> {
    let ou = || Box::new(Ou::new(1.0, 0.5).unwrap());
    let cases: Vec<Case> = vec![
        (ou(), Box::new(Stable::new(1.5, 1.0).unwrap()), 0.2),
        (ou(), Box::new(Gaussian::new(1.0).unwrap()), 0.3),
        (Box::new(NoDrift::new(1).unwrap()), Box::new(VarianceGamma::new(1.0, 0.5).unwrap()), 0.1),
        (Box::new(DoubleWell::new(1.0, 1.0).unwrap()), Box::new(Stable::new(1.8, 0.5).unwrap()), 0.1),
    ];
    let start = Start::Gaussian { mean: 0.3, std: 0.5 };
    cases.into_iter().map(|(drift, noise, error)| StateSpace::new(drift, noise, error, start).unwrap()).collect()
}

/// A record of `model` at times 0, 0.1, …, from exact draws.
fn record(model: &StateSpace, rows: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (mut rng, dimension) = (stream(seed, 0), &model.dimensions[0]);
    let normal = |rng: &mut crate::StreamRng| -> f64 { StandardNormal.sample(rng) };
    let mut x = 0.3 + 0.5 * normal(&mut rng);
    let mut values = Vec::new();
    for _ in 0..rows {
        values.push(x + dimension.observation_std * normal(&mut rng));
        let mut ahead = [0.0];
        model.drift.flow(0.0, 0.1, &[x], &mut ahead);
        x = ahead[0] + dimension.noise.sample(0.1, &mut rng);
    }
    ((0..rows).map(|k| 0.1 * k as f64).collect(), values)
}

#[test]
fn identity_evidence_of_the_filter_is_that_of_the_reference() {
    for model in models() {
        let (times, mut values) = record(&model, 60, 7);
        values[10] = f64::NAN;
        values[11] = f64::NAN;
        for steps in [59, 118] {
            let grid = TimeGrid::new(&times, Some(steps)).unwrap();
            let want = exact::log_evidence(&model, &grid, &values, &Options::default()).unwrap();
            let (state, seen) = Filter::new(&model, 1.0).unwrap().run(&grid, &values).unwrap();
            let noise = model.dimensions[0].noise.family();
            assert!((state.log_evidence - want).abs() < 2e-3, "{noise} {steps}: {} {want}", state.log_evidence);
            assert_eq!((seen.len(), seen.iter().flatten().count(), state.observations), (59, 57, 58));
        }
    }
}

#[test]
fn identity_a_record_in_pieces_is_the_record_at_once() {
    for model in models() {
        let (times, values) = record(&model, 40, 3);
        let grid = TimeGrid::new(&times, Some(39)).unwrap();
        let (whole, _) = Filter::new(&model, 0.1).unwrap().run(&grid, &values).unwrap();
        for piece in [1, 7, 40] {
            let mut state = Filter::new(&model, 0.1).unwrap().start(times[0], values[0]).unwrap();
            for rows in (1..40).collect::<Vec<_>>().chunks(piece) {
                state.check().unwrap();
                let mut filter = Filter::new(&model, 0.1).unwrap();
                for &k in rows {
                    filter.advance(&mut state, times[k], values[k]).unwrap().unwrap();
                }
            }
            assert_eq!(state, whole, "pieces of {piece}");
        }
    }
}

/// From a known state one step is a sum over nodes: density, PIT and probability of a jump in closed form.
#[test]
fn identity_the_first_step_has_a_closed_form() {
    let (drift, noise) = (Ou::new(1.0, 0.5).unwrap(), Stable::new(1.5, 1.0).unwrap());
    let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.2, Start::Fixed(1.0)).unwrap();
    let nodes = Stable::new(1.5, 1.0).unwrap().nodes(0.1).unwrap();
    let jumps = crate::posterior::upper_tail(nodes.weights());
    let moved = 0.5 + 0.5 * (-0.1f64).exp();
    for value in [1.0, 0.3, 4.0, -60.0] {
        let mut filter = Filter::new(&model, 0.1).unwrap();
        let mut state = filter.start(0.0, f64::NAN).unwrap();
        let seen = filter.advance(&mut state, 0.1, value).unwrap().unwrap();
        let (mut density, mut calm, mut below) = (0.0, 0.0, 0.0);
        for (k, (s, w)) in nodes.variances().iter().zip(nodes.weights()).enumerate() {
            let sd = (s + 0.04).sqrt();
            let z = (value - moved) / sd;
            let term = w * (-0.5 * z * z).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt());
            density += term;
            calm += if k < jumps { term } else { 0.0 };
            below += w * 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
        }
        assert!((seen.log_evidence - density.ln()).abs() < 1e-5, "{value}: {} {}", seen.log_evidence, density.ln());
        assert!((seen.below / below - 1.0).abs() < 1e-4, "{value}: {} {below}", seen.below);
        assert!((seen.below + seen.above - 1.0).abs() < 1e-9);
        assert!((seen.jump_probability - (1.0 - calm / density)).abs() < 1e-5, "{value}");
    }
}

/// The PIT of the true model is uniform: Kolmogorov's distance of 1,500 values stays below its 0.1% limit, 1.95/√n.
#[test]
fn statistics_the_pit_of_the_true_model_is_uniform() {
    for model in models() {
        let (times, values) = record(&model, 1500, 11);
        let grid = TimeGrid::new(&times, Some(1499)).unwrap();
        let (_, seen) = Filter::new(&model, 0.1).unwrap().run(&grid, &values).unwrap();
        let mut pit: Vec<f64> = seen.into_iter().flatten().map(|seen| seen.below).collect();
        pit.sort_by(f64::total_cmp);
        let n = pit.len() as f64;
        let distance = (1..).zip(&pit).map(|(k, u)| (f64::from(k) / n - u).abs().max((u - f64::from(k - 1) / n).abs()));
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{}: {distance}", model.dimensions[0].noise.family());
    }
}

#[test]
fn a_time_before_the_end_is_refused() {
    let model = models().remove(0);
    let mut filter = Filter::new(&model, 0.1).unwrap();
    let mut state = filter.start(0.0, 0.1).unwrap();
    filter.advance(&mut state, 0.3, f64::NAN).unwrap();
    let before = state.clone();
    assert!(filter.advance(&mut state, 0.3, 1.0).unwrap_err().to_string().contains("is not after 0.3"));
    assert!(filter.advance(&mut state, 0.4, f64::INFINITY).is_err());
    assert_eq!(state, before);
}
