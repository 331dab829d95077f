//! Show the record, what is known of the path behind it, and where it jumped.

use levytilt::internals::posterior::Jump;

use super::compact::{pick, short, thin};
use super::figure::{Axis, Figure, Layer};
use super::page::Block;
use super::scene::Scene;
use crate::workflow::fit::outliers::probable;

/// Most times drawn over all dimensions; of more, the extremes are kept.
const MOST: usize = 12_000;
/// Fewest times drawn of one dimension.
const FEWEST: usize = 1500;
/// Paths drawn.
const PATHS: usize = 3;
/// Times from which single paths only blur the picture: they are drawn when the reader asks.
const DENSE: usize = 600;
/// Probability from which a jump is marked.
const PROBABLE: f64 = 0.5;

/// Per dimension the path, and its jumps if there are any.
pub fn blocks(scene: &Scene) -> Vec<Block> {
    let blocks = (0..scene.dim()).flat_map(|i| {
        let listed = Jumps::listed(scene, i);
        let jumps = listed.probable();
        let figures = [Some(path(scene, i, &jumps)), (!listed.0.is_empty()).then(|| sizes(scene, i, &listed))];
        let figures = figures.into_iter().flatten().map(|figure| Block::Figure(Box::new(figure)));
        figures.chain(lone_values(scene, i, &jumps)).collect::<Vec<_>>()
    });
    blocks.collect()
}

/// A word of caution if most jumps go there and back around a single value, as errors of single values do.
fn lone_values(scene: &Scene, i: usize, jumps: &Jumps) -> Option<Block> {
    let times = jumps.of(|jump| jump.time);
    let (rows, values) = (&scene.table.times, &scene.table.columns[i]);
    let seen: Vec<f64> = rows.iter().zip(values).filter(|(_, value)| !value.is_nan()).map(|(time, _)| *time).collect();
    let pairs = there_and_back(&times, &jumps.of(|jump| jump.size), &seen);
    let most = pairs >= 2 && 4 * pairs >= times.len();
    let of = scene.dimension(i).map_or(String::new(), |name| format!("{name}: "));
    most.then(|| {
        Block::Warning(format!(
            "{of}{} of {} probable jumps come in pairs of opposite sign around a single value: a sign of outliers \
             in the \
             data. With Gaussian observation noise the model explains them as jumps of the state, which lowers alpha. If \
             they are wrong values, fit again with --errors outliers, or leave those fields empty.",
            2 * pairs,
            times.len()
        ))
    })
}

/// Pairs of jumps that undo each other around one observation.
fn there_and_back(times: &[f64], sizes: &[f64], seen: &[f64]) -> usize {
    let (mut pairs, mut k) = (0, 1);
    while k < times.len() {
        let (away, back) = (sizes[k - 1], sizes[k]);
        let between = seen.partition_point(|t| *t < times[k]) - seen.partition_point(|t| *t < times[k - 1]);
        let undone = (away + back).abs() < 0.3 * away.abs().max(back.abs());
        if between == 1 && undone {
            (pairs, k) = (pairs + 1, k + 1);
        }
        k += 1;
    }
    pairs
}

/// Jumps of one dimension: all that are listed, or those more probable than not.
struct Jumps<'a>(Vec<&'a Jump>);

impl<'a> Jumps<'a> {
    fn listed(scene: &Scene<'a>, i: usize) -> Self {
        Self(scene.outcome.fit.jumps[i].iter().collect())
    }

    fn probable(&self) -> Self {
        Self(self.0.iter().copied().filter(|jump| jump.probability >= PROBABLE).collect())
    }

    fn of(&self, figure: impl Fn(&Jump) -> f64) -> Vec<f64> {
        self.0.iter().map(|jump| figure(jump)).collect()
    }

    /// Numbers of the times at which they end.
    fn places(&self) -> Vec<usize> {
        self.0.iter().map(|jump| jump.place).collect()
    }

    fn columns(&self, figure: Figure) -> Figure {
        figure
            .column("jump_time", "time of jump", self.of(|jump| jump.time))
            .column("jump_low", "size, 5%", short(self.of(|jump| jump.size_q05)))
            .column("jump_size", "size of jump, median", short(self.of(|jump| jump.size)))
            .column("jump_high", "size, 95%", short(self.of(|jump| jump.size_q95)))
            .column("jump_probability", "probability", self.of(|jump| round(jump.probability)))
    }
}

fn round(probability: f64) -> f64 {
    (probability * 1e4).round() / 1e4
}

fn path(scene: &Scene, i: usize, jumps: &Jumps) -> Figure {
    let (fit, name) = (&scene.outcome.fit, &scene.table.names[i]);
    let quantile = |k: usize| fit.marginals[i].iter().map(|m| m.quantiles[k]).collect::<Vec<f64>>();
    let all: Vec<Vec<f64>> = (0..5).map(quantile).collect();
    let most = (MOST / scene.dim()).max(FEWEST);
    let keep = thin(fit.times.len(), most, &[&all[0], &all[4]], &jumps.places());
    let seen: Vec<usize> = (0..scene.table.times.len()).filter(|&r| !scene.table.columns[i][r].is_nan()).collect();
    let (seen_times, seen_values) = (pick(&scene.table.times, &seen), pick(&scene.table.columns[i], &seen));
    let rows = thin(seen.len(), most, &[&seen_values], &[]);
    let mut figure = Figure::new(
        &scene.id("path", i),
        scene.title("data and posterior", i),
        scene.times.clone(),
        Axis::linear(name.clone()),
    )
    .column("observed_time", "time of observation", pick(&seen_times, &rows))
    .column("observed", "observed", short(pick(&seen_values, &rows)))
    .column("time", "time", pick(&fit.times, &keep));
    // What is drawn thinly lies above what is drawn broadly: bands, median, paths, observations, jumps.
    figure = posterior_bands(figure, &all, &keep).layer(Layer::line("median", "blue", "time", "q50"));
    for (k, path) in some_paths(&fit.weights).into_iter().enumerate() {
        let column = format!("path{}", k + 1);
        let values = keep.iter().map(|&j| fit.paths.column(i, j).nth(path).unwrap_or(f64::NAN)).collect();
        let tone = ["teal", "brown", "violet"][k % 3];
        figure = figure.column(&column, format!("posterior path {}", k + 1), short(values));
        let line = Layer::line(&format!("path {}", k + 1), tone, "time", &column);
        figure = figure.layer(Layer { thin: true, hidden: keep.len() > DENSE, ..line });
    }
    figure = figure.layer(Layer::points("observations", "dots", "observed_time", "observed"));
    if !jumps.0.is_empty() {
        figure = jumps.columns(figure).column("jump_state", "state after it", short(pick(&all[2], &jumps.places())));
        let marks = Layer::marks("probable jumps, with size", "red", ["jump_time", "jump_state"], "jump_size");
        figure = figure.layer(Layer { probability: Some("jump_probability".into()), ..marks });
    }
    let wrong: Vec<usize> =
        probable(fit, scene.table).iter().filter(|value| value.column == i).map(|value| value.row).collect();
    if !wrong.is_empty() {
        figure = figure
            .column("wrong_time", "time of a wrong value", pick(&scene.table.times, &wrong))
            .column("wrong", "probably wrong", short(pick(&scene.table.columns[i], &wrong)))
            .layer(Layer { large: true, ..Layer::points("probably wrong values", "red", "wrong_time", "wrong") });
    }
    figure.caption = caption(fit.times.len(), keep.len(), (seen.len(), rows.len()), jumps.0.len(), jump_above(scene));
    (figure.dimension, figure.link, figure.height) = (scene.dimension(i), Some("time".into()), Some(430));
    figure
}

/// Columns of the quantiles 5, 25, 50, 75 and 95% at the times in `keep`, and the bands between the outer and the inner ones.
pub(super) fn posterior_bands(mut figure: Figure, quantiles: &[Vec<f64>], keep: &[usize]) -> Figure {
    let names = [("q05", "5%"), ("q25", "25%"), ("q50", "median"), ("q75", "75%"), ("q95", "95%")];
    for (values, (column, label)) in quantiles.iter().zip(names) {
        figure = figure.column(column, label, short(pick(values, keep)));
    }
    figure
        .layer(Layer::band("90% of the posterior", "blue", "time", ["q05", "q95"]))
        .layer(Layer { strong: true, ..Layer::band("50%", "blue", "time", ["q25", "q75"]) })
}

fn jump_above(scene: &Scene) -> Option<f64> {
    scene.outcome.settings.solve.jump_above
}

fn caption(times: usize, kept: usize, (seen, drawn): (usize, usize), jumps: usize, above: Option<f64>) -> String {
    let mut text = String::from("Observations and the posterior of the hidden state");
    text += if kept > DENSE { "." } else { ", with a few posterior paths." };
    text += &match jumps {
        0 => " No jump is more likely than not.".to_string(),
        1 => " One jump is more likely than not; it is marked.".into(),
        n => format!(" {n} jumps are more likely than not; they are marked, the largest with their size."),
    };
    text += &match above {
        None => " A step counts as a jump if its variance is in the upper 1% under the noise model; with --jump-above X, if \
                 it moves by more than X."
            .to_string(),
        Some(above) => {
            format!(" A move between two observations of more than {above} beyond the drift counts as a jump.")
        }
    };
    if kept < times || drawn < seen {
        text += &format!(
            " Shown: {kept} of {times} times and {drawn} of {seen} observations, the lowest and the highest of every interval."
        );
    }
    text
}

/// Numbers of a few paths, spread evenly over the weights.
pub fn some_paths(weights: &[f64]) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..PATHS).map(|k| at_share(weights, (k as f64 + 0.5) / PATHS as f64)).collect();
    chosen.dedup();
    chosen
}

/// The path at which the sum of the weights passes `share`.
pub fn at_share(weights: &[f64], share: f64) -> usize {
    let mut sum = 0.0;
    let passed = |weight: &f64| {
        sum += weight;
        sum >= share
    };
    weights.iter().position(passed).unwrap_or(weights.len() - 1)
}

fn sizes(scene: &Scene, i: usize, jumps: &Jumps) -> Figure {
    let name = &scene.table.names[i];
    let y = Axis::linear(format!("size ({name})"));
    let whiskers = Layer::whiskers("size, 90% interval", "red", "jump_time", ["jump_low", "jump_size", "jump_high"]);
    let figure = Figure::new(&scene.id("jumps", i), scene.title("jumps", i), scene.times.clone(), y);
    let ends = [0, scene.outcome.fit.times.len() - 1];
    let mut figure = jumps
        .columns(figure)
        .column("span", "time", pick(&scene.outcome.fit.times, &ends))
        .column("zero", "no jump", vec![0.0, 0.0])
        .layer(Layer { thin: true, dash: true, ..Layer::line("", "grey", "span", "zero") })
        .layer(Layer { probability: Some("jump_probability".into()), ..whiskers });
    figure.caption =
        "Every jump of at least 10% probability: its size beyond the drift, given that there was one, as median and 90% \
         interval. The same table is in jumps.csv."
            .into();
    (figure.dimension, figure.link, figure.height) = (scene.dimension(i), Some("time".into()), Some(230));
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_there_and_back() {
        let seen: Vec<f64> = (0..20).map(f64::from).collect();
        // Up at 3 and down at 4; up at 8 and down at 11, which is a stay; up twice at 14 and 15.
        let times = [3.0, 4.0, 8.0, 11.0, 14.0, 15.0];
        assert_eq!(there_and_back(&times, &[5.0, -4.9, 3.0, -3.0, 2.0, 2.0], &seen), 1);
        assert_eq!(there_and_back(&times, &[5.0, -2.0, 3.0, -3.0, 2.0, -2.1], &seen), 1);
        assert_eq!(there_and_back(&[], &[], &seen), 0);
    }
}
