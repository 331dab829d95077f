//! Time whole fits on records of several kinds, in units of 10⁸ scalar `exp` of the same run.
//!
//! `cargo bench --bench records` prints a table; arguments pick rows by name. One thread, and its processor time where the
//! system tells it, so that a busy machine changes little. All parameters are learned.

use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Method};
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, simulate};
use std::hint::black_box;
use std::time::Instant;

/// A record: its name, drift, noise, times, latent steps, which times are seen (every how many), and the method.
struct Record {
    name: &'static str,
    drift: (&'static str, Vec<f64>),
    noise: (&'static str, Vec<f64>),
    times: Vec<f64>,
    steps: Option<usize>,
    every: usize,
    method: Method,
}

fn records() -> Vec<Record> {
    let even: Vec<f64> = (0..=1000).map(|j| 0.01 * f64::from(j)).collect();
    // Shift every time by up to 30% of the spacing. Squares, because multiples of one number would give two gaps only.
    let shift = |j: usize| 0.003 * (2.0 * (0.618_033_988_749_895 * (j * j) as f64).fract() - 1.0);
    let mut jittered: Vec<f64> = even.iter().enumerate().map(|(j, t)| t + shift(j)).collect();
    jittered[0] = 0.0;
    let ou = |name, noise: (&'static str, Vec<f64>), times: &[f64], steps| Record {
        name,
        drift: ("ou", vec![3.0, 1.0]),
        noise,
        times: times.to_vec(),
        steps,
        every: 1,
        method: Method::Sweep,
    };
    let stable = || ("stable", vec![1.5, 2.0]);
    let nig = || ("nig", vec![2.0, 1.0]);
    let well: Vec<f64> = (0..=2000).map(|j| 0.01 * f64::from(j)).collect();
    let sparse = |name, drift: (&'static str, Vec<f64>), scale| Record {
        name,
        drift,
        noise: ("stable", vec![1.5, scale]),
        times: well.clone(),
        steps: Some(2000),
        every: 20,
        method: Method::GaussianSum,
    };
    vec![
        ou("even", stable(), &even, None),
        ou("jittered", stable(), &jittered, None),
        ou("misaligned", stable(), &even[1..], Some(1000)),
        ou("even-nig", nig(), &even, None),
        ou("jittered-nig", nig(), &jittered, None),
        sparse("sparse-ou", ("ou", vec![3.0, 1.0]), 2.0),
        sparse("sparse-double-well", ("double-well", vec![1.0, 1.0]), 0.6),
    ]
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!("| record | latent steps | seconds | in 10⁸ exp | bound | log evidence | iterations |");
    println!("|---|---|---|---|---|---|---|");
    for record in records().iter().filter(|r| wanted.is_empty() || wanted.iter().any(|w| w == r.name)) {
        println!("{}", row(record));
    }
}

/// Fit a record and say what it took.
fn row(record: &Record) -> String {
    let drift = DriftFamily::named(record.drift.0).expect("a drift");
    let noise = Family::named(record.noise.0).expect("a noise");
    let build = (drift.build(&record.drift.1), noise.build(&record.noise.1));
    let model =
        StateSpace::new(build.0.expect("valid"), build.1.expect("valid"), 0.1, Start::Fixed(0.0)).expect("valid");
    let values = simulate(&model, &record.times, 7).expect("finite path").observations;
    let seen: Vec<usize> = (0..values.len()).step_by(record.every).collect();
    let pick = |from: &[f64]| seen.iter().map(|&j| from[j]).collect::<Vec<f64>>();
    let (times, values) = (pick(&record.times), pick(&values));
    let grid = TimeGrid::new(&times, record.steps).expect("valid times");
    let learn = LearnOptions { method: record.method, ..LearnOptions::default() };
    let options = FitOptions { learn, ..FitOptions::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("thread pool");
    let (found, seconds, unit) = pool.install(|| {
        let unit = exp_seconds();
        let start = Clock::new();
        let found = fit(&Spec::new(drift, noise), &grid, &[&values], &options).expect("a fit");
        (found, start.seconds(), unit)
    });
    let (bound, evidence) = (found.summary.elbo, found.evidence.log_evidence);
    let (name, steps, iterations) = (record.name, grid.steps(), found.iterations);
    format!("| {name} | {steps} | {seconds:.2} | {:.2} | {bound:.2} | {evidence:.2} | {iterations} |", seconds / unit)
}

/// Seconds of 10⁸ scalar exponentials.
fn exp_seconds() -> f64 {
    let count = 10_000_000;
    let start = Clock::new();
    let sum: f64 = (0..count).map(|i| black_box(-(i as f64) * 1e-6).exp()).sum();
    black_box(sum);
    start.seconds() * 1e8 / f64::from(count)
}

/// Processor time of this thread, or time on the wall where the system does not tell.
struct Clock {
    processor: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn new() -> Self {
        Self { processor: processor_seconds(), wall: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        match (self.processor, processor_seconds()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}
