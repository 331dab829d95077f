//! Say what the paths and marginals of a fit are.

use crate::posterior::WeightSummary;
use crate::solve::{Choice, Method};
use std::fmt;

/// Standard error of the ELBO below which log-weights differ by rounding alone.
const EQUAL: f64 = 1e-9;

/// What the paths and marginals of a fit are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PosteriorKind {
    /// Draws from the posterior itself, counted equally, and marginals computed with it.
    Exact,
    /// Draws of a particle smoother, counted equally.
    Smoothed,
    /// Draws near the posterior, weighted.
    Weighted,
    /// Draws near the posterior, counted equally because weights would add more noise than they take away bias.
    Variational,
}

impl PosteriorKind {
    /// Name as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Smoothed => "smoothed",
            Self::Weighted => "weighted",
            Self::Variational => "variational",
        }
    }

    /// Whether paths found like this are draws from the posterior itself: they come from the grid, or their log-weights are
    /// all equal, as with Gaussian noise and an affine drift, where quadratic potentials are exact.
    pub(super) fn is_exact(choices: &[Choice], summary: &WeightSummary) -> bool {
        summary.elbo_std_error < EQUAL || choices.iter().all(|choice| choice.method == Method::Grid)
    }

    /// What paths found like this and weighted like this are.
    pub(super) fn of(choices: &[Choice], summary: &WeightSummary, weights: &[f64]) -> Self {
        if Self::is_exact(choices, summary) {
            Self::Exact
        } else if weights.iter().any(|w| *w != weights[0]) {
            Self::Weighted
        } else {
            Self::Variational
        }
    }
}

impl fmt::Display for PosteriorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
