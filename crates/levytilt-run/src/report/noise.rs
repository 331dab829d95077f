//! Hold the law of the noise against the increments that the posterior paths took.

use anyhow::Result;
use levytilt::noise::Nodes;

use super::agreement;
use super::compact::short;
use super::figure::{Axis, Figure, Layer};
use super::law::Law;
use super::page::Block;
use super::path::at_share;
use super::scene::Scene;
use crate::units::TimeUnit;

/// Paths whose increments are looked at.
const PATHS: usize = 20;
/// Boxes of the histogram, even on a logarithmic axis.
const BOXES: usize = 60;
/// Places of the density.
const COUNT: usize = 161;
/// Ranks drawn at either end of the Q–Q plot, and evenly in between.
const ENDS: usize = 25;
const BETWEEN: usize = 120;
/// Standard normal quantile at 95%.
const Z95: f64 = 1.645;

/// Whether the increments of dimension `i` follow its noise, their density and Q–Q plot.
pub fn blocks(scene: &Scene, i: usize) -> Result<Vec<Block>> {
    let reference = typical_length(scene);
    let law = Law::new(scene.outcome.fit.model.dimensions[i].noise.nodes(reference)?);
    let paths: Vec<Vec<(f64, f64)>> = increments(scene, i)?;
    let density = match law.skewed_centre() {
        Some(median) => skewed_density(scene, i, (&law, median), &paths, reference),
        None => density(scene, i, &law, &paths, reference),
    };
    let mut figures = vec![density, quantiles(scene, i, &paths)?];
    for figure in &mut figures {
        (figure.dimension, figure.height) = (scene.dimension(i), Some(340));
    }
    // Where there are residuals, they have judged the model.
    let judged = scene.outcome.filtered.as_ref().is_some_and(|found| !found.residuals[i].checks.is_empty());
    let verdict = if judged { None } else { agreement::verdict(scene.dimension(i), &paths) };
    Ok(verdict.into_iter().chain([Block::Pair(figures)]).collect())
}

/// The middle one of the step lengths.
fn typical_length(scene: &Scene) -> f64 {
    let mut lengths: Vec<f64> = (1..scene.chain.len()).map(|j| scene.chain.length(j)).collect();
    let middle = lengths.len() / 2;
    *lengths.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn step_length(scene: &Scene, length: f64) -> String {
    TimeUnit::new(&scene.table.calendar, &scene.table.time_name).length(length)
}

/// Per path the increments x_j − flow(x_{j−1}): sign, and logarithm of the chance to go further on that side.
///
/// If the model is correct, a path drawn from the posterior has independent increments with the law of the noise.
fn increments(scene: &Scene, i: usize) -> Result<Vec<Vec<(f64, f64)>>> {
    let (chain, fit) = (scene.chain, &scene.outcome.fit);
    let count = PATHS.min(fit.paths.len());
    let chosen: Vec<usize> = (0..count).map(|k| at_share(&fit.weights, (k as f64 + 0.5) / count as f64)).collect();
    let dim = chain.dim();
    let mut all = vec![Vec::with_capacity(chain.len()); count];
    for j in 1..chain.len() {
        let mut before = vec![0.0; count * dim];
        for d in 0..dim {
            let states: Vec<f64> = fit.paths.column(d, j - 1).collect();
            chosen.iter().enumerate().for_each(|(k, &p)| before[k * dim + d] = states[p]);
        }
        let now: Vec<f64> = fit.paths.column(i, j).collect();
        let mut moved = vec![0.0; before.len()];
        chain.flow_many(j, &before, &mut moved);
        for (k, &p) in chosen.iter().enumerate() {
            let increment = now[p] - moved[k * dim + i];
            all[k].push(tail(chain.nodes(i, j), increment));
        }
    }
    Ok(all)
}

/// On which side of the law an increment lies, of zero or of the median if it is skewed, and the logarithm of the chance to
/// go further there.
fn tail(nodes: &Nodes, increment: f64) -> (f64, f64) {
    if nodes.means().is_none() {
        return (increment.signum(), nodes.cdf(-increment.abs()).ln());
    }
    let (below, above) = (nodes.cdf(increment), nodes.sf(increment));
    if above < below { (1.0, above.ln()) } else { (-1.0, below.ln()) }
}

/// The density of skewed noise to either side of its median.
fn skewed_density(
    scene: &Scene,
    i: usize,
    (law, median): (&Law, f64),
    paths: &[Vec<(f64, f64)>],
    reference: f64,
) -> Figure {
    let distance = |&(sign, tail): &(f64, f64)| (sign, law.side_distance(sign, tail));
    let all: Vec<(f64, f64)> = paths.iter().flatten().map(distance).filter(|d| d.1.is_finite() && d.1 > 0.0).collect();
    let far = all.iter().map(|d| d.1).fold(4.0 * law.half(), f64::max) * 1.5;
    let near = law.half() / 30.0;
    let at = |share: f64| near * (far / near).powf(share);
    let xs: Vec<f64> = (0..COUNT).map(|k| at(k as f64 / (COUNT - 1) as f64)).collect();
    let mut figure = Figure::new(
        &scene.id("density", i),
        scene.title("noise of a step", i),
        Axis::log(format!(
            "distance from the median {} of a step of {}",
            crate::number::brief(median),
            step_length(scene, reference)
        )),
        Axis::log("density"),
    );
    for (name, label, colour, sign) in [("up", "upward", "blue", 1.0), ("down", "downward", "brown", -1.0)] {
        let model: Vec<f64> = xs.iter().map(|x| law.side_density(sign, *x)).collect();
        let own: Vec<f64> = all.iter().filter(|d| d.0 == sign).map(|d| d.1).collect();
        let (places, found) = histogram(&own, at);
        let share = own.len() as f64 / all.len().max(1) as f64;
        let found = found.into_iter().map(|density| share * density).collect();
        let [x, y, place, found_in] = ["distance", "model", "place", "found"].map(|column| format!("{column}_{name}"));
        figure = figure
            .column(&x, "distance", digits(xs.clone()))
            .column(&y, format!("model, {label}"), digits(model))
            .column(&place, "distance", digits(places))
            .column(&found_in, format!("posterior paths, {label}"), digits(found))
            .layer(Layer { aside: true, ..Layer::line(&format!("model, {label}"), colour, &x, &y) })
            .layer(Layer::points(&format!("posterior paths, {label}"), colour, &place, &found_in));
    }
    figure.caption = format!(
        "Density of the skewed noise above and below its median on logarithmic axes, where a power-law tail is a straight \
         line, and the increments of {} posterior paths after removing the drift. Increments over other step lengths are \
         converted by their rank.",
        paths.len()
    );
    figure
}

fn density(scene: &Scene, i: usize, law: &Law, paths: &[Vec<(f64, f64)>], reference: f64) -> Figure {
    let distances: Vec<f64> =
        paths.iter().flatten().map(|(_, tail)| law.distance(*tail)).filter(|d| d.is_finite() && *d > 0.0).collect();
    let quartile = law.half();
    let far = distances.iter().copied().fold(4.0 * quartile, f64::max) * 1.5;
    let near = quartile / 30.0;
    let at = |share: f64| near * (far / near).powf(share);
    let xs: Vec<f64> = (0..COUNT).map(|k| at(k as f64 / (COUNT - 1) as f64)).collect();
    let model: Vec<f64> = xs.iter().map(|x| law.density(*x)).collect();
    let sigma = quartile / 0.674_489_750_196_081_7;
    let bell = |x: &f64| {
        2.0 * law.moving() * (-0.5 * (x / sigma).powi(2)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt())
    };
    let bell: Vec<f64> = xs.iter().map(bell).collect();
    let (places, found) = histogram(&distances, at);
    let mut figure = Figure::new(
        &scene.id("density", i),
        scene.title("noise of a step", i),
        Axis::log(format!("|increment| over a step of {}", step_length(scene, reference))),
        Axis::log("density"),
    )
    .column("increment", "|increment|", digits(xs))
    .column("gaussian", "Gaussian", digits(bell))
    .column("model", "model", digits(model))
    .column("place", "|increment|", digits(places))
    .column("found", "posterior paths", digits(found))
    .layer(Layer {
        dash: true,
        aside: true,
        ..Layer::line("Gaussian with the same quartiles", "brown", "increment", "gaussian")
    })
    .layer(Layer { aside: true, ..Layer::line("model", "blue", "increment", "model") })
    .layer(Layer::points("increments of the posterior paths", "dots", "place", "found"));
    figure.caption = format!(
        "Density of the noise on logarithmic axes, where a power-law tail is a straight line, and the increments of {} \
         posterior paths after removing the drift. Increments over other step lengths are converted by their rank.",
        paths.len()
    );
    figure
}

/// Places and densities of the boxes that hold something.
fn histogram(distances: &[f64], at: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
    let mut sorted = distances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = |x: f64| sorted.partition_point(|d| *d < x);
    let of = |k: usize| {
        let (from, to) = (at(k as f64 / BOXES as f64), at((k + 1) as f64 / BOXES as f64));
        let count = below(to) - below(from);
        (count > 0).then(|| ((from * to).sqrt(), count as f64 / sorted.len() as f64 / (to - from)))
    };
    (0..BOXES).filter_map(of).unzip()
}

fn quantiles(scene: &Scene, i: usize, paths: &[Vec<(f64, f64)>]) -> Result<Figure> {
    let normal = Law::normal()?;
    let score =
        |&(sign, tail): &(f64, f64)| if tail == f64::NEG_INFINITY { sign * 7.0 } else { sign * normal.distance(tail) };
    let mut sorted: Vec<Vec<f64>> = paths.iter().map(|path| path.iter().map(score).collect()).collect();
    sorted.iter_mut().for_each(|path| path.sort_by(f64::total_cmp));
    let n = sorted[0].len();
    let ranks = ranks(n);
    let over_paths = |rank: &usize| {
        let mut values: Vec<f64> = sorted.iter().map(|path| path[*rank]).collect();
        values.sort_by(f64::total_cmp);
        0.5 * (values[(values.len() - 1) / 2] + values[values.len() / 2])
    };
    let level = |u: f64| if u < 0.5 { -normal.distance(u.ln()) } else { normal.distance((1.0 - u).ln()) };
    let expected = |rank: &usize| level((*rank as f64 + 0.5) / n as f64);
    let edge = |p: f64| ranks.iter().map(|r| level(rank_quantile(*r, n, p))).collect::<Vec<f64>>();
    let mut figure = Figure::new(
        &scene.id("qq", i),
        scene.title("Q–Q plot", i),
        Axis::linear("quantile of the model (standard normal)"),
        Axis::linear("quantile of the increments"),
    )
    .column("expected", "model", short(ranks.iter().map(expected).collect()))
    .column("low", "5%", short(edge(0.05)))
    .column("high", "95%", short(edge(0.95)))
    .column("found", "increments", short(ranks.iter().map(over_paths).collect()))
    .layer(Layer::band("90% band under the model", "grey", "expected", ["low", "high"]))
    .layer(Layer::line("model", "grey", "expected", "expected"))
    .layer(Layer::points("increments", "blue", "expected", "found"));
    figure.caption =
        "Increments against the model's noise, both transformed to standard normal quantiles. Points inside the band \
                      agree with the noise; points that leave it at the ends mean that the model's tails are too heavy \
                      (flatter) or too light (steeper). Median over the same paths."
            .into();
    Ok(figure)
}

/// Ranks to draw: all at the ends, some in between.
fn ranks(n: usize) -> Vec<usize> {
    let ends = ENDS.min(n / 2);
    let between = (0..BETWEEN).map(|k| ends + k * (n - 2 * ends) / BETWEEN);
    let mut ranks: Vec<usize> = (0..ends).chain(between).chain(n - ends..n).filter(|&r| r < n).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The level that an order statistic (`rank` from 0) of `n` uniform values does not exceed in a share `p` of cases, p being
/// 5% or 95%.
fn rank_quantile(rank: usize, n: usize, p: f64) -> f64 {
    let from_above = n - 1 - rank;
    match rank.min(from_above) {
        few if few > ENDS => inner_quantile(rank, n, if p < 0.5 { -Z95 } else { Z95 }),
        _ if rank <= from_above => end_quantile(rank, n, p),
        _ => 1.0 - end_quantile(from_above, n, 1.0 - p),
    }
}

/// Near the lower end: the u at which fewer than rank + 1 of n values lie below it in a share 1 − p of cases, by halving.
fn end_quantile(rank: usize, n: usize, p: f64) -> f64 {
    let fewer = |u: f64| {
        let mut term = (n as f64 * (-u).ln_1p()).exp();
        let mut sum = term;
        for k in 1..=rank {
            term *= (n + 1 - k) as f64 / k as f64 * u / (1.0 - u);
            sum += term;
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        *(if fewer(middle) > 1.0 - p { &mut low } else { &mut high }) = middle;
    }
    0.5 * (low + high)
}

/// Away from the ends: the quantile of a Beta law by the approximation of Abramowitz and Stegun, 26.5.22.
fn inner_quantile(rank: usize, n: usize, z: f64) -> f64 {
    let (a, b) = (rank as f64 + 1.0, (n - rank) as f64);
    let (p, q) = (1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0));
    let (lambda, h) = ((z * z - 3.0) / 6.0, 2.0 / (p + q));
    let w = -z * (h + lambda).sqrt() / h - (q - p) * (lambda + 5.0 / 6.0 - 2.0 / (3.0 * h));
    a / (a + b * (2.0 * w).exp())
}

/// Four digits, for numbers of all sizes.
fn digits(values: Vec<f64>) -> Vec<f64> {
    values
        .into_iter()
        .map(|v| format!("{v:.3e}").parse().unwrap_or(v))
        .map(|v: f64| if v > 1e-300 { v } else { f64::NAN })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_order_statistics() {
        // The lowest of n uniform values has the quantile 1 − (1 − p)^(1/n); Beta(5, 6) has the 95% quantile 0.696463.
        for p in [0.05, 0.95] {
            let exact = 1.0 - f64::powf(1.0 - p, 1.0 / 100.0);
            assert!((rank_quantile(0, 100, p) / exact - 1.0).abs() < 1e-9, "{p}");
            assert!((rank_quantile(0, 100, p) + rank_quantile(99, 100, 1.0 - p) - 1.0).abs() < 1e-12);
            // Where one way to compute it ends and the other begins they agree.
            let z = if p < 0.5 { -Z95 } else { Z95 };
            assert!((end_quantile(ENDS, 200, p) / inner_quantile(ENDS, 200, z) - 1.0).abs() < 2e-3, "{p}");
        }
        assert!((rank_quantile(4, 10, 0.95) - 0.696_463).abs() < 1e-6, "{}", rank_quantile(4, 10, 0.95));
    }

    #[test]
    fn identity_ranks_hold_the_ends() {
        for n in [1, 2, 40, 5000] {
            let ranks = ranks(n);
            assert!(ranks[0] == 0 && ranks[ranks.len() - 1] == n - 1 && ranks.windows(2).all(|p| p[0] < p[1]));
        }
    }
}
