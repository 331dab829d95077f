//! Show where values lie: boxes of equal width whose area is their share.

use super::compact::short;
use super::figure::{Axis, Figure, Layer};

/// Boxes of a histogram of many values.
pub const MANY: usize = 48;

/// A histogram of `sorted` values between two ends in so many boxes; `what` is shared out.
pub fn histogram(
    id: &str,
    title: String,
    name: &str,
    what: &str,
    sorted: &[f64],
    (low, high): (f64, f64),
    boxes: usize,
) -> Figure {
    let width = if high > low { (high - low) / boxes as f64 } else { 1.0 };
    let edge = |k: usize| low + width * k as f64;
    let below = |x: f64| sorted.partition_point(|v| *v < x) as f64;
    let density = |k: usize| (below(edge(k + 1)) - below(edge(k))) / sorted.len() as f64 / width;
    let mut figure = Figure::new(id, title, Axis::linear(name), Axis::linear("density"))
        .column("from", "from", short((0..boxes).map(edge).collect()))
        .column("to", "to", short((1..=boxes).map(edge).collect()))
        .column("density", "density", short((0..boxes).map(density).collect()))
        .layer(Layer::bars(what, "blue", ["from", "to"], "density"));
    (figure.height, figure.y_include) = (Some(280), vec![0.0]);
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_shares_add_up() {
        let sorted: Vec<f64> = (0..960).map(|k| f64::from(k) / 960.0).collect();
        let figure = histogram("h", "t".into(), "x", "values", &sorted, (0.0, 1.0), MANY);
        let area: f64 = figure.columns["density"].values.iter().map(|d| d / 48.0).sum();
        assert!((area - 1.0).abs() < 1e-3, "{area}");
    }
}
