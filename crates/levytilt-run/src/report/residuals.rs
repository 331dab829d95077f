//! Show the one-step residuals of a fit: every check with what a failure means, and what the checks look at.

use levytilt::internals::residuals::{Check, Residuals};

use super::calibration;
use super::compact::{pick, short, thin};
use super::figure::{Axis, Figure, Layer};
use super::page::{Block, Cell, Section, Table, sentence};
use super::scene::Scene;

/// Residuals drawn, over all dimensions.
const MOST: usize = 4000;
const FEWEST: usize = 500;
/// Lags of the autocorrelations.
const LAGS: usize = 40;
/// Bins of the PIT histogram.
const BINS: usize = 20;
/// Half the width of a 95% interval of a normal law.
const Z: f64 = 1.96;

/// The section; nothing where no residuals were checked.
pub fn section(scene: &Scene) -> Option<Section> {
    let found = &scene.outcome.filtered.as_ref()?.residuals;
    let checked = || found.iter().enumerate().filter(|(_, residuals)| !residuals.checks.is_empty());
    checked().next()?;
    let blocks = checked().flat_map(|(i, residuals)| blocks(scene, i, residuals)).collect();
    Some(Section::new("residuals", "Residuals", blocks))
}

fn blocks(scene: &Scene, i: usize, residuals: &Residuals) -> Vec<Block> {
    let mut pair = vec![
        correlations(scene, i, residuals),
        calibration::pit(&scene.id("pit", i), scene.title("PIT", i), &residuals.pit_counts(BINS)),
    ];
    pair[1].caption = "Probability integral transform of each value under its one-step prediction: flat under the \
     true model. High ends: the prediction is too narrow. A hump: too wide."
        .into();
    for figure in &mut pair {
        (figure.dimension, figure.height) = (scene.dimension(i), Some(280));
    }
    vec![
        verdict(scene.dimension(i), residuals),
        Block::Table(table(residuals)),
        Block::Figure(Box::new(over_time(scene, i, residuals))),
        Block::Pair(pair),
    ]
}

/// What they say as a whole, of a dimension whose name comes first if there are several.
fn verdict(name: Option<String>, residuals: &Residuals) -> Block {
    let of = name.map_or(String::new(), |name| format!("{name}: "));
    let (failed, all) = (residuals.failures().count(), residuals.checks.len());
    match failed {
        0 => Block::Good(format!(
            "{of}The {} one-step residuals show no sign of misspecification: all {all} checks pass. On the true \
             model one of \
             them fails in at most 5% of records.",
            residuals.count
        )),
        _ => Block::Warning(format!(
            "{of}The one-step residuals show that this model does not describe the record in full: {failed} of {all} checks \
             fail. The table says what each failure means and what to try."
        )),
    }
}

fn table(residuals: &Residuals) -> Table {
    let row = |check: &Check| {
        let meaning = match check.failed {
            true => {
                let (found, meaning) = check.meaning();
                sentence(&format!("{found}: {meaning}"))
            }
            false => "–".into(),
        };
        vec![
            Cell::text(check.name()),
            Cell::number(check.statistic),
            Cell::written(check.p_value, check.short_p_value()),
            Cell::text(if check.failed { "fails" } else { "passes" }),
            Cell::text(meaning),
        ]
    };
    // Failures first.
    let (failed, passed): (Vec<&Check>, Vec<&Check>) = residuals.checks.iter().partition(|check| check.failed);
    Table {
        caption: format!(
            "A residual is the level of a value in its predictive distribution given all earlier values, as a \
             standard normal quantile. A check fails below p = {:.4}, that is 5% shared by {} checks.",
            levytilt::internals::residuals::limit(residuals.checks.len()),
            residuals.checks.len()
        ),
        head: ["check", "statistic", "p-value", "result", "what it means, what to try"].map(String::from).to_vec(),
        rows: failed.into_iter().chain(passed).map(row).collect(),
        ..Table::default()
    }
}

fn over_time(scene: &Scene, i: usize, residuals: &Residuals) -> Figure {
    let most = (MOST / scene.dim()).max(FEWEST);
    let keep = thin(residuals.values.len(), most, &[&residuals.values], &[]);
    let times = pick(&residuals.times, &keep);
    let ends = vec![times[0], times[times.len() - 1]];
    let mut figure = Figure::new(
        &scene.id("residuals", i),
        scene.title("one-step residuals", i),
        scene.times.clone(),
        Axis::linear("standardised residual"),
    )
    .column("ends", "time", ends)
    .column("low", "2.5%", vec![-Z; 2])
    .column("high", "97.5%", vec![Z; 2])
    .column("time", "time", times)
    .column("residual", "residual", short(pick(&residuals.values, &keep)))
    .layer(Layer::band("95% of residuals under the model", "grey", "ends", ["low", "high"]))
    .layer(Layer::points("residuals", "blue", "time", "residual"));
    let shown = match keep.len() < residuals.count {
        true => format!(" Shown: {} of {}, the lowest and the highest of every interval.", keep.len(), residuals.count),
        false => String::new(),
    };
    figure.caption = format!(
        "Each value against its one-step prediction. Under the true model these are independent standard normal \
         numbers: no trend, no clusters of volatility.{shown}"
    );
    (figure.dimension, figure.link, figure.height) = (scene.dimension(i), Some("time".into()), Some(230));
    figure
}

fn correlations(scene: &Scene, i: usize, residuals: &Residuals) -> Figure {
    let lags = LAGS.min(residuals.count / 4);
    let edge = Z / (residuals.count as f64).sqrt();
    let round = |value: f64| (value * 1e4).round() / 1e4;
    let values = |of: &dyn Fn(usize) -> f64| (1..=lags).map(|lag| round(of(lag))).collect::<Vec<f64>>();
    let mut figure = Figure::new(
        &scene.id("correlations", i),
        scene.title("autocorrelation", i),
        Axis::linear("lag (observations)"),
        Axis::linear("autocorrelation"),
    )
    .column("lag", "lag", (1..=lags).map(|lag| lag as f64).collect())
    .column("own", "residuals", values(&|lag| residuals.autocorrelation(lag)))
    .column("sizes", "their sizes", values(&|lag| residuals.size_autocorrelation(lag)))
    .column("ends", "lag", vec![0.5, lags as f64 + 0.5])
    .column("low", "2.5%", vec![-round(edge); 2])
    .column("high", "97.5%", vec![round(edge); 2])
    .layer(Layer::band("95% under the model", "grey", "ends", ["low", "high"]))
    .layer(Layer::points("residuals", "blue", "lag", "own"))
    .layer(Layer::points("their sizes |z|", "brown", "lag", "sizes"));
    figure.caption =
        "Residuals that depend on earlier ones mean a wrong drift; sizes that do mean a changing volatility.".into();
    figure
}
