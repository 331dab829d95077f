//! Show what is forecast: bands that widen into the future, the end of the record before them, later observations if known.

use anyhow::Result;

use super::compact::{pick, short, thin};
use super::figure::{Axis, Figure, Layer};
use super::histogram::{MANY, histogram};
use crate::table::time::Written;

/// Levels of the bands, the names of their columns and their labels.
const LEVELS: [(f64, &str, &str); 7] = [
    (0.01, "q01", "1%"),
    (0.05, "q05", "5%"),
    (0.25, "q25", "25%"),
    (0.5, "q50", "median"),
    (0.75, "q75", "75%"),
    (0.95, "q95", "95%"),
    (0.99, "q99", "99%"),
];
/// Most times drawn.
const MOST: usize = 3000;
/// Paths drawn.
const PATHS: usize = 3;

/// What a fan is made of, for one dimension.
pub struct Fan<'a> {
    /// Name within the page.
    pub id: String,
    /// Name of the dimension.
    pub name: &'a str,
    /// Forecast times.
    pub times: &'a [f64],
    /// Their axis.
    pub axis: Axis,
    /// The draws at a time, in the order of the paths.
    pub draws: &'a dyn Fn(usize) -> Vec<f64>,
    /// Times and values of the end of the record.
    pub history: Option<(Vec<f64>, Vec<f64>)>,
    /// Times and values of the later observations.
    pub truth: Option<(Vec<f64>, Vec<f64>)>,
}

impl Fan<'_> {
    /// Time and value of the last observation before the forecast, if both are known.
    fn end(&self) -> Option<(f64, f64)> {
        let (times, values) = self.history.as_ref()?;
        let (time, value) = (*times.last()?, *values.last()?);
        (value.is_finite() && time < *self.times.first()?).then_some((time, value))
    }

    /// The figure.
    pub fn figure(&self) -> Figure {
        let mut draws: Vec<Vec<f64>> = (0..self.times.len()).map(self.draws).collect();
        let mut times = self.times.to_vec();
        // Drawn from the last value of the record, where everything starts.
        if let Some((time, value)) = self.end() {
            times.insert(0, time);
            draws.insert(0, vec![value; draws[0].len()]);
        }
        let sorted: Vec<Vec<f64>> = draws.iter().map(|d| sorted(d.clone())).collect();
        let level = |p: f64| sorted.iter().map(|d| quantile(d, p)).collect::<Vec<f64>>();
        let keep = thin(times.len(), MOST, &[&level(0.05), &level(0.95)], &[]);
        let mut figure = Figure::new(&self.id, "", self.axis.clone(), Axis::linear(self.name));
        figure = figure.column("time", "time", pick(&times, &keep));
        for (p, column, label) in LEVELS {
            figure = figure.column(column, label, short(pick(&level(p), &keep)));
        }
        figure = figure
            .layer(Layer { hidden: true, ..Layer::band("98% of the paths", "blue", "time", ["q01", "q99"]) })
            .layer(Layer::band("90% of the paths", "blue", "time", ["q05", "q95"]))
            .layer(Layer { strong: true, ..Layer::band("50%", "blue", "time", ["q25", "q75"]) });
        figure = figure.layer(Layer::line("median", "blue", "time", "q50"));
        for k in 0..PATHS.min(draws[0].len()) {
            let column = format!("path{}", k + 1);
            let values = keep.iter().map(|&j| draws[j][k]).collect();
            let tone = ["teal", "brown", "violet"][k % 3];
            let line = Layer::line(&format!("path {}", k + 1), tone, "time", &column);
            // A path of heavy-tailed noise may leave the bands by far; it must not flatten them.
            figure = figure.column(&column, format!("path {}", k + 1), short(values));
            figure = figure.layer(Layer { thin: true, aside: true, ..line });
        }
        for (seen, name, [x, y], tone) in [
            (&self.history, "end of the record", ["history_time", "history"], "dots"),
            (&self.truth, "observed", ["truth_time", "truth"], "red"),
        ] {
            let Some((times, values)) = seen else { continue };
            figure = figure.column(x, "time", times.clone()).column(y, name, short(values.clone()));
            figure = figure.layer(Layer::points(name, tone, x, y));
        }
        figure.height = Some(400);
        figure
    }
}

/// The draws of the last time between their 1% and 99% quantiles.
pub fn law_at_the_end(id: &str, name: &str, draws: Vec<f64>) -> Figure {
    let draws = sorted(draws);
    let ends = (quantile(&draws, 0.01), quantile(&draws, 0.99));
    let mut figure = histogram(id, "Distribution at the last time".into(), name, "share of paths", &draws, ends, MANY);
    figure.caption = "Where the paths end, between their 1% and 99% quantiles.".into();
    figure
}

pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// A quantile of sorted values, linear between them.
pub(super) fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * (sorted.len() - 1) as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + share * (sorted[high] - sorted[low])
}

/// Times as a file wrote them, as numbers with their axis.
pub fn written_axis(times: &[Written]) -> Result<(Axis, Vec<f64>)> {
    let Some(Written::Stamp(origin)) = times.first() else {
        let number = |time: &Written| if let Written::Number(number) = time { *number } else { f64::NAN };
        return Ok((Axis::linear("time"), times.iter().map(number).collect()));
    };
    let days = |time: &Written| if let Written::Stamp(stamp) = time { stamp.days_since(origin) } else { f64::NAN };
    Ok((Axis::days_since(origin), times.iter().map(days).collect()))
}
