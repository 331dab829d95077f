//! Learn α from many short series together: its error against pooling all increments, and the states against separate fits.
//!
//! Arguments: number of series, number of panels.

use levytilt::drift::{DriftFamily, Ou};
use levytilt::internals::fit::{Fit, FitOptions, Record, Spec, fit, fit_panel};
use levytilt::internals::law::StableLaw;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::Share;
use levytilt::noise::{Family, Stable};
use levytilt::score::{Estimator, Sample};
use levytilt::{Result, Start, StateSpace, simulate};
use rayon::prelude::*;
use std::time::Instant;

const POINTS: usize = 60;
const STEP: f64 = 0.1;
const ALPHA: f64 = 1.5;
const THETA: f64 = 2.0;
const ERROR: f64 = 0.1;

/// A panel, its true states and the noise of every step in units of its scale.
struct Made {
    records: Vec<Record>,
    states: Vec<Vec<f64>>,
    noise: Vec<f64>,
}

fn main() -> Result<()> {
    let argument = |k: usize, usual: u64| std::env::args().nth(k).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (series, panels) = (argument(1, 500), argument(2, 10));
    println!(
        "| panel | α, all increments | α, shared | standard error | mean α of separate fits | CRPS, shared − separate (95% interval) | time against separate fits |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (mut pooled, mut shared, mut alone) = (0.0, 0.0, 0.0);
    for panel in 0..panels {
        let [a, b, c] = one(panel, series)?.map(|alpha| (alpha - ALPHA).powi(2) / panels as f64);
        (pooled, shared, alone) = (pooled + a, shared + b, alone + c);
    }
    println!();
    println!(
        "root mean square error of α: {:.4} from all increments, {:.4} shared, ratio {:.2}; mean of separate fits {:.4}",
        pooled.sqrt(),
        shared.sqrt(),
        (shared / pooled).sqrt(),
        alone.sqrt()
    );
    Ok(())
}

/// α from the true increments of all series, shared, and on average over separate fits.
fn one(panel: u64, series: u64) -> Result<[f64; 3]> {
    let Made { records, states, noise } = make(panel, series)?;
    let spec = Spec::new(DriftFamily::named("ou").expect("a drift"), Family::named("stable").expect("a family"));
    let spec = spec.fix("observation_std", ERROR);
    let options = FitOptions { paths: 200, ..FitOptions::default() };
    let started = Instant::now();
    let alone: Vec<Fit> =
        records.par_iter().map(|r| fit(&spec, &r.grid, &[&r.values], &options)).collect::<Result<_>>()?;
    let separate = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let together = fit_panel(&spec, &records, &[Share { name: "alpha".into(), pooled: false }], &options)?;
    let ratio = started.elapsed().as_secs_f64() / separate;
    let alpha = &together.shared.shared[0];
    let found: Vec<Fit> = together.fits.into_iter().collect::<Result<_>>()?;
    let differences: Vec<f64> = (found.iter().zip(&alone).zip(&states))
        .map(|((together, alone), states)| Ok(crps(together, states)? - crps(alone, states)?))
        .collect::<Result<_>>()?;
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let error = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    let of_alone = alone.iter().filter_map(|fit| Some(fit.parameter("alpha")?.value)).sum::<f64>() / n;
    let pooled = likeliest(&noise)?;
    println!(
        "| {} | {pooled:.4} | {:.4} | {:.4} | {of_alone:.4} | {mean:.5} ({:.5} to {:.5}) | {ratio:.2} |",
        panel + 1,
        alpha.value,
        alpha.std_error,
        mean - 1.96 * error,
        mean + 1.96 * error
    );
    Ok([pooled, alpha.value, of_alone])
}

fn make(panel: u64, series: u64) -> Result<Made> {
    let times: Vec<f64> = (0..POINTS).map(|j| STEP * j as f64).collect();
    let mut made = Made { records: Vec::new(), states: Vec::new(), noise: Vec::new() };
    for i in 0..series {
        // Levels and scales differ from series to series.
        let (mu, scale) = ((i % 7) as f64, 0.5 * 4f64.powf((i % 11) as f64 / 10.0));
        let model = StateSpace::new(
            Box::new(Ou::new(THETA, mu)?),
            Box::new(Stable::new(ALPHA, scale)?),
            ERROR,
            Start::Fixed(mu),
        )?;
        let found = simulate(&model, &times, 1_000_000 * (panel + 1) + i)?;
        let (decay, unit) = ((-THETA * STEP).exp(), scale * STEP.powf(1.0 / ALPHA));
        made.noise.extend(found.path.windows(2).map(|pair| (pair[1] - mu - (pair[0] - mu) * decay) / unit));
        made.records.push(Record { grid: TimeGrid::new(&times, None)?, values: found.observations });
        made.states.push(found.path);
    }
    Ok(made)
}

/// Mean CRPS of the posterior of the states.
fn crps(fit: &Fit, states: &[f64]) -> Result<f64> {
    let one =
        |(j, &x): (usize, &f64)| Sample::new(&fit.paths.column(0, j).collect::<Vec<_>>())?.crps(x, Estimator::Fair);
    Ok(states.iter().enumerate().map(one).sum::<Result<f64>>()? / states.len() as f64)
}

/// The index with the highest likelihood of draws of the standard law, by golden sections.
fn likeliest(draws: &[f64]) -> Result<f64> {
    let of = |alpha: f64| -> Result<f64> {
        let law = StableLaw::new(alpha, 1.0)?;
        Ok(draws.par_iter().map(|&x| law.log_pdf(x)).sum())
    };
    let (mut low, mut high) = (1.05, 1.95);
    while high - low > 1e-5 {
        let (a, b) = (high - 0.618_034 * (high - low), low + 0.618_034 * (high - low));
        if of(a)? < of(b)? { low = a } else { high = b }
    }
    Ok(0.5 * (low + high))
}
