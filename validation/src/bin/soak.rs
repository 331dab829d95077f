//! Many fits in one process: `scripts/validate soak COUNT` prints memory and time of every tenth of them.

use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::FAMILIES;
use levytilt::{Result, simulate};
use levytilt_validation::memory::memory;
use std::time::Instant;

/// Resident memory in MB.
fn resident() -> f64 {
    memory("VmRSS").map_or(f64::NAN, |bytes| bytes / 1_048_576.0)
}

fn main() -> Result<()> {
    let count: u64 = std::env::args().nth(1).and_then(|w| w.parse().ok()).unwrap_or(1000);
    let times: Vec<f64> = (0..40).map(|j| 0.05 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, Some(times.len() - 1))?;
    let drift = DriftFamily::named("ou").expect("a drift of the library");
    println!("| fits | resident MB | seconds since the last row |");
    println!("|---|---|---|");
    let mut clock = Instant::now();
    for k in 1..=count {
        // All families in turn, and other data every time, so that nothing that is kept from one fit serves the next.
        let noise = &FAMILIES[k as usize % FAMILIES.len()];
        let truth = Spec { x0: Some(0.0), ..Spec::new(drift, &FAMILIES[0]) };
        let truth =
            truth.fix("theta", 2.0).fix("mu", 0.5).fix("alpha", 1.5).fix("scale", 1.0).fix("observation_std", 0.1);
        let model = truth.model()?;
        let values = simulate(&model, &times, k)?.observations;
        let spec = Spec::new(drift, noise);
        fit(&spec, &grid, &[&values], &FitOptions { paths: 16, seed: k, ..FitOptions::default() })?;
        if k % (count / 10).max(1) == 0 {
            println!("| {k} | {:.1} | {:.1} |", resident(), clock.elapsed().as_secs_f64());
            clock = Instant::now();
        }
    }
    Ok(())
}
