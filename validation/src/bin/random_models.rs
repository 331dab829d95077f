//! Fit many random models to random records and ask whether anything but a finite result or a named error comes out:
//! `scripts/validate random_models COUNT [FIRST]`.
//!
//! Every record has 2 to 24 values, even or (fewer) uneven in time, dense or sparse, made by a random noise, drift and size (10⁻⁶ to 10⁶), with missing
//! values and sometimes an outlier; it is fitted by a noise, drift and method that need not be those that made it, with
//! parameters learned or given. Where the exact evidence of the model found can be had, the bound must not exceed it.

use levytilt::drift::DRIFT_FAMILIES;
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::posterior::{WeightSummary, walk};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Method};
use levytilt::internals::{Chain, exact};
use levytilt::noise::FAMILIES;
use levytilt::{StreamRng, stream};
use rand::RngExt;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How one trial ended.
enum End {
    /// A finite fit; how far the bound is above the exact evidence, in standard errors, where that is known.
    Fitted(Option<f64>),
    /// An error with a name.
    Refused(String),
    /// What must never happen.
    Broken(String),
}

/// Trials side by side, after which a row is printed.
const BATCH: u64 = 100;
/// Paths by which a suspicious bound is judged.
const FRESH: usize = 20_000;

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|w| w.parse().ok()).collect();
    let (count, first) = (words.first().copied().unwrap_or(100), words.get(1).copied().unwrap_or(1));
    std::panic::set_hook(Box::new(|_| {}));
    let mut tally = Tally { worst: f64::NEG_INFINITY, ..Tally::default() };
    println!("| trials | fitted | ELBO compared with exact | largest excess, standard errors | refused | failures |");
    println!("|---|---|---|---|---|---|");
    for batch in (first..first + count).step_by(BATCH as usize) {
        let seeds = batch..(batch + BATCH).min(first + count);
        let ends: Vec<(u64, End)> = seeds.into_par_iter().map(|seed| (seed, trial(seed))).collect();
        ends.into_iter().for_each(|(seed, end)| tally.add(seed, end));
        tally.print();
    }
    tally.refused.iter().for_each(|(why, times)| println!("- {times} × {why}"));
    tally.broken.iter().for_each(|what| println!("- BROKEN {what}"));
    if !tally.broken.is_empty() {
        std::process::exit(1);
    }
}

/// How all trials so far ended.
#[derive(Default)]
struct Tally {
    trials: usize,
    fitted: usize,
    compared: usize,
    worst: f64,
    refused: BTreeMap<String, usize>,
    broken: Vec<String>,
}

impl Tally {
    fn add(&mut self, seed: u64, end: End) {
        self.trials += 1;
        match end {
            End::Fitted(above) => {
                self.fitted += 1;
                self.compared += usize::from(above.is_some());
                let above = above.unwrap_or(f64::NEG_INFINITY);
                self.worst = above.max(self.worst);
                if above > 3.0 {
                    self.broken.push(format!("trial {seed}: bound {above:.1} standard errors above the evidence"));
                }
            }
            End::Refused(why) => *self.refused.entry(why).or_default() += 1,
            End::Broken(why) => self.broken.push(format!("trial {seed}: {why}")),
        }
    }

    fn print(&self) {
        let Self { trials, fitted, compared, worst, .. } = self;
        let (refused, broken) = (self.refused.values().sum::<usize>(), self.broken.len());
        println!("| {trials} | {fitted} | {compared} | {worst:.2} | {refused} | {broken} |");
    }
}

fn trial(seed: u64) -> End {
    catch_unwind(AssertUnwindSafe(|| attempt(seed))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|s| s.to_string()));
        End::Broken(format!("panic: {}", text.unwrap_or_default()))
    })
}

fn attempt(seed: u64) -> End {
    let mut rng = stream(seed, 0);
    let size = 10f64.powf(rng.random_range(-6.0..6.0));
    let (times, values) = record(&mut rng, size);
    let drift = pick(DRIFT_FAMILIES, &mut rng);
    let noise = pick(FAMILIES, &mut rng);
    let mut spec = Spec::new(drift, noise);
    for name in noise.parameters.iter().map(|entry| entry.name).chain(["observation_std"]) {
        let value = given(name, size, &mut rng);
        if rng.random_bool(0.3) {
            spec = spec.fix(name, value);
        }
    }
    let methods = [Method::Auto, Method::Auto, Method::Sweep, Method::Sweep, Method::GaussianSum, Method::Grid];
    let method = methods[rng.random_range(0..methods.len())];
    // A multiple of the gaps, so that even records have even steps.
    let steps = (times.len() - 1) * rng.random_range(1..4);
    let learn = LearnOptions { method, iterations: 4, ..LearnOptions::default() };
    let options = FitOptions { paths: 40, seed, learn, ..FitOptions::default() };
    let found =
        TimeGrid::new(&times, Some(steps)).and_then(|grid| Ok((fit(&spec, &grid, &[&values], &options)?, grid)));
    let (found, grid) = match found {
        Ok(found) => found,
        Err(error) => return End::Refused(kind(&error.to_string())),
    };
    if let Some(what) = not_finite(&found) {
        return End::Broken(format!("{what} is not finite ({} {} {method:?})", drift.name, noise.name));
    }
    let exact = exact::log_evidence(&found.model, &grid, &values, &exact::Options::default());
    End::Fitted(exact.ok().map(|exact| excess(&found, &grid, &values, exact, seed)))
}

/// Standard errors by which the bound is above the exact evidence.
///
/// Where the bound is tight, one set of 40 paths in some 500 is beyond three of its errors by chance: such a trial is
/// judged by [`FRESH`] new paths under the same potentials.
fn excess(found: &Fit, grid: &TimeGrid, values: &[f64], exact: f64, seed: u64) -> f64 {
    let above = |bound: &WeightSummary| (bound.elbo - exact - 1e-3) / bound.elbo_std_error.max(1e-3);
    let first = above(&found.summary);
    if first <= 3.0 {
        return first;
    }
    let chain = Chain::new(&found.model, grid, &[values]).expect("the fit had the same chain");
    let paths = walk(&chain, &found.potentials, FRESH, seed + 1);
    above(&WeightSummary::new(&paths.log_weights()))
}

/// Times and values of a random record.
fn record(rng: &mut StreamRng, size: f64) -> (Vec<f64>, Vec<f64>) {
    let even = rng.random_bool(0.8);
    // Every length of a step has tables of its own: uneven records take much longer.
    let count = rng.random_range(2..if even { 25 } else { 8 });
    let gap = 10f64.powf(rng.random_range(-3.0..2.0));
    let (mut t, mut x) = (0.0, size * rng.random_range(-3.0..3.0));
    let tail = rng.random_range(0.5..4.0);
    let (mut times, mut values) = (Vec::new(), Vec::new());
    for _ in 0..count {
        times.push(t);
        values.push(if rng.random_bool(0.1) { f64::NAN } else { x });
        t += if even { gap } else { gap * rng.random_range(0.01..1.0) };
        // Moves with power tails of exponent `tail`.
        let far = rng.random_range(1e-6f64..1.0).powf(-1.0 / tail);
        x = 0.9 * x + 0.1 * size * far.min(1e4) * rng.random_range(-1.0..1.0);
    }
    (times, values)
}

fn pick<'a, T>(all: &'a [T], rng: &mut StreamRng) -> &'a T {
    &all[rng.random_range(0..all.len())]
}

/// A value for a parameter that is no nonsense.
fn given(name: &str, size: f64, rng: &mut StreamRng) -> f64 {
    match name {
        "alpha" => rng.random_range(0.6..1.95),
        "scale" | "observation_std" => size * 10f64.powf(rng.random_range(-2.0..1.0)),
        _ => 10f64.powf(rng.random_range(-1.0..1.0)),
    }
}

/// The first figure of a fit that is not a finite number.
fn not_finite(fit: &Fit) -> Option<String> {
    let mut figures: Vec<(String, f64)> = fit.parameters.iter().map(|p| (p.name.clone(), p.value)).collect();
    figures.extend([("bound".into(), fit.summary.elbo), ("evidence".into(), fit.evidence.log_evidence)]);
    figures.push(("effective size".into(), fit.summary.effective_sample_size));
    // Weights that are all equal have no tail: k̂ is −∞ then.
    figures.extend((fit.summary.k_hat != f64::NEG_INFINITY).then_some(("k-hat".into(), fit.summary.k_hat)));
    for (j, m) in fit.marginals[0].iter().enumerate() {
        figures.extend([(format!("mean {j}"), m.mean), (format!("sd {j}"), m.sd)]);
    }
    figures.into_iter().find(|(_, figure)| !figure.is_finite()).map(|(name, _)| name)
}

/// An error without its numbers.
fn kind(error: &str) -> String {
    error
        .chars()
        .map(|c| if c.is_ascii_digit() { '#' } else { c })
        .collect::<String>()
        .replace("##", "#")
        .chars()
        .take(90)
        .collect()
}
