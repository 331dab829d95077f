//! Show what networks were trained to say: the message φ(x) = A_t x² + B_t x of every time, how training went, and where
//! the reference times of their encoder ended.

use levytilt::Dimension;
use levytilt::internals::posterior::Marginal;
use levytilt::internals::potential::{Potential, Quadratic};
use levytilt_paper::training::Trained;

use super::calibration::tone;
use super::compact::{pick, thin};
use super::figure::{Axis, Figure, Layer};
use super::histogram::histogram;
use super::page::Block;
use super::scene::Scene;

/// Most times drawn.
const MOST: usize = 3000;

/// Training, reference times and, per dimension, A_t and B_t.
pub fn blocks(scene: &Scene, trained: &Trained) -> Vec<Block> {
    let mut blocks = vec![Block::Pair(vec![training(trained), references(scene, trained)])];
    blocks.extend((0..scene.dim()).map(|i| Block::Pair(coefficients(scene, i))));
    blocks
}

fn training(trained: &Trained) -> Figure {
    let keep = thin(trained.trace.len(), MOST, &[&trained.trace], &[]);
    let mut figure =
        Figure::new("training", "Training of the networks", Axis::linear("iteration"), Axis::linear("ELBO (nats)"))
            .column("iteration", "iteration", keep.iter().map(|&k| k as f64).collect())
            .column("bound", "ELBO", pick(&trained.trace, &keep))
            .layer(Layer { thin: true, ..Layer::line("ELBO", "blue", "iteration", "bound") });
    figure.caption = "ELBO before every iteration, estimated with few paths.".into();
    figure.height = Some(260);
    figure
}

/// Where the reference times ended, beside the largest moves of the posterior mean.
fn references(scene: &Scene, trained: &Trained) -> Figure {
    let mut sorted = trained.potential.reference_times();
    sorted.sort_by(f64::total_cmp);
    let moves = largest_moves(scene);
    let span = trained.potential.spec().span;
    let even = 1.0 / (span.1 - span.0);
    let mut figure = histogram("references", "Reference times".into(), "time", "references", &sorted, span, BOXES)
        .column("ends", "time", vec![span.0, span.1])
        .column("even", "density of even ones", vec![even; 2])
        .layer(Layer { dash: true, ..Layer::line("evenly spaced (initial)", "grey", "ends", "even") })
        .column("move_time", "time of move", moves.clone())
        .column("move_height", "density of even ones", vec![even; moves.len()])
        .layer(Layer { large: true, ..Layer::points("largest moves of the path", "red", "move_time", "move_height") });
    let crowding = trained.crowding(&moves, REACH * (span.1 - span.0));
    figure.caption = format!(
        "Density of the encoder's learned reference times, which start evenly spaced. \
         Within a hundredth of the span of the {MOVES} largest moves they are {crowding:.2} times as dense as even ones."
    );
    (figure.x, figure.link, figure.height) = (scene.times.clone(), Some("time".into()), Some(260));
    figure
}

/// Boxes of the histogram: few, so that evenly spaced references look even.
const BOXES: usize = 24;
/// Moves that are marked.
const MOVES: usize = 10;
/// What counts as near to one, in spans.
const REACH: f64 = 0.01;

/// Times of the largest moves of the posterior mean over one step, in observation standard deviations.
fn largest_moves(scene: &Scene) -> Vec<f64> {
    let fit = &scene.outcome.fit;
    let size = |j: usize| {
        let one = |(marginals, dimension): (&Vec<Marginal>, &Dimension)| {
            (marginals[j].mean - marginals[j - 1].mean).abs() / dimension.observation_std
        };
        fit.marginals.iter().zip(&fit.model.dimensions).map(one).fold(0.0, f64::max)
    };
    let mut order: Vec<(f64, f64)> = (1..fit.times.len()).map(|j| (size(j), fit.times[j])).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    order.truncate(MOVES);
    let mut times: Vec<f64> = order.into_iter().map(|(_, time)| time).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// A_t and B_t of dimension `i`, and if the message has several bumps, those of each and its weight.
fn coefficients(scene: &Scene, i: usize) -> Vec<Figure> {
    let fit = &scene.outcome.fit;
    let bumps: Vec<_> = fit.potentials[i].iter().map(Potential::bumps).collect();
    let several = bumps[0].len() > 1;
    let of = |value: &dyn Fn(&(f64, Quadratic)) -> f64| -> Vec<Vec<f64>> {
        (0..bumps[0].len()).map(|m| bumps.iter().map(|bumps| value(&bumps[m])).collect()).collect()
    };
    let (a, b) = (of(&|(_, q)| q.a()), of(&|(_, q)| 2.0 * q.a() * q.c()));
    let all: Vec<&[f64]> = a.iter().chain(&b).map(Vec::as_slice).collect();
    let keep = thin(fit.times.len(), MOST, &all, &[]);
    let name = &scene.table.names[i];
    let mut shapes = vec![
        ("firmness", "−A", "−A: half the precision of the message", Axis::log(format!("−A, per square of {name}")), a),
        ("pull", "B", "B: linear term", Axis::linear(format!("B, per unit of {name}")), b),
    ];
    if several {
        let y = Axis::linear("share of the message's area");
        shapes.push(("weight", "share", "Weights of the components", y, areas(&bumps)));
    }
    let caption = match several {
        false => {
            "The message of the networks at every time, φ(x) = A x² + B x, which tilts steps towards later observations; \
             its centre is −B/(2A)."
        }
        true => {
            "The message of the networks at every time, which tilts steps towards later observations: a weighted sum of \
             components exp(A x² + B x), each centred at −B/(2A)."
        }
    };
    let figure = |(id, column, label, y, values): (&str, &str, &str, Axis, Vec<Vec<f64>>)| {
        let mut figure = Figure::new(&scene.id(id, i), scene.title(label, i), scene.times.clone(), y).column(
            "time",
            "time",
            pick(&fit.times, &keep),
        );
        for (m, values) in values.iter().enumerate() {
            let (key, label) = match several {
                false => ("value".into(), column.into()),
                true => (format!("value{m}"), format!("{column}, component {}", m + 1)),
            };
            figure = figure.column(&key, label.clone(), pick(values, &keep));
            figure = figure.layer(Layer::line(&label, tone(m), "time", &key));
        }
        figure.caption = caption.into();
        (figure.dimension, figure.link, figure.height) = (scene.dimension(i), Some("time".into()), Some(280));
        figure
    };
    shapes.into_iter().map(figure).collect()
}

/// Share of every bump π e^{−a(x − c)²}, by bump and time, in the area π√(1/a) of all.
fn areas(bumps: &[Vec<(f64, Quadratic)>]) -> Vec<Vec<f64>> {
    let shares = |bumps: &Vec<(f64, Quadratic)>| -> Vec<f64> {
        let logs: Vec<f64> = bumps.iter().map(|(log_weight, q)| log_weight - 0.5 * q.a().ln()).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - top).exp()).sum();
        logs.iter().map(|log| (log - top).exp() / total).collect()
    };
    let by_time: Vec<Vec<f64>> = bumps.iter().map(shares).collect();
    (0..bumps[0].len()).map(|m| by_time.iter().map(|shares| shares[m]).collect()).collect()
}
