//! Draw the jump of one source in the light of a message: a sum of quadratics along its direction against the nodes of its law.

use super::super::chain::GeneralChain;
use super::super::form::{Form, dot};
use super::super::robust::quantile;
use super::messages::NonlinearGuide;
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;
use nalgebra::DVector;
use spec_math::cephes64::ndtri;

/// A quadratic message along the direction b of a source.
#[derive(Debug)]
struct Copy {
    form: Form,
    /// Λb.
    stiff: DVector<f64>,
    /// bᵀg.
    force: f64,
}

/// The copies of a message that a source sees, and its nodes met with each.
#[derive(Debug)]
pub(super) struct Stage {
    copies: Vec<Copy>,
    /// Per copy and node: ln w − ½ ln(1 + AS), and half the variance ½S/(1 + AS) of the jump.
    offsets: Vec<f64>,
    halves: Vec<f64>,
    nodes: usize,
}

/// A jump drawn.
pub(super) struct Drawn {
    pub node: usize,
    pub jump: f64,
    /// ln of the integral of the jump's law against the message.
    pub total: f64,
}

/// Room for one draw.
#[derive(Debug, Default)]
pub(super) struct Room {
    terms: Vec<f64>,
    forces: Vec<f64>,
}

/// Share of the prior below the variance that sources yet to come have in the second set of copies, and the share that it
/// stands for.
const LATER: (f64, f64) = (0.99, 0.01);
/// Firmness along a direction below this part of the largest is rounding.
const BLIND: f64 = 1e-13;

/// What every source sees in the step that ends at time `j`, in their order.
///
/// The message holds after the last source. One before it sees the message through the jumps still to come: Gaussian ones, of
/// the guide's variances or larger.
pub(super) fn stages(chain: &GeneralChain, guide: &NonlinearGuide, j: usize) -> Vec<Stage> {
    let mut forms = guide.future[j].clone();
    forms.iter_mut().for_each(|form| chain.seen(j).for_each(|seen| form.see(seen, &guide.at[j])));
    let sources = &chain.model.sources;
    let mut large: Vec<Form> = Vec::new();
    let mut stages = Vec::with_capacity(sources.len());
    for r in (0..sources.len()).rev() {
        let both: Vec<Form> = forms.iter().chain(&large).cloned().collect();
        stages.push(Stage::new(both, &sources[r].direction, chain.nodes(r, j)));
        if r > 0 {
            if large.is_empty() {
                large = forms.clone();
                large.iter_mut().for_each(|form| form.log += LATER.1.ln());
            }
            let (b, usual) = (&sources[r].direction, guide.variances[(j - 1) * sources.len() + r]);
            let wide = quantile(chain.nodes(r, j), LATER.0).max(usual);
            forms.iter_mut().for_each(|form| form.pull_back(b, usual));
            large.iter_mut().for_each(|form| form.pull_back(b, wide));
        }
    }
    stages.reverse();
    stages
}

impl Stage {
    fn new(forms: Vec<Form>, b: &DVector<f64>, nodes: &Nodes) -> Self {
        let (mut offsets, mut halves) = (Vec::new(), Vec::new());
        let copy = |form: Form| {
            let mut stiff = &form.precision * b;
            let (mut firm, mut force) = (b.dot(&stiff), b.dot(&form.pull));
            if firm <= BLIND * form.precision.amax() * b.norm_squared() {
                (firm, force) = (0.0, 0.0);
                stiff.fill(0.0);
            }
            for (s, log_weight) in nodes.variances().iter().zip(nodes.log_weights()) {
                offsets.push(log_weight - 0.5 * (s * firm).ln_1p());
                halves.push(0.5 / (firm + 1.0 / s));
            }
            Copy { form, stiff, force }
        };
        let copies = forms.into_iter().map(copy).collect();
        Self { copies, offsets, halves, nodes: nodes.len() }
    }

    /// Draw a jump from `away`, the deviation of the state from the reference point; `points` are uniform.
    pub fn draw(&self, away: &[f64], points: (f64, f64), room: &mut Room) -> Drawn {
        room.terms.clear();
        room.forces.clear();
        let parts = self.offsets.chunks_exact(self.nodes).zip(self.halves.chunks_exact(self.nodes));
        for (copy, (offsets, halves)) in self.copies.iter().zip(parts) {
            let (value, force) = (value(&copy.form, away), copy.force - dot(copy.stiff.as_slice(), away));
            room.forces.push(force);
            let square = force * force;
            room.terms.extend(offsets.iter().zip(halves).map(|(offset, half)| value + offset + square * half));
        }
        let top = room.terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        room.terms.iter_mut().for_each(|term| *term -= top);
        exp_slice(&mut room.terms);
        let sum: f64 = room.terms.iter().sum();
        let mut left = points.0 * sum;
        let place = room.terms.iter().position(|term| {
            left -= term;
            left < 0.0
        });
        // Rounding may leave a rest beyond the last term.
        let likeliest = || (0..room.terms.len()).max_by(|&a, &b| room.terms[a].total_cmp(&room.terms[b])).unwrap_or(0);
        let place = place.unwrap_or_else(likeliest);
        let (force, half) = (room.forces[place / self.nodes], self.halves[place]);
        let jump = 2.0 * half * force + (2.0 * half).sqrt() * normal(points.1);
        Drawn { node: place % self.nodes, jump, total: top + sum.ln() }
    }

    /// ln of the message at `away`.
    pub fn value(&self, away: &[f64]) -> f64 {
        log_sum(self.copies.iter().map(|copy| value(&copy.form, away)))
    }
}

/// The standard normal number below which a share `point` lies.
pub(super) fn normal(point: f64) -> f64 {
    ndtri(point.clamp(1e-300, 1.0 - f64::EPSILON / 2.0))
}

/// log + gᵀu − ½uᵀΛu.
pub(super) fn value(form: &Form, u: &[f64]) -> f64 {
    let mut sum = form.log;
    for ((column, g), u_k) in form.precision.as_slice().chunks_exact(u.len()).zip(&form.pull).zip(u) {
        sum += u_k * (g - 0.5 * dot(column, u));
    }
    sum
}

/// ln Σ e^x.
pub(super) fn log_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY { top } else { top + values.map(|x| (x - top).exp()).sum::<f64>().ln() }
}
