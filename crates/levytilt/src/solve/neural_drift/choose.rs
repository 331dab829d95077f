//! Choose the strength of the penalty on a drift network by the log density of held-out transitions.
//!
//! Time is cut into contiguous blocks; each in turn is held out. Zero drift is always among the candidates, and the
//! strongest penalty within one standard error of the best one wins, so no drift is found without evidence.

use super::ridge::{Features, Normal, drift};
use super::transitions::Transitions;
use crate::drift::Neural;
use rayon::prelude::*;

/// Contiguous blocks of time, each held out once.
pub(super) const BLOCKS: usize = 6;
/// Strengths of the penalty, in nats, that are tried besides infinity (zero drift): strongest first.
const STRENGTHS: [f64; 9] = [1e4, 1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3, 1e-4];

/// A strength and the evidence for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regularisation {
    /// Strength of the penalty; infinite for no drift.
    pub strength: f64,
    /// Gain in held-out log density over no drift, in nats.
    pub gain: f64,
    /// Its standard error.
    pub std_error: f64,
}

/// The transitions of block `b`.
pub(super) fn block(data: &Transitions, b: usize) -> std::ops::Range<usize> {
    let edge = |b: usize| data.steps() * b / BLOCKS * data.copies;
    edge(b)..edge(b + 1)
}

/// Sum and its standard error of one number per step.
pub(super) fn total(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (n * mean, (n * variance).sqrt())
}

/// The chosen strength for the output layer, with fixed hidden layers.
pub(super) fn choose(network: &Neural, data: &Transitions, units: &[f64]) -> Regularisation {
    let features = Features::new(network, data);
    // ω at no drift: over a step the drift is small compared with the noise, and all candidates are treated alike.
    let parts: Vec<Vec<Normal>> = (0..data.dim() * BLOCKS)
        .into_par_iter()
        .map(|k| Normal::new(data, &features, k / BLOCKS, block(data, k % BLOCKS), None))
        .collect::<Vec<_>>()
        .into_iter()
        .fold(Vec::new(), |mut all: Vec<Vec<Normal>>, part| {
            match all.last_mut() {
                Some(last) if last.len() < BLOCKS => last.push(part),
                _ => all.push(vec![part]),
            }
            all
        });
    let gains: Vec<Vec<f64>> =
        STRENGTHS.par_iter().map(|&strength| held_out(data, &features, &parts, strength, units)).collect();
    let Some(best) = (0..gains.len()).max_by(|&a, &b| total(&gains[a]).0.total_cmp(&total(&gains[b]).0)) else {
        return Regularisation { strength: f64::INFINITY, gain: 0.0, std_error: 0.0 };
    };
    let nothing = vec![0.0; data.steps()];
    let close = |gains: &[f64], best: &[f64]| {
        let (gap, error) = total(&best.iter().zip(gains).map(|(b, g)| b - g).collect::<Vec<_>>());
        gap <= error
    };
    if close(&nothing, &gains[best]) {
        let (gain, std_error) = total(&gains[best]);
        return Regularisation { strength: f64::INFINITY, gain, std_error };
    }
    let chosen = (0..gains.len()).find(|&k| close(&gains[k], &gains[best])).unwrap_or(best);
    let (gain, std_error) = total(&gains[chosen]);
    Regularisation { strength: STRENGTHS[chosen], gain, std_error }
}

/// Gain over no drift of every step, each predicted from the other blocks.
fn held_out(data: &Transitions, features: &Features, parts: &[Vec<Normal>], strength: f64, units: &[f64]) -> Vec<f64> {
    let mut gains = vec![0.0; data.steps()];
    for b in 0..BLOCKS {
        let rows = parts.iter().zip(units).map(|(parts, &unit)| {
            let rest = Normal::sum(parts.iter().enumerate().filter(|(k, _)| *k != b).map(|(_, part)| part));
            rest.and_then(|rest| rest.solve(strength, unit))
        });
        let Some(rows) = rows.collect::<Option<Vec<_>>>() else {
            return vec![f64::NEG_INFINITY; data.steps()];
        };
        let output: Vec<f64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
        for n in block(data, b) {
            gains[n / data.copies] += gain(data, n, |i| data.step(n).1 * drift(features, &output, n, i));
        }
    }
    gains
}

/// Log density of transition `n` with these moves against that without any, per copy.
pub(super) fn gain(data: &Transitions, n: usize, moved: impl Fn(usize) -> f64) -> f64 {
    (0..data.dim()).map(|i| data.gain(n, i, moved(i))).sum::<f64>() / data.copies as f64
}
