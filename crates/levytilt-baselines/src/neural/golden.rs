//! Hold losses and gradients of all networks to those of an independent implementation, at fixed weights.
//!
//! `tests/data/networks.txt` was written by the same networks on candle-core 0.11, which differentiates by itself. For
//! each network: its loss, then a line per matrix of parameters, in the order in which they are made. A line `slope` has
//! all entries; for the default sizes a line `norm` has the norm and the inner product with sin(1 + 7.7 k).

use super::jump_sde::Events;
use super::point::{PointModel, PointNetwork};
use super::tape::{Tape, Var};
use super::train::slope_of;
use super::windows::Standard;
use super::{DLinear, DeepAr, JumpSde, NHits, NeuralMjd, Output};
use crate::forecaster::Record;
use levytilt::Result;

const GOLDEN: &str = include_str!("../../tests/data/networks.txt");

/// Two dimensions with uneven gaps.
fn record(length: usize) -> Record {
    let mut t = 0.0;
    let next = |k: usize| {
        t += 0.5 + 0.5 * libm::sin(3.7 * k as f64).abs();
        t
    };
    let times: Vec<f64> = (0..length).map(next).collect();
    let value = |i: f64, k: f64| libm::sin(0.4 * k + i) + 0.5 * libm::sin(2.9 * k * (1.0 + 0.3 * i)) + 0.02 * k;
    let column = |i: usize| (0..length).map(|k| value(i as f64, k as f64)).collect::<Vec<f64>>();
    Record::new(times, vec![column(0), column(1)]).unwrap()
}

/// Entry k of matrix v is sin(1 + 0.7 (k + 1)² + 4.1 v)/√(rows + 3).
fn fix_weights(tape: &mut Tape, shapes: &[(usize, usize)]) {
    let one = |(v, &(rows, columns)): (usize, &(usize, usize))| {
        let bound = 1.0 / (rows as f64 + 3.0).sqrt();
        let phase = move |k: usize| 1.0 + 0.7 * (k as f64 + 1.0).powi(2) + 4.1 * v as f64;
        (0..rows * columns).map(move |k| (bound * libm::sin(phase(k))) as f32)
    };
    let values: Vec<f32> = shapes.iter().enumerate().flat_map(one).collect();
    tape.parameters().0.copy_from_slice(&values);
}

/// Compare with the lines of a network; deviations are relative to the largest entry of each matrix.
fn compare(name: &str, tape: &mut Tape, mut loss: impl FnMut(&mut Tape) -> Var) {
    let mut lines = GOLDEN.lines().skip_while(|line| *line != format!("model {name}")).skip(1);
    let mut next = || {
        let mut words = lines.next().unwrap().split_whitespace();
        let kind = words.next().unwrap();
        (kind, words.map(|word| word.parse().unwrap()).collect::<Vec<f64>>())
    };
    let shapes = tape.parameter_shapes();
    fix_weights(tape, &shapes);
    let (value, wanted) = (f64::from(slope_of(tape, &mut loss)), next().1[0]);
    assert!((value - wanted).abs() < 1e-5 * wanted.abs(), "{name}: loss {value} {wanted}");
    let mut rest = tape.parameters().1;
    for (v, (rows, columns)) in shapes.into_iter().enumerate() {
        let (slope, later) = rest.split_at(rows * columns);
        rest = later;
        let (kind, wanted) = next();
        let got: Vec<f64> = match kind {
            "slope" => slope.iter().map(|g| f64::from(*g)).collect(),
            _ => {
                let norm = slope.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
                let along = slope.iter().enumerate().map(|(k, g)| f64::from(*g) * libm::sin(1.0 + 7.7 * k as f64));
                vec![norm, along.sum()]
            }
        };
        assert_eq!(got.len(), wanted.len());
        let scale = wanted.iter().fold(0.0, |scale, g| f64::max(scale, g.abs()));
        let worst = got.iter().zip(&wanted).fold(0.0, |worst, (a, b)| f64::max(worst, (a - b).abs()));
        println!("{name}, matrix {v} of {rows} × {columns}: {:.1e}", worst / scale);
        assert!(worst <= 1e-5 * scale, "{name}, matrix {v} of {rows} × {columns}: {worst} of {scale}");
    }
}

fn compare_deepar(name: &str, model: &DeepAr, length: usize) {
    let data = Standard::values(&record(length)).unwrap();
    let (network, mut tape) = model.network(data.dim(), 1);
    let loss = network.loss_on(&mut tape, &data);
    compare(name, &mut tape, loss);
}

fn compare_point<N: PointNetwork>(
    name: &str,
    model: &PointModel<impl Fn(&mut super::layers::Parameters, usize) -> Result<N>>,
    (length, horizon): (usize, usize),
) {
    let data = Standard::values(&record(length)).unwrap();
    let count = data.count_pairs(model.lookback, horizon).unwrap();
    let mut learner = model.learner(&data, horizon, 0..count, 1).unwrap();
    let (tape, loss) = learner.split();
    compare(name, tape, loss);
}

fn compare_jump_sde(name: &str, model: &JumpSde, length: usize) {
    let events = Events::new(&record(length)).unwrap();
    let pieces = model.pieces(&events);
    let (network, mut tape) = model.network(&events, 1);
    compare(name, &mut tape, network.loss_on(&pieces));
}

fn compare_mjd(name: &str, model: &NeuralMjd, (length, horizon): (usize, usize)) {
    let (contexts, targets) = model.data(&record(length), horizon).unwrap();
    let (network, mut tape, rng) = model.network(horizon, 1);
    let contexts = tape.constant(model.lookback, &contexts);
    compare(name, &mut tape, model.loss_on(&network, contexts, &targets, rng));
}

#[test]
fn golden_deepar() {
    compare_deepar("deepar", &DeepAr { width: 6, ..DeepAr::default() }, 20);
    compare_deepar("deepar-t", &DeepAr { output: Output::Student, width: 6, ..DeepAr::default() }, 20);
    compare_deepar("deepar-default", &DeepAr::default(), 150);
}

#[test]
fn golden_point_networks() {
    compare_point("dlinear", &DLinear { lookback: 8, kernel: 5, ..DLinear::default() }.model(), (20, 3));
    compare_point("nhits", &NHits { lookback: 8, width: 6, ..NHits::default() }.model(), (20, 5));
    compare_point("nhits-default", &NHits::default().model(), (150, 14));
}

#[test]
fn golden_jump_sde() {
    let small = JumpSde { lookback: 7, state: 4, components: 3, width: 6, substeps: 2, ..JumpSde::default() };
    compare_jump_sde("nj-sde", &small, 20);
    compare_jump_sde("nj-sde-default", &JumpSde::default(), 150);
}

#[test]
fn golden_neural_mjd() {
    let all = NeuralMjd { dropout: 0.0, ..NeuralMjd::default() };
    compare_mjd("neural-mjd", &NeuralMjd { lookback: 8, width: 10, ..all }, (20, 3));
    compare_mjd("neural-mjd-default", &all, (150, 14));
}
