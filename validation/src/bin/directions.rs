//! Print tables of models whose noise arrives along directions: evidence against a plain filter, recovery, cost.
//!
//! `scripts/validate directions` (`agreement`, `states`, `velocity`, `shock` or `cost` as an argument prints one table; a number after
//! it says how many records, or how many steps; `given` or `learned` after that prints one row of `cost`).

use levytilt::drift::{Formula, Linear};
use levytilt::internals::general::{
    DrawnPath, FilterOptions, GeneralChain, GeneralFit, GeneralModel, GeneralOptions, GeneralSpec, Guide, Loading, Row,
    RowSpec, Source, SourceSpec, StartSpec, fit_general, simulate_general, smooth,
};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Stable};
use levytilt::{Error, Result, StreamRng, stream};
use levytilt_validation::combine;
use levytilt_validation::cpu::cpu_seconds;
use levytilt_validation::plain_filter::{plain_filter, plain_smoother};
use levytilt_validation::recovered::Recovered;
use nalgebra::{DMatrix, DVector};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::time::Instant;

fn main() -> Result<()> {
    let (what, count) = (std::env::args().nth(1), std::env::args().nth(2).and_then(|count| count.parse().ok()));
    let wanted = |name: &str| what.as_deref().is_none_or(|what| what == name);
    if wanted("agreement") {
        agreement(count.unwrap_or(100_000))?;
    }
    if wanted("states") {
        states(count.unwrap_or(20_000))?;
    }
    if wanted("velocity") {
        velocity(count.unwrap_or(20))?;
    }
    if wanted("shock") {
        shock(count.unwrap_or(10))?;
    }
    if wanted("cost") {
        cost(count.unwrap_or(1000), std::env::args().nth(3))?;
    }
    Ok(())
}

fn stable() -> &'static Family {
    Family::named("stable").unwrap_or(&levytilt::noise::FAMILIES[0])
}

fn times(steps: usize, dt: f64) -> Vec<f64> {
    (0..=steps).map(|j| dt * j as f64).collect()
}

/// A chain of `dim` states, each pushed by the next, each with its own kicks; the first `seen` are seen.
fn pushing(dim: usize, seen: usize, alpha: f64) -> Result<GeneralModel> {
    let matrix = DMatrix::from_fn(dim, dim, |i, k| match k {
        k if k == i => -1.0,
        k if k == i + 1 => 1.0,
        _ => 0.0,
    });
    let unit = |i: usize| DVector::from_fn(dim, |k, _| f64::from(u8::from(k == i)));
    let source = |i: usize| {
        Ok(Source { name: format!("kick{i}"), noise: Box::new(Stable::new(alpha, 1.0)?), direction: unit(i) })
    };
    GeneralModel {
        states: (0..dim).map(|i| format!("x{i}")).collect(),
        drift: Box::new(Linear::new(matrix, DVector::zeros(dim))?),
        // Where a state is hidden only the last is kicked: with one kick per hidden state nobody could tell them apart.
        sources: if seen == dim { (0..dim).map(source).collect::<Result<_>>()? } else { vec![source(dim - 1)?] },
        rows: (0..seen).map(|i| Row { name: format!("y{i}"), weights: unit(i), std: 0.1 }).collect(),
        start_mean: DVector::zeros(dim),
        start_covariance: DMatrix::identity(dim, dim) * 0.01,
    }
    .checked()
}

/// Independent plain filters of one record.
const PLAIN: usize = 8;

/// Log evidence against a plain filter with `most` particles in two dimensions, and the same work in more.
fn agreement(most: usize) -> Result<()> {
    println!("\n## Log evidence against a plain filter\n");
    println!(
        "| states | seen | α | every | this filter | plain filter | particles | z | ratio of error × √(CPU time) |\n|---|---|---|---|---|---|---|---|---|"
    );
    for (dim, seen) in [(2, 1), (2, 2), (3, 1), (5, 5), (10, 10)] {
        for alpha in [1.2, 1.5, 1.9] {
            for every in [1, 5] {
                agreement_row((dim, seen), alpha, every, most)?;
            }
        }
    }
    Ok(())
}

fn agreement_row((dim, seen): (usize, usize), alpha: f64, every: usize, most: usize) -> Result<()> {
    let model = pushing(dim, seen, alpha)?;
    let (grid, times, columns) = short_record(&model, every)?;
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    // Time on one thread is CPU time.
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| Error::Numerical { what: "threads", why: error.to_string() })?;
    let (found, seconds) = alone.install(|| {
        let started = Instant::now();
        let chain = GeneralChain::new(&model, &grid, &slices)?;
        let guide = Guide::new(&chain)?;
        let options = FilterOptions { filters: 20, particles: 100, seed: 3 };
        let found = smooth(&chain, &guide, 2, &options)?.evidence;
        Ok::<_, Error>((found, started.elapsed().as_secs_f64()))
    })?;
    let particles = (most * 4 / (dim * dim)).min(most);
    let runs: Vec<(f64, f64)> = (0..PLAIN as u64)
        .into_par_iter()
        .map(|seed| {
            let started = Instant::now();
            plain_filter(&model, &times, &slices, particles, seed).map(|log| (log, started.elapsed().as_secs_f64()))
        })
        .collect::<Result<_>>()?;
    let (plain, error) = combine(&runs.iter().map(|(log, _)| *log).collect::<Vec<_>>());
    let plain_seconds: f64 = runs.iter().map(|(_, seconds)| seconds).sum();
    let z = (found.log_evidence - plain) / found.std_error.hypot(error);
    let ratio = error * plain_seconds.sqrt() / (found.std_error * seconds.sqrt());
    println!(
        "| {dim} | {seen} | {alpha} | {every} | {:.2} ± {:.3} | {plain:.2} ± {error:.3} | {PLAIN} × {particles} | {z:+.1} | {ratio:.1} |",
        found.log_evidence, found.std_error
    );
    Ok(())
}

/// Smoothed means of states against those of a plain smoother with `most` particles in two dimensions, and the same work in more.
fn states(most: usize) -> Result<()> {
    println!("\n## Smoothed means against a plain smoother\n");
    println!(
        "| states | every | particles | means | mean of z | sd of z | largest | difference, in posterior sd |\n|---|---|---|---|---|---|---|---|"
    );
    for dim in [2, 5, 10] {
        for every in [1, 5] {
            let model = pushing(dim, dim, 1.5)?;
            let (grid, times, columns) = short_record(&model, every)?;
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let chain = GeneralChain::new(&model, &grid, &slices)?;
            let guide = Guide::new(&chain)?;
            let particles = (most * 4 / (dim * dim)).min(most);
            let (mut all, mut shares) = (Vec::new(), Vec::new());
            for at in [44, 48] {
                let ours = |seed: u64| {
                    let options = FilterOptions { filters: 4, particles: 100, seed };
                    let found = smooth(&chain, &guide, 200, &options)?;
                    // Means, and then mean squares.
                    let mean = |k: usize| {
                        let power = |path: &DrawnPath| path.states[at * dim + k % dim].powi(1 + (k / dim) as i32);
                        found.paths.iter().map(power).sum::<f64>() / found.paths.len() as f64
                    };
                    Ok((0..2 * dim).map(mean).collect::<Vec<f64>>())
                };
                let theirs = |seed: u64| plain_smoother(&model, &times, &slices, (particles, seed), at);
                let runs = 0..2 * PLAIN as u64;
                let ours: Vec<Vec<f64>> = runs.clone().into_par_iter().map(ours).collect::<Result<_>>()?;
                let theirs: Vec<Vec<f64>> = runs.into_par_iter().map(theirs).collect::<Result<_>>()?;
                for i in 0..dim {
                    let [(a, a_error), (b, b_error)] = [&ours, &theirs].map(|all| mean_of(all.iter().map(|m| m[i])));
                    all.push((a - b) / a_error.hypot(b_error));
                    let (square, _) = mean_of(ours.iter().map(|m| m[dim + i]));
                    shares.push((a - b) / (square - a * a).sqrt());
                }
            }
            let (mean, error) = mean_of(all.iter().copied());
            let largest = all.iter().fold(0.0f64, |largest, z| largest.max(z.abs()));
            let sd = error * (all.len() as f64).sqrt();
            let difference = (shares.iter().map(|share| share * share).sum::<f64>() / shares.len() as f64).sqrt();
            println!(
                "| {dim} | {every} | {particles} | {} | {mean:+.2} | {sd:.2} | {largest:.1} | {difference:.3} |",
                all.len()
            );
        }
    }
    Ok(())
}

/// Mean and its standard error.
fn mean_of(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (spread / (count * (count - 1.0))).sqrt())
}

/// Grid, times and columns of 50 steps of a model, of which one in `every` is seen.
fn short_record(model: &GeneralModel, every: usize) -> Result<(TimeGrid, Vec<f64>, Vec<Vec<f64>>)> {
    let times = times(50, 0.1);
    let mut columns = simulate_general(model, &times, 7 + model.dim() as u64)?.columns;
    for column in &mut columns {
        column.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, y)| *y = f64::NAN);
    }
    // The plain filter steps from value to value.
    Ok((TimeGrid::new(&times, Some(times.len() - 1))?, times, columns))
}

/// Position seen, kicks on the velocity; damping, index, size of the kicks and observation noise learned.
fn velocity_spec() -> Result<GeneralSpec> {
    let drift = Formula::system(&[("x", "v"), ("v", "-c*v")], &[])?.with_bounds("c", Some(0.0), None)?;
    Ok(GeneralSpec {
        drift,
        sources: vec![SourceSpec { name: "kick".into(), family: stable(), on: vec![(1, Loading::Fixed(1.0))] }],
        rows: vec![RowSpec { name: "position".into(), of: vec![(0, 1.0)] }],
        starts: vec![StartSpec::Open; 2],
        held: Vec::new(),
    })
}

/// Parameters of simulated records with hidden velocity.
fn velocity(records: usize) -> Result<()> {
    let truth = [("c", 1.0), ("alpha[kick]", 1.5), ("scale[kick]", 1.0), ("observation_std[position]", 0.05)];
    let truth: Vec<(String, f64)> = truth.map(|(name, value)| (name.to_string(), value)).into();
    let spec = velocity_spec()?;
    let model = GeneralSpec { held: truth.clone(), ..spec.clone() }.closed()?;
    let times = times(300, 0.05);
    let grid = TimeGrid::new(&times, None)?;
    let mut all: Vec<Recovered> = truth.iter().map(|_| Recovered::default()).collect();
    for seed in 0..records as u64 {
        let columns = simulate_general(&model, &times, 100 + seed)?.columns;
        let started = cpu_seconds();
        let fit =
            fit_general(&spec, &grid, &[&columns[0]], &GeneralOptions { paths: 100, seed, ..Default::default() })?;
        let seconds = cpu_seconds() - started;
        for (recovered, (name, value)) in all.iter_mut().zip(&truth) {
            let found = fit.parameters.iter().find(|p| p.name == *name);
            recovered.add_estimate(found, *value);
            recovered.seconds += seconds;
            if let Some(p) = found {
                eprintln!("{seed} {name} {:.4} {:?} {:?}", p.value, p.std_error, p.interval);
            }
        }
    }
    println!(
        "\n## Hidden velocity\n\n{records} records of 301 positions; seconds are CPU time.\n\n{}",
        Recovered::HEAD
    );
    for ((name, value), found) in truth.iter().zip(&all) {
        println!("{}", found.row(name, *value));
    }
    Ok(())
}

/// OU columns with noise of their own and a common one, all of it learned, and the truth.
fn common(dim: usize) -> Result<(GeneralSpec, Vec<(String, f64)>)> {
    let names: Vec<String> = (0..dim).map(|i| format!("x{i}")).collect();
    let formulas: Vec<String> = names.iter().map(|name| format!("theta_{name}*(mu_{name} - {name})")).collect();
    let pairs: Vec<(&str, &str)> = names.iter().zip(&formulas).map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let mut drift = Formula::system(&pairs, &[])?;
    let mut truth = vec![("alpha[common]".to_string(), 1.4)];
    for (i, name) in names.iter().enumerate() {
        drift = drift.with_bounds(&format!("theta_{name}"), Some(0.0), None)?;
        let values = [
            (format!("theta_{name}"), 1.0),
            (format!("mu_{name}"), 0.0),
            (format!("load_{name}"), if i % 3 == 2 { -0.5 } else { 0.5 + 0.1 * i as f64 }),
            (format!("alpha[{name}]"), 1.7),
            (format!("scale[{name}]"), 0.5),
            (format!("observation_std[{name}]"), 0.05),
        ];
        truth.extend(values);
    }
    let own = |(i, name): (usize, &String)| SourceSpec {
        name: name.clone(),
        family: stable(),
        on: vec![(i, Loading::Fixed(1.0))],
    };
    let loadings = names.iter().enumerate().map(|(i, name)| (i, Loading::Named(format!("load_{name}")))).collect();
    let mut sources = vec![SourceSpec { name: "common".into(), family: stable(), on: loadings }];
    sources.extend(names.iter().enumerate().map(own));
    let rows = names.iter().enumerate().map(|(i, name)| RowSpec { name: name.clone(), of: vec![(i, 1.0)] }).collect();
    Ok((GeneralSpec { drift, sources, rows, starts: vec![StartSpec::Open; dim], held: Vec::new() }, truth))
}

/// A record with the jumps of all sources, per step.
fn record(model: &GeneralModel, times: &[f64], seed: u64) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut rng = stream(seed, 0);
    let mut z = model.start_mean.clone();
    let mut columns = vec![Vec::new(); model.rows.len()];
    let mut jumps = Vec::new();
    for (j, &t) in times.iter().enumerate() {
        if j > 0 {
            let (dt, from) = (t - times[j - 1], z.clone());
            model.drift.flow(times[j - 1], dt, from.as_slice(), z.as_mut_slice());
            let drawn: Vec<f64> = model.sources.iter().map(|source| source.noise.sample(dt, &mut rng)).collect();
            for (source, jump) in model.sources.iter().zip(&drawn) {
                z.axpy(*jump, &source.direction, 1.0);
            }
            jumps.push(drawn);
        }
        for (column, row) in columns.iter_mut().zip(&model.rows) {
            column.push(row.weights.dot(&z) + row.std * normal(&mut rng));
        }
    }
    (columns, jumps)
}

fn normal(rng: &mut StreamRng) -> f64 {
    StandardNormal.sample(rng)
}

/// Five columns with a common shock, 400 steps: loadings of so many records, and which jumps were common.
fn shock(records: usize) -> Result<()> {
    let (spec, truth) = common(5)?;
    let model = GeneralSpec { held: truth.clone(), ..spec.clone() }.closed()?;
    let times = times(400, 0.1);
    let grid = TimeGrid::new(&times, None)?;
    let asked: Vec<&(String, f64)> =
        truth.iter().filter(|(name, _)| name.starts_with("load") || name == "alpha[common]").collect();
    let mut all: Vec<Recovered> = asked.iter().map(|_| Recovered::default()).collect();
    let mut counts = [0; 3];
    for seed in 0..records as u64 {
        let (columns, jumps) = record(&model, &times, 11 + seed);
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let started = cpu_seconds();
        let fit = fit_general(&spec, &grid, &slices, &GeneralOptions { seed, ..Default::default() })?;
        let seconds = cpu_seconds() - started;
        for (recovered, (name, value)) in all.iter_mut().zip(&asked) {
            recovered.add_estimate(fit.parameters.iter().find(|p| p.name == *name), *value);
            recovered.seconds += seconds;
        }
        eprintln!("{seed}: {seconds:.0} s, {} iterations", fit.iterations);
        classify(&fit, &jumps).iter().zip(&mut counts).for_each(|(found, count)| *count += found);
    }
    println!("\n## Common shock\n\n{records} records of 5 columns and 401 rows.\n\n{}", Recovered::HEAD);
    for ((name, value), found) in asked.iter().zip(&all) {
        println!("{}", found.row(name, *value));
    }
    let [large, source, kind] = counts;
    println!(
        "\nOf {large} jumps larger than five scales, {source} were given to their source, and {kind} rightly to the common one or to any of the others."
    );
    Ok(())
}

/// Of the jumps larger than five scales, alone so large in their step: how many they are; how many are those of the source whose
/// jump is the largest, in scales, on most paths; of how many the likeliest of the two kinds, common and own, is right.
fn classify(fit: &GeneralFit, jumps: &[Vec<f64>]) -> [usize; 3] {
    let scale = |r: usize| {
        let (alpha, scale) = if r == 0 { (1.4, 1.0) } else { (1.7, 0.5) };
        scale * 0.1f64.powf(1.0 / alpha)
    };
    let mut counts = [0; 3];
    for (j, drawn) in jumps.iter().enumerate() {
        let sources = drawn.len();
        let large: Vec<usize> = (0..sources).filter(|&r| drawn[r].abs() > 5.0 * scale(r)).collect();
        let [source] = large[..] else { continue };
        let mut votes = vec![0; sources];
        for path in &fit.smoothed.paths {
            let size = |r: usize| path.jumps[j * sources + r].abs() / scale(r);
            votes[(0..sources).max_by(|&a, &b| size(a).total_cmp(&size(b))).unwrap_or(0)] += 1;
        }
        let half = fit.smoothed.paths.len() / 2;
        counts[0] += 1;
        counts[1] += usize::from(votes[source] > half);
        counts[2] += usize::from((votes[0] > half) == (source == 0));
    }
    counts
}

/// Ten columns with a common shock: what one evaluation and a whole fit take.
fn cost(steps: usize, only: Option<String>) -> Result<()> {
    let (spec, truth) = common(10)?;
    let held = GeneralSpec { held: truth, ..spec.clone() };
    let model = held.closed()?;
    let times = times(steps, 0.1);
    let (columns, _) = record(&model, &times, 5);
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let grid = TimeGrid::new(&times, None)?;
    println!("\n## Cost\n\n10 columns, {steps} steps, one common and ten own sources, 500 paths.\n");
    println!("| what | CPU seconds | log evidence | learned parameters | iterations |\n|---|---|---|---|---|");
    let both = [("given", held), ("learned", spec)].into_iter();
    for (what, spec) in both.filter(|(what, _)| only.as_deref().is_none_or(|only| only == *what)) {
        let started = cpu_seconds();
        let fit = fit_general(&spec, &grid, &slices, &GeneralOptions::default())?;
        println!(
            "| all {what} | {:.1} | {:.1} ± {:.2} | {} | {} |",
            cpu_seconds() - started,
            fit.smoothed.evidence.log_evidence,
            fit.smoothed.evidence.std_error,
            fit.parameters.iter().filter(|p| !p.fixed).count(),
            fit.iterations
        );
    }
    Ok(())
}
