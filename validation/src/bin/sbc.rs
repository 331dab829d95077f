//! Simulation-based calibration of `--bayes`: `scripts/validate sbc REPLICATES [DRAWS [SETTING [FILE]]]`; a SETTING of 6 is all
//! of them, and FILE keeps the replicates that are done.
//!
//! Parameters are drawn from a prior (standard deviation 0.3 on the free scale), a record of 80 steps of 0.05, each observed
//! with standard deviation 0.1, from the parameters, and draws from the posterior with that prior. The rank of the truth
//! among the weighted draws is uniform if inference is right.

use anyhow::{Result, anyhow};
use levytilt::drift::DriftFamily;
use levytilt::internals::fit::{FitOptions, Spec, fit, parameter_posterior};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Prior, parameters, rebuild};
use levytilt::noise::Family;
use levytilt::{simulate, stream};
use levytilt_validation::cpu::cpu_seconds;
use rand_distr::{Distribution, StandardNormal};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;

/// Drift, noise, middles of the priors in their order, columns.
type Setting = (&'static str, &'static str, &'static [f64], usize);

const SETTINGS: [Setting; 6] = [
    ("ou", "stable", &[3.0, 1.0, 1.5, 2.0], 1),
    ("double-well", "stable", &[4.0, 1.0, 1.5, 2.0], 1),
    ("ou", "nig", &[3.0, 1.0, 3.0, 1.0], 1),
    ("ou", "variance-gamma", &[3.0, 1.0, 2.0, 0.05], 1),
    ("double-well", "compound-poisson", &[4.0, 1.0, 10.0, 0.7], 1),
    ("ou", "stable", &[3.0, 1.0, 1.5, 2.0], 2),
];
const PRIOR_STD: f64 = 0.3;
const STEPS: usize = 80;
const STEP: f64 = 0.05;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize| words.get(k).map(|word| word.parse::<usize>()).transpose();
    let replicates = number(0)?.ok_or_else(|| anyhow!("expected REPLICATES [DRAWS [SETTING [FILE]]]"))?;
    let (draws, only) = (number(1)?.unwrap_or(200), number(2)?.filter(|k| *k < SETTINGS.len()));
    let mut journal = Journal::open(words.get(3).map(String::as_str))?;
    println!(
        "| drift | noise | columns | parameter | ranks | mean / its standard error | sd | KS distance / 99% band |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (k, setting) in SETTINGS.iter().enumerate().filter(|(k, _)| only.is_none_or(|only| only == *k)) {
        for seed in 1..=replicates as u64 {
            if !journal.rows.contains_key(&(k, seed)) {
                journal.add((k, seed), replicate(setting, 1000 * k as u64 + seed, draws))?;
            }
        }
        table(k, &journal);
    }
    Ok(())
}

/// Ranks by parameter and k̂ of one replicate, or nothing where it failed.
type Row = Option<(Vec<(String, f64)>, f64)>;

/// What was found for each setting and seed, kept in a file if there is one, so that a run goes on where another ended.
struct Journal {
    rows: BTreeMap<(usize, u64), Row>,
    file: Option<File>,
}

impl Journal {
    fn open(path: Option<&str>) -> Result<Self> {
        let mut rows = BTreeMap::new();
        let Some(path) = path else { return Ok(Self { rows, file: None }) };
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // A line that was cut short by the end of a run is done again.
        for (place, row) in text.lines().filter_map(|line| serde_json::from_str::<((usize, u64), Row)>(line).ok()) {
            rows.insert(place, row);
        }
        Ok(Self { rows, file: Some(File::options().create(true).append(true).open(path)?) })
    }

    fn add(&mut self, place: (usize, u64), found: Result<(Vec<(String, f64)>, f64)>) -> Result<()> {
        let row = found.inspect_err(|error| println!("<!-- {place:?}: {error} -->")).ok();
        if let Some(file) = &mut self.file {
            writeln!(file, "\n{}", serde_json::to_string(&(place, &row))?)?;
        }
        self.rows.insert(place, row);
        Ok(())
    }
}

fn table(k: usize, journal: &Journal) {
    let mut ranks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut failed, mut doubtful) = (0, 0);
    for (_, row) in journal.rows.iter().filter(|((setting, _), _)| *setting == k) {
        let Some((found, k_hat)) = row else {
            failed += 1;
            continue;
        };
        doubtful += usize::from(*k_hat > 0.7);
        found.iter().for_each(|(name, rank)| ranks.entry(name).or_default().push(*rank));
    }
    let (drift, noise, _, columns) = SETTINGS[k];
    for (name, ranks) in ranks {
        let count = ranks.len();
        let (mean, sd, distance) = judged(ranks);
        println!("| {drift} | {noise} | {columns} | {name} | {count} | {mean:+.1} | {sd:.3} | {distance:.2} |");
    }
    println!("<!-- {failed} failed, {doubtful} with k̂ above 0.7; {:.0} CPU s -->", cpu_seconds());
}

/// Names of the parameters with the ranks of their true values in (0, 1), and k̂.
fn replicate(
    &(drift, noise, middles, columns): &Setting,
    seed: u64,
    draws: usize,
) -> Result<(Vec<(String, f64)>, f64)> {
    let family = DriftFamily::named(drift).ok_or_else(|| anyhow!("no drift {drift}"))?;
    let noise = Family::named(noise).ok_or_else(|| anyhow!("no noise {noise}"))?;
    let mut rng = stream(seed, 1 << 40);
    let times: Vec<f64> = (0..=STEPS).map(|j| j as f64 * STEP).collect();
    let names = ["A", "B"];
    let mut spec = Spec { names: names[..columns].iter().map(|n| n.to_string()).collect(), ..Spec::new(family, noise) };
    let (mut values, mut truths) = (Vec::new(), Vec::new());
    for (i, name) in names[..columns].iter().enumerate() {
        let label = |plain: &str| if columns == 1 { plain.to_string() } else { format!("{plain}[{name}]") };
        let (first, second) = middles.split_at(family.parameters.len());
        let start = levytilt::Start::Fixed(0.0);
        let middle = levytilt::StateSpace::new(family.build(first)?, noise.build(second)?, 0.1, start)?;
        let mut truth = Vec::new();
        for p in parameters(&middle) {
            let mean = p.transform.forward(p.value);
            let z: f64 = StandardNormal.sample(&mut rng);
            if p.name == "observation_std" {
                spec = spec.fix(&label(&p.name), 0.1);
                truth.push(p.value);
                continue;
            }
            let value = p.transform.backward(mean + PRIOR_STD * z);
            spec.priors.push((label(&p.name), Prior { mean, std: PRIOR_STD }));
            truths.push((label(&p.name), value));
            truth.push(value);
        }
        spec = spec.fix(&label("x0"), 0.0);
        values.push(simulate(&rebuild(&middle, &truth)?, &times, 2 * seed + i as u64)?.observations);
    }
    // Records so short would be split, and the model with them.
    let grid = TimeGrid::unsplit(&times)?;
    let data: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    let options = FitOptions { paths: 2, seed, ..FitOptions::default() };
    let found = fit(&spec, &grid, &data, &options)?;
    let drawn = parameter_posterior(&found, &spec, (&grid, &data), true, (draws, seed))?;
    let rank = |(name, truth): &(String, f64)| {
        let i = drawn.names.iter().position(|n| n == name).ok_or_else(|| anyhow!("{name} was not drawn"))?;
        let below = drawn.draws.iter().zip(&drawn.weights).filter(|(draw, _)| draw[i] < *truth);
        Ok((name.clone(), below.map(|(_, w)| w).sum()))
    };
    Ok((truths.iter().map(rank).collect::<Result<_>>()?, drawn.k_hat.clamp(-9.0, 9.0)))
}

/// Mean of uniform ranks in standard errors, their standard deviation relative to that of uniform ones, and Kolmogorov's
/// distance as a share of the 99% band.
fn judged(mut ranks: Vec<f64>) -> (f64, f64, f64) {
    let n = ranks.len() as f64;
    let mean = ranks.iter().sum::<f64>() / n;
    let sd = (ranks.iter().map(|u| (u - 0.5).powi(2)).sum::<f64>() / n).sqrt();
    ranks.sort_by(f64::total_cmp);
    let apart = |(k, u): (usize, &f64)| ((k as f64 + 1.0) / n - u).abs().max((k as f64 / n - u).abs());
    let distance = ranks.iter().enumerate().map(apart).fold(0.0, f64::max);
    let unit = (1.0f64 / 12.0).sqrt();
    ((mean - 0.5) / (unit / n.sqrt()), sd / unit, distance / (1.628 / n.sqrt()))
}
