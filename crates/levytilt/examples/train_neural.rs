//! Train a neural potential from a cold start and print how the bound climbs:
//! `cargo run --release --example train_neural [ou|double-well] [alpha] [iterations] [rate] [paths] [encoder rate]
//! [sharpness] [none|data|robust|sweep]`.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::noise::Stable;
use levytilt::potential::neural::{FrameKind, NeuralPotentialSpec};
use levytilt::series::TimeGrid;
use levytilt::solve::neural::{TrainOptions, Trainer};
use levytilt::solve::{SweepOptions, robust_start, sweep};
use levytilt::{Chain, Model, Result, Start, exact, simulate};
use std::time::Instant;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize, default: f64| args.get(i).and_then(|s| s.parse().ok()).unwrap_or(default);
    let drift: Box<dyn Drift> = match args.get(1).map(String::as_str) {
        Some("double-well") => Box::new(DoubleWell::new(1.0, 1.0)?),
        _ => Box::new(Ou::new(3.0, 1.0)?),
    };
    let (alpha, iterations) = (number(2, 1.5), number(3, 3000.0) as usize);
    let options = TrainOptions {
        iterations,
        rate: number(4, 1e-3),
        paths: number(5, 500.0) as usize,
        encoder_rate: number(6, 1.0),
        frame: match args.get(8).map(String::as_str) {
            Some("none") => FrameKind::None,
            Some("data") => FrameKind::Data,
            Some("sweep") => FrameKind::Sweep,
            _ => FrameKind::Robust,
        },
        ..Default::default()
    };
    let model = Model::new(drift, Box::new(Stable::new(alpha, 2.0)?), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=1000).map(|j| f64::from(j) * 0.01).collect();
    let values = simulate(&model, &times, 1)?.observations;
    let grid = TimeGrid::new(&times, Some(1000))?;
    let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default())?;
    let chain = Chain::new(&model, &grid, &[&values])?;
    let swept = sweep(&chain, robust_start(&chain)?, &SweepOptions::default())?.summary.elbo;
    println!("exact evidence {exact:.2}, bound of sweeps {swept:.2}");
    let spec = NeuralPotentialSpec { sharpness: number(7, 1000.0), ..Default::default() };
    let mut trainer = Trainer::new(&chain, spec, options)?;
    let start = Instant::now();
    while !trainer.done() {
        let iteration = trainer.iteration();
        let summary = trainer.step()?;
        if iteration % (iterations / 30).max(1) == 0 || trainer.done() {
            let seconds = start.elapsed().as_secs_f64() / (iteration + 1) as f64;
            println!(
                "{iteration:5}  bound {:10.2} ± {:.2}  evidence − bound {:8.2}  {seconds:.3} s per iteration",
                summary.elbo,
                summary.elbo_std_error,
                exact - summary.elbo
            );
        }
    }
    Ok(())
}
