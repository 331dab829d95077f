//! Show what networks were trained to say: the message φ(x) = A_t x² + B_t x of every time, and how training went.

use levytilt::potential::Potential;
use levytilt::solve::neural::Trained;

use super::compact::{pick, thin};
use super::figure::{Axis, Figure, Layer};
use super::fit_page::Scene;
use super::page::Block;

/// Most times drawn.
const MOST: usize = 3000;

/// Training and, per dimension, A_t and B_t.
pub fn blocks(scene: &Scene, trained: &Trained) -> Vec<Block> {
    let mut blocks = vec![Block::Figure(Box::new(training(trained)))];
    blocks.extend((0..scene.dim()).map(|i| Block::Pair(coefficients(scene, i))));
    blocks
}

fn training(trained: &Trained) -> Figure {
    let keep = thin(trained.trace.len(), MOST, &[&trained.trace], &[]);
    let mut figure =
        Figure::new("training", "Training of the networks", Axis::linear("iteration"), Axis::linear("bound (nats)"))
            .column("iteration", "iteration", keep.iter().map(|&k| k as f64).collect())
            .column("bound", "bound", pick(&trained.trace, &keep))
            .layer(Layer { thin: true, ..Layer::line("bound", "blue", "iteration", "bound") });
    figure.caption = "Bound of the log evidence before every iteration, estimated with few paths.".into();
    figure.height = Some(260);
    figure
}

/// A_t and B_t of dimension `i`; times with another kind of message are left out.
fn coefficients(scene: &Scene, i: usize) -> Vec<Figure> {
    let quadratic = |(time, potential): (&f64, &Potential)| match potential {
        Potential::Quadratic(q) => Some((*time, q.a(), 2.0 * q.a() * q.c())),
        Potential::Sum(_) => None,
    };
    let fit = &scene.outcome.fit;
    let found: Vec<(f64, f64, f64)> = fit.times.iter().zip(&fit.potentials[i]).filter_map(quadratic).collect();
    let [times, a, b] = [0, 1, 2].map(|k| found.iter().map(|&(t, a, b)| [t, a, b][k]).collect::<Vec<f64>>());
    let keep = thin(found.len(), MOST, &[&a, &b], &[]);
    let shapes = [
        ("firmness", "−A", "−A_t: how firmly the future holds the state", &a),
        ("pull", "B", "B_t: where it pulls", &b),
    ];
    let figure = |(id, column, label, values): (&str, &str, &str, &Vec<f64>)| {
        let y = if id == "firmness" { Axis::log(column) } else { Axis::linear(column) };
        let mut figure = Figure::new(&scene.id(id, i), scene.title(label, i), scene.times.clone(), y)
            .column("time", "time", pick(&times, &keep))
            .column("value", column, pick(values, &keep))
            .layer(Layer::line(column, "blue", "time", "value"));
        figure.caption = "The message of the networks at every time, φ(x) = A x² + B x; its centre is −B/(2A).".into();
        (figure.dimension, figure.link, figure.height) = (scene.dimension(i), Some("time".into()), Some(280));
        figure
    };
    shapes.into_iter().map(figure).collect()
}
