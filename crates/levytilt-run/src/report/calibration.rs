//! Show whether forecasts are calibrated: PIT histogram and reliability diagram.

use super::figure::{Axis, Figure, Layer};

/// Half the width of a 90% interval of a normal law.
const Z: f64 = 1.645;

/// Histogram of the probability integral transform, flat for a calibrated forecast.
pub fn pit(id: &str, title: String, counts: &[usize]) -> Figure {
    let (bins, total) = (counts.len() as f64, counts.iter().sum::<usize>() as f64);
    let relative = |count: &usize| bins * *count as f64 / total;
    // Spread of a share that should be 1/bins, for independent observations.
    let spread = Z * ((bins - 1.0) / total).sqrt();
    let mut figure = Figure::new(
        id,
        title,
        Axis::linear("probability integral transform (PIT)"),
        Axis::linear("relative frequency"),
    )
    .column("from", "from", (0..counts.len()).map(|k| k as f64 / bins).collect())
    .column("to", "to", (1..=counts.len()).map(|k| k as f64 / bins).collect())
    .column("share", "frequency, 1 if calibrated", counts.iter().map(relative).collect())
    .column("ends", "PIT", vec![0.0, 1.0])
    .column("low", "5%", vec![(1.0 - spread).max(0.0); 2])
    .column("high", "95%", vec![1.0 + spread; 2])
    .column("flat", "calibrated", vec![1.0; 2])
    .layer(Layer::bars("observations", "blue", ["from", "to"], "share"))
    .layer(Layer::band("90% of calibrated forecasts", "grey", "ends", ["low", "high"]))
    .layer(Layer { dash: true, ..Layer::line("calibrated", "grey", "ends", "flat") });
    figure.caption =
        "A calibrated forecast is flat. A hump in the middle: too wide. High ends: too narrow. A slope: biased. The grey \
         band assumes independent observations; dependent ones scatter more."
            .into();
    (figure.height, figure.y_include) = (Some(280), vec![0.0]);
    figure
}

/// Nominal levels and observed frequencies of one curve.
pub struct Curve<'a> {
    /// Name in the legend.
    pub name: &'a str,
    /// Nominal levels, increasing.
    pub levels: Vec<f64>,
    /// Observed frequencies.
    pub observed: Vec<f64>,
}

/// Reliability diagram: observed frequency against nominal level.
pub fn reliability(id: &str, title: &str, promised: &str, curves: &[Curve], truths: usize) -> Figure {
    let grid: Vec<f64> = (0..=50).map(|k| f64::from(k) / 50.0).collect();
    let spread = |p: &f64| Z * (p * (1.0 - p) / truths as f64).sqrt();
    let mut figure = Figure::new(id, title, Axis::linear(promised), Axis::linear("observed frequency"))
        .column("level", "nominal", grid.clone())
        .column("low", "5%", grid.iter().map(|p| round((p - spread(p)).max(0.0))).collect())
        .column("high", "95%", grid.iter().map(|p| round((p + spread(p)).min(1.0))).collect())
        .layer(Layer::band("90% of calibrated forecasts", "grey", "level", ["low", "high"]))
        .layer(Layer { dash: true, ..Layer::line("calibrated", "grey", "level", "level") });
    for (k, curve) in curves.iter().enumerate() {
        let (x, y) = (format!("level{k}"), format!("observed{k}"));
        let tone = tone(k);
        figure = figure
            .column(&x, "nominal", curve.levels.clone())
            .column(&y, curve.name, curve.observed.iter().map(|v| round(*v)).collect())
            .layer(Layer { thin: true, ..Layer::line("", tone, &x, &y) })
            .layer(Layer { large: true, ..Layer::points(curve.name, tone, &x, &y) });
    }
    figure.caption =
        "A calibrated forecast lies on the diagonal. The grey band assumes independent observations; dependent ones \
         scatter more."
            .into();
    figure.height = Some(320);
    figure
}

fn round(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// The colour of curve number `k`.
pub fn tone(k: usize) -> &'static str {
    ["blue", "red", "teal", "brown", "violet", "olive", "pink", "grey"][k % 8]
}
