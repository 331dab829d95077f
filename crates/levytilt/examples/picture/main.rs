//! Draw the picture of the README: a jumping path found by heavy-tailed and by Gaussian noise, and the ice-core record.
//!
//! `cargo run --release -p levytilt --example picture` writes `docs/images/jumps.svg` and prints the figures in it.

mod svg;

use levytilt::drift::{DoubleWell, NoDrift};
use levytilt::exact::{Options, Smoothed, smooth};
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::posterior::{marginals, normalise};
use levytilt::series::TimeGrid;
use levytilt::solve::{SweepOptions, robust_start, sweep};
use levytilt::{Chain, Model, Result, Start, simulate};
use svg::{Band, Canvas, Panel};

const OUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images/jumps.svg");
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../levytilt-cli/data/ngrip_10yr.csv");

const BLUE: &str = "#1f6fb5";
const ORANGE: &str = "#c2570c";

fn main() -> Result<()> {
    let mut canvas = Canvas::new(1040.0, 700.0);
    synthetic(&mut canvas)?;
    ice_core(&mut canvas)?;
    std::fs::write(OUT, canvas.finish()).expect("docs/images can be written");
    println!("written to docs/images/jumps.svg");
    Ok(())
}

fn model(noise: impl Noise + 'static) -> Result<Model> {
    Model::new(Box::new(NoDrift::new(1)?), Box::new(noise), OBSERVATION_STD, Start::Fixed(0.0))
}

const OBSERVATION_STD: f64 = 0.8;
const ALPHA: f64 = 1.1;
const SCALE: f64 = 0.5;
const STEPS: usize = 250;

/// Two panels: the same observations, the posterior under stable noise (true parameters) and under Gaussian noise with
/// the scale that maximises its evidence.
fn synthetic(canvas: &mut Canvas) -> Result<()> {
    let times: Vec<f64> = (0..=STEPS).map(|j| 10.0 * j as f64 / STEPS as f64).collect();
    let grid = TimeGrid::new(&times, Some(STEPS))?;
    let jumping = model(Stable::new(ALPHA, SCALE)?)?;
    let drawn = simulate(&jumping, &times, 11)?;
    let evidence = |model: &Model| smooth(model, &grid, &drawn.observations, &Options::default());
    let stable = evidence(&jumping)?;
    let scale = maximise(0.3, 10.0, |scale| Ok(evidence(&model(Gaussian::new(scale)?)?)?.log_evidence))?;
    let gaussian = evidence(&model(Gaussian::new(scale)?)?)?;
    let low = drawn.observations.iter().copied().fold(f64::INFINITY, f64::min);
    let high = drawn.observations.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let margin = 0.06 * (high - low);
    let panels = [
        ("Noise that jumps", "stable, α = 1.1", &stable, BLUE),
        ("Gaussian noise", "its best scale", &gaussian, ORANGE),
    ];
    for (i, (title, detail, found, colour)) in panels.into_iter().enumerate() {
        let panel = Panel {
            left: 70.0 + 490.0 * i as f64,
            top: 62.0,
            width: 460.0,
            height: 250.0,
            x: (0.0, 10.0),
            y: (low - margin, high + margin),
        };
        let error = rmse(&found.mean, &drawn.path);
        let notes = format!("log evidence {:.1}, error of the mean {error:.2}", found.log_evidence);
        println!("{title} ({detail}; scale {:.3}): {notes}", if i == 0 { SCALE } else { scale });
        canvas.frame(&panel, &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0], &svg::ticks(panel.y), |t| format!("{t:.0}"));
        canvas.heading(&panel, title, &format!("{detail}: {notes}"), colour);
        canvas.dots(&panel, &times, &drawn.observations, 1.6, "#8b929c");
        canvas.band(&panel, &times, &band(found), colour);
        canvas.steps(&panel, &times, &drawn.path, "#111827");
        canvas.label_x(&panel, "time");
        if i == 0 {
            canvas.label_y(&panel, "state");
        }
    }
    canvas.legend(70.0, 20.0, &[("observation", "dot"), ("true path", "line"), ("posterior median and 90% band", "band")]);
    Ok(())
}

fn rmse(found: &[f64], truth: &[f64]) -> f64 {
    (found.iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / truth.len() as f64).sqrt()
}

fn band(found: &Smoothed) -> Band<'_> {
    Band { low: &found.quantiles[0], middle: &found.quantiles[2], high: &found.quantiles[4] }
}

/// Golden-section search for the largest value of a function of the logarithm.
fn maximise(low: f64, high: f64, f: impl Fn(f64) -> Result<f64>) -> Result<f64> {
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (low.ln(), high.ln());
    while high - low > 1e-3 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if f(a.exp())? < f(b.exp())? { low = a } else { high = b }
    }
    Ok((0.5 * (low + high)).exp())
}

/// One panel: the record of `levytilt demo`, its posterior and its probable jumps.
fn ice_core(canvas: &mut Canvas) -> Result<()> {
    let (times, values) = record();
    let grid = TimeGrid::new(&times, None)?;
    let start = Start::Gaussian { mean: values[0], std: 1.54 };
    // The parameters of the demo: those that maximise the evidence.
    let model = Model::new(Box::new(DoubleWell::new(0.401, 0.673)?), Box::new(Stable::new(1.554, 0.978)?), 0.154, start)?;
    let found = smooth(&model, &grid, &values, &Options::default())?;
    let chain = Chain::new(&model, &grid, &[&values])?;
    let swept = sweep(&chain, robust_start(&chain)?, &SweepOptions::default())?;
    let (_, weights) = normalise(&swept.paths.log_weights());
    let uniform = vec![1.0 / weights.len() as f64; weights.len()];
    let jumps: Vec<f64> = marginals(&swept.paths, 0, &uniform, &[0.5])
        .iter()
        .zip(&found.times)
        .filter(|(marginal, _)| marginal.jump_probability > 0.9)
        .map(|(_, &time)| time)
        .collect();
    println!("ice core: log evidence {:.1}, {} probable jumps, bound {:.1}", found.log_evidence, jumps.len(), swept.summary.elbo);
    let panel = Panel { left: 70.0, top: 410.0, width: 950.0, height: 220.0, x: (-60.0, -11.6), y: (-2.6, 2.2) };
    canvas.frame(&panel, &[-60.0, -50.0, -40.0, -30.0, -20.0], &[-2.0, -1.0, 0.0, 1.0, 2.0], |t| format!("{:.0}", t.abs()));
    canvas.heading(
        &panel,
        "Greenland ice core, 60 000 to 12 000 years ago",
        &format!("double well driven by stable noise, α = 1.55: log evidence {:.1}", found.log_evidence),
        BLUE,
    );
    canvas.dots(&panel, &times, &values, 0.8, "#8b929c");
    canvas.band(&panel, &found.times, &band(&found), BLUE);
    canvas.marks(&panel, &jumps, "#111827");
    canvas.label_x(&panel, "thousand years before 1950; ticks: steps that are jumps with posterior probability above 0.9");
    canvas.label_y(&panel, "4.7 − ln Ca (ng/g)");
    Ok(())
}

/// Times in kyr relative to 1950 and 4.7 − ln Ca, glacial part, forward in time, as in the demo.
fn record() -> (Vec<f64>, Vec<f64>) {
    let text = std::fs::read_to_string(RECORD).expect("the record lies beside the program");
    let rows = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split(',');
        let age: f64 = fields.next()?.parse().ok()?;
        let calcium: f64 = fields.next()?.parse().unwrap_or(f64::NAN);
        (age > 11_650.0).then_some((-age / 1000.0, 4.7 - calcium.ln()))
    });
    rows.unzip()
}
