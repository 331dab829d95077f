use super::error_tail::ErrorTail;
use super::*;
use crate::drift::{DoubleWell, Drift, Formula, NoDrift, Ou};
use crate::exact::{self, Options};
use crate::noise::{Gaussian, Noise, SkewedStable, Stable, VarianceGamma};
use crate::{ErrorLaw, Errors, Size, Start, stream};
use rand_distr::{Distribution, StandardNormal};

/// Models with skewed noise, noise whose size depends on the state, and errors that are not Gaussian.
fn wider_models() -> Vec<(&'static str, StateSpace)> {
    let stable = || -> Box<dyn Noise> { Box::new(Stable::new(1.5, 1.0).unwrap()) };
    let model = |noise: Box<dyn Noise>| {
        let drift = Box::new(Ou::new(1.0, 0.5).unwrap());
        StateSpace::new(drift, noise, 0.2, Start::Gaussian { mean: 0.3, std: 0.5 }).unwrap()
    };
    let size = Size::new(&Formula::parse("sqrt(1 + s*x^2)").unwrap(), &[0.3]).unwrap();
    let errors = |law| Errors::of(law);
    vec![
        ("skewed stable", model(Box::new(SkewedStable::new(1.5, 1.0, 0.6).unwrap()))),
        ("size", model(stable()).with_size(&size)),
        ("student", model(stable()).with_errors(&errors(ErrorLaw::Student { dof: 4.0 }))),
        ("outliers", model(stable()).with_errors(&errors(ErrorLaw::Outliers { probability: 0.03, size: 20.0 }))),
    ]
}

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

/// To the interpolation on two grids where every latent time is observed; else filter and reference end at different states far out.
#[test]
fn identity_evidence_of_the_filter_is_that_of_the_reference() {
    for model in models() {
        let (times, whole) = record(&model, 60, 7);
        let mut gaps = whole.clone();
        gaps[10..12].fill(f64::NAN);
        for (steps, values, tolerance) in [(59, &whole, 1e-8), (59, &gaps, 1e-5), (118, &gaps, 1e-4)] {
            let grid = TimeGrid::new(&times, Some(steps)).unwrap();
            let want = exact::log_evidence(&model, &grid, values, &Options::default()).unwrap();
            let (state, seen) = Filter::new(&model, 1.0).unwrap().run(&grid, values).unwrap();
            let noise = model.dimensions[0].noise.family();
            let found = state.log_evidence;
            assert!((found - want).abs() < tolerance, "{noise} {steps}: {found} {want}");
            let given = values.iter().filter(|value| !value.is_nan()).count();
            assert_eq!((seen.len(), seen.iter().flatten().count() + 1, state.observations), (59, given, given));
        }
    }
}

/// A gap crossed at once and step by step: alike up to the states far out that single steps leave out, and to the quadrature
/// of the variance-gamma law, which is another one for a gap than for its steps.
#[test]
fn identity_gaps_at_once_are_gaps_step_by_step() {
    for model in models().iter().take(3) {
        let (times, mut values) = record(model, 40, 3);
        values[10..14].fill(f64::NAN);
        values[20..23].fill(f64::NAN);
        values[23] += 4.0;
        let grid = TimeGrid::new(&times, Some(117)).unwrap();
        let mut at_once = Filter::new(model, 1.0).unwrap();
        let mut by_steps = Filter::new(model, 1.0).unwrap();
        by_steps.index = None;
        let (found, want) = (at_once.run(&grid, &values).unwrap().1, by_steps.run(&grid, &values).unwrap().1);
        let noise = model.dimensions[0].noise.family();
        let tolerance = if noise == "variance-gamma" { 1e-3 } else { 5e-5 };
        for (found, want) in found.iter().zip(&want).filter_map(|(found, want)| found.zip(*want)) {
            let pairs = [
                (found.log_evidence, want.log_evidence),
                (found.below, want.below),
                (found.jump_probability, want.jump_probability),
                (found.mean, want.mean),
            ];
            for (found, want) in pairs {
                assert!((found - want).abs() < tolerance, "{noise}: {found} {want}");
            }
        }
    }
}

#[test]
fn identity_evidence_of_wider_models_is_that_of_the_reference() {
    for (name, model) in wider_models() {
        let (times, mut values) = record(&model, 40, 7);
        values[20] += 3.0;
        let grid = TimeGrid::new(&times, Some(39)).unwrap();
        let want = exact::log_evidence(&model, &grid, &values, &Options::default()).unwrap();
        let (state, _) = Filter::new(&model, 1.0).unwrap().run(&grid, &values).unwrap();
        let tolerance = if model.dimensions[0].errors.is_plain() { 1e-8 } else { 1e-6 };
        assert!((state.log_evidence - want).abs() < tolerance, "{name}: {} {want}", state.log_evidence);
    }
}

/// The same sums without any care: a random walk on one wide grid, every state with every other.
struct Plain {
    spacing: f64,
    half: i64,
    /// Probability to move by so many cells; of this, without a jump.
    kernel: Vec<f64>,
    calm: Vec<f64>,
}

/// What to put in the place of the step to a row, or of the likelihood of a row.
#[derive(Clone, Copy)]
enum Instead {
    Nothing,
    Calm(usize),
    Ignored(usize),
    Below(usize),
    Wrong(usize),
}

impl Plain {
    fn new(model: &StateSpace, dt: f64, jump_above: Option<f64>) -> Self {
        let (spacing, half) = (0.04, 1000);
        let nodes = model.dimensions[0].noise.nodes(dt).unwrap();
        let first_jump = crate::posterior::upper_tail(nodes.weights());
        let density = |count: usize, x: f64| -> f64 {
            let each = nodes.variances().iter().zip(nodes.weights()).take(count);
            each.map(|(s, w)| w * (-0.5 * x * x / s).exp() / (2.0 * std::f64::consts::PI * s).sqrt()).sum()
        };
        let at =
            |count: usize| (0..=2 * half).map(|m| spacing * density(count, m as f64 * spacing)).collect::<Vec<f64>>();
        let kernel = at(nodes.len());
        let calm = match jump_above {
            None => at(first_jump),
            Some(above) => {
                (0..).zip(&kernel).map(|(m, k)| if f64::from(m) * spacing < above { *k } else { 0.0 }).collect()
            }
        };
        Self { spacing, half, kernel, calm }
    }

    /// p(values) with something else in one place.
    fn evidence(&self, model: &StateSpace, values: &[f64], instead: Instead) -> f64 {
        let dimension = &model.dimensions[0];
        let (error, law) = (dimension.observation_std, dimension.errors.law);
        let Start::Gaussian { mean, std } = dimension.start else { panic!("a Gaussian start") };
        let states: Vec<f64> = (-self.half..=self.half).map(|i| i as f64 * self.spacing).collect();
        let mut masses: Vec<f64> = states.iter().map(|x| (-0.5 * ((x - mean) / std).powi(2)).exp()).collect();
        let total: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= total);
        let tail = ErrorTail::new(law);
        for (row, value) in values.iter().enumerate() {
            if row > 0 {
                let kernel = if matches!(instead, Instead::Calm(at) if at == row) { &self.calm } else { &self.kernel };
                let to = |i: usize| masses.iter().enumerate().map(|(k, mass)| mass * kernel[i.abs_diff(k)]).sum();
                masses = (0..states.len()).map(to).collect();
            }
            for (mass, x) in masses.iter_mut().zip(&states) {
                let z = (x - value) / error;
                *mass *= match instead {
                    Instead::Ignored(at) if at == row => 1.0,
                    Instead::Below(at) if at == row => tail.above(z),
                    Instead::Wrong(at) if at == row => law.relative(z) * law.wrong(z),
                    _ => law.relative(z),
                };
            }
        }
        masses.iter().sum()
    }
}

/// With two rows of hindsight, probabilities are those of the smoother on the record cut there, by plain sums; for Gaussian and
/// other errors, and for jumps by the model's own definition and beyond a size, whose sharp edge the plain sums meet to a cell.
#[test]
fn identity_hindsight_is_what_the_smoother_says_on_the_record_cut_there() {
    let model = || {
        let (drift, noise) = (NoDrift::new(1).unwrap(), Stable::new(1.5, 1.0).unwrap());
        StateSpace::new(Box::new(drift), Box::new(noise), 0.2, Start::Gaussian { mean: 0.3, std: 0.5 }).unwrap()
    };
    let outliers = ErrorLaw::Outliers { probability: 0.03, size: 20.0 };
    let cases =
        [(model(), None, 1e-5), (model(), Some(2.02), 5e-4), (model().with_errors(&Errors::of(outliers)), None, 1e-5)];
    // A value that comes back and a level that stays.
    let values = [0.2, 0.4, 3.1, 0.5, 0.3, 4.4, 4.5, 4.1];
    for (model, above, tolerance) in cases {
        let plain = Plain::new(&model, 0.1, above);
        let mut filter = Filter::new(&model, 0.1).unwrap().with_lag(2).with_jump_above(above).unwrap();
        let mut state = filter.start(0.0, values[0], 1.0).unwrap();
        let mut revised = 0;
        for (row, value) in values.iter().enumerate().skip(1) {
            let found = filter.advance(&mut state, 0.1 * row as f64, *value, 1.0).unwrap().revised;
            state.check().unwrap();
            assert_eq!(found.is_some(), row > 2);
            let Some(found) = found else { continue };
            let (cut, at) = (&values[..=row], row - 2);
            let [all, calm, without, below, wrong] =
                [Instead::Nothing, Instead::Calm(at), Instead::Ignored(at), Instead::Below(at), Instead::Wrong(at)]
                    .map(|instead| plain.evidence(&model, cut, instead));
            let close = |got: f64, expected: f64, what: &str| {
                assert!((got - expected).abs() < tolerance, "{what} of row {at}: {got} {expected}, {above:?}");
            };
            close(found.jump_probability, 1.0 - calm / all, "jump");
            close(found.below, below / without, "below");
            close(found.outlier_probability, wrong / all, "outlier");
            assert!((found.below + found.above - 1.0).abs() < 1e-9);
            revised += 1;
        }
        assert_eq!(revised, 5);
    }
}

/// Hindsight waits in the state, and neither pieces nor missing values change it.
#[test]
fn identity_hindsight_in_pieces_is_hindsight_at_once() {
    for (name, model) in wider_models() {
        let (times, mut values) = record(&model, 14, 5);
        values[6] = f64::NAN;
        let run = |piece: usize| {
            let mut state = Filter::new(&model, 0.1).unwrap().start(times[0], values[0], 1.0).unwrap();
            let mut found = Vec::new();
            for rows in (1..14).collect::<Vec<_>>().chunks(piece) {
                let mut filter = Filter::new(&model, 0.1).unwrap().with_lag(3);
                state.check().unwrap();
                found.extend(rows.iter().map(|&k| filter.advance(&mut state, times[k], values[k], 1.0).unwrap()));
            }
            (found, state)
        };
        let (whole, state) = run(13);
        assert_eq!(whole.iter().filter(|taken| taken.revised.is_some()).count(), 9, "{name}");
        assert_eq!(run(4), (whole.clone(), state), "{name}");
        // The answers of the row itself are those without a lag.
        let mut filter = Filter::new(&model, 0.1).unwrap();
        let mut state = filter.start(times[0], values[0], 1.0).unwrap();
        for (k, with) in (1..14).zip(&whole) {
            assert_eq!(filter.advance(&mut state, times[k], values[k], 1.0).unwrap().seen, with.seen, "{name} {k}");
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
            let mut state = Filter::new(&model, 0.1).unwrap().start(times[0], values[0], 1.0).unwrap();
            for rows in (1..40).collect::<Vec<_>>().chunks(piece) {
                state.check().unwrap();
                let mut filter = Filter::new(&model, 0.1).unwrap();
                for &k in rows {
                    filter.advance(&mut state, times[k], values[k], 1.0).unwrap().seen.unwrap();
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
        let mut state = filter.start(0.0, f64::NAN, 1.0).unwrap();
        let seen = filter.advance(&mut state, 0.1, value, 1.0).unwrap().seen.unwrap();
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
    let mut state = filter.start(0.0, 0.1, 1.0).unwrap();
    filter.advance(&mut state, 0.3, f64::NAN, 1.0).unwrap();
    let before = state.clone();
    assert!(filter.advance(&mut state, 0.3, 1.0, 1.0).unwrap_err().to_string().contains("is not after 0.3"));
    assert!(filter.advance(&mut state, 0.4, f64::INFINITY, 1.0).is_err());
    assert_eq!(state, before);
}
