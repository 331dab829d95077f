//! Print the CPU time of a training step of every network, at its default size, on a record like a month of hourly prices.
//!
//! scripts/validate training_cost [STEPS]
//!
//! Two forecasts that differ by STEPS training steps differ by their cost alone. CPU time is that of the process, from
//! /proc/self/stat, beside 10⁸ `exp` in the same run.

use levytilt_baselines::{ForecasterOptions, Record, forecaster};
use levytilt_validation::cpu::cpu_seconds;
use std::hint::black_box;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let steps: usize = std::env::args().nth(1).map_or(Ok(50), |text| text.parse())?;
    let unit = exp_seconds();
    println!("10⁸ exp: {unit:.2} s\n\n| network | dimensions | ms of CPU per step | in 10⁸ exp |\n|---|---|---|---|");
    for (name, dim) in [
        ("dlinear", 1),
        ("neural-mjd", 1),
        ("nhits", 1),
        ("deepar", 1),
        ("deepar-t", 1),
        ("nj-sde", 1),
        ("deepar", 10),
        ("nj-sde", 10),
    ] {
        let (record, ahead) = month(dim)?;
        let cost = |steps: usize| -> Result<f64, Box<dyn std::error::Error>> {
            let model = forecaster(name, &ForecasterOptions { steps: Some(steps) })?;
            let start = cpu_seconds();
            black_box(model.forecast(&record, &ahead, 10, 1)?);
            Ok(cpu_seconds() - start)
        };
        let few = if steps < 100 { 1 } else { steps / 100 };
        let scale = if name == "dlinear" { 20 } else { 1 };
        let seconds = (cost(few + scale * steps)? - cost(few)?) / (scale * steps) as f64;
        println!("| {name} | {dim} | {:.2} | {:.5} |", 1e3 * seconds, seconds / unit);
    }
    Ok(())
}

/// 150 hourly values with nights between days, and 14 more times.
fn month(dim: usize) -> levytilt::Result<(Record, Vec<f64>)> {
    let time = |k: usize| (k / 7) as f64 + (k % 7) as f64 / 24.0;
    let value = |i: usize, k: usize| {
        let k = k as f64;
        (0.13 * k + i as f64).sin() + 0.3 * (2.9 * k * (1.0 + 0.1 * i as f64)).sin() + 0.01 * k
    };
    let columns = (0..dim).map(|i| (0..150).map(|k| value(i, k)).collect()).collect();
    Ok((Record::new((0..150).map(time).collect(), columns)?, (150..164).map(time).collect()))
}

/// CPU time of 10⁸ exponentials.
fn exp_seconds() -> f64 {
    let start = cpu_seconds();
    let mut sum = 0.0;
    for k in 0..100_000_000u32 {
        sum += black_box(-1e-8 * f64::from(k)).exp();
    }
    black_box(sum);
    cpu_seconds() - start
}
