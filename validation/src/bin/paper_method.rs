//! Measure the published method: `scripts/validate paper_method [what=divergence|law|elbo|cost] [iterations=300] [paths=500]
//! [steps=1000] [alpha=1.5] [gradient=unbiased|published] [rate=1e-4]`.

use anyhow::{Context, Result, bail};
use levytilt::drift::{NoDrift, Ou};
use levytilt::noise::TruncatedStable;
use levytilt::potential::Quadratic;
use levytilt::series::TimeGrid;
use levytilt::{Chain, Start, StateSpace, exact, simulate, stream};
use levytilt_paper::continuous::{JumpMeasure, TiltedProcess};
use levytilt_paper::potential::NeuralPotentialSpec;
use levytilt_paper::published::{Gradient, PaperOptions, PaperTrainer, RateTable, states};
use rand::RngExt;
use std::collections::BTreeMap;
use std::time::Instant;

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
    let gradient = match given.get("gradient").map(String::as_str) {
        None | Some("unbiased") => Gradient::Unbiased,
        Some("published") => Gradient::Published,
        Some(other) => bail!("gradient={other}: give unbiased or published"),
    };
    let options = PaperOptions {
        iterations: number("iterations", 300.0)? as usize,
        paths: number("paths", 500.0)? as usize,
        rate: number("rate", 1e-4)?,
        encoder_rate: 10.0 * number("rate", 1e-4)?,
        gradient,
        ..PaperOptions::default()
    };
    match given.get("what").map_or("divergence", String::as_str) {
        "divergence" => divergence(alpha),
        "law" => law(number("draws", 1e5)? as usize),
        "elbo" => elbo(alpha, number("steps", 1000.0)? as usize, &options),
        other => bail!("what={other}: give divergence, law or elbo"),
    }
}

/// The divergence rate three ways at 1000 random tilts.
fn divergence(alpha: f64) -> Result<()> {
    let mut rng = stream(1, 0);
    let measure = JumpMeasure::mixture(alpha, 1.0, 0.01, 1.0)?;
    let (mut refused, mut worst, mut far, mut drawn) = (0, 0.0f64, 0, 0);
    for _ in 0..1000 {
        let (a, delta) = ((8.0 * rng.random::<f64>() - 4.0).exp(), 4.0 * rng.random::<f64>() - 2.0);
        let tilted = measure.tilted(Quadratic::new(a, delta)?, 0.0);
        let Ok(table) = RateTable::new(&measure, a).at(delta) else { continue };
        match tilted.series() {
            Ok(series) => worst = worst.max((series.divergence_rate / table.divergence - 1.0).abs()),
            Err(_) => refused += 1,
        }
        if tilted.kappa() <= 5.0 {
            let found = tilted.monte_carlo(20_000, &mut rng)?.divergence_rate;
            drawn += 1;
            far += usize::from((found.value - table.divergence).abs() > 4.0 * found.std_error);
        }
    }
    println!(
        "series against quadrature: largest relative difference {worst:.1e}; refused by the series {refused} of 1000"
    );
    println!("Monte Carlo, 20 000 draws, κ ≤ 5: {far} of {drawn} beyond four standard errors");
    Ok(())
}

/// Two-sample Kolmogorov–Smirnov statistics of Algorithm 2 against exact thinning.
fn law(count: usize) -> Result<()> {
    let measure = JumpMeasure::mixture(1.5, 1.0, 0.05, 1.0)?;
    let steps = 40;
    let times: Vec<f64> = (0..=steps).map(|j| 0.005 * j as f64).collect();
    let potential = Quadratic::new(1.5, 0.8)?;
    let drift = NoDrift::new(1)?;
    let process = TiltedProcess::new(&drift, measure)?;
    let mut thinned = Vec::with_capacity(count);
    for k in 0..count {
        let path = process.path(0.0, &times, &vec![potential; steps], &mut stream(1, k as u64))?;
        thinned.push(path.states[steps]);
    }
    let noise = TruncatedStable::new(1.5, 1.0, 0.05, 1.0)?;
    let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.2, Start::Fixed(0.0))?;
    let grid = TimeGrid::new(&times, Some(steps))?;
    let values = vec![f64::NAN; times.len()];
    let chain = Chain::new(&model, &grid, &[&values])?;
    let options = PaperOptions { paths: count, ..PaperOptions::default() };
    let mut drawn: Vec<f64> =
        states(&chain, &vec![[1.5, 0.8]; times.len()], &options, 2)?.iter().map(|path| path[steps]).collect();
    thinned.sort_by(f64::total_cmp);
    drawn.sort_by(f64::total_cmp);
    let below = |sorted: &[f64], x: f64| sorted.partition_point(|&s| s <= x) as f64 / sorted.len() as f64;
    let gap = thinned.iter().chain(&drawn).map(|&x| (below(&thinned, x) - below(&drawn, x)).abs()).fold(0.0, f64::max);
    let limit = 2.23 * (2.0 / count as f64).sqrt();
    println!("{count} draws each: KS {gap:.5}, limit {limit:.5} (false alarms 1e-4)");
    Ok(())
}

/// Train at true parameters and print the ELBO beside the exact evidence, with seconds per iteration.
fn elbo(alpha: f64, steps: usize, options: &PaperOptions) -> Result<()> {
    let noise = TruncatedStable::new(alpha, 1.0, 0.01, 1.0)?;
    let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0)?), Box::new(noise), 0.1, Start::Fixed(0.0))?;
    let times: Vec<f64> = (0..=steps).map(|j| 10.0 * j as f64 / steps as f64).collect();
    let values = simulate(&model, &times, 1)?.observations;
    let grid = TimeGrid::new(&times, None)?;
    let evidence = exact::smooth(&model, &grid, &values, &exact::Options::default())?.log_evidence;
    println!("exact log evidence {evidence:.2}");
    let chain = Chain::new(&model, &grid, &[&values])?;
    let mut trainer = PaperTrainer::new(&chain, NeuralPotentialSpec::default(), options)?;
    let started = Instant::now();
    for iteration in 0..options.iterations {
        let (bound, _) = trainer.step(&chain, options, &[0.0, 0.0])?;
        if iteration % 20 == 0 || iteration + 1 == options.iterations {
            let seconds = started.elapsed().as_secs_f64() / (iteration + 1) as f64;
            match bound {
                Some(bound) => println!(
                    "{iteration:5}  ELBO {:.1} ± {:.1} = {:.1} − {:.1}, {seconds:.2} s per iteration",
                    bound.elbo, bound.std_error, bound.log_likelihood, bound.kl
                ),
                None => println!("{iteration:5}  the tilt was too strong for a path; {seconds:.2} s per iteration"),
            }
        }
    }
    Ok(())
}
