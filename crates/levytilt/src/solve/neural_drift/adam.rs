//! Train all layers of a drift network on transitions: minibatches, Adam, and a penalty on the distance from its
//! initial values.
//!
//! Every transition stands alone, so nothing is propagated back through time. The push on the flow is ω·r, so a step of
//! gradient ascent on ln p(x' | flow(x)) is a step of weighted least squares.

use super::transitions::Transitions;
use crate::drift::Neural;
use crate::solve::adam::Adam;
use crate::{Result, stream};
use rand::RngExt;
use rayon::prelude::*;

/// Parameters as z = (θ − start)/std, which puts all of them on the same scale.
pub(super) struct Coordinates {
    pub start: Vec<f64>,
    pub std: Vec<f64>,
}

/// Steps of a training.
const STEPS: usize = 60;
/// Transitions of a minibatch.
const BATCH: usize = 512;
/// Transitions whose gradient one task sums; sums are added in order, so that threads do not matter.
const TASK: usize = 64;
/// Initial step length in z; it falls linearly to zero.
const RATE: f64 = 0.02;

/// `network` trained on those of `steps` of `data`, from where it is.
pub(super) fn train(
    network: &Neural,
    data: &Transitions,
    transitions: &[usize],
    coordinates: &Coordinates,
    strength: f64,
    seed: u64,
) -> Result<Neural> {
    let Coordinates { start, std } = coordinates;
    let count = start.len();
    let mut network = network.clone();
    let mut parameters = network.values().to_vec();
    let mut adam = Adam::new(count, [[0.9, 0.1], [0.99, 0.01]]);
    let mut rng = stream(seed, 0);
    let mut batch = vec![0; BATCH.min(transitions.len())];
    let weight = strength / data.steps() as f64;
    for step in 0..STEPS {
        batch.iter_mut().for_each(|n| *n = transitions[rng.random_range(0..transitions.len())]);
        let slope = slope(&network, data, &batch);
        let rate = RATE * (1.0 - step as f64 / STEPS as f64);
        let corrections = adam.corrections([0.9, 0.99]);
        for k in 0..count {
            let z = (parameters[k] - start[k]) / std[k];
            let g = slope[k] * std[k] / batch.len() as f64 - weight * z;
            let [mean, square] = adam.update(k, g);
            parameters[k] += std[k] * rate * (mean / corrections[0]) / ((square / corrections[1]).sqrt() + 1e-12);
        }
        network = network.with_values(&parameters)?;
    }
    Ok(network)
}

/// Σ ∂ ln p(x' | flow(x))/∂parameters over a batch.
fn slope(network: &Neural, data: &Transitions, batch: &[usize]) -> Vec<f64> {
    let sums: Vec<Vec<f64>> = batch
        .par_chunks(TASK)
        .map(|task| {
            let dim = data.dim();
            let steps: Vec<(f64, f64)> = task.iter().map(|&n| data.step(n)).collect();
            let states: Vec<f64> = task.iter().flat_map(|&n| data.from(n)).copied().collect();
            let (mut out, mut by_state) = (vec![0.0; states.len()], vec![0.0; states.len()]);
            let mut sum = vec![0.0; network.values().len()];
            let mut pushes = |out: &[f64], pushes: &mut [f64]| {
                for (place, push) in pushes.iter_mut().enumerate() {
                    let (n, i) = (task[place / dim], place % dim);
                    *push = data.push(n, i, data.to(n)[i] - out[place]);
                }
            };
            network.pullbacks(&steps, &states, &mut pushes, &mut out, &mut by_state, &mut sum);
            sum
        })
        .collect();
    let mut total = vec![0.0; network.values().len()];
    for sum in &sums {
        total.iter_mut().zip(sum).for_each(|(total, s)| *total += s);
    }
    total
}
