//! Judge posterior paths once: whether their weights are used, and how far the ELBO is below the log evidence.

use super::{Evidence, WeightSummary};

/// Largest k̂ at which weighted means settle at a practical number of paths.
const WORST_K: f64 = 0.7;
/// Least effective share of the paths for which weights are used. Paths without weights miss posterior means by as little
/// as exact draws would, down to a share of a fiftieth (docs/validation/inference.md); weights multiply that error by one
/// over the root of the share, and above one half they cost little and correct what bias there is.
const LEAST_EFFECTIVE: f64 = 0.5;
/// Effective share of the paths below which a few paths would take all the weight.
const FEWEST_EFFECTIVE: f64 = 0.1;
/// A gap beyond this many nats per thousand observations, and beyond three times its error, is wide.
const WORST_GAP: f64 = 3.0;
/// A gap below this many nats per thousand observations is close.
const CLOSE_GAP: f64 = 1.0;
/// Errors of a gap within which it may be nothing.
const ERRORS: f64 = 3.0;

/// Whether the posterior is that of the weighted paths or of the paths as they are.
///
/// The spread of log-weights grows with the length of the series however close each step is, so that in a long series a
/// few paths would take all the weight; the potentials are then a better guide than the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    /// Weights are used: k̂ is at most 0.7 and at least half of the paths are effective.
    Used,
    /// Weights are set aside, because they would add more noise than they take away bias: k̂ is at most 0.7, but fewer
    /// than half of the paths are effective.
    SetAside,
    /// Weights are set aside, and say that the paths miss part of the posterior: k̂ is above 0.7, or fewer than a tenth
    /// of the paths are effective.
    Untrusted,
}

/// How far the ELBO is below the log evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// Log evidence less ELBO, in nats: the divergence of the paths from the posterior.
    pub nats: f64,
    /// Its standard error: the sum of both errors, which holds however the two are correlated.
    pub std_error: f64,
    /// What it means.
    pub verdict: Closeness,
}

/// What a gap means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closeness {
    /// Below one nat per thousand observations.
    Close,
    /// Between close and wide: near enough for means and bands.
    Near,
    /// Above three nats per thousand observations by more than three errors.
    Wide,
}

/// All verdicts on posterior paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diagnosis {
    /// Whether weights are used, and why not.
    pub weighting: Weighting,
    /// Distance of the ELBO from the log evidence.
    pub gap: Gap,
}

impl Diagnosis {
    /// The verdicts on `paths` paths of a series with so many observations.
    pub fn new(summary: &WeightSummary, evidence: &Evidence, paths: usize, observations: usize) -> Self {
        Self { weighting: Weighting::new(summary, paths), gap: Gap::new(summary, evidence, observations) }
    }
}

impl Weighting {
    /// The verdict on `paths` weights; a k̂ that is NaN sets them aside.
    pub fn new(summary: &WeightSummary, paths: usize) -> Self {
        let share = summary.effective_sample_size / paths as f64;
        match summary.k_hat {
            k if k > WORST_K || share < FEWEST_EFFECTIVE => Self::Untrusted,
            k if k <= WORST_K && share >= LEAST_EFFECTIVE => Self::Used,
            _ => Self::SetAside,
        }
    }
}

impl Gap {
    /// The gap for a series with so many observations; below a thousand the limits are those of a thousand.
    pub fn new(summary: &WeightSummary, evidence: &Evidence, observations: usize) -> Self {
        let nats = evidence.log_evidence - summary.elbo;
        let std_error = summary.elbo_std_error + evidence.std_error;
        let thousands = (observations as f64 / 1000.0).max(1.0);
        let verdict = match nats {
            nats if nats > WORST_GAP * thousands + ERRORS * std_error => Closeness::Wide,
            nats if nats / thousands < CLOSE_GAP => Closeness::Close,
            _ => Closeness::Near,
        };
        Self { nats, std_error, verdict }
    }

    /// Whether the gap is wide.
    pub fn is_wide(&self) -> bool {
        self.verdict == Closeness::Wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(elbo: f64, effective_sample_size: f64, k_hat: f64) -> WeightSummary {
        WeightSummary { elbo, elbo_std_error: 0.5, effective_sample_size, k_hat, ..WeightSummary::new(&[0.0; 4]) }
    }

    #[test]
    fn golden_verdicts() {
        let weighting = |effective, k_hat| Weighting::new(&summary(0.0, effective, k_hat), 100);
        assert_eq!(weighting(50.0, 0.7), Weighting::Used);
        assert_eq!(weighting(49.0, 0.7), Weighting::SetAside);
        assert_eq!(weighting(9.0, 0.1), Weighting::Untrusted);
        assert_eq!(weighting(99.0, 0.71), Weighting::Untrusted);
        let evidence = Evidence { log_evidence: 0.0, std_error: 0.5, resamplings: 0.0 };
        let gap = |elbo, observations| Gap::new(&summary(elbo, 50.0, 0.1), &evidence, observations).verdict;
        assert_eq!(
            [gap(-0.9, 100), gap(-5.9, 100), gap(-6.1, 100)],
            [Closeness::Close, Closeness::Near, Closeness::Wide]
        );
        assert_eq!([gap(-6.1, 2000), gap(-9.1, 2000)], [Closeness::Near, Closeness::Wide]);
        assert_eq!(Gap::new(&summary(-2.0, 1.0, 0.0), &evidence, 1).std_error, 1.0);
    }
}
