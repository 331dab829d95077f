//! 90% intervals of learned parameters: quantiles of weighted draws where there are some, profiles where they were followed, else
//! Gaussian on the free scale.

use super::Estimate;
use crate::solve::{ParameterPosterior, Transform};

/// Half the width of a 90% interval of a Gaussian, in standard deviations.
pub const NINETY: f64 = 1.645;
/// k̂ above which weights are not trusted, and draws below which their quantiles are too coarse.
const WORST_K_HAT: f64 = 0.7;
const FEWEST: f64 = 30.0;

/// A 90% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end; −∞ where the data set none.
    pub low: f64,
    /// Upper end; ∞ where the data set none.
    pub high: f64,
    /// Where it comes from.
    pub source: IntervalSource,
}

/// Where an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalSource {
    /// Gaussian on the free scale of the parameter.
    Gaussian,
    /// Quantiles of parameter draws weighted by exact evidence.
    Draws,
    /// Profile likelihood.
    Profile,
}

impl Interval {
    /// Gaussian on the scale on which the parameter is free, so that it stays in its domain.
    pub fn gaussian(value: f64, std_error: f64, transform: Transform) -> Self {
        let (middle, half) = (transform.forward(value), NINETY * std_error / transform.slope(value));
        let [low, high] = [middle - half, middle + half].map(|end| transform.backward(end));
        Self { low, high, source: IntervalSource::Gaussian }
    }

    /// The ends at which a profile likelihood has fallen by half of a 90% quantile of χ².
    pub(super) const fn profile([low, high]: [f64; 2]) -> Self {
        Self { low, high, source: IntervalSource::Profile }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_intervals_stay_in_their_domain() {
        let ends = |value, error, transform| {
            let found = Interval::gaussian(value, error, transform);
            [found.low, found.high]
        };
        assert_eq!(ends(2.0, 1.0, Transform::Identity), [2.0 - NINETY, 2.0 + NINETY]);
        let [low, high] = ends(0.5, 0.6, Transform::Log);
        assert!((low * high - 0.25).abs() < 1e-12 && low > 0.0);
        let [low, high] = ends(1.9, 0.5, Transform::Logit(2.0));
        assert!(0.0 < low && low < 1.9 && 1.9 < high && high < 2.0);
    }
}
