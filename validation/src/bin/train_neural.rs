//! Train a neural potential from a cold start and print how the bound climbs:
//! `scripts/validate train_neural [drift=ou|double-well] [alpha=1.5] [iterations=3000] [rate=1e-3] …`
//! (all keys are in `main`).

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::posterior::{WeightSummary, walk};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{SweepOptions, robust_start, sweep};
use levytilt::internals::{Chain, exact};
use levytilt::noise::Stable;
use levytilt::{Result, Start, StateSpace, simulate};
use levytilt_paper::potential::{FrameKind, NeuralPotentialSpec};
use levytilt_paper::training::{TrainOptions, Trainer};
use std::time::Instant;

/// Arguments of the form key=value.
struct Arguments(Vec<(String, String)>);

impl Arguments {
    fn read(known: &[&str]) -> Self {
        let pairs = std::env::args().skip(1).map(|argument| match argument.split_once('=') {
            Some((key, value)) if known.contains(&key) => (key.to_owned(), value.to_owned()),
            _ => panic!("{argument:?} is not one of {known:?} with =value"),
        });
        Self(pairs.collect())
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str, default: f64) -> f64 {
        self.text(key).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{key}={value} is no number")))
    }
}

fn main() -> Result<()> {
    let keys = [
        "drift",
        "alpha",
        "data",
        "iterations",
        "rate",
        "paths",
        "seed",
        "encoder",
        "references",
        "sharpness",
        "frame",
        "falls",
        "components",
        "every",
    ];
    let arguments = Arguments::read(&keys);
    let drift: Box<dyn Drift> = match arguments.text("drift") {
        Some("double-well") => Box::new(DoubleWell::new(1.0, 1.0)?),
        _ => Box::new(Ou::new(3.0, 1.0)?),
    };
    let usual = TrainOptions::default();
    let options = TrainOptions {
        iterations: arguments.number("iterations", 3000.0) as usize,
        rate: arguments.number("rate", usual.rate),
        paths: arguments.number("paths", 192.0) as usize,
        seed: arguments.number("seed", 1.0) as u64,
        encoder_rate: arguments.number("encoder", usual.encoder_rate),
        reference_rate: arguments.number("references", usual.reference_rate),
        falls: arguments.number("falls", usual.falls as f64) as usize,
        frame: match arguments.text("frame") {
            Some("none") => FrameKind::None,
            Some("data") => FrameKind::Data,
            Some("sweep") => FrameKind::Sweep,
            _ => FrameKind::Robust,
        },
        ..usual
    };
    let noise = Stable::new(arguments.number("alpha", 1.5), 2.0)?;
    let model = StateSpace::new(drift, Box::new(noise), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=1000).map(|j| f64::from(j) * 0.01).collect();
    let mut values = simulate(&model, &times, arguments.number("data", 1.0) as u64)?.observations;
    let every = arguments.number("every", 1.0) as usize;
    values.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, value)| *value = f64::NAN);
    let grid = TimeGrid::new(&times, Some(1000))?;
    let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default())?;
    let chain = Chain::new(&model, &grid, &[&values])?;
    let swept = sweep(&chain, robust_start(&chain)?, &SweepOptions::default())?;
    // The networks' message is never softer than nothing; that of sweeps may be.
    let observed = 0.5 / (0.1f64 * 0.1);
    let messages = swept.potentials[0].iter().step_by(every).filter_map(|p| p.quadratic());
    let softer = messages.filter(|q| q.a() < observed).count();
    let swept = swept.summary.elbo;
    println!("exact evidence {exact:.2}, bound of sweeps {swept:.2}, {softer} of their messages below 0");
    let spec = NeuralPotentialSpec {
        sharpness: arguments.number("sharpness", NeuralPotentialSpec::default().sharpness),
        components: arguments.number("components", 1.0) as usize,
        ..Default::default()
    };
    let mut trainer = Trainer::new(&chain, spec, options)?;
    let start = Instant::now();
    while !trainer.done() {
        let iteration = trainer.iteration();
        let summary = trainer.step()?;
        if iteration % 100 == 0 {
            let seconds = start.elapsed().as_secs_f64() / (iteration + 1) as f64;
            println!(
                "{iteration:5}  bound {:10.2} ± {:.2}  evidence − bound {:8.2}  {seconds:.3} s per iteration",
                summary.elbo,
                summary.elbo_std_error,
                exact - summary.elbo
            );
        }
    }
    let potentials = trainer.trained().potentials(&chain)?;
    let last = WeightSummary::new(&walk(&chain, &potentials, 20_000, 0).log_weights());
    println!(
        "after {} iterations, 20 000 fresh paths: bound {:.2} ± {:.2}, evidence − bound {:.2}, of sweeps {:.2}",
        trainer.iteration(),
        last.elbo,
        last.elbo_std_error,
        exact - last.elbo,
        exact - swept
    );
    if every > 1 {
        return Ok(());
    }
    let mut jumps: Vec<usize> = (1..values.len()).collect();
    jumps.sort_by(|i, j| (values[*j] - values[j - 1]).abs().total_cmp(&(values[*i] - values[i - 1]).abs()));
    let jumps: Vec<f64> = jumps[..10].iter().map(|&j| times[j]).collect();
    println!(
        "references within 0.1 of the ten largest jumps: {:.2} times as dense as evenly spaced ones; sharpness {:.0}",
        trainer.trained().crowding(&jumps, 0.1),
        trainer.trained().potential.sharpness()
    );
    Ok(())
}
