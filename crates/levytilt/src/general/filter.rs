//! Filter with particles that carry a Gaussian law of the state, steered by messages from the future.
//!
//! At a source a particle draws the node k of its variance in proportion to w_k ∫N(z; m, P + S_k bbᵀ) e^{message}, and
//! its weight grows by the sum of these over all nodes, divided by the same integral one stage before. So weights are even
//! when messages are right, and evidence is unbiased whatever they are.
//!
//! Particles are sorted so that neighbours are alike, resampled systematically, and draw with the points of a randomly shifted
//! lattice (array-RQMC; L'Ecuyer, Lécot and Tuffin 2008): each draw has its law, and neighbours draw differently, so errors
//! cancel.

use super::chain::GeneralChain;
use super::form::{add_square, dot};
use super::guide::{Guide, Reach};
use super::lattice::{Lattice, batches};
use super::meet::{Along, Direction, Met, meet};
use super::pass::{predict_slices, see_slices};
use crate::noise::Nodes;
use crate::noise::fast_exp::exp_slice_single;
use crate::posterior::{Evidence, normalise, systematic};
use crate::{StreamRng, stream};
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
    /// Means, particle after particle.
    pub means: Vec<f64>,
    /// Covariances, particle after particle.
    pub covariances: Vec<f64>,
    /// ln of the twisted weights, before any resampling.
    pub log_weights: Vec<f64>,
    /// ln ∫ N(z; m, P) of the copies of the message from the future.
    pub outlook: Vec<f64>,
    /// The node that each source drew, source fastest; empty at the first time.
    pub nodes: Vec<u16>,
    /// The particle of the time before that each one came from.
    pub parents: Vec<u32>,
}

impl Cloud {
    /// Mean and covariance of particle `i`.
    pub fn law(&self, i: usize) -> (&[f64], &[f64]) {
        let dim = self.means.len() / self.log_weights.len();
        (&self.means[i * dim..(i + 1) * dim], &self.covariances[i * dim * dim..(i + 1) * dim * dim])
    }
}

/// One filter over all times.
#[derive(Debug)]
pub(super) struct Filtered {
    pub log_evidence: f64,
    pub resamplings: usize,
    pub clouds: Vec<Cloud>,
}

/// Room for the choice of nodes.
#[derive(Default)]
struct Choice {
    met: Vec<Met>,
    away: Vec<f64>,
    wide: Vec<f64>,
    alone: Vec<Along>,
    terms: Vec<f32>,
    shrunk: Vec<f32>,
    shares: Vec<f32>,
    weighted: Vec<f64>,
}

/// A node drawn.
struct Drawn {
    node: usize,
    /// ln of the sum over all nodes.
    total: f64,
    /// ln of the integral with the node drawn.
    chosen: f64,
}

/// The evidence alone, from independent filters.
pub(crate) fn evidence(chain: &GeneralChain, guide: &Guide, options: &FilterOptions) -> Evidence {
    let one = |number: usize| {
        let Filtered { log_evidence, resamplings, .. } = filter(chain, guide, options, number as u64);
        (log_evidence, resamplings)
    };
    combine(&(0..options.filters).map(one).collect::<Vec<_>>())
}

/// Run filter number `number`.
pub(super) fn filter(chain: &GeneralChain, guide: &Guide, options: &FilterOptions, number: u64) -> Filtered {
    filter_until(chain, guide, options, number, chain.len())
}

/// The same over the first `times` times alone.
pub(super) fn filter_until(
    chain: &GeneralChain,
    guide: &Guide,
    options: &FilterOptions,
    number: u64,
    times: usize,
) -> Filtered {
    let count = options.particles;
    let (mut mean, mut covariance) = chain.start();
    let seen = see_slices(chain, 0, mean.as_mut_slice(), covariance.as_mut_slice());
    let outlook = Choice::default().outlook(guide, mean.as_slice(), covariance.as_slice());
    let start = Cloud {
        means: mean.as_slice().repeat(count),
        covariances: covariance.as_slice().repeat(count),
        log_weights: vec![0.0; count],
        outlook: vec![outlook; count],
        nodes: Vec::new(),
        parents: Vec::new(),
    };
    let mut found = filter_from(chain, guide, start, &mut stream(options.seed, number), times);
    found.log_evidence += seen + outlook;
    found
}

/// Go on from the particles of the first time, after what is seen there, over the first `times` times; the mean of their weights
/// is taken to be 1.
pub(super) fn filter_from(
    chain: &GeneralChain,
    guide: &Guide,
    start: Cloud,
    rng: &mut StreamRng,
    times: usize,
) -> Filtered {
    let (count, dim) = (start.log_weights.len(), chain.dim());
    let (mut choice, mut log_evidence) = (Choice::default(), 0.0);
    let mut clouds = vec![start];
    let directions: Vec<Direction> =
        chain.model.sources.iter().map(|source| Direction::new(&source.direction)).collect();
    let sources = chain.model.sources.len();
    let mut lattice = Lattice::new(sources);
    let mut resamplings = 0;
    for j in 1..times {
        let old = &clouds[j - 1];
        let order = order(chain, guide, j - 1, old);
        let Chosen { parents, mut log_weights, log_mean } = choose(&old.log_weights, order, rng);
        log_evidence += log_mean.unwrap_or(0.0);
        resamplings += usize::from(log_mean.is_some());
        let mut cloud = Cloud {
            means: vec![0.0; count * dim],
            covariances: vec![0.0; count * dim * dim],
            log_weights: Vec::new(),
            outlook: Vec::with_capacity(count),
            nodes: Vec::with_capacity(count * sources),
            parents: parents.iter().map(|&parent| parent as u32).collect(),
        };
        lattice.shift(rng);
        let priors = Priors::new(chain, guide, j);
        let single = |r: usize| chain.nodes(r, j).variances().iter().map(|s| s.min(1e38) as f32).collect();
        let variances: Vec<Vec<f32>> = (0..sources).map(single).collect();
        let laws = cloud.means.chunks_exact_mut(dim).zip(cloud.covariances.chunks_exact_mut(dim * dim));
        for ((i, (&parent, log_weight)), (mean, covariance)) in
            parents.iter().zip(&mut log_weights).enumerate().zip(laws)
        {
            predict_slices(chain.flow(j), old.law(parent), mean, covariance);
            let mut before = old.outlook[parent];
            if priors.is_none() {
                choice.meet(guide, j, mean, covariance, &directions);
            }
            for (r, source) in chain.model.sources.iter().enumerate() {
                let nodes = chain.nodes(r, j);
                let point = lattice.point(i, r);
                let drawn = match &priors {
                    Some(priors) => priors.draw(r, point),
                    None => choice.draw(r, nodes, &variances[r], guide.guesses[j - 1].0[r], point),
                };
                *log_weight += drawn.total - before;
                before = drawn.chosen;
                add_square(covariance, nodes.variances()[drawn.node], source.direction.as_slice());
                cloud.nodes.push(drawn.node as u16);
            }
            cloud.outlook.push(before - see_slices(chain, j, mean, covariance));
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

/// Numbers of the particles of time `j` such that neighbours are alike: by their outlook and the trace of ΛP if they look far
/// ahead, else by that trace and their mean along the first source in the measure Λ.
fn order(chain: &GeneralChain, guide: &Guide, j: usize, cloud: &Cloud) -> Vec<usize> {
    let measure = guide.measure[j].precision.as_slice();
    let stiff = &guide.measure[j].precision * &chain.model.sources[0].direction;
    let keys = |i: usize| {
        let (mean, covariance) = cloud.law(i);
        let spread = dot(measure, covariance);
        match guide.reach {
            Reach::Record => (cloud.outlook[i], spread),
            Reach::Step => (spread, dot(stiff.as_slice(), mean)),
        }
    };
    batches(&(0..cloud.log_weights.len()).map(keys).collect::<Vec<_>>())
}

/// The particles that go on.
pub(super) struct Chosen {
    pub parents: Vec<usize>,
    pub log_weights: Vec<f64>,
    /// ln of the mean weight before, if particles were resampled.
    pub log_mean: Option<f64>,
}

/// The particles with these weights in this order, resampled where their weights are uneven.
pub(super) fn choose(old: &[f64], order: Vec<usize>, rng: &mut StreamRng) -> Chosen {
    let count = old.len();
    match uneven(old) {
        Some((log_total, weights)) => {
            let sorted: Vec<f64> = order.iter().map(|&i| weights[i]).collect();
            let chosen = systematic(&sorted, count, rng.random());
            Chosen {
                parents: chosen.into_iter().map(|i| order[i]).collect(),
                log_weights: vec![0.0; count],
                log_mean: Some(log_total - (count as f64).ln()),
            }
        }
        None => {
            let log_weights = order.iter().map(|&i| old[i]).collect();
            Chosen { parents: order, log_weights, log_mean: None }
        }
    }
}

/// ln of the sum of the weights and the normalised weights, unless they are as good as even.
fn uneven(log_weights: &[f64]) -> Option<(f64, Vec<f64>)> {
    let (log_total, weights) = normalise(log_weights);
    let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    (effective < 0.99 * weights.len() as f64).then_some((log_total, weights))
}

/// Draws from the prior, for steps about which no message says anything: sums of the weights, per source.
struct Priors(Vec<Vec<f64>>);

impl Priors {
    /// For the step that ends at time `j`, if no message says anything about it.
    fn new(chain: &GeneralChain, guide: &Guide, j: usize) -> Option<Self> {
        let sums = |r: usize| {
            let mut sum = 0.0;
            let sums = chain.nodes(r, j).weights().iter().map(|w| {
                sum += w;
                sum
            });
            sums.collect()
        };
        guide.stages[j - 1].is_empty().then(|| Self((0..chain.model.sources.len()).map(sums).collect()))
    }

    fn draw(&self, r: usize, point: f64) -> Drawn {
        let sums = &self.0[r];
        let last = sums.len() - 1;
        let node = sums.partition_point(|sum| *sum <= point * sums[last]).min(last);
        Drawn { node, total: 0.0, chosen: 0.0 }
    }
}

impl Choice {
    /// ln of the integral of a law of the first time against the message from its future.
    fn outlook(&mut self, guide: &Guide, mean: &[f64], covariance: &[f64]) -> f64 {
        if guide.first.is_empty() {
            return 0.0;
        }
        let away: Vec<f64> = mean.iter().zip(&guide.at[0]).map(|(m, at)| m - at).collect();
        let mut met = Met::default();
        let mut log = |form| {
            meet(form, &away, covariance, &[], &mut met);
            met.log
        };
        normalise(&guide.first.iter().map(&mut log).collect::<Vec<_>>()).0
    }

    /// Meet the messages of time `j` with a law, as wide as the guesses of all sources but the first make it.
    fn meet(&mut self, guide: &Guide, j: usize, mean: &[f64], covariance: &[f64], directions: &[Direction]) {
        let Self { met, away, wide, .. } = self;
        let forms = &guide.stages[j - 1];
        away.clear();
        away.extend(mean.iter().zip(&guide.at[j]).map(|(m, at)| m - at));
        wide.clear();
        wide.extend(covariance.iter().zip(&guide.guesses[j - 1].1).map(|(p, extra)| p + extra));
        met.resize_with(forms.len(), Met::default);
        forms.iter().zip(met).for_each(|(form, met)| meet(form, away, wide, directions, met));
    }

    /// Draw the node of source `r`, which the law has with variance `guess`, at a point of (0, 1).
    ///
    /// Shares are single precision: they steer, and a weight is exact with whatever share its node was drawn by.
    fn draw(&mut self, r: usize, nodes: &Nodes, variances: &[f32], guess: f64, point: f64) -> Drawn {
        let Self { met, alone, terms, shrunk, shares, weighted, .. } = self;
        let size = variances.len();
        alone.clear();
        alone.extend(met.iter().map(|met| met.without(r, guess)));
        let largest = f64::from(variances[size - 1]);
        let floor = alone.iter().map(|along| along.lowest(largest)).fold(f64::NEG_INFINITY, f64::max);
        alone.retain(|along| along.highest() >= floor + HOPELESS);
        let top = alone.iter().map(Along::highest).fold(f64::NEG_INFINITY, f64::max);
        terms.clear();
        shrunk.clear();
        for along in &*alone {
            // log + κ(1 − q) with κ = ½f²/φ, below the highest value of any copy.
            let (below, kappa) = ((along.highest() - top) as f32, along.kappa() as f32);
            let firmness = along.firmness as f32;
            shrunk.extend(variances.iter().map(|s| 1.0 / (1.0 + s * firmness)));
            terms.extend(shrunk[shrunk.len() - size..].iter().map(|q| below - kappa * q));
        }
        // A term rises with the variance.
        let peak = terms.iter().skip(size - 1).step_by(size).copied().fold(f32::NEG_INFINITY, f32::max);
        terms.iter_mut().for_each(|term| *term -= peak);
        let top = top + f64::from(peak);
        exp_slice_single(terms);
        // The sum over the copies, per node.
        shares.clear();
        shares.resize(size, 0.0);
        for (terms, shrunk) in terms.chunks_exact(size).zip(shrunk.chunks_exact(size)) {
            shares.iter_mut().zip(terms.iter().zip(shrunk)).for_each(|(sum, (term, q))| *sum += term * q.sqrt());
        }
        weighted.clear();
        weighted.extend(shares.iter().zip(nodes.weights()).map(|(share, w)| f64::from(*share) * w));
        let (node, total) = pick(weighted, point);
        if r + 1 < met[0].force.len() {
            let wider = nodes.variances()[node] - guess;
            met.iter_mut().for_each(|met| met.widen(r, wider));
        }
        Drawn { node, total: top + total.ln(), chosen: top + f64::from(shares[node]).ln() }
    }
}

/// ln of the smallest share of a node's sum that a copy may have to be kept: below it the sum in single precision does not
/// change.
const HOPELESS: f64 = -17.0;

/// Draw a place in proportion to its weight, with a point of [0, 1); the place, and the sum of the weights. Sums are taken in
/// blocks, side by side.
fn pick(weights: &[f64], point: f64) -> (usize, f64) {
    const BLOCK: usize = 8;
    let sum = |block: &[f64]| match *block {
        [a, b, c, d, e, f, g, h] => ((a + b) + (c + d)) + ((e + f) + (g + h)),
        _ => block.iter().sum(),
    };
    let total: f64 = weights.chunks(BLOCK).map(sum).sum();
    let mut left = point * total;
    for (number, block) in weights.chunks(BLOCK).enumerate() {
        let own = sum(block);
        if left < own {
            let within = block.iter().position(|w| {
                left -= w;
                left < 0.0
            });
            return (number * BLOCK + within.unwrap_or(block.len() - 1), total);
        }
        left -= own;
    }
    // Rounding may leave a rest beyond the last weight.
    let likeliest = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
    (likeliest.unwrap_or(0), total)
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
