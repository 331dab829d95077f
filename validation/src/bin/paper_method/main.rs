//! Measure the published method: `scripts/validate paper_method [what=divergence|law|elbo|cost|family] [iterations=300] [paths=500]
//! [steps=1000] [span=10] [references=100] [width=256] [draws=100000] [alpha=1.5] [tau=0.01] [seed=1]
//! [gradient=unbiased|published] [rule=rms-prop|adam] [rate=1e-4] [rate_end=1] [rescale=0.95] [kl=quadrature|series|monte-carlo] [out=DIR]`.

mod elbo;

use anyhow::{Context, Result, bail};
use levytilt::drift::NoDrift;
use levytilt::internals::Chain;
use levytilt::internals::potential::Quadratic;
use levytilt::internals::series::TimeGrid;
use levytilt::noise::TruncatedStable;
use levytilt::{Start, StateSpace, StreamRng, stream};
use levytilt_paper::continuous::{JumpMeasure, TiltedProcess};
use levytilt_paper::published::{PaperOptions, RateTable, draw_paths};
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut given = BTreeMap::new();
    for word in std::env::args().skip(1) {
        let (name, value) = word.split_once('=').with_context(|| format!("{word}: give name=value"))?;
        given.insert(name.to_string(), value.to_string());
    }
    let number = |name: &str, usual: f64| -> Result<f64> {
        given.get(name).map_or(Ok(usual), |text| text.parse().with_context(|| format!("{name}={text} is not a number")))
    };
    let alpha = number("alpha", 1.5)?;
    let usual = PaperOptions::default();
    let references = number("references", usual.references as f64)?;
    let options = PaperOptions {
        references: references as usize,
        units: number("width", usual.units as f64)? as usize,
        sharpness: 2.0 * references,
        iterations: number("iterations", 300.0)? as usize,
        paths: number("paths", 500.0)? as usize,
        seed: number("seed", 1.0)? as u64,
        learning_rate: number("rate", usual.learning_rate)?,
        encoder_rate: 10.0 * number("rate", usual.learning_rate)?,
        rate_end: number("rate_end", usual.rate_end)?,
        rescale: number("rescale", usual.rescale)?,
        gradient: named(&given, "gradient", usual.gradient)?,
        optimiser: named(&given, "rule", usual.optimiser)?,
        kl: named(&given, "kl", usual.kl)?,
        ..usual
    };
    match given.get("what").map_or("divergence", String::as_str) {
        "divergence" => divergence(alpha, number("draws", 20_000.0)? as usize),
        "law" => law(number("draws", 1e5)? as usize, (number("steps", 200.0)? as usize, number("span", 0.2)?)),
        what @ ("elbo" | "cost" | "family") => {
            let record = elbo::Record {
                alpha,
                tau: number("tau", 0.01)?,
                steps: number("steps", 1000.0)? as usize,
                span: number("span", 10.0)?,
            };
            match what {
                "family" => elbo::family(&record, &options),
                _ => elbo::train(&record, &options, what == "elbo", given.get("out").map(PathBuf::from)),
            }
        }
        other => bail!("what={other}: give divergence, law, elbo, cost or family"),
    }
}

/// A setting by its name in a settings file.
fn named<T: DeserializeOwned>(given: &BTreeMap<String, String>, name: &str, usual: T) -> Result<T> {
    let Some(text) = given.get(name) else { return Ok(usual) };
    serde_json::from_value(text.as_str().into()).with_context(|| format!("{name}={text}"))
}

/// The divergence rate three ways at 1000 random tilts, and a fourth time by importance sampling. A mean of draws from the
/// prior is normal, and its stated error right, only if its skewness is small; where rare draws carry it, it is not. So
/// tilts are told apart by that skewness, which importance sampling knows.
fn divergence(alpha: f64, draws: usize) -> Result<()> {
    let mut rng = stream(1, 0);
    let measure = JumpMeasure::mixture(alpha, 1.0, 0.01, 1.0)?;
    let (mut refused, mut worst) = (0, 0.0f64);
    // Tilts, beyond 2 and 4 standard errors, and below the quadrature; the last row is importance sampling at all tilts.
    let mut seen = [[0; 4]; SKEWNESSES.len() + 2];
    for tilt in 0..1000 {
        let (a, delta) = ((8.0 * rng.random::<f64>() - 4.0).exp(), 4.0 * rng.random::<f64>() - 2.0);
        let tilted = measure.tilted(Quadratic::new(a, delta)?, 0.0);
        let table = RateTable::new(&measure, a).at(delta)?;
        match tilted.expansion() {
            Ok(series) => worst = worst.max((series.divergence_rate / table.divergence - 1.0).abs()),
            Err(_) => refused += 1,
        }
        let found = tilted.monte_carlo(draws, &mut rng)?.divergence_rate;
        let weighted = importance(&measure, (a, delta), draws, &mut stream(2, tilt))?;
        let row = SKEWNESSES.partition_point(|&limit| limit <= weighted.skewness);
        let count = |row: &mut [i32; 4], errors: f64| {
            let found = [true, errors.abs() > 2.0, errors.abs() > 4.0, errors < 0.0];
            row.iter_mut().zip(found).for_each(|(count, yes)| *count += i32::from(yes));
        };
        count(&mut seen[row], (found.value - table.divergence) / found.std_error);
        count(&mut seen[SKEWNESSES.len() + 1], (weighted.value - table.divergence) / weighted.std_error);
    }
    println!(
        "alpha {alpha}: series refused at {refused} of 1000 tilts, elsewhere within {worst:.1e} of the quadrature"
    );
    println!(
        "| {draws} draws: skewness of their mean | tilts | beyond 2 se | normal law | beyond 4 se | normal law | below the quadrature |"
    );
    println!("|---|---|---|---|---|---|---|");
    let names = ["below 0.05", "0.05 to 0.2", "0.2 to 0.5", "0.5 to 2", "2 or more", "importance sampling, all tilts"];
    for (name, [all, two, four, below]) in names.iter().zip(seen) {
        let [two_expected, four_expected] = [0.0455, 6.3e-5].map(|share| share * f64::from(all));
        println!("| {name} | {all} | {two} | {two_expected:.1} | {four} | {four_expected:.2} | {below} |");
    }
    Ok(())
}

/// Limits between the rows of tilts.
const SKEWNESSES: [f64; 4] = [0.05, 0.2, 0.5, 2.0];

/// A divergence rate by importance sampling.
struct Weighted {
    value: f64,
    std_error: f64,
    /// Skewness of the mean of as many draws from the prior, both signs of each.
    skewness: f64,
}

/// Draw jumps from q: half from the same mixture with a far heavier tail, half normal about ±δ with the potential's width, and
/// weight them by the prior's density over q, which is bounded; so is what they carry.
fn importance(measure: &JumpMeasure, (a, delta): (f64, f64), draws: usize, rng: &mut StreamRng) -> Result<Weighted> {
    let flat = JumpMeasure::mixture(0.25, 1.0, measure.tau(), 1.0)?;
    let normal = |y: f64, centre: f64| (-a * (y - centre).powi(2)).exp() * (a / std::f64::consts::PI).sqrt();
    let cost = |y: f64| {
        let log = a * y * (2.0 * delta - y);
        if log < -700.0 { 1.0 } else { log * log.exp() - log.exp_m1() }
    };
    let drawn: Vec<(f64, f64)> = (0..draws)
        .map(|_| {
            let (side, z): (f64, f64) = (rng.random(), rng.sample(StandardNormal));
            let y = match side {
                ..0.25 => delta + z / (2.0 * a).sqrt(),
                ..0.5 => -delta + z / (2.0 * a).sqrt(),
                _ => flat.unit() * flat.tau() * (rng.sample::<f64, _>(Exp1) / flat.alpha()).exp() * z,
            };
            let proposal = 0.5 * flat.density(y) / flat.rate() + 0.25 * (normal(y, delta) + normal(y, -delta));
            let weight = if y.is_finite() { measure.density(y) / measure.rate() / proposal } else { 0.0 };
            (weight, 0.5 * (cost(y) + cost(-y)))
        })
        .collect();
    let n = draws as f64;
    let mean = |value: &dyn Fn(f64, f64) -> f64| drawn.iter().map(|&(w, c)| value(w, c)).sum::<f64>() / n;
    let value = mean(&|w, c| w * c);
    let variance = mean(&|w, c| (w * c - value).powi(2));
    let [second, third] = [2, 3].map(|k| mean(&|w, c| w * (c - value).powi(k)));
    Ok(Weighted {
        value: measure.rate() * value,
        std_error: measure.rate() * (variance / n).sqrt(),
        skewness: third / second.powf(1.5) / n.sqrt(),
    })
}

/// Two-sample Kolmogorov–Smirnov statistics of Algorithm 2 against exact thinning: the increment over a time in steps, and
/// the number of jumps in it.
fn law(count: usize, (steps, span): (usize, f64)) -> Result<()> {
    let measure = JumpMeasure::mixture(1.5, 1.0, 0.05, 1.0)?;
    let times: Vec<f64> = (0..=steps).map(|j| span * j as f64 / steps as f64).collect();
    let limit = 2.23 * (2.0 / count as f64).sqrt();
    println!(
        "{count} paths each of {steps} steps over {span}; limit {limit:.5}: the same law is beyond it once in 10⁴ seeds"
    );
    println!("| a | c − x | KS of the increment | KS of the number of jumps |");
    for (a, c) in [(1.5, 0.8), (20.0, 0.2), (2.0, -2.0)] {
        let (drift, potential) = (NoDrift::new(1)?, Quadratic::new(a, c)?);
        let process = TiltedProcess::new(&drift, measure)?;
        let (mut thinned, mut drawn) = ([vec![], vec![]], [vec![], vec![]]);
        // Without drift thinning needs no grid.
        let paths: Vec<(f64, f64)> = (0..count)
            .into_par_iter()
            .map(|k| {
                let path = process.path(0.0, &[0.0, span], &[potential], &mut stream(1, k as u64))?;
                Ok((path.states[1], path.jumps.len() as f64))
            })
            .collect::<Result<_>>()?;
        (thinned[0], thinned[1]) = paths.into_iter().unzip();
        let noise = TruncatedStable::new(1.5, 1.0, 0.05, 1.0)?;
        let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.2, Start::Fixed(0.0))?;
        let grid = TimeGrid::new(&times, Some(steps))?;
        let values = vec![f64::NAN; times.len()];
        let chain = Chain::new(&model, &grid, &[&values])?;
        for first in (0..count).step_by(BATCH) {
            let options = PaperOptions { paths: BATCH.min(count - first), ..PaperOptions::default() };
            for path in draw_paths(&chain, &vec![[a, c]; times.len()], &options, 2 + first as u64)? {
                drawn[0].push(path.states[steps]);
                drawn[1].push(path.jumps.iter().map(|&jumps| f64::from(jumps)).sum());
            }
        }
        let [increment, number] = [0, 1].map(|k| two_sample(&mut thinned[k], &mut drawn[k]));
        println!("| {a} | {c} | {increment:.5} | {number:.5} |");
    }
    Ok(())
}

/// Paths that are held at once.
const BATCH: usize = 2000;

/// Largest distance of two empirical distribution functions.
fn two_sample(first: &mut [f64], second: &mut [f64]) -> f64 {
    first.sort_by(f64::total_cmp);
    second.sort_by(f64::total_cmp);
    let below = |sorted: &[f64], x: f64| sorted.partition_point(|&s| s <= x) as f64 / sorted.len() as f64;
    first.iter().chain(&*second).map(|&x| (below(first, x) - below(second, x)).abs()).fold(0.0, f64::max)
}
