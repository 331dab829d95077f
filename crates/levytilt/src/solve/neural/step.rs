//! Take a path over one step towards any number of bumps, and note what its slopes need of each.

use crate::StreamRng;
use crate::noise::Nodes;
use crate::potential::Potential;
use crate::tilt::{Moments, TiltTable, pick};
use rand::RngExt;
use std::sync::Arc;

/// A step tilted by e^{φ(x)} = Σ_m π_m e^{−a_m(x − c_m)²}: ln π_m and a table for each bump, in the order of the potential.
pub(super) struct BumpStep {
    bumps: Vec<(f64, TiltTable)>,
}

/// What one bump has to do with one step of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bump {
    /// Probability π_m Z_m/Z that it calls, seen from x̃.
    pub call: f64,
    /// Probability π_m e^{−a_m(x − c_m)²}/e^{φ(x)} that it was the one that called, seen from where the path went.
    pub share: f64,
    /// E(g) and E(g²) under the law of the node if it calls.
    pub mean_g: f64,
    pub mean_square_g: f64,
}

/// Where a step led.
pub(super) struct Taken {
    pub node: usize,
    pub state: f64,
    /// ln Z(x̃).
    pub log_z: f64,
    /// φ at the state.
    pub log_potential: f64,
}

impl BumpStep {
    pub fn new(nodes: &Arc<Nodes>, potential: &Potential) -> Self {
        let table = |(log_weight, quadratic)| (log_weight, TiltTable::new(nodes.clone(), quadratic));
        Self { bumps: potential.bumps().into_iter().map(table).collect() }
    }

    /// Draw bump, node and next state from x̃; add to `notes`, one per bump.
    #[inline]
    pub fn take(&self, before: f64, rng: &mut StreamRng, notes: &mut Vec<Bump>) -> Taken {
        let first = notes.len();
        notes.extend(self.bumps.iter().map(|(log_weight, table)| {
            let Moments { log_z, mean_g, mean_square_g } = table.moments(before);
            Bump { call: log_weight + log_z, share: 0.0, mean_g, mean_square_g }
        }));
        let notes = &mut notes[first..];
        let log_z = normalise(notes, |note| &mut note.call);
        let called = called(notes, rng);
        let (node, state) = self.bumps[called].1.go(before, rng);
        for ((log_weight, table), note) in self.bumps.iter().zip(&mut *notes) {
            note.share = log_weight + table.potential().log_value(state);
        }
        let log_potential = normalise(notes, |note| &mut note.share);
        Taken { node, state, log_z, log_potential }
    }
}

/// Turn logarithms into shares of their sum; returns the sum's logarithm.
#[inline]
fn normalise(notes: &mut [Bump], value: impl Fn(&mut Bump) -> &mut f64) -> f64 {
    if let [only] = notes {
        return std::mem::replace(value(only), 1.0);
    }
    let top = notes.iter_mut().fold(f64::NEG_INFINITY, |top, note| top.max(*value(note)));
    let mut total = 0.0;
    for note in notes.iter_mut() {
        let term = value(note);
        *term = (*term - top).exp();
        total += *term;
    }
    notes.iter_mut().for_each(|note| *value(note) /= total);
    top + total.ln()
}

/// Draw the bump that calls. Where only one can, nothing is drawn, so that a bump without weight leaves no trace.
#[inline]
fn called(notes: &[Bump], rng: &mut StreamRng) -> usize {
    match notes.iter().position(|note| note.call == 1.0) {
        Some(alone) => alone,
        None => pick(notes.iter().map(|note| note.call), rng.random()),
    }
}
