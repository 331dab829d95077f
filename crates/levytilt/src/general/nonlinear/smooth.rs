//! Draw whole paths that count equally, through the particles of independent filters.
//!
//! A path is traced back from a particle of the last time. Where every state has noise of its own (as many sources as states, in
//! independent directions) the jumps that lead from any particle to the state drawn are known, and a few Metropolis–Hastings moves
//! per time choose among all particles (Bunch and Godsill 2013). With fewer directions no other particle leads there, and the
//! path is that of its ancestors: paths then share their early parts, and the effective number of paths says how much.

use super::super::chain::GeneralChain;
use super::super::filter::{FilterOptions, combine};
use super::super::model::GeneralModel;
use super::super::smooth::{DrawnPath, Smoothed};
use super::filter::{Filtered, filter};
use super::messages::NonlinearGuide;
use crate::posterior::{normalise, systematic};
use crate::series::TimeGrid;
use crate::{Error, Result, StreamRng, stream};
use nalgebra::{DMatrix, DVector};
use rand::{Rng, RngExt};
use rayon::prelude::*;
use std::collections::HashMap;

/// Moves per time.
const MOVES: usize = 4;

/// A path with the numbers of its particles, one per time.
#[derive(Debug, Clone)]
struct Traced {
    path: DrawnPath,
    particles: Vec<u32>,
}

/// Evidence and paths of `model` on `grid`, with one column of values per row of the model. The drift may be any.
///
/// # Errors
/// Columns that do not fit the model; a drift or noise that cannot be computed; particles that are all lost.
pub fn smooth_nonlinear(
    model: &GeneralModel,
    grid: &TimeGrid,
    columns: &[&[f64]],
    paths: usize,
    options: &FilterOptions,
) -> Result<Smoothed> {
    let chain = GeneralChain::without_flows(model, grid, columns)?;
    let guide = NonlinearGuide::new(&chain);
    smooth(&chain, &guide, paths, options)
}

/// Run independent filters and draw `paths` paths from them, from each as many as its evidence says.
///
/// # Errors
/// Particles that are all lost.
pub(in super::super) fn smooth(
    chain: &GeneralChain,
    guide: &NonlinearGuide,
    paths: usize,
    options: &FilterOptions,
) -> Result<Smoothed> {
    let mut chooser = stream(options.seed, u64::MAX);
    let (filters, offset) = (options.filters, chooser.random::<f64>());
    let seeds: Vec<u64> = (0..filters).map(|_| chooser.next_u64()).collect();
    let inverse = inverse(chain.model);
    // Paths are drawn while the particles of a filter are at hand, a few more than its share; what lacks is used again.
    let each = (5 * paths).div_ceil(4 * filters).min(paths);
    let run = |number: usize| {
        let filtered = filter(chain, guide, options, number as u64);
        let mut rng = stream(seeds[number], 0);
        let drawn = match filtered.log_evidence.is_finite() {
            true => trace(chain, &filtered, each, inverse.as_ref(), &mut rng),
            false => Vec::new(),
        };
        ((filtered.log_evidence, filtered.resamplings), filtered.lost, drawn)
    };
    let found: Vec<((f64, usize), usize, Vec<Traced>)> = (0..filters).into_par_iter().map(run).collect();
    let evidences: Vec<(f64, usize)> = found.iter().map(|(evidence, _, _)| *evidence).collect();
    if !evidences.iter().any(|(log, _)| log.is_finite()) {
        let why = "no particle reaches the data; check the units of the columns, the parameters and the start".into();
        return Err(chain.model.drift.failure().unwrap_or(Error::Numerical { what: "filter", why }));
    }
    let shares = normalise(&evidences.iter().map(|(log, _)| *log).collect::<Vec<_>>()).1;
    let mut used = vec![0; filters];
    let mut chosen: Vec<(usize, &Traced)> = Vec::with_capacity(paths);
    for number in systematic(&shares, paths, offset) {
        let drawn = &found[number].2;
        chosen.push((number, &drawn[used[number] % drawn.len()]));
        used[number] += 1;
    }
    let flows = filters * options.particles * (chain.len() - 1);
    let lost = found.iter().map(|(_, lost, _)| lost).sum::<usize>() as f64 / flows as f64;
    Ok(Smoothed {
        evidence: combine(&evidences),
        effective_paths: effective(&chosen, chain.len()),
        paths: chosen.into_iter().map(|(_, traced)| traced.path.clone()).collect(),
        effective_filters: 1.0 / shares.iter().map(|share| share * share).sum::<f64>(),
        lost,
    })
}

/// The least number over all times of paths that differ: (Σ n)²/Σ n² over the particles, each on n paths.
fn effective(chosen: &[(usize, &Traced)], times: usize) -> f64 {
    let at = |j: usize| {
        let mut counts: HashMap<(usize, u32), usize> = HashMap::new();
        chosen.iter().for_each(|(number, traced)| *counts.entry((*number, traced.particles[j])).or_default() += 1);
        (chosen.len() * chosen.len()) as f64 / counts.values().map(|n| n * n).sum::<usize>() as f64
    };
    (0..times).map(at).fold(chosen.len() as f64, f64::min)
}

/// The inverse of the matrix of directions, if there is one.
fn inverse(model: &GeneralModel) -> Option<DMatrix<f64>> {
    if model.sources.len() != model.dim() {
        return None;
    }
    let columns: Vec<DVector<f64>> = model.sources.iter().map(|source| source.direction.clone()).collect();
    DMatrix::from_columns(&columns).try_inverse()
}

/// `count` paths through the particles of one filter.
fn trace(
    chain: &GeneralChain,
    filtered: &Filtered,
    count: usize,
    inverse: Option<&DMatrix<f64>>,
    rng: &mut StreamRng,
) -> Vec<Traced> {
    let (dim, sources, last) = (chain.dim(), chain.model.sources.len(), chain.len() - 1);
    let weights: Vec<Vec<f64>> = filtered.clouds.iter().map(|cloud| normalise(&cloud.log_weights).1).collect();
    let sums: Vec<Vec<f64>> = weights.iter().map(|weights| cumulate(weights)).collect();
    let ends = systematic(&weights[last], count, rng.random());
    let back = |end: usize| {
        let mut particles = vec![end as u32; last + 1];
        let mut path = DrawnPath {
            states: vec![0.0; (last + 1) * dim],
            jumps: vec![0.0; last * sources],
            nodes: vec![0; last * sources],
        };
        for j in (0..=last).rev() {
            let (cloud, particle) = (&filtered.clouds[j], particles[j] as usize);
            path.states[j * dim..(j + 1) * dim].copy_from_slice(&cloud.states[particle * dim..(particle + 1) * dim]);
            if j == 0 {
                break;
            }
            let own = particle * sources..(particle + 1) * sources;
            let step = (j - 1) * sources..j * sources;
            path.jumps[step.clone()].copy_from_slice(&cloud.jumps[own.clone()]);
            path.nodes[step.clone()].copy_from_slice(&cloud.nodes[own]);
            let parent = cloud.parents[particle] as usize;
            let moved = inverse.map(|inverse| {
                let state = &path.states[j * dim..(j + 1) * dim];
                moves(chain, filtered, j, (parent, state), &sums[j - 1], inverse, rng)
            });
            particles[j - 1] = match moved {
                Some((chosen, jumps)) if chosen != parent => {
                    for (r, jump) in jumps.iter().enumerate() {
                        path.nodes[(j - 1) * sources + r] = node_of(chain, r, j, *jump, rng);
                    }
                    path.jumps[step].copy_from_slice(jumps.as_slice());
                    chosen as u32
                }
                _ => parent as u32,
            };
        }
        Traced { path, particles }
    };
    ends.into_iter().map(back).collect()
}

fn cumulate(weights: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    weights
        .iter()
        .map(|w| {
            sum += w;
            sum
        })
        .collect()
}

/// Moves among the particles of time `j` − 1 that may lead to `state`, from `parent` on: the particle, and the jumps that do.
fn moves(
    chain: &GeneralChain,
    filtered: &Filtered,
    j: usize,
    (parent, state): (usize, &[f64]),
    sums: &[f64],
    inverse: &DMatrix<f64>,
    rng: &mut StreamRng,
) -> (usize, DVector<f64>) {
    let (before, dim) = (&filtered.clouds[j - 1], chain.dim());
    let value = |i: usize| {
        let moved = &before.ahead[i * dim..(i + 1) * dim];
        let jumps = inverse * DVector::from_fn(dim, |k, _| state[k] - moved[k]);
        let density = |(r, jump): (usize, &f64)| chain.nodes(r, j).log_density_value(*jump);
        (jumps.iter().enumerate().map(density).sum::<f64>() - before.outlook[i], jumps)
    };
    let (mut now, mut jumps) = value(parent);
    let mut particle = parent;
    for _ in 0..MOVES {
        let point = rng.random::<f64>();
        let proposed = sums.partition_point(|sum| *sum < point).min(sums.len() - 1);
        let ratio = rng.random::<f64>().ln();
        if proposed != particle {
            let (there, by) = value(proposed);
            if ratio < there - now {
                (particle, now, jumps) = (proposed, there, by);
            }
        }
    }
    (particle, jumps)
}

/// A node of source `r` in the step that ends at time `j`, given its jump.
fn node_of(chain: &GeneralChain, r: usize, j: usize, jump: f64, rng: &mut StreamRng) -> u16 {
    let nodes = chain.nodes(r, j);
    let log = |(s, l): (&f64, &f64)| {
        // An atom at 0 has no density beside the others unless the jump is 0.
        let s = s.max(f64::MIN_POSITIVE);
        l - 0.5 * (s.ln() + jump * jump / s)
    };
    let shares = normalise(&nodes.variances().iter().zip(nodes.log_weights()).map(log).collect::<Vec<_>>()).1;
    let sums = cumulate(&shares);
    let point = rng.random::<f64>();
    sums.partition_point(|sum| *sum < point).min(sums.len() - 1) as u16
}
