//! Filter backwards with sums of bumps: what sparse data need, where one quadratic cannot be flat far away and curved near
//! its target at once.
//!
//! No sampling and no iteration. Per dimension, from the last time to the first:
//! 1. multiply the message by the observation (exact);
//! 2. spread it by the noise of the step before: every bump times every node (exact);
//! 3. merge bumps that look alike;
//! 4. pull it back through the drift's flow.

mod bumps;
mod flow;
mod merge;
mod polish;
mod region;

use super::robust::{Robust, robust_smooth};
use crate::posterior::Potentials;
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
pub fn gaussian_sum(chain: &Chain, options: &GaussianSumOptions) -> Result<Potentials> {
    let robust = robust_smooth(chain)?;
    (0..chain.dim()).map(|i| filter(chain, i, &robust, options)).collect()
}

fn filter(chain: &Chain, i: usize, robust: &Robust, options: &GaussianSumOptions) -> Result<Vec<Potential>> {
    let precision = 0.5 / chain.model().dimensions[i].observation_std.powi(2);
    let regions = Regions::new(chain, i, robust);
    let mut message = vec![Bump { log_weight: 0.0, a: 0.0, c: 0.0 }];
    let mut potentials = Vec::with_capacity(chain.len());
    for j in (0..chain.len()).rev() {
        if j + 1 < chain.len() {
            let wide = spread(&message, chain.nodes(i, j + 1));
            message = pull_back(&wide, &mut OwnFlow::new(chain, i, j, robust), &regions, j, options);
        }
        let y = chain.value(i, j);
        if !y.is_nan() {
            message.iter_mut().for_each(|bump| *bump = bump.times(precision, y));
        }
        drop_negligible(&mut message);
        potentials.push(potential(&message)?);
    }
    potentials.reverse();
    Ok(potentials)
}

/// A bump may exceed the message at its own centre by this much in logarithm: none can belong there that is higher, but
/// one drawn by its slope far away would be.
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
    let target = regions.target(j, wide, centre, flow, &mut space);
    let (mean, sd) = target.moments();
    let few = merge_down(wide, regions.level(j, centre), options);
    let mut few: Vec<Bump> = few.iter().map(|bump| flow.pull_back(bump, mean, sd)).collect();
    let mut lower = |few: &mut Vec<Bump>| {
        for bump in few.iter_mut() {
            bump.log_weight = bump.log_weight.min(log_sum(wide, flow.value(bump.c), &mut space) + SLACK);
        }
    };
    lower(&mut few);
    let (e0, e1, n) = polish(&mut few, &target);
    lower(&mut few);
    if std::env::var("TRACE").is_ok() {
        println!(
            "j {j} e {e0:.1e} {e1:.1e} steps {n} bumps {} points {} centre {centre:.2} mean {mean:.2} sd {sd:.2} range {:.1} {:.1}",
            few.len(),
            target.states.len(),
            target.states[0],
            target.states[target.states.len() - 1]
        );
    }
    few
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

fn drop_negligible(message: &mut Vec<Bump>) {
    let top = message.iter().map(|b| b.log_weight).fold(f64::NEG_INFINITY, f64::max);
    message.iter_mut().for_each(|b| b.log_weight -= top);
    message.retain(|b| b.log_weight > -60.0);
}

fn potential(message: &[Bump]) -> Result<Potential> {
    let quadratic = |b: &Bump| Quadratic::new(b.a, b.c);
    if let [bump] = message {
        return Ok(quadratic(bump)?.into());
    }
    let parts = message.iter().map(|b| Ok((b.log_weight, quadratic(b)?))).collect::<Result<Vec<_>>>()?;
    Ok(GaussianSum::new(parts)?.into())
}
