//! Filter with particles that carry a Gaussian law of the state, steered by messages from the future.
//!
//! At a source a particle draws the node k of its variance in proportion to w_k ∫N(z; m, P + S_k bbᵀ) e^{message}, and
//! its weight grows by the sum of these over all nodes, divided by the same integral one stage before. So weights are even
//! when messages are right, and evidence is unbiased whatever they are.

use super::chain::GeneralChain;
use super::form::{Along, Form, Space};
use super::guide::Guide;
use super::pass::{Law, see};
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice;
use crate::posterior::{Evidence, normalise, systematic};
use crate::{StreamRng, stream};
use nalgebra::DVector;
use rand::RngExt;

/// How much to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterOptions {
    /// Independent filters, at least 2: their spread gives the standard error.
    pub filters: usize,
    /// Particles of each, at least 2.
    pub particles: usize,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self { filters: 8, particles: 200, seed: 1 }
    }
}

/// The particles of one time after what is seen there.
#[derive(Debug)]
pub(super) struct Cloud {
    pub laws: Vec<Law>,
    /// ln of the twisted weights, before any resampling.
    pub log_weights: Vec<f64>,
    /// ln ∫ N(z; m, P) of the copies of the message from the future.
    pub outlook: Vec<f64>,
    /// The node that each source drew, source fastest; empty at the first time.
    pub nodes: Vec<u16>,
    /// The particle of the time before that each one came from.
    pub parents: Vec<u32>,
}

/// One filter over all times.
#[derive(Debug)]
pub(super) struct Filtered {
    pub log_evidence: f64,
    pub resamplings: usize,
    pub clouds: Vec<Cloud>,
}

/// Room for the choice of a node.
#[derive(Default)]
struct Choice {
    space: Space,
    along: Vec<Along>,
    terms: Vec<f64>,
    shrunk: Vec<f64>,
    shares: Vec<f64>,
    away: Vec<f64>,
}

/// A node drawn.
struct Drawn {
    node: usize,
    /// ln of the sum over all nodes.
    total: f64,
    /// ln of the integral with the node drawn.
    chosen: f64,
}

/// Run filter number `number`.
pub(super) fn filter(chain: &GeneralChain, guide: &Guide, options: &FilterOptions, number: u64) -> Filtered {
    let count = options.particles;
    let mut rng = stream(options.seed, number);
    let mut choice = Choice::default();
    let mut law = chain.start();
    let mut log_evidence = see(chain, 0, &mut law);
    let outlook = choice.meet(&guide.future[0], &law, &guide.at[0], &vec![0.0; chain.dim()]);
    log_evidence += outlook;
    let mut clouds = vec![Cloud {
        laws: vec![law; count],
        log_weights: vec![0.0; count],
        outlook: vec![outlook; count],
        nodes: Vec::new(),
        parents: Vec::new(),
    }];
    let mut resamplings = 0;
    for j in 1..chain.len() {
        let old = &clouds[j - 1];
        let (parents, mut log_weights) = match uneven(&old.log_weights) {
            Some((log_total, weights)) => {
                log_evidence += log_total - (count as f64).ln();
                resamplings += 1;
                (systematic(&weights, count, rng.random()), vec![0.0; count])
            }
            None => ((0..count).collect(), old.log_weights.clone()),
        };
        let mut cloud = Cloud {
            laws: Vec::with_capacity(count),
            log_weights: Vec::new(),
            outlook: Vec::with_capacity(count),
            nodes: Vec::with_capacity(count * chain.model.sources.len()),
            parents: parents.iter().map(|&parent| parent as u32).collect(),
        };
        for (&parent, log_weight) in parents.iter().zip(&mut log_weights) {
            let mut law = super::pass::predict(chain, j, &old.laws[parent]);
            let mut before = old.outlook[parent];
            for (r, source) in chain.model.sources.iter().enumerate() {
                let forms = &guide.stages[j - 1][r];
                let drawn =
                    choice.draw(forms, &law, &guide.at[j], source.direction.as_slice(), chain.nodes(r, j), &mut rng);
                *log_weight += drawn.total - before;
                before = drawn.chosen;
                law.1.ger(chain.nodes(r, j).variances()[drawn.node], &source.direction, &source.direction, 1.0);
                cloud.nodes.push(drawn.node as u16);
            }
            before -= see(chain, j, &mut law);
            cloud.outlook.push(before);
            cloud.laws.push(law);
        }
        cloud.log_weights = log_weights;
        clouds.push(cloud);
    }
    let end = &clouds[clouds.len() - 1];
    // The last message says nothing; its integral differs from 1 by rounding only.
    let ends: Vec<f64> = end.log_weights.iter().zip(&end.outlook).map(|(w, outlook)| w - outlook).collect();
    log_evidence += normalise(&ends).0 - (count as f64).ln();
    Filtered { log_evidence, resamplings, clouds }
}

/// ln of the sum of the weights and the normalised weights, if they are so uneven that half of the particles hardly count.
fn uneven(log_weights: &[f64]) -> Option<(f64, Vec<f64>)> {
    let (log_total, weights) = normalise(log_weights);
    let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    (effective < 0.5 * weights.len() as f64).then_some((log_total, weights))
}

impl Choice {
    /// ln of the integral of a law against a sum of messages; how each feels along `b` is left in `along`.
    fn meet(&mut self, forms: &[Form], (mean, covariance): &Law, at: &DVector<f64>, b: &[f64]) -> f64 {
        let Self { space, along, terms, away, .. } = self;
        away.clear();
        away.extend(mean.iter().zip(at).map(|(m, at)| m - at));
        along.clear();
        along.extend(forms.iter().map(|form| form.meet(away, covariance.as_slice(), b, space)));
        terms.clear();
        terms.extend(along.iter().map(|along| along.log));
        normalise(terms).0
    }

    fn draw(
        &mut self,
        forms: &[Form],
        law: &Law,
        at: &DVector<f64>,
        b: &[f64],
        nodes: &Nodes,
        rng: &mut StreamRng,
    ) -> Drawn {
        self.meet(forms, law, at, b);
        let Self { along, terms, shrunk, shares, .. } = self;
        let variances = nodes.variances();
        drop_hopeless(along, variances);
        let size = variances.len();
        terms.clear();
        shrunk.clear();
        for a in &*along {
            let half = 0.5 * a.force.powi(2);
            shrunk.extend(variances.iter().map(|s| 1.0 / (1.0 + s * a.firmness)));
            let own = &shrunk[shrunk.len() - size..];
            terms.extend(variances.iter().zip(own).map(|(s, q)| a.log + half * s * q));
        }
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        terms.iter_mut().for_each(|term| *term -= top);
        exp_slice(terms);
        // The sum over the copies, per node.
        shares.clear();
        shares.resize(size, 0.0);
        for (terms, shrunk) in terms.chunks_exact(size).zip(shrunk.chunks_exact(size)) {
            shares.iter_mut().zip(terms.iter().zip(shrunk)).for_each(|(sum, (term, q))| *sum += term * q.sqrt());
        }
        let terms = &*shares;
        let weighted = || terms.iter().zip(nodes.weights()).map(|(term, w)| term * w);
        let total: f64 = weighted().sum();
        let mut left = rng.random::<f64>() * total;
        let node = weighted().position(|share| {
            left -= share;
            left < 0.0
        });
        let node = node.unwrap_or(nodes.len() - 1);
        Drawn { node, total: top + total.ln(), chosen: top + terms[node].ln() }
    }
}

/// Smallest share of a node's sum that a copy may have to be kept: below it the sum does not change.
const HOPELESS: f64 = -40.0;

/// Drop the copies that count for nothing at any node: with force f and firmness φ a copy is at most log + ½f²/φ, and
/// another one at least log − ½ln(1 + s·φ) for the largest variance s.
fn drop_hopeless(along: &mut Vec<Along>, variances: &[f64]) {
    let largest = variances.iter().copied().fold(0.0, f64::max);
    let floor = |a: &Along| a.log - 0.5 * (largest * a.firmness).ln_1p();
    let floor = along.iter().map(floor).fold(f64::NEG_INFINITY, f64::max);
    along.retain(|a| a.firmness <= 0.0 || a.log + 0.5 * a.force.powi(2) / a.firmness > floor + HOPELESS);
}

/// ln of the mean of independent estimates of the evidence, with the standard error of that logarithm.
pub(super) fn combine(filters: &[(f64, usize)]) -> Evidence {
    let logs: Vec<f64> = filters.iter().map(|(log, _)| *log).collect();
    let count = logs.len() as f64;
    let (log_total, shares) = normalise(&logs);
    let spread: f64 = shares.iter().map(|share| (share * count - 1.0).powi(2)).sum();
    Evidence {
        log_evidence: log_total - count.ln(),
        std_error: (spread / (count * (count - 1.0))).sqrt(),
        resamplings: filters.iter().map(|(_, resamplings)| *resamplings as f64).sum::<f64>() / count,
    }
}
