//! Learn α from many short series together: its error against pooling all increments, and the states against separate fits.
//!
//! Beside it the floor: the least standard error of an unbiased estimate of α that is not told what each series has for itself, from
//! the information in the slopes of the exact log evidence at the truth (Cramér and Rao).
//!
//! Arguments: number of series, number of panels, parameters to share (`alpha` if left out; `alpha,theta~`).

use levytilt::drift::{DriftFamily, Ou};
use levytilt::internals::exact::{Options, log_evidence};
use levytilt::internals::fit::{Fit, FitOptions, Record, Spec, fit, fit_panel};
use levytilt::internals::law::StableLaw;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::Share;
use levytilt::noise::{Family, Stable};
use levytilt::score::{Estimator, Sample};
use levytilt::{Result, Start, StateSpace, simulate};
use levytilt_validation::cpu::cpu_seconds;
use nalgebra::DMatrix;
use rayon::prelude::*;

const POINTS: usize = 60;
const STEP: f64 = 0.1;
const ALPHA: f64 = 1.5;
const THETA: f64 = 2.0;
const ERROR: f64 = 0.1;

/// A panel, its true states at latent times, and the noise between two observations in units of its scale.
struct Made {
    records: Vec<Record>,
    states: Vec<Vec<f64>>,
    noise: Vec<f64>,
    /// Level and scale of each series.
    own: Vec<[f64; 2]>,
}

/// What a panel showed.
struct Found {
    /// α from the true increments of all series, shared, and on average over separate fits.
    alphas: [f64; 3],
    /// CRPS of the states of each series, shared minus separate.
    differences: Vec<f64>,
    /// CPU seconds of the panel and of separate fits.
    seconds: [f64; 2],
    /// Least standard error of α from observations, and that of α from the true increments.
    floor: [f64; 2],
}

fn main() -> Result<()> {
    let argument = |k: usize, usual: u64| std::env::args().nth(k).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (series, panels) = (argument(1, 500), argument(2, 10));
    let names = std::env::args().nth(3).unwrap_or_else(|| "alpha".into());
    let shares = names.split(',').map(str::parse).collect::<Result<Vec<Share>>>()?;
    println!(
        "| panel | α, all increments | α, shared | standard error | mean α of separate fits | CRPS, shared − separate (95% interval) | CPU time against separate fits |"
    );
    println!("|---|---|---|---|---|---|---|");
    let (mut errors, mut biases, mut differences, mut seconds) = ([0.0; 3], [0.0; 3], Vec::new(), [0.0; 2]);
    let mut floor = [0.0; 2];
    for panel in 0..panels {
        let found = one(panel, series, &shares)?;
        for (k, alpha) in found.alphas.iter().enumerate() {
            errors[k] += (alpha - ALPHA).powi(2) / panels as f64;
            biases[k] += (alpha - ALPHA) / panels as f64;
        }
        differences.extend(found.differences);
        floor.iter_mut().zip(found.floor).for_each(|(mean, error)| *mean += error.powi(2) / panels as f64);
        seconds.iter_mut().zip(found.seconds).for_each(|(sum, seconds)| *sum += seconds);
    }
    let [pooled, shared, alone] = errors.map(f64::sqrt);
    println!(
        "\nroot mean square error of α: {pooled:.4} from all increments, {shared:.4} shared, ratio {:.2}; mean of separate fits {alone:.4}",
        shared / pooled
    );
    println!("mean error of α: {:+.4}, {:+.4}, {:+.4}", biases[0], biases[1], biases[2]);
    let [observed, pure] = floor.map(f64::sqrt);
    println!(
        "floor of the error: {observed:.4} from observations, {pure:.4} from increments, ratio {:.2}",
        observed / pure
    );
    println!("CRPS of all series: {}; CPU time {:.2}", interval(&differences), seconds[0] / seconds[1]);
    Ok(())
}

/// Mean with its 95% interval.
fn interval(values: &[f64]) -> String {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let error = (values.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    format!("{mean:+.5} ({:+.5} to {:+.5})", mean - 1.96 * error, mean + 1.96 * error)
}

fn one(panel: u64, series: u64, shares: &[Share]) -> Result<Found> {
    let made = make(panel, series)?;
    let floor = floor(&made)?;
    let Made { records, states, noise, .. } = made;
    let spec = Spec::new(DriftFamily::named("ou").expect("a drift"), Family::named("stable").expect("a family"));
    let spec = spec.fix("observation_std", ERROR);
    let options = FitOptions { paths: 200, ..FitOptions::default() };
    let started = cpu_seconds();
    let alone: Vec<Fit> =
        records.par_iter().map(|r| fit(&spec, &r.grid, &[&r.values], &options)).collect::<Result<_>>()?;
    let separate = cpu_seconds() - started;
    let started = cpu_seconds();
    let together = fit_panel(&spec, &records, shares, &options)?;
    let seconds = [cpu_seconds() - started, separate];
    let alpha = &together.shared.shared[0];
    let found: Vec<Fit> = together.fits.into_iter().collect::<Result<_>>()?;
    let differences: Vec<f64> = (found.iter().zip(&alone).zip(&states))
        .map(|((together, alone), states)| Ok(crps(together, states)? - crps(alone, states)?))
        .collect::<Result<_>>()?;
    let of_alone = alone.iter().filter_map(|fit| Some(fit.parameter("alpha")?.value)).sum::<f64>() / alone.len() as f64;
    let pooled = likeliest(&noise)?;
    println!(
        "| {} | {pooled:.4} | {:.4} | {:.4} | {of_alone:.4} | {} | {:.2} |",
        panel + 1,
        alpha.value,
        alpha.std_error,
        interval(&differences),
        seconds[0] / seconds[1]
    );
    if std::env::var_os("PANEL_SERIES").is_some() {
        for ((together, alone), (difference, states)) in found.iter().zip(&alone).zip(differences.iter().zip(&states)) {
            let of = |fit: &Fit| fit.parameters.iter().map(|p| format!("{:.3}", p.value)).collect::<Vec<_>>().join(" ");
            eprintln!("{difference:+.5} {:.5} | {} | {}", crps(alone, states)?, of(together), of(alone));
        }
    }
    Ok(Found { alphas: [pooled, alpha.value, of_alone], differences, seconds, floor })
}

fn make(panel: u64, series: u64) -> Result<Made> {
    let times: Vec<f64> = (0..POINTS).map(|j| STEP * j as f64).collect();
    // A fit splits the steps of so short a record; the truth moves on the same latent times.
    let grid = TimeGrid::new(&times, None)?;
    let rows: Vec<usize> = (0..grid.len()).filter(|&j| grid.observation(j).is_some()).collect();
    let (parts, length) = (rows[1], grid.step(0));
    let decay = (-THETA * length).exp();
    // Σ decayᵏ ξ_k over the parts of a step has this scale if ξ has 1.
    let unit = (0..parts as i32).map(|k| decay.powf(ALPHA * f64::from(k))).sum::<f64>() * length;
    let unit = unit.powf(1.0 / ALPHA);
    let mut made = Made { records: Vec::new(), states: Vec::new(), noise: Vec::new(), own: Vec::new() };
    for i in 0..series {
        // Levels and scales differ from series to series.
        let (mu, scale) = ((i % 7) as f64, 0.5 * 4f64.powf((i % 11) as f64 / 10.0));
        let model = StateSpace::new(
            Box::new(Ou::new(THETA, mu)?),
            Box::new(Stable::new(ALPHA, scale)?),
            ERROR,
            Start::Fixed(mu),
        )?;
        let found = simulate(&model, grid.times(), 1_000_000 * (panel + 1) + i)?;
        let moved = |pair: &[usize]| found.path[pair[1]] - mu - (found.path[pair[0]] - mu) * decay.powi(parts as i32);
        made.noise.extend(rows.windows(2).map(|pair| moved(pair) / (unit * scale)));
        let values = rows.iter().map(|&j| found.observations[j]).collect();
        made.own.push([mu, scale]);
        made.records.push(Record { grid: grid.clone(), values });
        made.states.push(found.path);
    }
    Ok(made)
}

/// Standard errors of α: the least from observations, each series' θ, level and scale unknown; and from the true increments with
/// known scales.
fn floor(made: &Made) -> Result<[f64; 2]> {
    const APART: f64 = 0.02;
    let slopes = |(record, own): (&Record, &[f64; 2])| -> Result<[f64; 4]> {
        let [mu, scale] = *own;
        let at = |k: usize, by: f64| {
            let moved = |i: usize| if i == k { by } else { 0.0 };
            let drift = Ou::new(THETA * moved(1).exp(), mu + scale * moved(2))?;
            let noise = Stable::new(ALPHA + moved(0), scale * moved(3).exp())?;
            let model = StateSpace::new(Box::new(drift), Box::new(noise), ERROR, Start::Fixed(mu))?;
            log_evidence(&model, &record.grid, &record.values, &Options::default())
        };
        let mut slopes = [0.0; 4];
        for (k, slope) in slopes.iter_mut().enumerate() {
            *slope = (at(k, APART)? - at(k, -APART)?) / (2.0 * APART);
        }
        Ok(slopes)
    };
    let all: Vec<[f64; 4]> = made.records.par_iter().zip(&made.own).map(slopes).collect::<Result<_>>()?;
    let information = DMatrix::from_fn(4, 4, |a, b| all.iter().map(|slope| slope[a] * slope[b]).sum::<f64>());
    let covariance = information.try_inverse().expect("an information that is positive definite");
    let (low, high) = (StableLaw::new(ALPHA - APART, 1.0)?, StableLaw::new(ALPHA + APART, 1.0)?);
    let pure = |&x: &f64| ((high.log_pdf(x) - low.log_pdf(x)) / (2.0 * APART)).powi(2);
    Ok([covariance[(0, 0)].sqrt(), made.noise.par_iter().map(pure).sum::<f64>().sqrt().recip()])
}

/// Mean CRPS of the posterior of the states at all latent times.
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
