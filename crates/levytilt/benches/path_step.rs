//! Time a path-step of the tilted walk, plain and fast, in units of one scalar `exp` of the same run.
//!
//! `cargo bench --bench path_step` prints a table. OU drift, stable noise, a quadratic potential around the path that made
//! the data, 1000 steps, 500 paths (and 4000 for the library's walk). Three kernels:
//! - plain: flow, draw and weigh by a loop over the nodes;
//! - fast: draw and weigh by tables, which are built inside the timed region;
//! - walk: the library's `walk` as solvers call it, which also moves along the drift, weighs the observations, marks
//!   jumps and stores every path; its speed-up is from one thread to two, of the same number of paths.

use levytilt::drift::Ou;
use levytilt::internals::Chain;
use levytilt::internals::posterior::{Potentials, walk};
use levytilt::internals::potential::{Potential, Quadratic};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::tilt::{LogSum, TiltTable, TiltedStep};
use levytilt::noise::Stable;
use levytilt::{Start, StateSpace, StreamRng, simulate, stream};
use std::hint::black_box;
use std::time::Instant;

const STEPS: usize = 1000;
const PATHS: usize = 500;
const SPAN: f64 = 10.0;
const ROUNDS: usize = 11;

/// What is timed: kernel, paths, threads.
const RUNS: [(&str, usize, usize); 6] = [
    ("plain", PATHS, 1),
    ("fast", PATHS, 1),
    ("walk", PATHS, 1),
    ("walk", PATHS, 2),
    ("walk", 8 * PATHS, 1),
    ("walk", 8 * PATHS, 2),
];

fn main() {
    println!("median of {ROUNDS} rounds, {STEPS} steps; exp = one scalar f64::exp in a loop of the same round\n");
    println!("| alpha | nodes | kernel | paths | threads | ns per path-step | in exp | speed-up |");
    println!("|---|---|---|---|---|---|---|---|");
    for alpha in [1.2, 1.5, 1.8] {
        let problem = Problem::new(alpha);
        // All runs of a round follow each other, so that a busy machine slows them alike; ratios are taken per round.
        let rounds: Vec<(f64, Vec<f64>)> =
            (0..ROUNDS).map(|_| (exp_loop(), RUNS.iter().map(|run| problem.time(run)).collect())).collect();
        for (i, (kernel, paths, threads)) in RUNS.iter().enumerate() {
            let ns = median(rounds.iter().map(|r| r.1[i]));
            let ratio = median(rounds.iter().map(|r| r.1[i] / r.0));
            let gain = match threads {
                2 => format!("{:.2}×", median(rounds.iter().map(|r| r.1[i - 1] / r.1[i]))),
                _ => String::new(),
            };
            let nodes = problem.chain().nodes(0, 1).len();
            println!("| {alpha} | {nodes} | {kernel} | {paths} | {threads} | {ns:.1} | {ratio:.2} | {gain} |");
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Nanoseconds of one scalar exponential, with arguments like the kernel's.
fn exp_loop() -> f64 {
    let n = 4_000_000;
    let start = Instant::now();
    let mut sum = 0.0;
    for i in 0..n {
        sum += black_box(-(i as f64) * 2.5e-6).exp();
    }
    black_box(sum);
    start.elapsed().as_secs_f64() * 1e9 / n as f64
}

/// Model and data: OU with θ = 3, μ = 1, stable noise of scale 2.
struct Problem {
    model: StateSpace,
    grid: TimeGrid,
    truth: Vec<f64>,
}

impl Problem {
    fn new(alpha: f64) -> Self {
        let drift = Box::new(Ou::new(3.0, 1.0).expect("valid parameters"));
        let noise = Box::new(Stable::new(alpha, 2.0).expect("valid parameters"));
        let model = StateSpace::new(drift, noise, 0.1, Start::Fixed(0.0)).expect("valid model");
        let times: Vec<f64> = (0..=STEPS).map(|j| j as f64 * SPAN / STEPS as f64).collect();
        let truth = simulate(&model, &times, 1).expect("finite path").path;
        let grid = TimeGrid::new(&times, Some(STEPS)).expect("valid times");
        Self { model, grid, truth }
    }

    /// Nanoseconds per path-step of one run.
    fn time(&self, &(kernel, paths, threads): &(&str, usize, usize)) -> f64 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("thread pool");
        let seconds = pool.install(|| match kernel {
            "plain" => self.plain(),
            "fast" => self.fast(),
            _ => self.walk(paths),
        });
        seconds / (STEPS * paths) as f64 * 1e9
    }

    fn chain(&self) -> Chain<'_> {
        Chain::new(&self.model, &self.grid, &[&self.truth]).expect("valid chain")
    }

    /// Pull towards the truth as firmly as a dense posterior does (standard deviation 0.075).
    fn quadratics(&self) -> Vec<Quadratic> {
        let firmness = 1.0 / (2.0 * 0.075 * 0.075);
        self.truth.iter().map(|&x| Quadratic::new(firmness, x).expect("finite")).collect()
    }

    fn plain(&self) -> f64 {
        let (chain, quadratics) = (self.chain(), self.quadratics());
        let mut paths: Vec<(f64, f64, StreamRng)> = (0..PATHS as u64).map(|p| (0.0, 0.0, stream(2, p))).collect();
        let start = Instant::now();
        for (j, potential) in quadratics.iter().enumerate() {
            let step = TiltedStep::new(chain.nodes(0, j), *potential);
            for (x, log_weight, rng) in &mut paths {
                let mut ahead = [0.0];
                chain.flow_many(j, &[*x], &mut ahead);
                let drawn = step.draw(ahead[0], rng);
                *x = drawn.state;
                *log_weight += chain.log_likelihood(0, j, *x) + drawn.log_z - potential.log_value(*x);
            }
        }
        black_box(&paths);
        start.elapsed().as_secs_f64()
    }

    fn fast(&self) -> f64 {
        let (chain, quadratics) = (self.chain(), self.quadratics());
        let mut paths: Vec<(f64, LogSum, StreamRng)> =
            (0..PATHS as u64).map(|p| (0.0, LogSum::default(), stream(2, p))).collect();
        let start = Instant::now();
        for (j, potential) in quadratics.iter().enumerate() {
            let table = TiltTable::new(chain.nodes(0, j).clone(), *potential);
            for (x, log_weight, rng) in &mut paths {
                // The drift of a step of 0.01 is small; without it the kernel alone is timed.
                *x = table.advance(*x, rng, log_weight).1;
                log_weight.add(-potential.log_value(*x));
            }
        }
        black_box(&paths);
        start.elapsed().as_secs_f64()
    }

    fn walk(&self, paths: usize) -> f64 {
        let (chain, quadratics) = (self.chain(), self.quadratics());
        let potentials: Potentials = vec![quadratics.into_iter().map(Potential::from).collect()];
        let start = Instant::now();
        black_box(walk(&chain, &potentials, paths, 2));
        start.elapsed().as_secs_f64()
    }
}
