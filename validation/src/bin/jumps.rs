//! Measure the jump table, one-step residuals and alarms against simulated truth; an argument scales the number of records.

use levytilt::drift::{DriftFamily, Ou};
use levytilt::internals::exact::filter::Filter;
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::residuals::Residuals;
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Stable};
use levytilt::{Result, Start, StateSpace, simulate};
use rayon::prelude::*;
use std::time::Instant;

const STEP: f64 = 0.01;
const SCALE: f64 = 2.0;

fn main() -> Result<()> {
    let records = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    println!(
        "| α | error / scale | true jumps | precision | recall | listed 10–30% | 30–50% | 50–70% | 70–90% | 90–100% |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for alpha in [1.5, 1.8] {
        for share in [0.2, 0.5, 1.0] {
            jumps(alpha, share, records)?;
        }
    }
    println!();
    println!("| model | records | false alarms of any check | largest of one check |");
    println!("|---|---|---|---|");
    for (drift, noise) in [("ou", "stable"), ("none", "student"), ("double-well", "gaussian")] {
        false_alarms(drift, noise, 5 * records)?;
    }
    println!();
    alarms(1000 * records)
}

/// Jumps listed, with their probability and whether they are true; how many of the probable ones are; and true jumps in all.
type Listed = (Vec<(f64, bool)>, usize, usize);

fn truth(alpha: f64, error: f64) -> Result<StateSpace> {
    StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(Stable::new(alpha, SCALE)?), error, Start::Fixed(0.0))
}

fn times(rows: usize) -> Vec<f64> {
    (0..=rows).map(|j| STEP * j as f64).collect()
}

/// Increments of a simulated path beyond the drift.
fn increments(states: &[f64]) -> Vec<f64> {
    let decay = (-3.0 * STEP).exp();
    states.windows(2).map(|pair| pair[1] - (1.0 + (pair[0] - 1.0) * decay)).collect()
}

/// Moves larger than five scales of a step against the table of a fit that learns all parameters.
fn jumps(alpha: f64, share: f64, records: u64) -> Result<()> {
    let scale = SCALE * STEP.powf(1.0 / alpha);
    let model = truth(alpha, share * scale)?;
    let times = times(1000);
    let each: Vec<Listed> = (0..records)
        .into_par_iter()
        .map(|seed| {
            let made = simulate(&model, &times, seed)?;
            let large: Vec<bool> = increments(&made.path).iter().map(|j| j.abs() > 5.0 * scale).collect();
            let spec =
                Spec::new(DriftFamily::named("ou").expect("a drift"), Family::named("stable").expect("a family"));
            let options = FitOptions { jump_above: Some(5.0 * scale), ..FitOptions::default() };
            let found = fit(&spec, &TimeGrid::new(&times, None)?, &[&made.observations], &options)?;
            let listed: Vec<(f64, bool)> =
                found.jumps[0].iter().map(|jump| (jump.probability, large[jump.place - 1])).collect();
            let probable = found.jumps[0].iter().filter(|jump| jump.probability >= 0.5);
            let hit = probable.filter(|jump| large[jump.place - 1]).count();
            Ok((listed, hit, large.iter().filter(|large| **large).count()))
        })
        .collect::<Result<_>>()?;
    let listed: Vec<(f64, bool)> = each.iter().flat_map(|(listed, ..)| listed.clone()).collect();
    let (hits, all): (usize, usize) = each.iter().fold((0, 0), |(hits, all), each| (hits + each.1, all + each.2));
    let probable = listed.iter().filter(|(p, _)| *p >= 0.5).count();
    let bin = |low: f64, high: f64| {
        let inside: Vec<&(f64, bool)> = listed.iter().filter(|(p, _)| *p >= low && *p < high).collect();
        let n = inside.len() as f64;
        let (mean, rate) = (
            inside.iter().map(|(p, _)| p).sum::<f64>() / n,
            inside.iter().filter(|(_, true_jump)| *true_jump).count() as f64 / n,
        );
        format!("{:.0}% of {n}, said {:.0}%", 100.0 * rate, 100.0 * mean)
    };
    println!(
        "| {alpha} | {share} | {all} | {:.3} | {:.3} | {} | {} | {} | {} | {} |",
        hits as f64 / probable as f64,
        hits as f64 / all as f64,
        bin(0.1, 0.3),
        bin(0.3, 0.5),
        bin(0.5, 0.7),
        bin(0.7, 0.9),
        bin(0.9, 1.01)
    );
    Ok(())
}

/// Records of 300 rows of the model itself, all its parameters learned: how often a check of the residuals fails.
fn false_alarms(drift: &str, noise: &str, records: u64) -> Result<()> {
    let (drift, noise) = (DriftFamily::named(drift).expect("a drift"), Family::named(noise).expect("a family"));
    let times: Vec<f64> = (0..=300).map(|j| 0.1 * f64::from(j)).collect();
    let values = |spec: Spec| spec.fix("observation_std", 0.2).fix("scale", 1.0).fix("x0", 0.0);
    let made = match (drift.name, noise.name) {
        ("ou", _) => values(Spec::new(drift, noise)).fix("theta", 1.0).fix("mu", 0.0).fix("alpha", 1.5),
        ("none", _) => values(Spec::new(drift, noise)).fix("dof", 3.0),
        _ => values(Spec::new(drift, noise)).fix("theta1", 1.0).fix("theta2", 1.0),
    };
    let model = made.model()?;
    let failures: Vec<Vec<String>> = (0..records)
        .into_par_iter()
        .map(|seed| {
            let seen = simulate(&model, &times, 1000 + seed)?.observations;
            let grid = TimeGrid::new(&times, None)?;
            let spec = Spec::new(drift, noise);
            let found = fit(&spec, &grid, &[&seen], &FitOptions { paths: 50, ..FitOptions::default() })?;
            let (_, seen) = Filter::new(&found.model, 1.0)?.run(&grid, &seen)?;
            Ok(Residuals::new(&seen, &[]).failures().map(|check| format!("{:?}", check.aspect)).collect())
        })
        .collect::<Result<_>>()?;
    let any = failures.iter().filter(|failed| !failed.is_empty()).count();
    let mut all: Vec<&String> = failures.iter().flatten().collect();
    all.sort();
    let most = all.chunk_by(|a, b| a == b).max_by_key(|same| same.len());
    let most = most.map_or("none".into(), |same| format!("{} {}", same[0], same.len()));
    println!(
        "| {} with {} noise | {records} | {any} ({:.1}%) | {most} |",
        drift.name,
        noise.name,
        100.0 * any as f64 / records as f64
    );
    Ok(())
}

/// Alarms of the filter at the true parameters, on rows as they are and with added jumps of ten scales.
fn alarms(rows: u64) -> Result<()> {
    let scale = SCALE * STEP.powf(1.0 / 1.8);
    let model = truth(1.8, 0.3 * scale)?;
    let times = times(rows as usize);
    let made = simulate(&model, &times, 77)?.observations;
    let started = Instant::now();
    let (state, seen) = Filter::new(&model, 1.0)?.run(&TimeGrid::new(&times, Some(rows as usize))?, &made)?;
    let seconds = started.elapsed().as_secs_f64();
    let false_alarms = seen.iter().flatten().filter(|seen| seen.p_value() < 0.001).count();
    println!(
        "{rows} rows at the true parameters: {false_alarms} alarms at p < 0.001 ({:.5}), {:.3} ms per row, {} observations.",
        false_alarms as f64 / rows as f64,
        1e3 * seconds / rows as f64,
        state.observations
    );
    // A jump of ten scales before every fiftieth row, which the drift then takes back.
    let added = |j: usize| (1..=j / 50).map(|k| 10.0 * scale * (-3.0 * STEP * (j - 50 * k) as f64).exp()).sum::<f64>();
    let moved: Vec<f64> = made.iter().enumerate().map(|(j, y)| y + added(j)).collect();
    let (_, seen) = Filter::new(&model, 1.0)?.run(&TimeGrid::new(&times, Some(rows as usize))?, &moved)?;
    let jumped: Vec<f64> = (49..seen.len()).step_by(50).filter_map(|j| Some(seen[j]?.jump_probability)).collect();
    println!(
        "{} added jumps of 10 scales: {:.3} of them have a jump probability above one half at their own row.",
        jumped.len(),
        jumped.iter().filter(|p| **p > 0.5).count() as f64 / jumped.len() as f64
    );
    Ok(())
}
