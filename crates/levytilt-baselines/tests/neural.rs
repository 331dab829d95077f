//! What every network must obey, and what each of them should learn where the answer is known.
//!
//! Networks here are smaller than by default and trained for fewer, longer steps, so that each test takes seconds. With
//! `-- --nocapture` the tests print the CRPS of the network and that of the walk. Seeds are fixed, so that a machine
//! always gives the same answer; the bounds leave room for another's rounding.

use levytilt::internals::series::{Rolling, cumulative_log_returns};
use levytilt::score::{Estimator, Sample};
use levytilt::{StreamRng, stream};
use levytilt_baselines::neural::{DLinear, DeepAr, JumpSde, NHits, NeuralMjd, Output, Spread, Training};
use levytilt_baselines::{Forecaster, ForecasterOptions, Paths, Record, Walk, forecaster};
use rand::RngExt;
use rand_distr::{Distribution, Poisson, StandardNormal, StudentT};
use std::process::Command;

fn deepar(output: Output, steps: usize) -> DeepAr {
    DeepAr { output, width: 16, training: Training::adam(steps, 5e-3), ..DeepAr::default() }
}

fn dlinear(spread: Spread, steps: usize) -> DLinear {
    DLinear { lookback: 24, kernel: 13, spread, training: Training::adam(steps, 1e-2) }
}

fn nhits(spread: Spread, steps: usize) -> NHits {
    NHits { lookback: 24, width: 32, spread, training: Training::adam(steps, 3e-3), ..NHits::default() }
}

fn mjd(steps: usize) -> NeuralMjd {
    let training = Training { steps, rate: 3e-3, ..NeuralMjd::default().training };
    NeuralMjd { lookback: 8, width: 16, training, ..NeuralMjd::default() }
}

fn jump_sde(steps: usize) -> JumpSde {
    let training = Training { steps, rate: 1e-2, ..JumpSde::default().training };
    JumpSde { lookback: 8, state: 8, width: 16, substeps: 1, training, ..JumpSde::default() }
}

fn all(steps: usize) -> Vec<Box<dyn Forecaster>> {
    vec![
        Box::new(deepar(Output::Gaussian, steps)),
        Box::new(deepar(Output::Student, steps)),
        Box::new(dlinear(Spread::Point, steps)),
        Box::new(dlinear(Spread::HeldOut, steps)),
        Box::new(nhits(Spread::Point, steps)),
        Box::new(nhits(Spread::HeldOut, steps)),
        Box::new(jump_sde(steps)),
        Box::new(mjd(steps)),
    ]
}

fn normal(rng: &mut StreamRng) -> f64 {
    StandardNormal.sample(rng)
}

/// A law of motion: the next value from the steps so far, the gap before it and the two values before it.
type Law = fn(usize, f64, (f64, f64), &mut StreamRng) -> f64;

/// Go on from the last two values with `law`, over these gaps, from step number `first` on.
fn walk_on(law: Law, first: usize, (mut before, mut last): (f64, f64), gaps: &[f64], rng: &mut StreamRng) -> Vec<f64> {
    let step = |(j, gap): (usize, &f64)| {
        let next = law(first + j, *gap, (before, last), rng);
        (before, last) = (last, next);
        next
    };
    gaps.iter().enumerate().map(step).collect()
}

/// A simulated record, and what may come after it.
struct Known {
    law: Law,
    record: Record,
    gaps: Vec<f64>,
    seed: u64,
}

impl Known {
    fn new(law: Law, gaps: Vec<f64>, ahead: Vec<f64>, seed: u64) -> Self {
        let values = walk_on(law, 0, (0.0, 0.0), &gaps, &mut stream(seed, 0));
        let times = gaps.iter().scan(0.0, |t, gap| {
            *t += gap;
            Some(*t)
        });
        Self { law, record: Record::new(times.collect(), vec![values]).unwrap(), gaps: ahead, seed }
    }

    fn forecast(&self, model: &dyn Forecaster) -> Paths {
        let end = self.record.times()[self.record.times().len() - 1];
        let ahead = self.gaps.iter().scan(end, |t, gap| {
            *t += gap;
            Some(*t)
        });
        model.forecast(&self.record, &ahead.collect::<Vec<f64>>(), 1000, self.seed).unwrap()
    }

    /// Mean CRPS over the times ahead and over 200 futures drawn from the true law: the expected score, nearly.
    fn crps(&self, paths: &Paths) -> f64 {
        let values = self.record.column(0);
        let n = values.len();
        let mut rng = stream(self.seed, 1);
        let samples: Vec<Sample> = (0..self.gaps.len()).map(|j| Sample::new(&paths.draws(j, 0)).unwrap()).collect();
        let mut future = || walk_on(self.law, n, (values[n - 2], values[n - 1]), &self.gaps, &mut rng);
        let score = |y: Vec<f64>| samples.iter().zip(y).map(|(s, y)| s.crps(y, Estimator::Fair).unwrap()).sum::<f64>();
        (0..200).map(|_| score(future())).sum::<f64>() / (200 * samples.len()) as f64
    }
}

fn moments(draws: &[f64]) -> (f64, f64) {
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    (mean, (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt())
}

/// Spread of the moves to time number `j` over paths.
fn move_spread(paths: &Paths, j: usize) -> f64 {
    let moves: Vec<f64> = paths.draws(j, 0).iter().zip(paths.draws(j - 1, 0)).map(|(x, y)| x - y).collect();
    moments(&moves).1
}

#[test]
fn statistics_deepar_learns_an_autoregression() {
    // xₜ = 0.7 xₜ₋₁ + N(0, 1): one step ahead the mean and deviation are near the true ones, and far ahead the spread is
    // near the stationary 1.4, where the walk's grows on to 3.8.
    for (output, seed) in [(Output::Gaussian, 10), (Output::Student, 11)] {
        let known = Known::new(|_, _, (_, x), rng| 0.7 * x + normal(rng), vec![1.0; 200], vec![1.0; 12], seed);
        let model = deepar(output, 120);
        let paths = known.forecast(&model);
        let (ours, walk) = (known.crps(&paths), known.crps(&known.forecast(&Walk::gaussian())));
        let (mean, near) = moments(&paths.draws(0, 0));
        let (_, far) = moments(&paths.draws(11, 0));
        let told = format!("{}: {ours} {walk}, {mean} {near} {far}", model.name());
        println!("{told}");
        assert!(ours < 0.85 * walk, "{told}");
        assert!((mean - 0.7 * known.record.last()[0]).abs() < 0.5, "{told}");
        assert!((0.7..1.3).contains(&near) && (1.0..2.0).contains(&far), "{told}");
    }
}

#[test]
fn statistics_point_networks_learn_trend_and_season() {
    // Trend and season are exact but for noise of 0.2, whose mean absolute value is 0.16; with its law, CRPS 0.11.
    let law: Law =
        |j, _, _, rng| 0.01 * j as f64 + 2.0 * (std::f64::consts::TAU * j as f64 / 12.0).sin() + 0.2 * normal(rng);
    let known = Known::new(law, vec![1.0; 150], vec![1.0; 12], 20);
    let walk = known.crps(&known.forecast(&Walk::gaussian()));
    let pairs: [[Box<dyn Forecaster>; 2]; 2] = [
        [Box::new(dlinear(Spread::Point, 600)), Box::new(dlinear(Spread::HeldOut, 600))],
        [Box::new(nhits(Spread::Point, 200)), Box::new(nhits(Spread::HeldOut, 200))],
    ];
    for [point, spread] in &pairs {
        let paths = known.forecast(point.as_ref());
        let draws = paths.draws(4, 0);
        assert!(draws.iter().all(|x| *x == draws[0]));
        let (hit, law) = (known.crps(&paths), known.crps(&known.forecast(spread.as_ref())));
        let told = format!("{}: {hit}, with residuals {law}, walk {walk}", point.name());
        println!("{told}");
        assert!(hit < 0.3 * walk && law < hit, "{told}");
    }
}

#[test]
fn statistics_neural_mjd_learns_rate_and_sizes_of_jumps() {
    // A Poisson(0.3) number of jumps up by 5 ± 0.5 and a steady fall of 1.5 ± 0.5 per step: the mean move is 0.
    let law: Law = |_, _, (_, x), rng| {
        let jumps: f64 = Poisson::new(0.3).unwrap().sample(rng);
        x - 1.5 + 5.0 * jumps + (0.25 + 0.25 * jumps).sqrt() * normal(rng)
    };
    let known = Known::new(law, vec![1.0; 400], vec![1.0; 4], 40);
    let model = mjd(400);
    let paths = known.forecast(&model);
    let (ours, walk) = (known.crps(&paths), known.crps(&known.forecast(&Walk::gaussian())));
    let moves: Vec<f64> = paths.draws(0, 0).iter().map(|x| x - known.record.last()[0]).collect();
    let (down, up): (Vec<f64>, Vec<f64>) = moves.iter().partition(|x| **x < 1.0);
    // P(at least one jump) = 0.26, and their mean size is then 5.8. Spread adds up over four steps: a factor 2.
    let (share, size) = (up.len() as f64 / moves.len() as f64, moments(&up).0 - moments(&down).0);
    let growth = moments(&paths.draws(3, 0)).1 / moments(&paths.draws(0, 0)).1;
    let told = format!("{}: {ours} {walk}, {share} {size} {growth}", model.name());
    println!("{told}");
    assert!(ours < 0.98 * walk, "{told}");
    assert!((share - 0.26).abs() < 0.1 && (size - 5.8).abs() < 0.8 && (growth - 2.0).abs() < 0.4, "{told}");
}

#[test]
fn statistics_neural_jump_sde_learns_from_events_and_gaps() {
    // Every move undoes most of the last one, and moves after long gaps are larger: both need the memory of events and
    // the true lengths of gaps.
    let law: Law =
        |_, gap, (before, last), rng| last - 0.8 * (last - before) + if gap > 1.0 { 1.5 } else { 0.2 } * normal(rng);
    let mut rng = stream(70, 2);
    let gaps = (0..250).map(|_| if rng.random::<f64>() < 0.3 { 4.0 } else { 0.5 }).collect();
    let known = Known::new(law, gaps, vec![0.5, 0.5, 4.0, 0.5], 70);
    let model = jump_sde(400);
    let paths = known.forecast(&model);
    let (ours, walk) = (known.crps(&paths), known.crps(&known.forecast(&Walk::gaussian())));
    // The moves' own spread is 0.2 after the short gap and 1.5 or a little more after the long one.
    let (short, long) = (moments(&paths.draws(0, 0)).1, move_spread(&paths, 2));
    let told = format!("{}: {ours} {walk}, {short} {long}", model.name());
    println!("{told}");
    assert!(ours < 0.8 * walk && long > 3.0 * short, "{told}");
}

/// Ten dimensions of heavy-tailed moves with very uneven gaps.
fn wild(length: usize) -> Record {
    let mut rng = stream(90, 0);
    let mut t = 0.0;
    let times = (0..length).map(|_| {
        t += 10f64.powf(rng.random_range(-2.0..2.0));
        t
    });
    let times = times.collect();
    let law = StudentT::new(1.5).unwrap();
    let column = |k: usize| {
        let mut x = 1000.0 * k as f64;
        let step = |_| {
            x += 10f64.powi(k as i32 - 5) * law.sample(&mut rng);
            x
        };
        (0..length).map(step).collect::<Vec<f64>>()
    };
    Record::new(times, (0..10).map(column).collect()).unwrap()
}

#[test]
fn identity_ten_wild_dimensions_stay_finite() {
    let record = wild(80);
    let end = record.times()[79];
    let ahead: Vec<f64> = (1..=6).map(|k| end + 100.0 * f64::from(k * k)).collect();
    for model in all(15) {
        let paths = model.forecast(&record, &ahead, 50, 1).unwrap_or_else(|error| panic!("{}: {error}", model.name()));
        for i in 0..10 {
            assert!(paths.draws(5, i).iter().all(|x| x.is_finite()), "{}", model.name());
        }
        assert_eq!(paths.cloud(5).len(), 500);
    }
    // However long it walks, the state of a jump SDE is bounded.
    let far: Vec<f64> = (1..=300).map(|k| end + 50.0 * f64::from(k)).collect();
    assert!(jump_sde(15).forecast(&record, &far, 5, 1).is_ok());
}

#[test]
fn identity_same_seed_same_paths_and_other_seed_other_paths() {
    let record = wild(60);
    let ahead = [record.times()[59] + 1.0, record.times()[59] + 3.0];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for model in all(5) {
        let run = |seed| model.forecast(&record, &ahead, 20, seed).unwrap();
        assert_eq!(run(7), pool.install(|| run(7)), "{}", model.name());
        // DLinear starts from fixed numbers and its point is the same for all seeds.
        if model.name() != "DLinear (point)" {
            assert_ne!(run(7), run(8), "{}", model.name());
        }
    }
}

/// Matrix products are cut into parts by the number of threads of the process: the parts must not show in the result.
#[test]
fn identity_number_of_threads_of_the_process_does_not_matter() {
    let run = |threads: &str| {
        let arguments = ["--exact", "print_bits", "--ignored", "--nocapture"];
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(arguments).env("RAYON_NUM_THREADS", threads).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.contains("bits:")).map(str::to_string).collect::<Vec<_>>()
    };
    let one = run("1");
    assert!(one.len() >= 3, "{one:?}");
    assert_eq!(one, run("3"));
    assert_eq!(one, run("8"));
}

/// Networks wide enough for the library to cut their products.
#[test]
#[ignore = "only asked for by the test above"]
fn print_bits() {
    let record = wild(80);
    let training = Training::adam(3, 1e-3);
    let models: [Box<dyn Forecaster>; 3] = [
        Box::new(NeuralMjd { training, ..NeuralMjd::default() }),
        Box::new(NHits { training, ..NHits::default() }),
        Box::new(DeepAr { training, ..DeepAr::default() }),
    ];
    for model in models {
        let draws = model.forecast(&record, &[record.times()[79] + 1.0], 200, 1).unwrap().cloud(0);
        let bits = draws.iter().fold(0u64, |sum, x| sum.rotate_left(7) ^ x.to_bits());
        println!("bits: {} {bits:x}", model.name());
    }
}

#[test]
fn identity_nothing_past_the_window_is_seen() {
    let known = Known::new(|_, _, (_, x), rng| x + 0.01 * normal(rng), vec![1.0 / 7.0; 60 * 7], vec![], 95);
    let times = known.record.times();
    let prices: Vec<f64> = known.record.column(0).iter().map(|x| 100.0 * x.exp()).collect();
    let windows = Rolling::monthly(0.0, 60.0).windows(times).unwrap().windows;
    let window = &windows[3];
    let mut shifted = prices.clone();
    shifted[window.ahead.start..].iter_mut().for_each(|price| *price *= 3.0);
    for model in all(5) {
        let run = |prices: &[f64]| {
            let train = cumulative_log_returns(prices, window).unwrap().train;
            let record = Record::new(times[window.train.clone()].to_vec(), vec![train]).unwrap();
            model.forecast(&record, &times[window.ahead.clone()], 10, 1).unwrap()
        };
        assert_eq!(run(&prices), run(&shifted), "{}", model.name());
        // What the window does hold is seen.
        let mut inside = prices.clone();
        inside[window.train.end - 1] *= 1.5;
        assert_ne!(run(&prices), run(&inside), "{}", model.name());
    }
}

#[test]
fn bad_requests_are_errors() {
    let record = Known::new(|_, _, (_, x), rng| x + normal(rng), vec![1.0; 60], vec![], 96).record;
    let still = Record::new(record.times().to_vec(), vec![vec![1.0; 60]]).unwrap();
    for model in all(2) {
        assert!(model.forecast(&record, &[], 10, 1).is_err(), "{}", model.name());
        assert!(model.forecast(&record, &[70.0], 0, 1).is_err(), "{}", model.name());
        assert!(model.forecast(&record, &[3.0], 10, 1).is_err(), "{}", model.name());
        assert!(model.forecast(&still, &[70.0], 10, 1).is_err(), "{}", model.name());
    }
    let bad: [Box<dyn Forecaster>; 7] = [
        Box::new(DLinear { kernel: 0, ..dlinear(Spread::Point, 2) }),
        Box::new(NHits { stacks: vec![], ..nhits(Spread::Point, 2) }),
        Box::new(NHits { width: 0, ..nhits(Spread::Point, 2) }),
        Box::new(DeepAr { layers: 0, ..deepar(Output::Gaussian, 2) }),
        Box::new(JumpSde { substeps: 0, ..jump_sde(2) }),
        Box::new(NeuralMjd { dropout: 1.0, ..mjd(2) }),
        Box::new(mjd(0)),
    ];
    for model in bad {
        assert!(model.forecast(&record, &[70.0], 10, 1).is_err(), "{}", model.name());
    }
    let ahead: Vec<f64> = (0..14).map(|j| 61.0 + f64::from(j)).collect();
    for name in ["dlinear", "nhits", "neural-mjd", "dlinear+residuals"] {
        let model = forecaster(name, &ForecasterOptions { steps: Some(1) }).unwrap();
        let message = model.forecast(&record, &ahead, 10, 1).unwrap_err().to_string();
        assert!(message.contains("lookback of 48") && message.contains("shorter lookback"), "{message}");
    }
}
