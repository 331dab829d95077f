//! Hold the whole of the published method to its promises: checkpoints, several dimensions, a Brownian part, a drift network,
//! a grid of alpha.

use levytilt::drift::{DriftFamily, Linear, NoDrift};
use levytilt::internals::fit::{FitOptions, NeuralSize, Spec};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::{Chain, Errors, exact};
use levytilt::noise::{Family, Noise, PlusBrownian, TruncatedStable};
use levytilt::{Context, Dimension, Start, StateSpace, simulate};
use levytilt_paper::NeuralFit;
use levytilt_paper::published::{
    Bound, PaperOptions, PublishedGradient, fit_paper, fit_paper_grid, fit_paper_with, noises_of, published_gradient,
};
use levytilt_paper::training::{Checkpoint, Keeper};
use nalgebra::{DMatrix, DVector};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

fn noise() -> TruncatedStable {
    TruncatedStable::new(1.5, 1.0, 0.05, 1.0).unwrap()
}

fn times(n: i32) -> Vec<f64> {
    (0..=n).map(|j| f64::from(j) * 0.02).collect()
}

fn record() -> (Vec<f64>, Vec<f64>) {
    let drift = levytilt::drift::Ou::new(2.0, 0.5).unwrap();
    let model = StateSpace::new(Box::new(drift), Box::new(noise()), 0.2, Start::Fixed(0.0)).unwrap();
    let values = simulate(&model, &times(40), 4).unwrap().observations;
    (times(40), values)
}

fn given(values: &[(&str, f64)]) -> Vec<(String, f64)> {
    values.iter().map(|&(name, value)| (name.to_string(), value)).collect()
}

const NOISE: [(&str, f64); 3] = [("scale", 1.0), ("tau", 0.05), ("observation_std", 0.2)];

fn spec(drift: &str) -> Spec {
    Spec {
        given: given(&[&NOISE[..], &[("alpha", 1.5)]].concat()),
        x0: Some(0.0),
        ..Spec::new(DriftFamily::named(drift).unwrap(), Family::named("truncated-stable").unwrap())
    }
}

fn paper(iterations: usize) -> PaperOptions {
    let small =
        PaperOptions { references: 10, features: 8, units: 16, layers: 2, sharpness: 20.0, ..PaperOptions::default() };
    PaperOptions { iterations, learning_rate: 3e-3, encoder_rate: 3e-3, ..small }
}

fn fitted(spec: &Spec, iterations: usize) -> NeuralFit {
    fitted_with(spec, iterations, &Context::silent())
}

fn fitted_with(spec: &Spec, iterations: usize, context: &Context) -> NeuralFit {
    let (times, values) = record();
    let grid = TimeGrid::new(&times, Some(40)).unwrap();
    let options = FitOptions { paths: 16, ..FitOptions::default() };
    fit_paper_with(spec, (&grid, &[&values]), &options, &paper(iterations), context).unwrap()
}

/// Keeps checkpoints in memory.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Option<Checkpoint>>>);

impl Keeper for Shelf {
    fn find(&mut self, fingerprint: u64) -> Option<Checkpoint> {
        self.0.lock().unwrap().clone().filter(|checkpoint| checkpoint.fingerprint == fingerprint)
    }

    fn keep(&mut self, checkpoint: &Checkpoint) {
        *self.0.lock().unwrap() = Some(checkpoint.clone());
    }
}

/// Stopped after 9 of 20 iterations and taken up again: networks, drift and ELBO to the bit.
#[test]
fn identity_training_resumes_to_the_byte() {
    let (spec, shelf) = (spec("ou"), Shelf::default());
    let whole = fitted(&spec, 20);
    let stopping = Context::watched(|p| {
        let [seen, cost] = p.parts.unwrap();
        assert!((seen - cost - p.elbo).abs() < 1e-9 * p.elbo.abs());
        if p.iteration < 8 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let stopped = fitted_with(&spec, 20, &stopping.kept_by(shelf.clone()));
    assert_eq!(stopped.fit.iterations, 9);
    assert!(stopped.fit.warnings.iter().any(|warning| warning.contains("after 9 of 20")), "{:?}", stopped.fit.warnings);
    let resumed = fitted_with(&spec, 20, &Context::silent().kept_by(shelf));
    assert_eq!(resumed.trained, whole.trained);
    assert_eq!(resumed.fit.summary.elbo.to_bits(), whole.fit.summary.elbo.to_bits());
    assert_eq!(resumed.fit.parameter("theta").unwrap().value, whole.fit.parameter("theta").unwrap().value);
}

fn two_dimensional() -> StateSpace {
    let drift = Linear::new(DMatrix::from_row_slice(2, 2, &[-2.0, 1.0, 0.5, -3.0]), DVector::from_vec(vec![0.5, 0.0]));
    let dimension = || Dimension {
        noise: Box::new(noise()) as Box<dyn Noise>,
        size: None,
        observation_std: 0.2,
        errors: Errors::default(),
        start: Start::Fixed(0.3),
    };
    StateSpace::multivariate(Box::new(drift.unwrap()), vec![dimension(), dimension()]).unwrap()
}

fn bound_of(model: &StateSpace, values: &[&[f64]], at: &[[f64; 2]]) -> PublishedGradient {
    let times = times(values[0].len() as i32 - 1);
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    let options = PaperOptions { paths: 6000, ..PaperOptions::default() };
    published_gradient(&Chain::new(model, &grid, values).unwrap(), at, &options, 5).unwrap()
}

/// Within six standard errors of a central difference; one in 10⁸ seeds fails.
fn check(name: &str, slope: f64, high: Bound, low: Bound, h: f64) {
    let want = (high.elbo - low.elbo) / (2.0 * h);
    let error = 6.0 * high.std_error.hypot(low.std_error) / (2.0 * h);
    assert!((slope - want).abs() < error, "{name}: {slope} {want} ± {error}");
}

/// Dimensions that act on each other: slopes in the tilts of both and in the drift are central differences of the ELBO.
#[test]
fn statistics_gradients_in_two_dimensions_are_slopes_of_the_elbo() {
    let model = two_dimensional();
    let values = [vec![0.3, 0.5, 0.2, 0.6, 0.4, 0.5], vec![0.2, 0.1, -0.3, 0.0, 0.1, 0.2]];
    let columns = [&values[0][..], &values[1][..]];
    let at: Vec<[f64; 2]> = (0..12).map(|k| [2.0 + 0.1 * k as f64, values[k % 2][k / 2]]).collect();
    let found = bound_of(&model, &columns, &at);
    assert_eq!(found.tilts.len(), 12);
    for (place, k) in [(4, 1), (5, 0), (7, 1), (10, 0)] {
        let moved = |h: f64| {
            let mut at = at.clone();
            at[place][k] += h;
            bound_of(&model, &columns, &at).bound
        };
        check(&format!("{place} {k}"), found.tilts[place][k], moved(0.3), moved(-0.3), 0.3);
    }
    let drift = |h: f64| {
        let mut parameters: Vec<f64> = model.drift.parameters().into_iter().map(|(_, value)| value).collect();
        parameters[1] += h;
        let moved = StateSpace { drift: model.drift.with_parameters(&parameters).unwrap(), ..two_dimensional() };
        bound_of(&moved, &columns, &at).bound
    };
    check("drift", found.drift[1], drift(0.5), drift(-0.5), 0.5);
}

/// A Brownian part: the noise is read with it, the bound stays below the exact evidence of the chain, slopes are right.
#[test]
fn statistics_a_brownian_part_keeps_the_bound_and_its_gradient() {
    let noise = PlusBrownian::new(Box::new(noise()), 0.8).unwrap();
    let drift = Box::new(NoDrift::new(1).unwrap());
    let model = StateSpace::new(drift, Box::new(noise), 0.2, Start::Fixed(0.0)).unwrap();
    let values = vec![0.0, 0.1, 0.3, 0.2, 0.6, 0.5, 0.4];
    let times = times(6);
    let grid = TimeGrid::new(&times, Some(6)).unwrap();
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    assert_eq!(noises_of(&chain).unwrap()[0].brownian, 0.8);
    let evidence = exact::smooth(&model, &grid, &values, &exact::Options::default()).unwrap().log_evidence;
    let at: Vec<[f64; 2]> = values.iter().map(|&y| [6.0, y]).collect();
    let found = bound_of(&model, &[&values], &at);
    assert!(found.bound.elbo < evidence + 3.0 * found.bound.std_error, "{:?} {evidence}", found.bound);
    assert!(evidence - found.bound.elbo < 10.0, "{:?} {evidence}", found.bound);
    for (j, k, h) in [(2, 0, 2.0), (3, 1, 0.1), (5, 1, 0.1)] {
        let moved = |h: f64| {
            let mut at = at.clone();
            at[j][k] += h;
            bound_of(&model, &[&values], &at).bound
        };
        check(&format!("{j} {k}"), found.tilts[j][k], moved(h), moved(-h), h);
    }
}

/// A drift network learns jointly: its weights move, the ELBO rises, and the estimates are those of the noise alone.
#[test]
fn identity_a_drift_network_learns_jointly() {
    let spec = Spec { network: Some(NeuralSize { width: 4, depth: 1 }), ..spec("none") };
    let (first, found) = (fitted(&spec, 1), fitted(&spec, 25));
    let network = found.fit.network.as_ref().unwrap();
    assert!(network.regularisation.is_none());
    assert_ne!(network.drift.values(), first.fit.network.as_ref().unwrap().drift.values());
    assert!(found.fit.parameters.iter().all(|p| p.fixed && !p.name.starts_with('w')), "{:?}", found.fit.parameters);
    let trace = &found.trained.as_ref().unwrap().trace;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(mean(&trace[20..]) > mean(&trace[..5]), "{trace:?}");
}

/// The value with the highest ELBO is kept, and the others are named.
#[test]
fn identity_a_grid_of_alpha_keeps_the_highest_elbo() {
    let (times, values) = record();
    let grid = TimeGrid::new(&times, Some(40)).unwrap();
    let options = FitOptions { paths: 16, ..FitOptions::default() };
    let (data, spec, alphas) = ((&grid, &[&values[..]][..]), spec("ou"), [1.3, 1.7]);
    let best = fit_paper_grid(&spec, data, &options, &paper(3), &alphas, &Context::silent()).unwrap();
    let alone = alphas.map(|alpha| {
        let at = Spec { given: given(&[&NOISE[..], &[("alpha", alpha)]].concat()), ..spec.clone() };
        fit_paper(&at, data, &options, &paper(3)).unwrap().fit.summary.elbo
    });
    let k = usize::from(alone[1] > alone[0]);
    assert_eq!(best.fit.summary.elbo.to_bits(), alone[k].to_bits());
    assert_eq!(best.fit.parameter("alpha").unwrap().value, alphas[k]);
    assert!(best.fit.choices[0].why.contains("1.3 ") && best.fit.choices[0].why.contains("1.7 "));
}
