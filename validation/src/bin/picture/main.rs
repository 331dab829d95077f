//! Draw the picture of the README: a jumping path found by heavy-tailed and by Gaussian noise, and the ice-core record.
//!
//! `scripts/validate picture` writes `docs/images/jumps.svg` and prints the figures in it.

use levytilt::drift::{DoubleWell, NoDrift};
use levytilt::internals::exact::{Options, Smoothed, smooth};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::{Result, Start, StateSpace, simulate};
use levytilt_validation::svg::{self, Band, Canvas, Panel};

const OUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/images/jumps.svg");
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/levytilt-run/data/ngrip_10yr.csv");

const BLUE: &str = "#1f6fb5";
const ORANGE: &str = "#c2570c";

fn main() -> Result<()> {
    let mut canvas = Canvas::new(1040.0, 716.0);
    synthetic(&mut canvas)?;
    ice_core(&mut canvas)?;
    std::fs::write(OUT, canvas.finish()).expect("docs/images can be written");
    println!("written to docs/images/jumps.svg");
    Ok(())
}

fn model(noise: impl Noise + 'static) -> Result<StateSpace> {
    StateSpace::new(Box::new(NoDrift::new(1)?), Box::new(noise), OBSERVATION_STD, Start::Fixed(0.0))
}

const OBSERVATION_STD: f64 = 0.8;
const ALPHA: f64 = 1.0;
const SCALE: f64 = 0.35;
const STEPS: usize = 250;
/// Chosen because the path has several jumps that are all in view.
const SEED: u64 = 24;

/// Two panels: the same observations, the posterior under stable noise (true parameters) and under Gaussian noise with
/// the scale that maximises its evidence.
fn synthetic(canvas: &mut Canvas) -> Result<()> {
    let times: Vec<f64> = (0..=STEPS).map(|j| 10.0 * j as f64 / STEPS as f64).collect();
    let grid = TimeGrid::new(&times, Some(STEPS))?;
    let jumping = model(Stable::new(ALPHA, SCALE)?)?;
    let drawn = simulate(&jumping, &times, SEED)?;
    let evidence = |model: &StateSpace| smooth(model, &grid, &drawn.observations, &Options::default());
    let stable = evidence(&jumping)?;
    let scale = maximise(0.3, 10.0, |scale| Ok(evidence(&model(Gaussian::new(scale)?)?)?.log_evidence))?;
    let gaussian = evidence(&model(Gaussian::new(scale)?)?)?;
    let low = drawn.observations.iter().copied().fold(f64::INFINITY, f64::min);
    let high = drawn.observations.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let margin = 0.06 * (high - low);
    let panels = [
        ("Noise that jumps", "the true law, stable with α = 1", &stable, BLUE),
        ("Gaussian noise", "at its best scale", &gaussian, ORANGE),
    ];
    for (i, (title, detail, found, colour)) in panels.into_iter().enumerate() {
        let panel = Panel {
            left: 70.0 + 510.0 * i as f64,
            top: 92.0,
            width: 440.0,
            height: 250.0,
            x: (0.0, 10.0),
            y: (low - margin, high + margin),
        };
        let error = rmse(&found.mean, &drawn.path);
        let notes = format!("log evidence {:.1}, rms error {error:.2}", found.log_evidence);
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
    canvas.legend(
        70.0,
        30.0,
        &[("observation", "dot"), ("true path", "line"), ("posterior median and 90% band", "band")],
    );
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

/// Two panels: the record of `levytilt demo` with its posterior, whole and in part.
fn ice_core(canvas: &mut Canvas) -> Result<()> {
    let (times, values) = record();
    let grid = TimeGrid::new(&times, Some(1))?;
    let start = Start::Gaussian { mean: values[0], std: 1.54 };
    // The parameters of the demo: those that maximise the evidence.
    let model =
        StateSpace::new(Box::new(DoubleWell::new(0.401, 0.673)?), Box::new(Stable::new(1.554, 0.978)?), 0.154, start)?;
    let found = smooth(&model, &grid, &values, &Options::default())?;
    println!("ice core: log evidence {:.1}", found.log_evidence);
    let whole = Panel { left: 70.0, top: 440.0, width: 600.0, height: 216.0, x: (-60.0, -11.6), y: (-2.6, 2.2) };
    let part = Panel { left: 740.0, width: 280.0, x: ZOOM, ..whole };
    let thousands = |t: f64| format!("{:.0}", t.abs());
    canvas.frame(&whole, &[-60.0, -50.0, -40.0, -30.0, -20.0], &[-2.0, -1.0, 0.0, 1.0, 2.0], thousands);
    canvas.frame(&part, &[-39.0, -38.0, -37.0, -36.0, -35.0], &[-2.0, -1.0, 0.0, 1.0, 2.0], thousands);
    let evidence = format!("double well, stable noise, α = 1.55: log evidence {:.1}", found.log_evidence);
    canvas.heading(&whole, "Greenland ice core", &evidence, BLUE);
    canvas.heading(&part, "Two abrupt warmings", "the shaded part of the record", BLUE);
    canvas.shade(&whole, ZOOM);
    for (panel, radius) in [(&whole, 0.8), (&part, 1.3)] {
        let inside = |t: f64| t >= panel.x.0 && t <= panel.x.1;
        let shown: Vec<usize> = (0..times.len()).filter(|&j| inside(times[j])).collect();
        let pick = |from: &[f64]| -> Vec<f64> { shown.iter().map(|&j| from[j]).collect() };
        canvas.dots(panel, &pick(&times), &pick(&values), radius, "#8b929c");
        let [low, middle, high] = [0, 2, 4].map(|l| pick(&found.quantiles[l]));
        canvas.band(panel, &pick(&times), &Band { low: &low, middle: &middle, high: &high }, BLUE);
        canvas.label_x(panel, "thousand years before 1950");
    }
    canvas.label_y(&whole, "4.7 − ln(Ca in ng/g)");
    Ok(())
}

/// The part of the record shown larger, in thousands of years.
const ZOOM: (f64, f64) = (-39.0, -35.0);

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
