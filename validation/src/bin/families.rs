//! Learned parameters against the maximum of the reference evidence, for every family of noise with OU and a double well.
//!
//! scripts/validate families RECORDS [NOISE]
//!
//! Records of 300 steps of 0.01, all observed with standard deviation 0.1, no priors. The yardstick is the reference grid
//! (`exact::log_evidence`), which shares no windows, spacings or slopes with learning. The distance of a fit from its maximum
//! nearby is √(gᵀCg) with the slope g of the reference by differences and the covariance C of the fit: standard errors. To
//! see whether there is a higher maximum elsewhere, a second search begins at the truth: Nelder and Mead's simplex on the
//! reference evidence.

use anyhow::{Result, anyhow};
use levytilt::internals::exact::{Options, log_evidence};
use levytilt::internals::fit::{Fit, FitOptions, Spec, fit};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Parameter, parameters, rebuild};
use levytilt::noise::Family;
use levytilt::{Start, StateSpace, drift, simulate};
use levytilt_validation::truths::{SKEWED, SYMMETRIC, Truth};

const STEPS: usize = 300;
/// Evaluations of the second search, and the gain in nats from which its maximum counts as another one.
const EVALUATIONS: usize = 250;
const HIGHER: f64 = 0.1;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let records: u64 = words.first().ok_or_else(|| anyhow!("expected RECORDS [NOISE]"))?.parse()?;
    println!(
        "| noise | drift | records | way to the maximum, standard errors: rms | worst | higher maxima elsewhere, nats |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, values) in
        SYMMETRIC.into_iter().chain(SKEWED).filter(|(name, _)| words.get(1).is_none_or(|only| only == name))
    {
        for drift in ["ou", "double-well"] {
            row(drift, (name, values), records)?;
        }
    }
    Ok(())
}

fn row(drift: &'static str, truth: Truth, records: u64) -> Result<()> {
    let (mut ways, mut higher, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 1..=records {
        match one(drift, truth, seed) {
            Ok((way, gain)) => {
                ways.push(way);
                higher.extend((gain > HIGHER).then(|| format!("{gain:.1}")));
            }
            Err(error) => failed.push(format!("<!-- {} {drift} {seed}: {error} -->", truth.0)),
        }
    }
    let rms = (ways.iter().map(|w| w * w).sum::<f64>() / ways.len().max(1) as f64).sqrt();
    let worst = ways.iter().copied().fold(0.0, f64::max);
    let higher = if higher.is_empty() { "none".into() } else { higher.join(", ") };
    println!("| {} | {drift} | {} | {rms:.3} | {worst:.3} | {higher} |", truth.0, ways.len());
    failed.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Way to the maximum, and what the second search gains.
fn one(kind: &str, (family, values): Truth, seed: u64) -> Result<(f64, f64)> {
    let family = Family::named(family).ok_or_else(|| anyhow!("no noise {family}"))?;
    let own: Box<dyn drift::Drift> = match kind {
        "ou" => Box::new(drift::Ou::new(3.0, 1.0)?),
        _ => Box::new(drift::DoubleWell::new(4.0, 2.0)?),
    };
    let truth = StateSpace::new(own, family.build(values)?, 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=STEPS).map(|j| 0.01 * j as f64).collect();
    let seen = simulate(&truth, &times, 700 + seed)?.observations;
    let grid = TimeGrid::new(&times, None)?;
    let spec = Spec::new(drift::DriftFamily::named(kind).ok_or_else(|| anyhow!("no drift {kind}"))?, family);
    let options = FitOptions { priors: false, paths: 2, ..FitOptions::default() };
    let found = fit(&spec, &grid, &[&seen], &options)?;
    let evidence = |values: &[f64]| -> Option<f64> {
        let model = rebuild(&found.model, values).ok()?;
        log_evidence(&model, &grid, &seen, &Options::default()).ok().filter(|l| l.is_finite())
    };
    let all = parameters(&found.model);
    let here = values_of(&all);
    let top = evidence(&here).ok_or_else(|| anyhow!("no reference evidence at the fit"))?;
    let way = way(&found, &all, &evidence)?;
    let begin: Vec<f64> = all.iter().zip(values_of(&parameters(&truth))).map(|(p, v)| p.transform.forward(v)).collect();
    let value = |free: &[f64]| {
        let values: Vec<f64> = all.iter().zip(free).map(|(p, u)| p.transform.backward(*u)).collect();
        evidence(&values).unwrap_or(f64::NEG_INFINITY)
    };
    Ok((way, simplex(&begin, value) - top))
}

fn values_of(all: &[Parameter]) -> Vec<f64> {
    all.iter().map(|p| p.value).collect()
}

/// √(gᵀCg), with differences over a tenth of a standard error to either side.
fn way(found: &Fit, all: &[Parameter], evidence: &dyn Fn(&[f64]) -> Option<f64>) -> Result<f64> {
    let n = all.len();
    let mut slope = Vec::new();
    for (k, p) in all.iter().enumerate() {
        let step = 0.1 * found.covariance[k * n + k].sqrt();
        let at = |step: f64| {
            let mut values = values_of(all);
            values[k] = p.transform.backward(p.transform.forward(p.value) + step);
            evidence(&values).ok_or_else(|| anyhow!("no reference evidence beside the fit"))
        };
        slope.push((at(step)? - at(-step)?) / (2.0 * step));
    }
    let square: f64 = (0..n * n).map(|i| slope[i / n] * found.covariance[i] * slope[i % n]).sum();
    Ok(square.max(0.0).sqrt())
}

/// The largest value that Nelder and Mead's simplex finds from `begin`.
fn simplex(begin: &[f64], value: impl Fn(&[f64]) -> f64) -> f64 {
    let n = begin.len();
    let mut points: Vec<(f64, Vec<f64>)> = vec![(value(begin), begin.to_vec())];
    for k in 0..n {
        let mut moved = begin.to_vec();
        moved[k] += 0.3;
        points.push((value(&moved), moved));
    }
    let mut left = EVALUATIONS.saturating_sub(n + 1);
    while left > 0 {
        points.sort_by(|a, b| b.0.total_cmp(&a.0));
        let middle: Vec<f64> = (0..n).map(|i| points[..n].iter().map(|p| p.1[i]).sum::<f64>() / n as f64).collect();
        let at = |factor: f64, worst: &[f64]| -> (f64, Vec<f64>) {
            let moved: Vec<f64> = middle.iter().zip(worst).map(|(m, w)| m + factor * (m - w)).collect();
            (value(&moved), moved)
        };
        let worst = points[n].1.clone();
        let reflected = at(1.0, &worst);
        left -= 1;
        let next = if reflected.0 > points[0].0 {
            left = left.saturating_sub(1);
            let further = at(2.0, &worst);
            if further.0 > reflected.0 { further } else { reflected }
        } else if reflected.0 > points[n - 1].0 {
            reflected
        } else {
            left = left.saturating_sub(1);
            at(if reflected.0 > points[n].0 { 0.5 } else { -0.5 }, &worst)
        };
        if next.0 > points[n].0 {
            points[n] = next;
        } else {
            let best = points[0].1.clone();
            for point in &mut points[1..] {
                point.1.iter_mut().zip(&best).for_each(|(x, b)| *x = 0.5 * (*x + b));
                point.0 = value(&point.1);
                left = left.saturating_sub(1);
            }
        }
    }
    points.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max)
}
