//! A staircase above the tilted law of ϑ, from which drawing is easy and rarely in vain.
//!
//! On a bin of ϑ both parts of ln C − κ = −κ/(1 + u) − ½ ln(1 + u) are monotone, so the ends of the bin bound it from
//! above and below. Bins are halved until the area of the upper staircase (times the prior of ϑ) is at most 3/2 of
//! that of the lower one; so at least two draws in three are accepted, whatever κ and a are.
//!
//! The two u may differ, u_pull ≥ u_width: then the staircase is above ln C for all states whose u lies between and
//! whose κ is not larger. This is what thinning along a moving state needs.

use super::tilted::{grown, log_gaussian_factor};
use levytilt::StreamRng;
use rand::RngExt;

/// Upper over lower area at which refining stops.
const GOOD: f64 = 1.5;
/// Most rounds of refining; each at least halves the wide bins, and about 20 are used.
const MOST_ROUNDS: usize = 200;

/// A staircase.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    rho: f64,
    bins: Vec<Bin>,
    /// Running sums of the bins' areas relative to `log_scale`.
    cumulative: Vec<f64>,
    log_scale: f64,
}

/// A bin of ϑ, the last one without end.
#[derive(Debug, Clone, Copy)]
struct Bin {
    left: f64,
    right: f64,
    /// Upper bound of ln C − κ.
    log_height: f64,
    /// ln of (area of the prior times height), and of the same with the lower bound.
    log_area: f64,
    log_least: f64,
}

/// The corner of a set of states: largest κ, and u at r = τ where it raises and where it lowers the rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub rho: f64,
    pub kappa: f64,
    pub u_pull: f64,
    pub u_width: f64,
}

/// A draw from the staircase.
pub(super) struct Proposal {
    pub theta: f64,
    /// ln of the height at which it was drawn; accept with e^{ln C − κ − log_height}.
    pub log_height: f64,
}

impl Corner {
    fn bin(&self, left: f64, right: f64) -> Bin {
        let value = |pull: f64, width: f64| {
            log_gaussian_factor(self.kappa, grown(self.u_pull, pull), grown(self.u_width, width))
        };
        let log_prior = -self.rho * left + (-(-self.rho * (right - left)).exp_m1()).ln();
        let log_height = value(right, left);
        Bin { left, right, log_height, log_area: log_prior + log_height, log_least: log_prior + value(left, right) }
    }

    /// ϑ from which on large jumps only get rarer, if there is a way to go there.
    fn turn(&self) -> Option<f64> {
        let u = (self.kappa / (self.rho + 0.5)).max(1.0);
        let theta = (u / self.u_pull).ln();
        (theta > 0.0 && theta.is_finite()).then_some(theta)
    }
}

impl Envelope {
    pub(super) fn new(corner: Corner) -> Self {
        let mut bins: Vec<Bin> = match corner.turn() {
            Some(turn) => vec![corner.bin(0.0, turn), corner.bin(turn, f64::INFINITY)],
            None => vec![corner.bin(0.0, f64::INFINITY)],
        };
        for _ in 0..MOST_ROUNDS {
            let top = bins.iter().map(|b| b.log_area).fold(f64::NEG_INFINITY, f64::max);
            let (area, least) = bins.iter().fold((0.0, 0.0), |(area, least), bin| {
                (area + (bin.log_area - top).exp(), least + (bin.log_least - top).exp())
            });
            if area <= GOOD * least {
                break;
            }
            let fair = 0.5 * (area - least) / bins.len() as f64;
            bins = bins.iter().flat_map(|bin| bin.refined(&corner, top, fair)).collect();
        }
        Self::finish(corner.rho, bins)
    }

    fn finish(rho: f64, bins: Vec<Bin>) -> Self {
        let log_scale = bins.iter().map(|b| b.log_area).fold(f64::NEG_INFINITY, f64::max);
        let cumulative = bins
            .iter()
            .scan(0.0, |sum, bin| {
                *sum += (bin.log_area - log_scale).exp();
                Some(*sum)
            })
            .collect();
        Self { rho, bins, cumulative, log_scale }
    }

    /// ln of the area: an upper bound of ln(Λ/λ) − κ.
    pub(super) fn log_area(&self) -> f64 {
        self.log_scale + self.cumulative[self.cumulative.len() - 1].ln()
    }

    /// Draw ϑ from under the staircase.
    pub(super) fn propose(&self, rng: &mut StreamRng) -> Proposal {
        let mark = rng.random::<f64>() * self.cumulative[self.cumulative.len() - 1];
        let bin = &self.bins[self.cumulative.partition_point(|&sum| sum <= mark).min(self.bins.len() - 1)];
        let fall = (-self.rho * (bin.right - bin.left)).exp_m1();
        let theta = bin.left - (rng.random::<f64>() * fall).ln_1p() / self.rho;
        Proposal { theta, log_height: bin.log_height }
    }
}

impl Bin {
    /// This bin, or its two parts if the area between its bounds, relative to e^top, is above `fair`.
    fn refined(&self, corner: &Corner, top: f64, fair: f64) -> impl Iterator<Item = Bin> {
        let gap = (self.log_area - top).exp() - (self.log_least - top).exp();
        // Along the end C falls like e^{−ϑ/2}.
        let cut = if self.right.is_finite() { 0.5 * (self.left + self.right) } else { self.left + 2.0 };
        let parts = match gap > fair {
            true => [Some(corner.bin(self.left, cut)), Some(corner.bin(cut, self.right))],
            false => [Some(*self), None],
        };
        parts.into_iter().flatten()
    }
}
