//! Take a path over one step with any number of components, and record what its gradient needs of each.

use levytilt::StreamRng;
use levytilt::internals::potential::Potential;
use levytilt::internals::tilt::{Moments, TiltTable, pick};
use levytilt::noise::Nodes;
use rand::RngExt;
use std::sync::Arc;

/// A step tilted by e^{φ(x)} = Σ_m π_m e^{−a_m(x − c_m)²}: ln π_m and a table for each component, in the order of the
/// potential.
pub(super) struct BumpStep {
    bumps: Vec<(f64, TiltTable)>,
}

/// The role of one component in one step of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bump {
    /// Its prior probability π_m Z_m/Z, given x̃.
    pub call: f64,
    /// Its posterior probability π_m e^{−a_m(x − c_m)²}/e^{φ(x)}, given the new state.
    pub share: f64,
    /// E(g) and E(g²) over the nodes, given this component.
    pub mean_g: f64,
    pub mean_square_g: f64,
}

/// The result of a step.
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

    /// Draw component, node and next state from x̃; add to `notes`, one per component.
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

/// Turn logarithms into shares of their sum; return the logarithm of the sum.
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

/// Draw the component. Where only one is possible, no random number is used, so a component without weight has no
/// effect.
#[inline]
fn called(notes: &[Bump], rng: &mut StreamRng) -> usize {
    match notes.iter().position(|note| note.call == 1.0) {
        Some(alone) => alone,
        None => pick(notes.iter().map(|note| note.call), rng.random()),
    }
}
