//! Learned parameters against the maximum of the exact evidence.

use crate::data::{Truth, observations};
use crate::maximum::maximum;
use levytilt::Result;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Method, SweepOptions, learn, parameters};

const STEPS: usize = 1000;
const PATHS: usize = 500;

/// Distances from the maximum, in standard errors of the exact evidence, for each drift and index, or for one row alone.
pub fn agreement(seeds: u64, only: Option<(&str, f64)>) -> Result<()> {
    println!(
        "| drift | α | learned | drift parameters: rms | worst | alpha | scale | observation_std | standard error, learned / exact | mean of the first: learned, maximum |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for drift in ["ou", "double-well"] {
        for alpha in [1.2, 1.5, 1.8] {
            if only.is_some_and(|only| only != (drift, alpha)) {
                continue;
            }
            for all in [false, true] {
                row(drift, alpha, all, seeds)?;
            }
        }
    }
    Ok(())
}

fn row(drift: &'static str, alpha: f64, all: bool, seeds: u64) -> Result<()> {
    let truth = Truth { drift, alpha, ..Truth::default() };
    let mut off: Vec<Vec<f64>> = Vec::new();
    let mut ratios = Vec::new();
    let mut first = [0.0; 2];
    for seed in 1..=seeds {
        let (times, values) = observations(&truth, STEPS, seed)?;
        let grid = TimeGrid::new(&times, Some(STEPS))?;
        let mut start = parameters(&truth.model()?);
        // Away from the truth, so that there is a way to go.
        start.iter_mut().for_each(|p| p.value *= if p.name == "alpha" { 1.05 } else { 0.8 });
        if !all {
            let given = parameters(&truth.model()?);
            start.iter_mut().zip(given).skip(2).for_each(|(p, given)| (p.value, p.fixed) = (given.value, true));
        }
        let sweep = SweepOptions { paths: PATHS, seed, ..SweepOptions::default() };
        let options = LearnOptions { method: Method::Sweep, sweep, ..LearnOptions::default() };
        let learned = learn(truth.model()?, &start, &grid, &[&values], &options)?;
        let best =
            maximum(&learned.optimum.model, &learned.optimum.parameters, &learned.optimum.std_errors, &grid, &values)?;
        first[0] += learned.optimum.parameters[0].value / seeds as f64;
        first[1] += best.values[0] / seeds as f64;
        let free = || (0..start.len()).filter(|&i| !start[i].fixed);
        off.push(free().map(|i| (learned.optimum.parameters[i].value - best.values[i]) / best.std_errors[i]).collect());
        ratios.extend(free().map(|i| learned.optimum.std_errors[i] / best.std_errors[i]));
    }
    let rms = |columns: std::ops::Range<usize>| {
        let squares: Vec<f64> = off.iter().flat_map(|row| row[columns.clone()].iter().map(|x| x * x)).collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    };
    let worst = off.iter().flat_map(|row| row[..2].iter()).fold(0.0, |worst: f64, x| worst.max(x.abs()));
    let rest = |i: usize| if all { format!("{:.3}", rms(i..i + 1)) } else { String::new() };
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), r| (a.min(*r), b.max(*r)));
    println!(
        "| {drift} | {alpha} | {} | {:.3} | {worst:.3} | {} | {} | {} | {least:.2} – {most:.2} | {:.3}, {:.3} |",
        if all { "all" } else { "drift" },
        rms(0..2),
        rest(2),
        rest(3),
        rest(4),
        first[0],
        first[1]
    );
    Ok(())
}
