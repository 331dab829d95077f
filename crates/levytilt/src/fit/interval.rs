//! Give learned parameters their 90% intervals: quantiles of weighted draws where there are some, profiles where they were
//! followed, else Gaussian on the free scale.

use crate::solve::{Estimate, Interval, IntervalSource, ParameterPosterior, Transform};

/// k̂ above which weights are not trusted, and draws below which their quantiles are too coarse.
const WORST_K_HAT: f64 = 0.7;
const FEWEST: f64 = 30.0;

/// Give the parameters that were drawn the intervals of their draws, if the weights can be trusted; whether they can.
pub fn use_draws(estimates: &mut [Estimate], drawn: &ParameterPosterior) -> bool {
    let trusted = drawn.k_hat <= WORST_K_HAT && drawn.effective_sample_size >= FEWEST;
    for (i, name) in drawn.names.iter().enumerate().filter(|_| trusted) {
        if let Some(estimate) = estimates.iter_mut().find(|p| p.name == *name) {
            let ends = drawn.quantiles(i, &[0.05, 0.95]);
            estimate.interval = Some(Interval { low: ends[0], high: ends[1], source: IntervalSource::Draws });
        }
    }
    trusted
}

/// Gaussian intervals for the learned parameters that have none yet.
pub(super) fn complete(estimates: &mut [Estimate], transforms: &[Transform]) {
    for (p, &transform) in estimates.iter_mut().zip(transforms).filter(|(p, _)| !p.fixed && p.interval.is_none()) {
        p.interval = p.std_error.map(|error| Interval::gaussian(p.value, error, transform));
    }
}
