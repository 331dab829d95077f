//! Prepare what steers particles where the drift is nonlinear: messages along a path, found by a filter and a smoother in turn.
//!
//! A filter that looks at no later data finds a path; the drift is replaced by its tangents along it, a robust smoother of that
//! model gives a better one, and so on. The messages of the last model steer particles. They may be wrong where the drift bends, so
//! each is a sum with wider copies, copies for a jump in the next step, and a floor: what they deny is still proposed.

use super::super::chain::GeneralChain;
use super::super::filter::FilterOptions;
use super::super::form::Form;
use super::super::guide::{Reach, ahead};
use super::super::pass::{Variances, backward};
use super::super::robust::{quantile, robust};
use super::filter::{Filtered, filter};
use super::messages::NonlinearGuide;
use crate::posterior::normalise;
use nalgebra::DVector;
use rayon::prelude::*;

/// Height of the floor of a message from the future, whose peak is about 1.
const FLOOR: f64 = 0.01;
/// Most models of tangents that are smoothed in turn.
const TANGENTS: usize = 8;
/// Change of the path, in units of its own size, at which it has converged.
const CONVERGED: f64 = 1e-3;
/// Particles of the filters that find a path.
const SCOUTS: usize = 300;

impl NonlinearGuide {
    /// With the reach that has the smaller error for the same work, by short filters.
    pub fn new(chain: &GeneralChain) -> Self {
        let near = Self::near(chain);
        let mut all = vec![near];
        all.extend(Self::far(chain, &all[0]));
        // Once more along what the best of them sees.
        if let Some(far) = all.get(1).and_then(|far| Self::far(chain, far)) {
            all.push(far);
        }
        let pilots: Vec<Pilot> = all.iter().map(|guide| guide.pilot(chain)).collect();
        let top = pilots.iter().map(|pilot| pilot.mean).fold(f64::NEG_INFINITY, f64::max);
        let cost = |pilot: &Pilot| (pilot.variance + 2.0 * (top - pilot.mean)) * pilot.work;
        let best = (0..all.len()).min_by(|&a, &b| cost(&pilots[a]).total_cmp(&cost(&pilots[b]))).unwrap_or(0);
        all.swap_remove(best)
    }

    /// With this reach.
    pub fn reaching(chain: &GeneralChain, reach: Reach) -> Self {
        let near = Self::near(chain);
        match reach {
            Reach::Step => near,
            Reach::Record => Self::far(chain, &near).unwrap_or(near),
        }
    }

    /// Particles look at what is seen at the end of the step.
    fn near(chain: &GeneralChain) -> Self {
        let (dim, sources) = (chain.dim(), chain.model.sources.len());
        let places = (1..chain.len()).flat_map(|j| (0..sources).map(move |r| (j, r)));
        Self {
            reach: Reach::Step,
            at: vec![DVector::zeros(dim); chain.len()],
            future: vec![vec![Form::flat(dim)]; chain.len()],
            variances: places.map(|(j, r)| quantile(chain.nodes(r, j), 0.5)).collect(),
        }
    }

    /// Particles look at all that follows, along the path that particles with the guide `scout` take. Nothing if no smoother
    /// can be found from there.
    fn far(chain: &GeneralChain, scout: &Self) -> Option<Self> {
        let options = FilterOptions { filters: 1, particles: SCOUTS, seed: 11 };
        let mut path = mean_path(&filter(chain, scout, &options, 0), chain.dim())?;
        let mut found = None;
        for _ in 0..TANGENTS {
            let tangents = chain.along(&path).ok()?;
            let Ok(smoothed) = robust(&tangents) else { break };
            let change: f64 = path.iter().zip(&smoothed.means).map(|(old, new)| (old - new).norm_squared()).sum();
            let size: f64 = smoothed.means.iter().map(|mean| mean.norm_squared()).sum();
            path.clone_from(&smoothed.means);
            found = Some(smoothed);
            if change <= CONVERGED * CONVERGED * size {
                break;
            }
        }
        let found = found?;
        let tangents = chain.along(&found.means).ok()?;
        let variances = Variances { sources: chain.model.sources.len(), values: &found.variances };
        let messages = backward(&tangents, &variances, &found.means);
        let copies = |j: usize| {
            let mut copies = ahead(&tangents, j, &messages, &variances, &found.means);
            let floor = if copies.is_empty() { 0.0 } else { FLOOR.ln() };
            copies.push(Form { log: floor, ..Form::flat(chain.dim()) });
            copies
        };
        let future = (0..chain.len()).map(copies).collect();
        Some(Self { reach: Reach::Record, at: found.means, future, variances: found.variances })
    }

    /// What short filters find.
    fn pilot(&self, chain: &GeneralChain) -> Pilot {
        const PILOTS: u64 = 6;
        let options = FilterOptions { filters: PILOTS as usize, particles: 100, seed: 7 };
        let logs: Vec<f64> =
            (0..PILOTS).into_par_iter().map(|k| filter(chain, self, &options, k).log_evidence).collect();
        let mean = logs.iter().sum::<f64>() / PILOTS as f64;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (PILOTS - 1) as f64;
        let nodes: usize = (0..chain.model.sources.len()).map(|r| chain.nodes(r, 1).len()).sum();
        let copies: usize = self.future.iter().map(Vec::len).sum();
        // A flow costs about as much as 500 terms of a sum.
        Pilot { mean, variance, work: 500.0 * chain.len() as f64 + (copies * nodes) as f64 }
    }
}

/// Mean and variance of log evidences, whose mean is the lower the larger the error, and the work that they take.
struct Pilot {
    mean: f64,
    variance: f64,
    work: f64,
}

/// The mean over the paths of the last particles; nothing if none is left.
fn mean_path(filtered: &Filtered, dim: usize) -> Option<Vec<DVector<f64>>> {
    let last = filtered.clouds.len() - 1;
    let end = &filtered.clouds[last];
    if !filtered.log_evidence.is_finite() {
        return None;
    }
    let mut weights = normalise(&end.log_weights).1;
    let mut path = vec![DVector::zeros(dim); last + 1];
    for j in (0..=last).rev() {
        let cloud = &filtered.clouds[j];
        for (state, w) in cloud.states.chunks_exact(dim).zip(&weights).filter(|(_, w)| **w > 0.0) {
            path[j].iter_mut().zip(state).for_each(|(sum, z)| *sum += w * z);
        }
        if j > 0 {
            let mut before = vec![0.0; filtered.clouds[j - 1].log_weights.len()];
            cloud.parents.iter().zip(&weights).for_each(|(parent, w)| before[*parent as usize] += w);
            weights = before;
        }
    }
    Some(path)
}
