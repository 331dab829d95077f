//! Filter backwards with sums of bumps: what sparse data need, where one quadratic cannot be flat far away and curved near
//! its target at once.
//!
//! No sampling and no iteration. Per dimension, from the last time to the first:
//! 1. multiply the message by the observation (exact);
//! 2. spread it by the noise of the step before: every bump times every node (exact);
//! 3. merge bumps that look alike and pull each back through the drift's flow, to second order where it matters;
//! 4. polish the few that are left: Gauss–Newton steps bring the logarithm of their sum to that of step 2, at states chosen
//!    by what the past and the future say, roughly. So neither merging nor a bent flow leaves an error that adds up.
//!
//! A first filter has half the bumps and sends scouts ahead, a few paths. Where it is nearly exact, and often it is, that is
//! all. Else a second one has all bumps; and through a bent flow, where the rough idea of the past is what limits the
//! first, it is polished where the scouts went.

mod bumps;
mod flow;
mod merge;
mod polish;
mod region;
#[cfg(test)]
mod tests;

use super::robust::{Robust, robust_smooth};
use crate::error::{check, positive};
use crate::posterior::{Potentials, WeightSummary, walk};
use crate::potential::{GaussianSum, Potential, Quadratic};
use crate::{Chain, Result};
use bumps::{Bump, log_sum, spread};
use flow::OwnFlow;
use merge::merge;
use polish::polish;
use region::Regions;

/// How to filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianSumOptions {
    /// Bumps are merged when ln a differs by less than this and centres by less than this many widths.
    pub width: f64,
    /// Most bumps per potential; `width` grows where they would be more.
    pub bumps: usize,
}

impl Default for GaussianSumOptions {
    fn default() -> Self {
        Self { width: 0.7, bumps: 24 }
    }
}

/// Gaussian-sum potentials of a chain.
///
/// # Errors
/// Options outside their domain, and messages that overflow.
pub fn gaussian_sum(chain: &Chain, options: &GaussianSumOptions) -> Result<Potentials> {
    chain.check_symmetric()?;
    chain.model().plain_errors("gaussian sum")?;
    positive("width", options.width)?;
    check("bumps", options.bumps as f64, options.bumps >= 4, "must be at least 4")?;
    let robust = robust_smooth(chain)?;
    let rough = |options: &GaussianSumOptions| filter(chain, &robust, options, |i| Regions::new(chain, i, &robust));
    let first = rough(&GaussianSumOptions { bumps: (options.bumps / 2).max(4), ..*options })?;
    let scouts = walk(chain, &first, SCOUTS, SCOUT_SEED);
    let found = WeightSummary::new(&scouts.log_weights());
    if found.missed(SCOUTS) < CLOSE {
        return Ok(first);
    }
    if chain.drift().is_affine() {
        return rough(options);
    }
    let second = filter(chain, &robust, options, |i| Regions::new(chain, i, &robust).scouted(&scouts, i))?;
    let bound = WeightSummary::new(&walk(chain, &second, SCOUTS, SCOUT_SEED).log_weights()).elbo;
    // Scouts that lost their way would lead the second filter astray.
    if bound >= found.elbo { Ok(second) } else { rough(options) }
}

/// Nats of the ELBO that are not worth a second filter.
const CLOSE: f64 = 0.05;
/// Paths sent ahead, and the seed of their random numbers.
const SCOUTS: usize = 64;
const SCOUT_SEED: u64 = 0;

/// The potentials of every dimension, polished in its region.
fn filter<'a>(
    chain: &Chain,
    robust: &Robust,
    options: &GaussianSumOptions,
    region: impl Fn(usize) -> Regions<'a>,
) -> Result<Potentials> {
    (0..chain.dim()).map(|i| filter_one(chain, i, robust, &region(i), options)).collect()
}

fn filter_one(
    chain: &Chain,
    i: usize,
    robust: &Robust,
    regions: &Regions,
    options: &GaussianSumOptions,
) -> Result<Vec<Potential>> {
    let mut message = vec![Bump { log_weight: 0.0, a: 0.0, c: 0.0 }];
    let mut potentials = Vec::with_capacity(chain.len());
    for j in (0..chain.len()).rev() {
        if j + 1 < chain.len() {
            let wide = spread(&message, chain.nodes(i, j + 1));
            message = pull_back(&wide, &mut OwnFlow::new(chain, i, j, robust), regions, j, options);
        }
        if let Some((firmness, y)) = chain.observation(i, j) {
            message.iter_mut().for_each(|bump| *bump = bump.times(firmness, y));
        }
        drop_negligible(&mut message, [regions.ahead[j], regions.means[j]]);
        potentials.push(potential(&message)?);
    }
    potentials.reverse();
    Ok(potentials)
}

/// A bump e^{−60} of the largest says nothing.
const NEGLIGIBLE: f64 = 60.0;
/// Most times that bumps are polished, each time with ceilings where the last ones were too high.
const ROUNDS: usize = 4;
/// A bump may exceed the message at its own centre by this much in logarithm.
const SLACK: f64 = 0.1;

/// A few bumps for many, seen through the flow of the step from time `j`.
fn pull_back(
    wide: &[Bump],
    flow: &mut OwnFlow,
    regions: &Regions,
    j: usize,
    options: &GaussianSumOptions,
) -> Vec<Bump> {
    let firmest = wide.iter().max_by(|x, y| x.a.total_cmp(&y.a)).expect("a message has at least one bump");
    if firmest.a == 0.0 {
        return vec![*firmest];
    }
    let centre = flow.best_state(firmest, regions.means[j], 10.0 * regions.sds[j]);
    let mut space = Vec::new();
    let mut target = regions.target(j, wide, centre, flow, &mut space);
    let (mean, sd) = target.moments();
    let few = merge_down(wide, regions.level(j, centre), options);
    let mut few: Vec<Bump> = few.iter().map(|bump| flow.pull_back(bump, mean, sd)).collect();
    let mut log_message = |x: f64| log_sum(wide, flow.value(x), &mut space);
    lower(&mut few, &mut log_message);
    for _ in 0..ROUNDS {
        polish(&mut few, &target);
        let broken = lower(&mut few, &mut log_message);
        if broken.is_empty() {
            break;
        }
        broken.into_iter().for_each(|(x, log_value)| target.add_ceiling(x, log_value));
    }
    few
}

/// Lower every bump that exceeds the message at its own centre: none that belongs there can, but one drawn up by its slope
/// far away would, and paths would follow it. Returns those centres with the message there.
fn lower(few: &mut [Bump], log_message: &mut impl FnMut(f64) -> f64) -> Vec<(f64, f64)> {
    let mut broken = Vec::new();
    for bump in few {
        let ceiling = log_message(bump.c);
        if bump.log_weight > ceiling + SLACK {
            bump.log_weight = ceiling + SLACK;
            broken.push((bump.c, ceiling));
        }
    }
    broken
}

/// Merge until no more than the allowed number is left.
fn merge_down(wide: &[Bump], level: f64, options: &GaussianSumOptions) -> Vec<Bump> {
    let mut width = options.width;
    loop {
        let few = merge(wide, width, level);
        if few.len() <= options.bumps {
            return few;
        }
        width *= 1.25;
    }
}

/// Scale the largest weight to one and drop bumps that are negligible at their own centre and at `states`.
fn drop_negligible(message: &mut Vec<Bump>, states: [f64; 2]) {
    let top = message.iter().map(|b| b.log_weight).fold(f64::NEG_INFINITY, f64::max);
    message.iter_mut().for_each(|b| b.log_weight -= top);
    let best = states.map(|x| message.iter().map(|b| b.log_value(x)).fold(f64::NEG_INFINITY, f64::max));
    message.retain(|b| {
        b.log_weight > -NEGLIGIBLE || states.iter().zip(best).any(|(x, best)| b.log_value(*x) > best - NEGLIGIBLE)
    });
}

/// The message as a potential.
fn potential(message: &[Bump]) -> Result<Potential> {
    let quadratic = |b: &Bump| Quadratic::new(b.a, b.c);
    if let [bump] = message {
        return Ok(quadratic(bump)?.into());
    }
    let parts = message.iter().map(|b| Ok((b.log_weight, quadratic(b)?))).collect::<Result<Vec<_>>>()?;
    Ok(GaussianSum::new(parts)?.into())
}
