//! Hold training to its promises: stopped and taken up again it is the same training.

use levytilt::drift::{DoubleWell, Ou};
use levytilt::internals::posterior::{WeightSummary, walk};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, SweepOptions, learn, parameters, robust_start, sweep};
use levytilt::internals::{Chain, exact};
use levytilt::noise::Stable;
use levytilt::{Context, Start, StateSpace, simulate};
use levytilt_paper::potential::{FrameKind, NeuralPotentialSpec};
use levytilt_paper::training::{Checkpoint, Keeper, Rule, TrainOptions, Trained, Trainer, learn_alongside, train};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn model() -> StateSpace {
    let (drift, noise) = (Ou::new(3.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
    StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
}

fn on_chain<T>(seed: u64, work: impl FnOnce(&Chain) -> T) -> T {
    let model = model();
    let times: Vec<f64> = (0..=60).map(|j| f64::from(j) * 0.01).collect();
    let values = simulate(&model, &times, seed).unwrap().observations;
    let grid = TimeGrid::new(&times, Some(60)).unwrap();
    work(&Chain::new(&model, &grid, &[&values]).unwrap())
}

fn spec() -> NeuralPotentialSpec {
    NeuralPotentialSpec { references: 6, features: 5, width: 8, depth: 2, sharpness: 12.0, ..Default::default() }
}

/// Long enough that the rate falls on the way.
fn options(rule: Rule) -> TrainOptions {
    TrainOptions { iterations: 300, paths: 16, rule, ..Default::default() }
}

fn trainer<'a>(chain: &'a Chain<'a>, rule: Rule) -> Trainer<'a> {
    Trainer::new(chain, spec(), options(rule)).unwrap()
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

/// Train with a keeper and stop after so many iterations of this call.
fn train_kept(chain: &Chain, rule: Rule, shelf: &Shelf, most: usize) -> (Trained, usize) {
    let done = Arc::new(AtomicUsize::new(0));
    let counter = done.clone();
    let context = Context::watched(move |_| match counter.fetch_add(1, Ordering::Relaxed) + 1 < most {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    });
    let trained = train(trainer(chain, rule), &context.kept_by(shelf.clone())).unwrap();
    (trained, done.load(Ordering::Relaxed))
}

#[test]
fn identity_training_that_was_stopped_goes_on_as_if_it_had_not_been() {
    for rule in [Rule::Adam, Rule::RmsProp] {
        on_chain(1, |chain| {
            let whole = train(trainer(chain, rule), &Context::silent()).unwrap();
            let shelf = Shelf::default();
            let (first, _) = train_kept(chain, rule, &shelf, 170);
            assert_eq!(first.trace.len(), 170);
            let (second, redone) = train_kept(chain, rule, &shelf, usize::MAX);
            assert_eq!(redone, whole.trace.len() - 170);
            assert_eq!(second, whole);
        });
    }
}

#[test]
fn identity_checkpoints_of_other_work_are_left_alone() {
    let shelf = Shelf::default();
    on_chain(1, |chain| train_kept(chain, Rule::Adam, &shelf, 60));
    let kept = shelf.0.lock().unwrap().clone().unwrap();
    on_chain(2, |chain| {
        let (_, done) = train_kept(chain, Rule::Adam, &shelf, 7);
        assert_eq!(done, 7);
        assert_eq!(shelf.0.lock().unwrap().as_ref().unwrap().trace.len(), 7);
        let refused = trainer(chain, Rule::Adam).resume(kept).unwrap_err().to_string();
        assert!(refused.contains("another series"), "{refused}");
    });
    on_chain(1, |chain| {
        // More iterations are the same training, another rate is not.
        let print = |options| Trainer::new(chain, spec(), options).unwrap().fingerprint();
        let usual = print(options(Rule::Adam));
        assert_eq!(print(TrainOptions { iterations: 7, ..options(Rule::Adam) }), usual);
        assert_ne!(print(TrainOptions { rate: 1e-4, ..options(Rule::Adam) }), usual);
    });
}

#[test]
fn identity_trained_networks_speak_at_other_times() {
    let trained = on_chain(1, |chain| train_kept(chain, Rule::Adam, &Shelf::default(), 20).0);
    let model = model();
    let coarse: Vec<f64> = (0..=20).map(|j| f64::from(j) * 0.03).collect();
    let values = simulate(&model, &coarse, 1).unwrap().observations;
    let grid = TimeGrid::new(&coarse, Some(20)).unwrap();
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    let options = TrainOptions { iterations: 0, ..options(Rule::Adam) };
    // No iterations: the networks as they are.
    let same = train(Trainer::from_trained(&chain, trained.clone(), options).unwrap(), &Context::silent()).unwrap();
    assert_eq!((&same.potential, &same.frame), (&trained.potential, &trained.frame));
    assert_eq!(same.potentials(&chain).unwrap()[0].len(), 21);
}

#[test]
fn golden_crowding_is_the_density_of_references_over_an_even_one() {
    let trained = on_chain(1, |chain| trainer(chain, Rule::Adam).into_trained());
    // Six references at 0, 0.12, …, 0.6: one of six within 0.03 of 0.12 is a sixth of them on a tenth of the span.
    assert!((trained.crowding(&[0.12], 0.03) - (1.0 / 6.0) / 0.1).abs() < 1e-3);
    assert!((trained.crowding(&[0.3], 1.0) - 1.0).abs() < 1e-12);
}

/// Networks that say nearly nothing are, in the frame of sweeps, what sweeps found: also where its messages are softer
/// than none. Output layers begin at a hundredth of their size: 5% of firmness and width cover it.
#[test]
fn identity_the_frame_of_sweeps_is_what_sweeps_found() {
    on_chain(5, |chain| {
        let swept = sweep(chain, robust_start(chain).unwrap(), &SweepOptions::default()).unwrap().potentials;
        let options = TrainOptions { frame: FrameKind::Sweep, ..options(Rule::Adam) };
        let begun = Trainer::new(chain, spec(), options).unwrap().into_trained().potentials(chain).unwrap();
        let mut softer = 0;
        for j in 1..chain.len() {
            let [want, got] = [&swept, &begun].map(|all| all[0][j].quadratic().unwrap());
            let width = 1.0 / (2.0 * want.a()).sqrt();
            assert!((got.a() / want.a() - 1.0).abs() < 0.05, "{j}: {got:?} {want:?}");
            assert!((got.c() - want.c()).abs() < 0.05 * width, "{j}: {got:?} {want:?}");
            softer += usize::from(want.a() < 50.0);
        }
        assert!(softer > 0, "no message softer than none: the test misses its point");
    });
}

/// Parameters learned with networks are those learned with sweeps, to half a standard error (their bounds and paths differ), and
/// far from the start; the bound of the networks there is not below that at the start.
#[test]
fn statistics_parameters_are_learned_along_with_the_networks() {
    let truth = model();
    let times: Vec<f64> = (0..=150).map(|j| f64::from(j) * 0.02).collect();
    let values = simulate(&truth, &times, 5).unwrap().observations;
    let grid = TimeGrid::new(&times, Some(150)).unwrap();
    let start = || {
        let (drift, noise) = (Ou::new(1.0, 0.0).unwrap(), Stable::new(1.5, 1.0).unwrap());
        StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap()
    };
    let mut free = parameters(&start());
    [2, 4].into_iter().for_each(|k| free[k].fixed = true);
    let options = LearnOptions { sweep: SweepOptions { paths: 128, ..Default::default() }, ..Default::default() };
    let swept = learn(start(), &free, &grid, &[&values], &options).unwrap();
    let training = TrainOptions { iterations: 100, paths: 32, ..Default::default() };
    let data: (&TimeGrid, &[&[f64]]) = (&grid, &[&values]);
    let run =
        || learn_alongside(&start(), &free, data, &options, (None, &spec()), &training, &Context::silent()).unwrap();
    let (learned, trained) = run();
    for (k, p) in learned.optimum.parameters.iter().enumerate().filter(|(_, p)| !p.fixed) {
        let (other, error) = (swept.optimum.parameters[k].value, swept.optimum.std_errors[k]);
        assert!((p.value - other).abs() < 0.5 * error, "{p:?}, by sweeps {other} ± {error}");
    }
    assert!((learned.summary.elbo - swept.summary.elbo).abs() < 3.0, "{:?} {:?}", learned.summary, swept.summary);
    let (again, networks) = run();
    assert!(again.optimum.parameters == learned.optimum.parameters && networks == trained);
}

/// Between distant observations of a double well the message calls from both wells, and from afar by jumps. One bump per
/// time stays more than a nat below the exact evidence; two bumps close at least half of that. Bounds of 4000 paths, known
/// to 0.03: a margin of many standard errors.
#[test]
fn statistics_two_bumps_say_more_than_one_where_data_are_sparse() {
    let (drift, noise) = (DoubleWell::new(1.0, 1.0).unwrap(), Stable::new(1.5, 2.0).unwrap());
    let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.1, Start::Fixed(0.0)).unwrap();
    let times: Vec<f64> = (0..=120).map(|j| f64::from(j) * 0.05).collect();
    let mut values = simulate(&model, &times, 1).unwrap().observations;
    values.iter_mut().enumerate().filter(|(j, _)| j % 12 != 0).for_each(|(_, value)| *value = f64::NAN);
    let grid = TimeGrid::new(&times, Some(120)).unwrap();
    let evidence = exact::log_evidence(&model, &grid, &values, &exact::Options::default()).unwrap();
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    let gap = |components: usize| {
        let spec = NeuralPotentialSpec { references: 40, width: 16, sharpness: 60.0, components, ..spec() };
        let options = TrainOptions { iterations: 150, paths: 64, rate: 1e-2, ..Default::default() };
        let trained = train(Trainer::new(&chain, spec, options).unwrap(), &Context::silent()).unwrap();
        let paths = walk(&chain, &trained.potentials(&chain).unwrap(), 4000, 0);
        evidence - WeightSummary::new(&paths.log_weights()).elbo
    };
    let (one, two) = (gap(1), gap(2));
    assert!(one > 1.0 && two < 0.5 * one, "nats below the evidence: {one} with one bump, {two} with two");
}
