//! Measure skewed noise: nodes of skewed stable laws against the law, recovery of the skew from simulated records, and the
//! gain over the symmetric family on a real one.
//!
//! `skew` prints the nodes, `skew recover [FAMILY] COUNT [ROWS]` fits COUNT records of ROWS values (500) per family, `skew FILE.csv
//! COLUMN ROWS` compares families on the first rows of a column.

use levytilt::drift::{DriftFamily, Ou};
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::law::{Parametrization, StableLaw};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Noise, SkewedStable};
use levytilt::{Result, Start, StateSpace, simulate};
use levytilt_validation::recovered::Recovered;
use std::error::Error;
use std::time::Instant;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => nodes()?,
        ["recover", count] => recover_all(&TRUTHS, count.parse()?, ROWS)?,
        ["recover", family, count, ref rows @ ..] if rows.len() < 2 => {
            let rows = rows.first().map_or(Ok(ROWS), |rows| rows.parse())?;
            match TRUTHS.iter().find(|truth| truth.0 == family) {
                Some(truth) => recover_all(std::slice::from_ref(truth), count.parse()?, rows)?,
                None => return Err(format!("{family} is not among the families").into()),
            }
        }
        [file, column, rows] => compare(file, column, rows.parse()?)?,
        _ => return Err("usage: skew | skew recover [FAMILY] COUNT [ROWS] | skew FILE.csv COLUMN ROWS".into()),
    }
    Ok(())
}

const CASES: [(f64, f64); 13] = [
    (0.5, 0.3),
    (0.5, 1.0),
    (0.6, 0.5),
    (0.77, 0.47),
    (0.77, 1.0),
    (0.85, -0.9),
    (1.0, 0.5),
    (1.0, -1.0),
    (1.2, 0.9),
    (1.5, -0.4),
    (1.5, 1.0),
    (1.8, 0.7),
    (1.95, -1.0),
];

fn nodes() -> Result<()> {
    println!("| α | skew | nodes | density in the bulk | distribution | heavy tails to 10⁶ scales | seconds |");
    println!("|---|---|---|---|---|---|---|");
    for (alpha, skew) in CASES {
        let begin = Instant::now();
        let nodes = SkewedStable::new(alpha, 1.0, skew)?.nodes(1.0)?;
        let seconds = begin.elapsed().as_secs_f64();
        let law = StableLaw::skewed(alpha, skew, 1.0, 0.0, Parametrization::S1)?;
        let error = |x: f64| ((nodes.log_density_value(x) - law.log_pdf(x)).exp() - 1.0).abs();
        let (low, high) = (law.quantile(0.0005)?, law.upper_quantile(0.0005)?);
        let (mut bulk, mut distribution, mut tails) = (0.0f64, 0.0f64, 0.0f64);
        for i in 0..=300 {
            let part = f64::from(i) / 300.0;
            let p = 0.0005 + 0.999 * part;
            let x = law.quantile(p)?;
            bulk = bulk.max(error(x)).max(error(low + (high - low) * part));
            distribution = distribution.max((nodes.cdf(x) - p).abs());
            for (side, edge) in [(-1.0, -low), (1.0, high)] {
                if 1.0 + side * skew > 1e-9 && edge < 1e6 {
                    let edge = edge.max(1.0);
                    tails = tails.max(error(side * edge * (1e6 / edge).powf(part)));
                }
            }
        }
        println!(
            "| {alpha} | {skew} | {} | {bulk:.1e} | {distribution:.1e} | {tails:.1e} | {seconds:.2} |",
            nodes.len()
        );
    }
    Ok(())
}

const TRUTHS: [(&str, &[f64]); 5] = [
    ("skewed-stable", &[1.5, 1.0, 0.6]),
    ("skewed-tempered-stable", &[1.3, 1.0, 0.5, 0.8]),
    ("skewed-variance-gamma", &[1.0, 0.3, -0.8]),
    ("skewed-nig", &[1.0, 0.8, 0.6]),
    ("skewed-compound-poisson", &[2.0, 0.5, 0.8]),
];

fn spec(family: &str) -> Spec {
    Spec::new(DriftFamily::named("ou").expect("a drift"), Family::named(family).expect("a family"))
}

/// Values of a record.
const ROWS: u32 = 500;

fn recover_all(truths: &[(&str, &[f64])], count: u64, rows: u32) -> Result<()> {
    println!("{}", Recovered::HEAD);
    truths.iter().try_for_each(|(family, values)| recover(family, values, count, rows))
}

/// Records of values of dx = (1 − x)/2 dt + dL, seen every half unit with error 0.1. Twice the gain of the log evidence from the
/// truth to the estimate has on average the number of parameters, if the evidence is right, its maximum is found and the record
/// is long; where it is so and estimates are biased, the maximum itself is.
fn recover(family: &str, values: &[f64], count: u64, rows: u32) -> Result<()> {
    let truth = values[values.len() - 1];
    let name = if family == "skewed-compound-poisson" { "jump_mean" } else { "skew" };
    let times: Vec<f64> = (0..rows).map(|j| 0.5 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, None)?;
    let (mut found, mut gains) = (Recovered::default(), Vec::new());
    let begin = Instant::now();
    for seed in 0..count {
        let noise = Family::named(family).expect("a family").build(values)?;
        let model = StateSpace::new(Box::new(Ou::new(0.5, 1.0)?), noise, 0.1, Start::Fixed(1.0))?;
        let column = simulate(&model, &times, seed)?.column(0);
        let options = FitOptions { paths: 50, seed, ..FitOptions::default() };
        match fit(&spec(family), &grid, &[&column], &options) {
            Ok(learned) => {
                found.add(&learned, name, truth);
                let own = Family::named(family).expect("a family").parameters.iter().zip(values);
                let held = own.fold(spec(family), |spec, (entry, value)| spec.fix(entry.name, *value));
                let held = held.fix("theta", 0.5).fix("mu", 1.0).fix("observation_std", 0.1);
                // The start is as wide as that of the fit, which depends on the error that it guessed.
                let (x0, x0_std) = match learned.model.dimensions[0].start {
                    Start::Fixed(x0) => (Some(x0), None),
                    Start::Gaussian { mean, std } => (Some(mean), Some(std)),
                };
                let there = fit(&Spec { x0, x0_std, ..held }, &grid, &[&column], &options)?;
                gains.push(2.0 * (learned.evidence.log_evidence - there.evidence.log_evidence));
            }
            Err(_) => found.failed += 1,
        }
    }
    found.seconds = begin.elapsed().as_secs_f64();
    println!("{}", found.row(&format!("{name} of `{family}`"), truth));
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let error = (gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "<!-- {rows} rows: 2·gain {mean:.2} ± {error:.2} for {} parameters, least {least:.2} -->",
        values.len() + 3
    );
    Ok(())
}

fn compare(file: &str, column: &str, rows: usize) -> std::result::Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let place = header.iter().position(|name| *name == column).ok_or("no such column")?;
    let value = |line: &str| line.split(',').nth(place).and_then(|field| field.parse().ok()).unwrap_or(f64::NAN);
    let values: Vec<f64> = lines.take(rows).map(value).collect();
    let times: Vec<f64> = (0..values.len()).map(|j| j as f64).collect();
    let grid = TimeGrid::new(&times, None)?;
    println!("| noise | log evidence | parameters | seconds |\n|---|---|---|---|");
    for family in ["stable", "skewed-stable", "nig", "skewed-nig"] {
        let begin = Instant::now();
        let options = FitOptions { paths: 50, ..FitOptions::default() };
        let found = fit(&spec(family), &grid, &[&values], &options)?;
        let estimates: Vec<String> = found.parameters.iter().map(|p| format!("{} {:.4}", p.name, p.value)).collect();
        let seconds = begin.elapsed().as_secs_f64();
        println!("| {family} | {:.2} | {} | {seconds:.1} |", found.evidence.log_evidence, estimates.join(", "));
    }
    Ok(())
}
