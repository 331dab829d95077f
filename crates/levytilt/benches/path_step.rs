//! Time a path-step of the tilted walk, plain and fast, in units of one scalar `exp` of the same run.
//!
//! `cargo bench --bench path_step` prints a table. A path-step is: flow, draw of node and state, log-weight; the tables
//! are built inside the timed region, so their share is included. OU drift, stable noise, quadratic potential around the
//! path that made the data, 1000 steps, 500 paths.

use levytilt::noise::{Nodes, Noise, Stable};
use levytilt::potential::Quadratic;
use levytilt::tilt::{LogSum, TiltTable, TiltedStep};
use levytilt::{StreamRng, stream};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

const STEPS: usize = 1000;
const PATHS: usize = 500;
const SPAN: f64 = 10.0;
const REPEATS: usize = 15;
/// Steps whose tables are alive at the same time.
const CHUNK: usize = 128;

struct Walker {
    state: f64,
    log_weight: LogSum,
    rng: StreamRng,
}

fn main() {
    println!(
        "median of {REPEATS} runs, {STEPS} steps, {PATHS} paths; exp = one scalar f64::exp in a loop of the same run\n"
    );
    println!("| alpha | nodes | kernel | threads | ns per path-step | in exp | speed-up |");
    println!("|---|---|---|---|---|---|---|");
    for alpha in [1.2, 1.5, 1.8] {
        let problem = Problem::new(alpha);
        let mut single = 0.0;
        for (kernel, threads) in [("plain", 1), ("fast", 1), ("fast", 2)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("thread pool");
            let repeats = if kernel == "plain" { 3 } else { REPEATS };
            // Interleave with the yardstick, so that a busy machine slows both.
            let mut times: Vec<(f64, f64)> = (0..repeats)
                .map(|_| {
                    let unit = exp_loop();
                    let time = pool.install(|| if kernel == "plain" { problem.plain() } else { problem.fast() });
                    (time / (STEPS * PATHS) as f64 * 1e9, unit)
                })
                .collect();
            times.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
            let (ns, unit) = times[times.len() / 2];
            if threads == 1 {
                single = ns;
            }
            println!(
                "| {alpha} | {} | {kernel} | {threads} | {ns:.1} | {:.2} | {:.2}× |",
                problem.nodes.len(),
                ns / unit,
                single / ns
            );
        }
    }
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

struct Problem {
    nodes: Nodes,
    potentials: Vec<Quadratic>,
    decay: f64,
}

impl Problem {
    /// θ = 3, μ = 1, scale 2: simulate a truth and pull towards it as firmly as a dense posterior does (sd 0.075).
    fn new(alpha: f64) -> Self {
        let dt = SPAN / STEPS as f64;
        let noise = Stable::new(alpha, 2.0).expect("valid parameters");
        let nodes = noise.nodes(dt).expect("valid step");
        let decay = (-3.0 * dt).exp();
        let mut rng = stream(1, 0);
        let mut x = 0.0;
        let potentials = (0..STEPS)
            .map(|_| {
                x = 1.0 + (x - 1.0) * decay + noise.sample(dt, &mut rng);
                Quadratic::new(1.0 / (2.0 * 0.075 * 0.075), x).expect("finite")
            })
            .collect();
        Self { nodes, potentials, decay }
    }

    fn walkers(&self) -> Vec<Walker> {
        (0..PATHS as u64).map(|i| Walker { state: 0.0, log_weight: LogSum::default(), rng: stream(2, i) }).collect()
    }

    fn flow(&self, x: f64) -> f64 {
        1.0 + (x - 1.0) * self.decay
    }

    fn plain(&self) -> f64 {
        let mut walkers = self.walkers();
        let start = Instant::now();
        for potential in &self.potentials {
            let step = TiltedStep::new(&self.nodes, *potential);
            for w in &mut walkers {
                let drawn = step.draw(self.flow(w.state), &mut w.rng);
                w.log_weight.add(drawn.log_z - potential.log_value(drawn.state), 1.0);
                w.state = drawn.state;
            }
        }
        black_box(&walkers);
        start.elapsed().as_secs_f64()
    }

    fn fast(&self) -> f64 {
        let mut walkers = self.walkers();
        let block = PATHS.div_ceil(2 * rayon::current_num_threads());
        let start = Instant::now();
        for chunk in self.potentials.chunks(CHUNK) {
            let tables: Vec<TiltTable> =
                chunk.par_iter().map(|p| TiltTable::new(TiltedStep::new(&self.nodes, *p))).collect();
            walkers.par_chunks_mut(block).for_each(|walkers| {
                for (table, potential) in tables.iter().zip(chunk) {
                    for w in walkers.iter_mut() {
                        let (_, state) = table.advance(self.flow(w.state), &mut w.rng, &mut w.log_weight);
                        w.log_weight.add(-potential.log_value(state), 1.0);
                        w.state = state;
                    }
                }
            });
        }
        black_box(&walkers);
        start.elapsed().as_secs_f64()
    }
}
