//! Print tables of models whose drift is nonlinear in several states: evidence against a plain filter and against the affine
//! filter, and recovery of parameters.
//!
//! `scripts/validate nonlinear` (`agreement`, `affine`, `recovery` or `profile` as an argument prints one table; a number after it
//! says how many particles the plain filter has, or how many records; a name after that says which model, a number after
//! the name which α).

use levytilt::drift::Formula;
use levytilt::internals::general::{
    FilterOptions, GeneralChain, GeneralModel, GeneralOptions, GeneralSpec, Guide, Loading, RowSpec, SourceSpec,
    StartSpec, fit_general, simulate_general, smooth, smooth_nonlinear,
};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::Family;
use levytilt::{Error, Result, stream};
use levytilt_validation::combine;
use levytilt_validation::cpu::cpu_seconds;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::time::Instant;

fn main() -> Result<()> {
    let argument = |n: usize| std::env::args().nth(n);
    let (what, count) = (argument(1), argument(2).and_then(|count| count.parse().ok()));
    let wanted = |name: &str| what.as_deref().is_none_or(|what| what == name);
    let chosen = argument(3);
    let models: Vec<&Written> = MODELS.iter().filter(|m| chosen.as_deref().is_none_or(|name| name == m.name)).collect();
    if wanted("agreement") {
        let alphas = argument(4).and_then(|alpha| alpha.parse().ok()).map_or(vec![1.2, 1.5, 1.9], |alpha| vec![alpha]);
        agreement(&models, &alphas, count.unwrap_or(50_000))?;
    }
    if wanted("affine") {
        affine()?;
    }
    if wanted("recovery") {
        recovery(&models, count.unwrap_or(10))?;
    }
    if wanted("profile") {
        profile(&models, count.unwrap_or(50_000))?;
    }
    Ok(())
}

/// A model as a settings file would write it: the first state is seen.
struct Written {
    name: &'static str,
    states: &'static [(&'static str, &'static str)],
    /// States with noise of their own, and the scale of it.
    kicked: &'static [usize],
    scale: f64,
    /// Parameters of the drift with their values; all positive.
    values: &'static [(&'static str, f64)],
    start: &'static [f64],
    step: f64,
}

const MODELS: [Written; 4] = [
    Written {
        name: "wells",
        states: &[("x", "x - x^3 + k*(y - x)"), ("y", "y - y^3 + k*(x - y)")],
        kicked: &[0, 1],
        scale: 0.5,
        values: &[("k", 0.5)],
        start: &[1.0, -1.0],
        step: 0.1,
    },
    Written {
        name: "oscillator",
        states: &[("x", "v"), ("v", "m*(1 - x^2)*v - x")],
        kicked: &[1],
        scale: 0.5,
        values: &[("m", 1.0)],
        start: &[1.0, 0.0],
        step: 0.1,
    },
    Written {
        name: "predator",
        states: &[("u", "a*(1 - exp(v))"), ("v", "b*(exp(u) - 1)")],
        kicked: &[0, 1],
        scale: 0.1,
        values: &[("a", 1.0), ("b", 1.0)],
        start: &[0.5, 0.0],
        step: 0.1,
    },
    Written {
        name: "spikes",
        states: &[("v", "v - v^3/3 - w + 0.5"), ("w", "e*(v + 0.7 - 0.8*w)")],
        kicked: &[0],
        scale: 0.2,
        values: &[("e", 0.08)],
        start: &[-1.0, -0.5],
        step: 0.5,
    },
];

const STD: f64 = 0.1;

impl Written {
    fn spec(&self) -> Result<GeneralSpec> {
        let mut drift = Formula::system(self.states, &[])?;
        for (name, value) in self.values {
            drift = drift.with_bounds(name, Some(0.0), None)?.with_guess(name, 0.5 * value)?;
        }
        let family = Family::named("stable").unwrap_or(&levytilt::noise::FAMILIES[0]);
        let source = |&i: &usize| SourceSpec {
            name: format!("on_{}", self.states[i].0),
            family,
            on: vec![(i, Loading::Fixed(1.0))],
        };
        Ok(GeneralSpec {
            drift,
            sources: self.kicked.iter().map(source).collect(),
            rows: vec![RowSpec { name: "seen".into(), of: vec![(0, 1.0)] }],
            starts: self.start.iter().map(|&mean| StartSpec::Gaussian { mean, std: 0.3 }).collect(),
            held: Vec::new(),
        })
    }

    /// All parameters with their values.
    fn truth(&self, alpha: f64) -> Vec<(String, f64)> {
        let mut all: Vec<(String, f64)> = self.values.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        for &i in self.kicked {
            all.push((format!("alpha[on_{}]", self.states[i].0), alpha));
            all.push((format!("scale[on_{}]", self.states[i].0), self.scale));
        }
        all.push(("observation_std[seen]".into(), STD));
        all
    }

    fn model(&self, alpha: f64) -> Result<GeneralModel> {
        GeneralSpec { held: self.truth(alpha), ..self.spec()? }.closed()
    }

    fn times(&self, steps: usize) -> Vec<f64> {
        (0..=steps).map(|j| self.step * j as f64).collect()
    }
}

/// A filter without any look ahead: states moved by the flow, jumps drawn from their nodes.
fn plain_filter(model: &GeneralModel, times: &[f64], column: &[f64], particles: usize, seed: u64) -> Result<f64> {
    let (mut rng, dim, row) = (stream(seed, 19), model.dim(), &model.rows[0]);
    let mut states: Vec<f64> = Vec::with_capacity(particles * dim);
    for _ in 0..particles {
        for i in 0..dim {
            let z: f64 = StandardNormal.sample(&mut rng);
            states.push(model.start_mean[i] + model.start_covariance[(i, i)].sqrt() * z);
        }
    }
    let mut moved = states.clone();
    let mut log_evidence = 0.0;
    for (j, y) in column.iter().enumerate() {
        if j > 0 {
            let dt = times[j] - times[j - 1];
            model.drift.flow_many(times[j - 1], dt, &states, &mut moved);
            for source in &model.sources {
                let nodes = source.noise.nodes(dt)?;
                let mut sums = nodes.weights().to_vec();
                (1..sums.len()).for_each(|k| sums[k] += sums[k - 1]);
                for state in moved.chunks_exact_mut(dim) {
                    let point = rng.random::<f64>();
                    let node = sums.partition_point(|sum| *sum < point).min(nodes.len() - 1);
                    let z: f64 = StandardNormal.sample(&mut rng);
                    let jump = nodes.variances()[node].sqrt() * z;
                    state.iter_mut().zip(&source.direction).for_each(|(z, b)| *z += b * jump);
                }
            }
            states.copy_from_slice(&moved);
        }
        if y.is_nan() {
            continue;
        }
        let log = |state: &[f64]| {
            let miss = (y - row.weights.iter().zip(state).map(|(h, z)| h * z).sum::<f64>()) / row.std;
            if miss.is_finite() { -0.5 * miss * miss } else { f64::NEG_INFINITY }
        };
        let logs: Vec<f64> = states.chunks_exact(dim).map(log).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let total: f64 = shares.iter().sum();
        log_evidence += top + (total / particles as f64).ln() - (row.std * std::f64::consts::TAU.sqrt()).ln();
        let (offset, mut place, mut sum) = (rng.random::<f64>(), 0, shares[0]);
        for k in 0..particles {
            while sum < (k as f64 + offset) * total / particles as f64 && place + 1 < particles {
                place += 1;
                sum += shares[place];
            }
            moved[k * dim..(k + 1) * dim].copy_from_slice(&states[place * dim..(place + 1) * dim]);
        }
        states.copy_from_slice(&moved);
    }
    Ok(log_evidence)
}

/// Independent plain filters of one record.
const PLAIN: u64 = 8;

fn agreement(models: &[&Written], alphas: &[f64], particles: usize) -> Result<()> {
    println!("\n## Log evidence against a plain filter\n");
    println!(
        "| model | α | every | this filter | plain filter | particles | z | ratio of error × √(CPU time) | paths |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for model in models {
        for &alpha in alphas {
            for every in [1, 5] {
                agreement_row(model, alpha, every, particles)?;
            }
        }
    }
    Ok(())
}

fn agreement_row(written: &Written, alpha: f64, every: usize, particles: usize) -> Result<()> {
    let model = written.model(alpha)?;
    let times = written.times(50);
    let mut column = simulate_general(&model, &times, 3)?.columns.remove(0);
    column.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, y)| *y = f64::NAN);
    // The plain filter steps from value to value.
    let grid = TimeGrid::new(&times, Some(times.len() - 1))?;
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| Error::Numerical { what: "threads", why: error.to_string() })?;
    let (found, seconds) = alone.install(|| {
        let started = Instant::now();
        let options = FilterOptions { filters: 20, particles: 200, seed: 3 };
        let found = smooth_nonlinear(&model, &grid, &[&column], 200, &options)?;
        Ok::<_, Error>((found, started.elapsed().as_secs_f64()))
    })?;
    let runs: Vec<(f64, f64)> = (0..PLAIN)
        .into_par_iter()
        .map(|seed| {
            let started = Instant::now();
            plain_filter(&model, &times, &column, particles, seed).map(|log| (log, started.elapsed().as_secs_f64()))
        })
        .collect::<Result<_>>()?;
    let (plain, error) = combine(&runs.iter().map(|(log, _)| *log).collect::<Vec<_>>());
    let plain_seconds: f64 = runs.iter().map(|(_, seconds)| seconds).sum();
    let own = &found.evidence;
    let z = (own.log_evidence - plain) / own.std_error.hypot(error);
    let ratio = error * plain_seconds.sqrt() / (own.std_error * seconds.sqrt());
    println!(
        "| {} | {alpha} | {every} | {:.2} ± {:.3} | {plain:.2} ± {error:.3} | {PLAIN} × {particles} | {z:+.1} | {ratio:.1} | {:.0} |",
        written.name, own.log_evidence, own.std_error, found.effective_paths
    );
    Ok(())
}

/// Affine drifts through the filter for nonlinear ones, against the filter for affine ones.
fn affine() -> Result<()> {
    println!("\n## Affine drifts\n");
    println!("| noise | every | filter for nonlinear drifts | filter for affine drifts | z |\n|---|---|---|---|---|");
    for (family, values) in [("gaussian", vec![("scale", 1.0)]), ("stable", vec![("alpha", 1.5), ("scale", 1.0)])] {
        for every in [1, 5] {
            let drift = Formula::system(&[("x", "v"), ("v", "-v")], &[])?;
            let family = Family::named(family).unwrap_or(&levytilt::noise::FAMILIES[0]);
            let mut held = vec![("observation_std[seen]".to_string(), 0.05)];
            held.extend(values.iter().map(|(name, value)| (format!("{name}[kick]"), *value)));
            let spec = GeneralSpec {
                drift,
                sources: vec![SourceSpec { name: "kick".into(), family, on: vec![(1, Loading::Fixed(1.0))] }],
                rows: vec![RowSpec { name: "seen".into(), of: vec![(0, 1.0)] }],
                starts: vec![StartSpec::Gaussian { mean: 0.0, std: 0.1 }; 2],
                held,
            };
            let model = spec.closed()?;
            let times: Vec<f64> = (0..=100).map(|j| 0.1 * f64::from(j)).collect();
            let mut column = simulate_general(&model, &times, 5)?.columns.remove(0);
            column.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, y)| *y = f64::NAN);
            let grid = TimeGrid::new(&times, Some(100))?;
            let options = FilterOptions { filters: 20, particles: 200, seed: 3 };
            let own = smooth_nonlinear(&model, &grid, &[&column], 2, &options)?.evidence;
            let chain = GeneralChain::new(&model, &grid, &[&column])?;
            let known = smooth(&chain, &Guide::new(&chain)?, 2, &options)?.evidence;
            println!(
                "| {} | {every} | {:.3} ± {:.3} | {:.3} ± {:.3} | {:+.1} |",
                family.name,
                own.log_evidence,
                own.std_error,
                known.log_evidence,
                known.std_error,
                (own.log_evidence - known.log_evidence) / own.std_error.hypot(known.std_error)
            );
        }
    }
    Ok(())
}

/// The log evidence along the scale of the first source, from the values that a fit found, by both filters.
fn profile(models: &[&Written], particles: usize) -> Result<()> {
    println!("\n## Log evidence along a scale\n");
    println!("| model | scale / estimate | this filter | plain filter |\n|---|---|---|---|");
    for written in models {
        let times = written.times(200);
        let grid = TimeGrid::new(&times, None)?;
        let column = simulate_general(&written.model(1.7)?, &times, 100)?.columns.remove(0);
        let fit =
            fit_general(&written.spec()?, &grid, &[&column], &GeneralOptions { paths: 100, ..Default::default() })?;
        let name = format!("scale[on_{}]", written.states[written.kicked[0]].0);
        for by in [0.6, 0.8, 1.0, 1.25, 1.6] {
            let held =
                fit.parameters.iter().map(|p| (p.name.clone(), if p.name == name { by * p.value } else { p.value }));
            let model = GeneralSpec { held: held.collect(), ..written.spec()? }.closed()?;
            let own = smooth_nonlinear(
                &model,
                &grid,
                &[&column],
                2,
                &FilterOptions { filters: 20, particles: 200, seed: 3 },
            )?;
            let runs = (0..PLAIN).into_par_iter().map(|seed| plain_filter(&model, &times, &column, particles, seed));
            let (plain, error) = combine(&runs.collect::<Result<Vec<_>>>()?);
            let own = own.evidence;
            println!(
                "| {} | {by} | {:.2} ± {:.2} | {plain:.2} ± {error:.2} |",
                written.name, own.log_evidence, own.std_error
            );
        }
    }
    Ok(())
}

/// Parameters of simulated records, all of them learned.
fn recovery(models: &[&Written], records: usize) -> Result<()> {
    println!("\n## Parameters of simulated records\n");
    println!(
        "| model | record | parameter | truth | estimate | standard error | CPU seconds |\n|---|---|---|---|---|---|---|"
    );
    for written in models {
        let (model, truth) = (written.model(1.7)?, written.truth(1.7));
        let times = written.times(200);
        let grid = TimeGrid::new(&times, None)?;
        for seed in 0..records as u64 {
            let column = simulate_general(&model, &times, 100 + seed)?.columns.remove(0);
            let options = GeneralOptions { paths: 100, seed, ..Default::default() };
            let started = cpu_seconds();
            let fit = fit_general(&written.spec()?, &grid, &[&column], &options)?;
            let seconds = cpu_seconds() - started;
            for (name, value) in &truth {
                let Some(found) = fit.parameters.iter().find(|p| p.name == *name) else { continue };
                let error = found.std_error.map_or("–".into(), |error| format!("{error:.3}"));
                let name = format!("{} | {seed} | {name}", written.name);
                println!("| {name} | {value} | {:.3} | {error} | {seconds:.0} |", found.value);
            }
        }
    }
    Ok(())
}
