//! Sweep backwards over sampled paths and refit the potentials, accepting a sweep only if the ELBO does not fall.
//!
//! The optimal potential satisfies φ_j(x) = ℓ_j(x) + ln Z_{j+1}(flow(x)). Its gradient is known at every sampled state,
//! V'(x) = flow'(x)·2a_{j+1}δ·E_q(g); a linear fit to these gradients gives the quadratic message.

use super::robust::from_natural;
use crate::posterior::{Paths, Potentials, WeightSummary, walk};
use crate::potential::{Potential, Quadratic};
use crate::tilt::TiltTable;
use crate::{Chain, Error, Result};
use serde::{Deserialize, Serialize};

/// How to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepOptions {
    /// Paths per sweep.
    pub paths: usize,
    /// Seed of the paths.
    pub seed: u64,
    /// Most sweeps.
    pub sweeps: usize,
    /// Stop when a sweep gains less than this many nats.
    pub tolerance: f64,
}

impl Default for SweepOptions {
    fn default() -> Self {
        Self { paths: 500, seed: 1, sweeps: 8, tolerance: 0.05 }
    }
}

/// The result of sweeping.
#[derive(Debug)]
pub struct Swept {
    /// The potentials accepted last.
    pub potentials: Potentials,
    /// Paths under them, with the seed of the options.
    pub paths: Paths,
    /// Their weights.
    pub summary: WeightSummary,
    /// ELBO after the initialisation and after every accepted sweep.
    pub trace: Vec<f64>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Paths used to fit the two numbers of a message; more would not make the line straighter.
const FIT_PATHS: usize = 192;
/// Largest energy κ of a message at the mean of the states it was fitted to.
const MOST_ENERGY: f64 = 1e6;
/// Halvings of a rejected sweep before it is abandoned.
const HALVINGS: usize = 3;

/// Improve `potentials`, which must be quadratic, by guarded sweeps.
///
/// One set of paths is held at a time; paths come back from their potentials and seed when a proposal is not taken.
pub fn sweep(chain: &Chain, potentials: Potentials, options: &SweepOptions) -> Result<Swept> {
    chain.check_symmetric()?;
    chain.model().plain_errors("sweep")?;
    for potential in potentials.iter().flatten() {
        quadratic(potential)?;
    }
    let mut current = Swept::new(chain, potentials, options);
    current.trace.push(current.summary.elbo);
    for _ in 0..options.sweeps {
        let before = current.summary.elbo;
        let proposal = refit(chain, &current.potentials, &current.paths)?;
        let taken;
        (current, taken) = guarded(chain, current, &proposal, options)?;
        if !taken {
            current.warnings.push(format!(
                "a sweep lowered the ELBO even at 1/{} of its step; the potentials from before it are used",
                1 << HALVINGS
            ));
            break;
        }
        current.trace.push(current.summary.elbo);
        if current.summary.elbo - before < options.tolerance {
            break;
        }
    }
    Ok(current)
}

impl Swept {
    fn new(chain: &Chain, potentials: Potentials, options: &SweepOptions) -> Self {
        let paths = walk(chain, &potentials, options.paths, options.seed);
        let summary = WeightSummary::new(&paths.log_weights());
        Self { potentials, paths, summary, trace: Vec::new(), warnings: Vec::new() }
    }

    /// The same potentials with the paths that `options` ask for.
    pub(super) fn with_paths(self, chain: &Chain, options: &SweepOptions) -> Self {
        if self.paths.len() == options.paths {
            return self;
        }
        let Self { potentials, trace, warnings, paths, .. } = self;
        drop(paths);
        Self { trace, warnings, ..Self::new(chain, potentials, options) }
    }
}

/// The proposal, or a point part of the way to it, if the ELBO there is no lower than now (up to its Monte Carlo
/// error); else the current state, and `false`.
fn guarded(chain: &Chain, current: Swept, proposal: &Potentials, options: &SweepOptions) -> Result<(Swept, bool)> {
    let Swept { potentials: old, paths, summary, trace, warnings } = current;
    drop(paths);
    let mut share = 1.0;
    for _ in 0..=HALVINGS {
        let candidate = Swept::new(chain, blend(&old, proposal, share)?, options);
        let noise = candidate.summary.elbo_std_error.min(summary.elbo_std_error);
        if candidate.summary.elbo > summary.elbo - noise {
            return Ok((Swept { trace, warnings, ..candidate }, true));
        }
        share *= 0.5;
    }
    Ok((Swept { trace, warnings, ..Swept::new(chain, old, options) }, false))
}

/// (1 − share)·old + share·new in the natural parameters a and a·c.
fn blend(old: &Potentials, new: &Potentials, share: f64) -> Result<Potentials> {
    if share == 1.0 {
        return Ok(new.clone());
    }
    let mix = |(o, n): (&Potential, &Potential)| {
        let (o, n) = (quadratic(o)?, quadratic(n)?);
        let between = |o: f64, n: f64| (1.0 - share) * o + share * n;
        from_natural(between(o.a(), n.a()), between(o.a() * o.c(), n.a() * n.c())).map(Potential::from)
    };
    old.iter().zip(new).map(|(o, n)| o.iter().zip(n).map(mix).collect()).collect()
}

/// The quadratic that a potential of a sweep is.
fn quadratic(potential: &Potential) -> Result<Quadratic> {
    match potential {
        Potential::Quadratic(quadratic) => Ok(*quadratic),
        Potential::Sum(sum) => Err(Error::Shape {
            what: "potential of a sweep",
            got: format!("{} components", sum.components().len()),
            expected: "1; begin the sweeps with robust_start".into(),
        }),
    }
}

/// One backward pass: fit every message at the states of `paths`.
fn refit(chain: &Chain, old: &Potentials, paths: &Paths) -> Result<Potentials> {
    let (dim, times) = (chain.dim(), chain.len());
    let mut fitted: Vec<Vec<Quadratic>> = vec![Vec::with_capacity(times); dim];
    let mut space = Space::default();
    for j in (0..times).rev() {
        let messages = if j + 1 == times {
            vec![(0.0, 0.0); dim]
        } else {
            let tables: Vec<TiltTable> =
                (0..dim).map(|i| TiltTable::new(chain.nodes(i, j + 1).clone(), fitted[i][times - j - 2])).collect();
            messages(chain, j, paths, &tables, &mut space)
        };
        for (i, (mut a, mut pull)) in messages.into_iter().enumerate() {
            if let Some((firmness, y)) = chain.observation(i, j) {
                a += firmness;
                pull += firmness * y;
            }
            let mean = paths.column(i, j).sum::<f64>() / paths.len() as f64;
            // A message of negative precision at the sampled states is outside this family: keep the old precision and
            // match its gradient there.
            if a <= 0.0 {
                let kept = 0.5 * quadratic(&old[i][j])?.a();
                pull += (kept - a) * mean;
                a = kept;
            }
            fitted[i].push(bent(a, pull, mean)?);
        }
    }
    Ok(fitted.into_iter().map(|f| f.into_iter().rev().map(Potential::from).collect()).collect())
}

/// The potential with natural parameters (a, a·c = `pull`), made more precise without changing its gradient at `mean`
/// where it is so nearly linear that its centre is far away: the energies there would be so large that the paths'
/// weights were lost in rounding.
fn bent(a: f64, pull: f64, mean: f64) -> Result<Quadratic> {
    let half_slope = pull - a * mean;
    let least = half_slope * half_slope / MOST_ENERGY;
    if a >= least { from_natural(a, pull) } else { from_natural(least, half_slope + least * mean) }
}

/// Natural parameters (a, a·c) of the message to time `j`, per dimension: a linear fit to the gradients V' at sampled
/// states.
fn messages(chain: &Chain, j: usize, paths: &Paths, tables: &[TiltTable], space: &mut Space) -> Vec<(f64, f64)> {
    let dim = chain.dim();
    let Space { states, ahead, slopes } = space;
    states.clear();
    states.extend(paths.states(j).flatten().take(FIT_PATHS * dim));
    ahead.resize(states.len(), 0.0);
    slopes.resize(states.len(), 0.0);
    let mut pulls = |ahead: &[f64], pulls: &mut [f64]| {
        for (pulls, ahead) in pulls.chunks_exact_mut(dim).zip(ahead.chunks_exact(dim)) {
            for ((pull, table), x) in pulls.iter_mut().zip(tables).zip(ahead) {
                *pull = table.pull(*x);
            }
        }
    };
    let (t, dt) = (chain.times()[j], chain.length(j + 1));
    chain.drift().pullback_many(t, dt, states, &mut pulls, ahead, slopes, &mut []);
    (0..dim).map(|i| line(states, slopes, i, dim)).collect()
}

/// Working space of [`messages`]: some states, their flows and the gradients of the message there.
#[derive(Default)]
struct Space {
    states: Vec<f64>,
    ahead: Vec<f64>,
    slopes: Vec<f64>,
}

/// Least squares V' ≈ 2(a·c) − 2a·x in dimension `i`; (0, 0) where all states are equal.
fn line(states: &[f64], values: &[f64], i: usize, dim: usize) -> (f64, f64) {
    let points = || states.iter().skip(i).step_by(dim).zip(values.iter().skip(i).step_by(dim));
    let n = points().count() as f64;
    let (x_mean, v_mean) = points().fold((0.0, 0.0), |(x, v), p| (x + p.0 / n, v + p.1 / n));
    let (xx, xv) = points().fold((0.0, 0.0), |(xx, xv), (x, v)| {
        let d = x - x_mean;
        (xx + d * d, xv + d * (v - v_mean))
    });
    if xx <= 1e-24 * n * x_mean * x_mean || xx == 0.0 {
        return (0.0, 0.0);
    }
    let slope = xv / xx;
    (-0.5 * slope, 0.5 * (v_mean - slope * x_mean))
}
