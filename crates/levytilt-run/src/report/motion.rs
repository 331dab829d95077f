//! Show the law of motion over the states that were visited, its potential, and where the state was.

use levytilt::StateSpace;
use levytilt::drift::Formula;

use super::compact::short;
use super::curves::Curve;
use super::equation::Equation;
use super::figure::{Axis, Figure, Layer};
use super::histogram::{MANY, histogram};
use super::page::Block;
use super::scene::Scene;
use super::wells::Wells;
use crate::settings::DriftName;
use crate::units::TimeUnit;

/// Places at which a curve is drawn.
const COUNT: usize = 161;
/// Share of the states left out at either end, so that a single jump does not set the scale.
const ASIDE: f64 = 0.001;

/// The equation if there is one, and the figures of every dimension.
pub fn blocks(scene: &Scene) -> Vec<Block> {
    let fit = &scene.outcome.fit;
    let equation = |formula: Formula| {
        let own = |name: &String| formula.parameters().iter().any(|parameter| parameter.name == *name);
        let estimates = fit.parameters.iter().filter(|p| own(&p.name));
        let estimates = estimates.map(|p| (p.name.clone(), p.value, p.std_error)).collect();
        Block::Equation(Equation { formula: formula.text(0), estimates, ..Equation::default() })
    };
    let equation = scene.outcome.settings.formula().ok().flatten().map(equation);
    let shared = equation.is_some() && scene.dim() > 1;
    let shared = shared.then(|| Block::Text("Every column follows this equation with parameters of its own.".into()));
    let wells = wells(scene).and_then(|wells| wells.verdict());
    equation
        .into_iter()
        .chain(shared)
        .chain(wells)
        .chain((0..scene.dim()).map(|i| Block::Pair(figures(scene, i))))
        .collect()
}

/// The stable states of a drift that bends; nothing for several dimensions, a drift that depends on time, or one that was given.
pub fn wells(scene: &Scene) -> Option<Wells> {
    let fit = &scene.outcome.fit;
    let drift = &fit.model.drift;
    let learned = fit.network.is_some() || fit.parameters.iter().take(drift.parameter_count()).any(|p| !p.fixed);
    if scene.dim() > 1 || drift.is_affine() || !drift.is_autonomous() || !learned {
        return None;
    }
    let (xs, middles, step) = (visited_range(&medians(scene, 0)).grid(), middles(scene), steps(scene));
    Some(Wells::new(fit, &xs, |model| rates(model, 0, &middles, &xs, step)))
}

/// Posterior medians of dimension `i`, sorted.
fn medians(scene: &Scene, i: usize) -> Vec<f64> {
    let mut medians: Vec<f64> = scene.outcome.fit.marginals[i].iter().map(|m| m.quantiles[2]).collect();
    medians.sort_by(f64::total_cmp);
    medians
}

/// Where the state was, but for a few extremes, with some air.
fn visited_range(medians: &[f64]) -> Range {
    let at = |share: f64| medians[((medians.len() - 1) as f64 * share).round() as usize];
    let (low, high) = (at(ASIDE), at(1.0 - ASIDE));
    let pad = if high > low { 0.04 * (high - low) } else { 0.5 };
    Range { low: low - pad, high: high + pad }
}

/// Drift, potential if there are wells, and visited states of dimension `i`.
fn figures(scene: &Scene, i: usize) -> Vec<Figure> {
    let medians = medians(scene, i);
    let states = visited_range(&medians);
    let kind = &scene.outcome.summary.drift;
    let wells = !scene.outcome.fit.model.drift.is_affine() && (*kind != DriftName::NEURAL || scene.dim() == 1);
    // Without a drift there is nothing to draw of it.
    let mut figures: Vec<Figure> = (*kind != DriftName::NONE).then(|| drift(scene, i, &states)).into_iter().collect();
    figures.extend(wells.then(|| potential(scene, i, &states)));
    figures.push(visited(scene, i, &medians, &states));
    figures.iter_mut().for_each(|figure| figure.dimension = scene.dimension(i));
    figures
}

/// Where curves are drawn.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn grid(&self) -> Vec<f64> {
        (0..COUNT).map(|k| self.low + (self.high - self.low) * k as f64 / (COUNT - 1) as f64).collect()
    }
}

/// f along dimension `i` at the time `first`, the other dimensions at their middles.
fn rates(model: &StateSpace, i: usize, middles: &[f64], xs: &[f64], (first, step): (f64, f64)) -> Vec<f64> {
    // Short against everything that moves, long against rounding.
    let short = 1e-4 * step;
    let mut state = middles.to_vec();
    let mut moved = vec![0.0; state.len()];
    let mut rate = |&x: &f64| {
        state[i] = x;
        model.drift.flow(first, short, &state, &mut moved);
        (moved[i] - x) / short
    };
    xs.iter().map(&mut rate).collect()
}

fn middles(scene: &Scene) -> Vec<f64> {
    let middle = |marginals: &Vec<levytilt::internals::posterior::Marginal>| {
        marginals.iter().map(|m| m.quantiles[2]).sum::<f64>() / marginals.len() as f64
    };
    scene.outcome.fit.marginals.iter().map(middle).collect()
}

/// The first time and a typical step.
fn steps(scene: &Scene) -> (f64, f64) {
    let times = &scene.outcome.fit.times;
    (times[0], (times[times.len() - 1] - times[0]) / (times.len() - 1) as f64)
}

fn drift(scene: &Scene, i: usize, states: &Range) -> Figure {
    let (name, xs, middles, step) = (&scene.table.names[i], states.grid(), middles(scene), steps(scene));
    let curve = Curve::new(&scene.outcome.fit, |model| rates(model, i, &middles, &xs, step));
    let time = TimeUnit::new(&scene.table.calendar, &scene.table.time_name);
    let y = Axis::linear(format!("drift f of {name} per {}", time.one()));
    let mut figure = curve_figure(&scene.id("drift", i), scene.title("drift", i), (name, y), xs, curve);
    figure.columns.insert("zero".into(), super::figure::Column { label: "at rest".into(), values: vec![0.0; COUNT] });
    figure.layers.insert(0, Layer { thin: true, dash: true, ..Layer::line("", "grey", "state", "zero") });
    figure.caption =
        "The drift, with a 90% band from the uncertainty of the parameters. Where f crosses zero from above there is \
         a stable equilibrium."
            .into();
    if !scene.outcome.fit.model.drift.is_autonomous() {
        figure.caption += " The drift depends on time; this is the one at time 0.";
    }
    if scene.dim() > 1 {
        figure.caption += " Other dimensions are at their means.";
    }
    if !figure.columns.contains_key("low") {
        figure.caption += " No band: no parameter was learned, or the drift is a network.";
    }
    figure
}

fn potential(scene: &Scene, i: usize, states: &Range) -> Figure {
    let (name, xs, middles, step) = (&scene.table.names[i], states.grid(), middles(scene), steps(scene));
    let curve = Curve::new(&scene.outcome.fit, |model| well(&xs, &rates(model, i, &middles, &xs, step)));
    let y = Axis::linear("V, with f = −dV/dx");
    let mut figure = curve_figure(&scene.id("potential", i), scene.title("potential", i), (name, y), xs, curve);
    figure.caption =
        "The potential of the drift: its minima are stable equilibria, its maxima the barriers that noise must \
         cross. V is zero at the state nearest zero."
            .into();
    figure
}

/// −∫ f dx by the trapezium rule, zero at the place nearest zero.
fn well(xs: &[f64], rates: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut heights = vec![0.0];
    for k in 1..xs.len() {
        sum -= 0.5 * (rates[k] + rates[k - 1]) * (xs[k] - xs[k - 1]);
        heights.push(sum);
    }
    let zero = (0..xs.len()).min_by(|&a, &b| xs[a].abs().total_cmp(&xs[b].abs())).map_or(0.0, |k| heights[k]);
    heights.iter().map(|h| h - zero).collect()
}

fn curve_figure(id: &str, title: String, (name, y): (&str, Axis), xs: Vec<f64>, curve: Curve) -> Figure {
    let mut figure = Figure::new(id, title, Axis::linear(name), y).column("state", name, short(xs));
    if let Some([low, high]) = curve.band {
        figure = figure.column("low", "5%", short(low)).column("high", "95%", short(high));
        figure = figure.layer(Layer::band("90% band", "blue", "state", ["low", "high"]));
    }
    let mut figure = figure.column("estimate", "estimate", short(curve.middle));
    figure = figure.layer(Layer::line("estimate", "blue", "state", "estimate"));
    figure.height = Some(300);
    figure
}

fn visited(scene: &Scene, i: usize, medians: &[f64], states: &Range) -> Figure {
    let (title, ends) = (scene.title("visited states", i), (states.low, states.high));
    let name = &scene.table.names[i];
    let mut figure = histogram(&scene.id("visited", i), title, name, "share of times", medians, ends, MANY);
    figure.caption = "States visited by the hidden path (posterior medians).".into();
    figure.caption += match scene.outcome.summary.drift {
        DriftName::NONE => " This model has no drift: only noise moves the state.",
        _ => " The data determine the drift only where the state has been.",
    };
    figure.height = Some(300);
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_double_well() {
        // f = x − x³ has V = −x²/2 + x⁴/4.
        let xs: Vec<f64> = (0..=400).map(|k| -2.0 + 0.01 * f64::from(k)).collect();
        let rates: Vec<f64> = xs.iter().map(|x| x - x.powi(3)).collect();
        let worst = xs.iter().zip(well(&xs, &rates)).map(|(x, v)| (v - (0.25 * x.powi(4) - 0.5 * x * x)).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-3);
    }
}
