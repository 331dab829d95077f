//! Filter with particles that carry states, steered by messages from the future.
//!
//! A step moves a particle by the flow of the drift. Then every source draws its jump in proportion to its law times the message
//! that it sees, and the weight grows by the integral of the two, divided by the message at the state before. So evidence is
//! unbiased whatever the messages are, and no density of the transition is needed: noise may act in fewer directions than there
//! are states. Particles are sorted and draw with the points of a lattice, as those that carry Gaussian laws do.

use super::super::chain::GeneralChain;
use super::super::filter::{Chosen, FilterOptions, choose};
use super::super::form::{Form, dot};
use super::super::guide::Reach;
use super::super::lattice::{Lattice, batches};
use super::super::meet::{Met, meet};
use super::super::pass::see_slices;
use super::messages::NonlinearGuide;
use super::stage::{Room, log_sum, normal, stages, value};
use crate::posterior::normalise;
use crate::stream;
use nalgebra::{DMatrix, DVector};

/// The particles of one time after what is seen there.
#[derive(Debug, Default)]
pub(super) struct Cloud {
    /// States, particle after particle.
    pub states: Vec<f64>,
    /// Where the flow of the next step takes them; empty at the last time.
    pub ahead: Vec<f64>,
    /// ln of the twisted weights, before any resampling.
    pub log_weights: Vec<f64>,
    /// ln of the message from the future.
    pub outlook: Vec<f64>,
    /// The node and the jump that each source drew, source fastest; empty at the first time.
    pub nodes: Vec<u16>,
    pub jumps: Vec<f64>,
    /// The particle of the time before that each one came from.
    pub parents: Vec<u32>,
}

/// One filter over all times.
#[derive(Debug)]
pub(super) struct Filtered {
    pub log_evidence: f64,
    pub resamplings: usize,
    /// Flows that could not be computed: their particles count as impossible.
    pub lost: usize,
    pub clouds: Vec<Cloud>,
}

/// Run filter number `number`. All particles may be lost; the log evidence is −∞ then.
pub(super) fn filter(chain: &GeneralChain, guide: &NonlinearGuide, options: &FilterOptions, number: u64) -> Filtered {
    let (count, dim, sources) = (options.particles, chain.dim(), chain.model.sources.len());
    let mut rng = stream(options.seed, number);
    let mut lattice = Lattice::new((dim + 1).max(2 * sources));
    lattice.shift(&mut rng);
    let (mut log_evidence, first) = start(chain, guide, count, &lattice);
    let mut clouds = vec![first];
    let (mut resamplings, mut lost) = (0, 0);
    let mut room = Room::default();
    for j in 1..chain.len() {
        let old = &mut clouds[j - 1];
        old.ahead = vec![0.0; count * dim];
        let (from, to) = (chain.times()[j - 1], chain.times()[j]);
        chain.model.drift.flow_many(from, to - from, &old.states, &mut old.ahead);
        for (moved, log_weight) in old.ahead.chunks_exact(dim).zip(&mut old.log_weights) {
            if !moved.iter().all(|z| z.is_finite()) {
                lost += 1;
                *log_weight = f64::NEG_INFINITY;
            }
        }
        let order = order(guide, old);
        if !old.log_weights.iter().any(|w| *w > f64::NEG_INFINITY) {
            return Filtered { log_evidence: f64::NEG_INFINITY, resamplings, lost, clouds };
        }
        let Chosen { parents, mut log_weights, log_mean } = choose(&old.log_weights, order, &mut rng);
        log_evidence += log_mean.unwrap_or(0.0);
        resamplings += usize::from(log_mean.is_some());
        let mut cloud = Cloud {
            states: Vec::with_capacity(count * dim),
            outlook: Vec::with_capacity(count),
            nodes: Vec::with_capacity(count * sources),
            jumps: Vec::with_capacity(count * sources),
            parents: parents.iter().map(|&parent| parent as u32).collect(),
            ..Cloud::default()
        };
        lattice.shift(&mut rng);
        let stages = stages(chain, guide, j);
        let mut away = vec![0.0; dim];
        for ((i, &parent), log_weight) in parents.iter().enumerate().zip(&mut log_weights) {
            let moved = &old.ahead[parent * dim..(parent + 1) * dim];
            away.iter_mut().zip(moved.iter().zip(&guide.at[j])).for_each(|(away, (z, at))| *away = z - at);
            let mut before = old.outlook[parent];
            for (r, (stage, source)) in stages.iter().zip(&chain.model.sources).enumerate() {
                let points = (lattice.point(i, 2 * r), lattice.point(i, 2 * r + 1));
                let drawn = stage.draw(&away, points, &mut room);
                *log_weight += drawn.total - before;
                away.iter_mut().zip(&source.direction).for_each(|(away, b)| *away += b * drawn.jump);
                before = stage.value(&away);
                cloud.nodes.push(drawn.node as u16);
                cloud.jumps.push(drawn.jump);
            }
            // The last source saw the message together with what is seen.
            cloud.outlook.push(before - seen(chain, j, &away, &guide.at[j]));
            cloud.states.extend(away.iter().zip(&guide.at[j]).map(|(away, at)| at + away));
        }
        cloud.log_weights = log_weights;
        clouds.push(cloud);
    }
    log_evidence += normalise(&clouds[clouds.len() - 1].log_weights).0 - (count as f64).ln();
    Filtered { log_evidence, resamplings, lost, clouds }
}

/// ln of the density of what is seen at time `j` from a state.
fn seen(chain: &GeneralChain, j: usize, away: &[f64], at: &DVector<f64>) -> f64 {
    let log = |(h, y, variance): (&DVector<f64>, f64, f64)| {
        let miss = y - h.dot(at) - dot(h.as_slice(), away);
        -0.5 * (miss * miss / variance + (std::f64::consts::TAU * variance).ln())
    };
    chain.seen(j).map(log).sum()
}

/// ln of a sum of messages.
fn outlook(copies: &[Form], away: &[f64]) -> f64 {
    log_sum(copies.iter().map(|form| value(form, away)))
}

/// Log evidence and particles of the first time: draws of the law after what is seen there, times the message.
fn start(chain: &GeneralChain, guide: &NonlinearGuide, count: usize, lattice: &Lattice) -> (f64, Cloud) {
    let dim = chain.dim();
    let (mut mean, mut covariance) = chain.start();
    let seen = see_slices(chain, 0, mean.as_mut_slice(), covariance.as_mut_slice());
    let covariance = 0.5 * (&covariance + covariance.transpose());
    let away = &mean - &guide.at[0];
    let mut met = Met::default();
    let parts: Vec<(f64, DVector<f64>, DMatrix<f64>)> = guide.future[0]
        .iter()
        .map(|form| {
            meet(form, away.as_slice(), covariance.as_slice(), &[], &mut met);
            let (shift, root) = tilted(form, &away, &covariance);
            (met.log, shift, root)
        })
        .collect();
    let total = log_sum(parts.iter().map(|(log, _, _)| *log));
    let mut cloud = Cloud { log_weights: vec![0.0; count], ..Cloud::default() };
    for i in 0..count {
        let mut left = lattice.point(i, dim);
        let part = parts.iter().position(|(log, _, _)| {
            left -= (log - total).exp();
            left < 0.0
        });
        let (_, shift, root) = &parts[part.unwrap_or(parts.len() - 1)];
        let noise = DVector::from_fn(dim, |k, _| normal(lattice.point(i, k)));
        let away = &away + shift + root * noise;
        cloud.outlook.push(outlook(&guide.future[0], away.as_slice()));
        cloud.states.extend((&away + &guide.at[0]).iter());
    }
    (seen + total, cloud)
}

/// The mean of N(m, P)·e^{message} less m, and a root of its covariance P(I + ΛP)⁻¹.
fn tilted(form: &Form, away: &DVector<f64>, covariance: &DMatrix<f64>) -> (DVector<f64>, DMatrix<f64>) {
    let dim = away.len();
    let system = DMatrix::identity(dim, dim) + covariance * &form.precision;
    let spread = system.lu().solve(covariance).unwrap_or_else(|| covariance.clone());
    let spread = 0.5 * (&spread + spread.transpose());
    let shift = &spread * (&form.pull - &form.precision * away);
    let eigen = spread.symmetric_eigen();
    let roots = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
    (shift, eigen.eigenvectors * DMatrix::from_diagonal(&roots))
}

/// Numbers of the particles such that neighbours are alike: by the states if these are few, else by the message and a state.
fn order(guide: &NonlinearGuide, cloud: &Cloud) -> Vec<usize> {
    let count = cloud.log_weights.len();
    let dim = cloud.states.len() / count;
    let keys = |i: usize| {
        let state = &cloud.states[i * dim..(i + 1) * dim];
        match (guide.reach, dim) {
            (_, 1) => (state[0], 0.0),
            (_, 2) | (Reach::Step, _) => (state[0], state[1]),
            (Reach::Record, _) => (cloud.outlook[i], state[0]),
        }
    };
    batches(&(0..count).map(keys).collect::<Vec<_>>())
}
