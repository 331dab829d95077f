//! Hold an estimated parameter with its standard error and its 90% interval.

use super::Transform;

/// Half the width of a 90% interval of a Gaussian, in standard deviations.
pub const NINETY: f64 = 1.645;

/// A parameter after the fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Name as users write it.
    pub name: String,
    /// Value, given or learned.
    pub value: f64,
    /// Standard error of a learned value, if there is one.
    pub std_error: Option<f64>,
    /// Whether the value was given.
    pub fixed: bool,
    /// Whether a learned value owes more to its prior than to the data.
    pub held_by_prior: bool,
    /// 90% interval of a learned value, if there is one.
    pub interval: Option<Interval>,
}

/// A 90% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
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
    pub(crate) const fn profile([low, high]: [f64; 2]) -> Self {
        Self { low, high, source: IntervalSource::Profile }
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
