//! Draw whole paths that count equally: variances backward through the particles, then states forward.
//!
//! Backward, a path that knows its future variances knows the exact message from there; a particle of time j continues it in
//! proportion to its weight times the integral of its law against that message. A few Metropolis–Hastings moves from the
//! ancestor of the particle drawn before replace the sum over all particles (Bunch and Godsill 2013).

use super::chain::GeneralChain;
use super::filter::{FilterOptions, Filtered, combine, filter};
use super::form::{Form, dot};
use super::guide::Guide;
use super::meet::{Met, meet};
use super::pass::miss;
use crate::posterior::{Evidence, normalise, systematic};
use crate::{Error, Result, StreamRng, stream};
use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Moves per time.
const MOVES: usize = 4;

/// A path drawn from the posterior.
#[derive(Debug, Clone)]
pub struct DrawnPath {
    /// State per time, state fastest.
    pub states: Vec<f64>,
    /// Jump per step and source, source fastest.
    pub jumps: Vec<f64>,
    /// Number of the variance node per step and source, source fastest.
    pub nodes: Vec<u16>,
}

/// Evidence and paths.
#[derive(Debug)]
pub struct Smoothed {
    /// Log evidence from independent filters.
    pub evidence: Evidence,
    /// Paths of equal weight.
    pub paths: Vec<DrawnPath>,
    /// How many filters count: (Σ Z)²/Σ Z² of their evidences.
    pub effective_filters: f64,
    /// How many paths differ at the time where the fewest do; all of them with an affine drift.
    pub effective_paths: f64,
    /// Share of the particles' steps whose flow could not be computed: they count as impossible.
    pub lost: f64,
}

/// Run independent filters and draw `paths` paths from them, from each as many as its evidence says.
///
/// # Errors
/// A log evidence that is not finite.
pub fn smooth(chain: &GeneralChain, guide: &Guide, paths: usize, options: &FilterOptions) -> Result<Smoothed> {
    let finish = |drawn: Backward, rng: &mut StreamRng| forward_states(chain, guide, drawn, rng);
    let (evidence, paths, effective_filters) = draw(chain, guide, paths, options, finish);
    if !evidence.log_evidence.is_finite() {
        let why = "the log evidence is not finite; check the units of the columns and the parameters".into();
        return Err(Error::Numerical { what: "filter", why });
    }
    let effective_paths = paths.len() as f64;
    Ok(Smoothed { evidence, paths, effective_filters, effective_paths, lost: 0.0 })
}

/// Evidence, and the nodes of `paths` paths that count equally, for step after step with the source fastest.
pub(super) fn draw_nodes(
    chain: &GeneralChain,
    guide: &Guide,
    paths: usize,
    options: &FilterOptions,
) -> (Evidence, Vec<Vec<u16>>) {
    let (evidence, nodes, _) = draw(chain, guide, paths, options, |drawn, _| drawn.nodes);
    (evidence, nodes)
}

/// Evidence, paths that `finish` makes of what is drawn backward, and the effective number of filters.
fn draw<T: Send>(
    chain: &GeneralChain,
    guide: &Guide,
    paths: usize,
    options: &FilterOptions,
    finish: impl Fn(Backward, &mut StreamRng) -> T + Sync,
) -> (Evidence, Vec<T>, f64) {
    let mut chooser = stream(options.seed, u64::MAX);
    let (filters, offset) = (options.filters, chooser.random::<f64>());
    let seeds: Vec<u64> = (0..filters).map(|_| chooser.next_u64()).collect();
    // Paths are drawn while the particles of a filter are at hand, a few more than its share; where that is not enough the
    // filter runs once more.
    let each = (5 * paths).div_ceil(4 * filters).min(paths);
    let run = |number: usize| {
        let filtered = filter(chain, guide, options, number as u64);
        let drawn: Vec<T> = draw_paths(chain, guide, &filtered, each, seeds[number], &finish);
        ((filtered.log_evidence, filtered.resamplings), drawn)
    };
    let found: Vec<((f64, usize), Vec<T>)> = (0..filters).into_par_iter().map(run).collect();
    let evidences: Vec<(f64, usize)> = found.iter().map(|(evidence, _)| *evidence).collect();
    let shares = normalise(&evidences.iter().map(|(log, _)| *log).collect::<Vec<_>>()).1;
    let mut wanted = vec![0; filters];
    systematic(&shares, paths, offset).into_iter().for_each(|number| wanted[number] += 1);
    let all = |(number, (_, mut drawn)): (usize, (_, Vec<T>))| {
        if wanted[number] > each {
            let filtered = filter(chain, guide, options, number as u64);
            let seed = stream(seeds[number], u64::MAX - 1).next_u64();
            drawn.extend(draw_paths(chain, guide, &filtered, wanted[number] - each, seed, &finish));
        }
        drawn.truncate(wanted[number]);
        drawn
    };
    let chosen: Vec<T> = found.into_par_iter().enumerate().flat_map_iter(all).collect();
    (combine(&evidences), chosen, 1.0 / shares.iter().map(|share| share * share).sum::<f64>())
}

/// `count` paths through the particles of one filter.
fn draw_paths<T>(
    chain: &GeneralChain,
    guide: &Guide,
    filtered: &Filtered,
    count: usize,
    seed: u64,
    finish: &impl Fn(Backward, &mut StreamRng) -> T,
) -> Vec<T> {
    let cumulated: Vec<Vec<f64>> = filtered.clouds.iter().map(|cloud| cumulate(&cloud.log_weights)).collect();
    let last = chain.len() - 1;
    let ends = &filtered.clouds[last];
    let logs: Vec<f64> = ends.log_weights.iter().zip(&ends.outlook).map(|(w, outlook)| w - outlook).collect();
    let mut chooser = stream(seed, u64::MAX);
    let mut starts = systematic(&normalise(&logs).1, count, chooser.random());
    // Particles are sorted; of paths in a random order any first few stand for all.
    for k in (1..count).rev() {
        starts.swap(k, chooser.random_range(0..=k));
    }
    let path = |(path, end): (usize, usize)| {
        let mut rng = stream(seed, path as u64);
        let drawn = backward_nodes(chain, guide, filtered, &cumulated, end, &mut rng);
        finish(drawn, &mut rng)
    };
    starts.into_iter().enumerate().map(path).collect()
}

/// Sums of the normalised weights.
fn cumulate(log_weights: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    normalise(log_weights)
        .1
        .into_iter()
        .map(|w| {
            sum += w;
            sum
        })
        .collect()
}

/// Mean and covariance of a particle.
type Slices<'a> = (&'a [f64], &'a [f64]);

/// A path drawn backward.
struct Backward<'a> {
    /// The nodes of all steps, source fastest.
    nodes: Vec<u16>,
    /// The exact messages from the future of a path with these variances.
    messages: Vec<Form>,
    /// The law at the first time.
    first: Slices<'a>,
}

/// Draw the nodes of a path backward from the particle `end`.
fn backward_nodes<'a>(
    chain: &GeneralChain,
    guide: &Guide,
    filtered: &'a Filtered,
    cumulated: &[Vec<f64>],
    end: usize,
    rng: &mut StreamRng,
) -> Backward<'a> {
    let sources = chain.model.sources.len();
    let last = chain.len() - 1;
    let mut nodes = vec![0; last * sources];
    let mut messages = vec![Form::flat(chain.dim())];
    let (mut met, mut away) = (Met::default(), Vec::new());
    let mut particle = end;
    for j in (1..=last).rev() {
        let cloud = &filtered.clouds[j];
        let own = &cloud.nodes[particle * sources..(particle + 1) * sources];
        nodes[(j - 1) * sources..j * sources].copy_from_slice(own);
        let mut message = messages[messages.len() - 1].clone();
        chain.seen(j).for_each(|seen| message.see(seen, &guide.at[j]));
        for (r, source) in chain.model.sources.iter().enumerate() {
            message.pull_back(&source.direction, chain.nodes(r, j).variances()[own[r] as usize]);
        }
        let message = message.before(chain.flow(j), &miss(chain, j, &guide.at));
        let before = &filtered.clouds[j - 1];
        let mut value = |i: usize| {
            let (mean, covariance) = before.law(i);
            away.clear();
            away.extend(mean.iter().zip(&guide.at[j - 1]).map(|(m, at)| m - at));
            meet(&message, &away, covariance, &[], &mut met);
            met.log - before.outlook[i]
        };
        particle = cloud.parents[particle] as usize;
        let mut now = value(particle);
        for _ in 0..MOVES {
            let sums = &cumulated[j - 1];
            let point = rng.random::<f64>();
            let proposed = sums.partition_point(|sum| *sum < point).min(sums.len() - 1);
            let ratio = rng.random::<f64>().ln();
            if proposed != particle {
                let there = value(proposed);
                if ratio < there - now {
                    (particle, now) = (proposed, there);
                }
            }
        }
        messages.push(message);
    }
    messages.reverse();
    Backward { nodes, messages, first: filtered.clouds[0].law(particle) }
}

/// States and jumps of a path with these variances, forward along its messages.
fn forward_states(chain: &GeneralChain, guide: &Guide, drawn: Backward, rng: &mut StreamRng) -> DrawnPath {
    let Backward { nodes, messages, first } = drawn;
    let sources = &chain.model.sources;
    let mut z = draw_first(&messages[0], first, &guide.at[0], rng);
    let mut states = z.as_slice().to_vec();
    let mut jumps = Vec::with_capacity(nodes.len());
    let dim = chain.dim();
    let (mut stiff, mut forces) = (vec![0.0; sources.len() * dim], vec![0.0; sources.len()]);
    for j in 1..chain.len() {
        z = &chain.flow(j).slope * z + &chain.flow(j).offset;
        let own = &nodes[(j - 1) * sources.len()..j * sources.len()];
        let variance = |r: usize| chain.nodes(r, j).variances()[own[r] as usize];
        let mut message = messages[j].clone();
        chain.seen(j).for_each(|seen| message.see(seen, &guide.at[j]));
        // What the message says along each direction once the jumps of the later sources are integrated out.
        stiff.fill(0.0);
        for r in (0..sources.len()).rev() {
            let (b, stiff) = (&sources[r].direction, &mut stiff[r * dim..(r + 1) * dim]);
            message.stiffness_along(b, stiff);
            forces[r] = b.dot(&message.pull);
            if r > 0 {
                message.pull_back_along(b, stiff, variance(r));
            }
        }
        for (r, stiff) in stiff.chunks_exact(dim).enumerate() {
            let b = &sources[r].direction;
            let at = guide.at[j].iter();
            let pressed: f64 = stiff.iter().zip(z.iter().zip(at)).map(|(stiff, (z, at))| stiff * (z - at)).sum();
            let shrunk = variance(r) / (1.0 + variance(r) * dot(b.as_slice(), stiff).max(0.0));
            let noise: f64 = StandardNormal.sample(rng);
            let jump = shrunk * (forces[r] - pressed) + shrunk.sqrt() * noise;
            z.axpy(jump, b, 1.0);
            jumps.push(jump);
        }
        states.extend_from_slice(z.as_slice());
    }
    DrawnPath { states, jumps, nodes }
}

/// A draw of N(m, P)·e^{message}: covariance P(I + ΛP)⁻¹.
fn draw_first(message: &Form, (mean, covariance): Slices, at: &DVector<f64>, rng: &mut StreamRng) -> DVector<f64> {
    let dim = mean.len();
    let (mean, covariance) = (DVector::from_column_slice(mean), DMatrix::from_column_slice(dim, dim, covariance));
    let away = &mean - at;
    let gradient = &message.pull - &message.precision * away;
    let system = DMatrix::identity(dim, dim) + &covariance * &message.precision;
    let spread = system.lu().solve(&covariance).unwrap_or_else(|| covariance.clone());
    let eigen = (0.5 * (&spread + spread.transpose())).symmetric_eigen();
    let noise = DVector::from_fn(dim, |i, _| {
        let z: f64 = StandardNormal.sample(rng);
        z * eigen.eigenvalues[i].max(0.0).sqrt()
    });
    mean + spread * gradient + eigen.eigenvectors * noise
}
