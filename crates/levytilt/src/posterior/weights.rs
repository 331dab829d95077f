//! Summarise log weights: ELBO, log evidence, effective sample size and k̂.

/// Summary of the log weights ln p(x, y) − ln q(x) of independent paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightSummary {
    /// Their mean: the ELBO.
    pub elbo: f64,
    /// Standard error of the mean.
    pub elbo_std_error: f64,
    /// ln of the mean weight: importance-sampled log evidence.
    pub log_evidence: f64,
    /// (Σw)²/Σw².
    pub effective_sample_size: f64,
    /// Shape k̂ of the generalised Pareto distribution of the largest weights; above 0.7 the weights are unreliable.
    pub k_hat: f64,
}

impl WeightSummary {
    /// Summarise at least two log-weights.
    pub fn new(log_weights: &[f64]) -> Self {
        let n = log_weights.len() as f64;
        let elbo = log_weights.iter().sum::<f64>() / n;
        let variance = log_weights.iter().map(|l| (l - elbo).powi(2)).sum::<f64>() / (n - 1.0);
        let (log_total, weights) = normalise(log_weights);
        Self {
            elbo,
            elbo_std_error: (variance / n).sqrt(),
            log_evidence: log_total - n.ln(),
            effective_sample_size: 1.0 / weights.iter().map(|w| w * w).sum::<f64>(),
            k_hat: pareto_k(log_weights),
        }
    }

    /// Approximate gap in nats between log evidence and the ELBO of `paths` paths: where log weights are nearly
    /// Gaussian, half their variance.
    pub(crate) fn missed(&self, paths: usize) -> f64 {
        0.5 * self.elbo_std_error.powi(2) * paths as f64
    }
}

/// ln Σ e^l and the weights e^l divided by their sum.
pub fn normalise(log_weights: &[f64]) -> (f64, Vec<f64>) {
    let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = log_weights.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
    (top + total.ln(), weights)
}

/// `count` indices in proportion to their weights, by systematic resampling.
pub(crate) fn systematic(weights: &[f64], count: usize, offset: f64) -> Vec<usize> {
    let mut index = 0;
    let mut sum = weights[0];
    (0..count)
        .map(|k| {
            let target = (k as f64 + offset) / count as f64;
            while sum < target && index + 1 < weights.len() {
                index += 1;
                sum += weights[index];
            }
            index
        })
        .collect()
}

/// k̂ of Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024): the posterior mean shape
/// of a generalised Pareto distribution (Zhang and Stephens 2009) for the largest min(n/5, 3√n) weights, shrunk towards
/// 0.5.
///
/// Minus infinity when the tail has fewer than five distinct weights: equal weights have no tail.
pub fn pareto_k(log_weights: &[f64]) -> f64 {
    let n = log_weights.len();
    let mut sorted = log_weights.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = (n as f64 / 5.0).min(3.0 * (n as f64).sqrt()).ceil() as usize;
    if count < 5 || count >= n {
        return f64::NEG_INFINITY;
    }
    let top = sorted[n - 1];
    let cut = (sorted[n - count - 1] - top).exp();
    let excess: Vec<f64> = sorted[n - count..].iter().map(|l| (l - top).exp() - cut).filter(|e| *e > 0.0).collect();
    if excess.len() < 5 {
        return f64::NEG_INFINITY;
    }
    pareto_shape(&excess)
}

/// Shape of a generalised Pareto distribution from its ordered positive excesses.
fn pareto_shape(excess: &[f64]) -> f64 {
    let n = excess.len();
    let size = n as f64;
    let grid = 30 + size.sqrt().floor() as usize;
    let quarter = excess[(size / 4.0 + 0.5).floor() as usize - 1];
    let largest = excess[n - 1];
    let shape = |b: f64| excess.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / size;
    let candidates: Vec<f64> =
        (1..=grid).map(|i| 1.0 / largest + (1.0 - (grid as f64 / (i as f64 - 0.5)).sqrt()) / (3.0 * quarter)).collect();
    let profile: Vec<f64> = candidates
        .iter()
        .map(|&b| {
            let k = shape(b);
            size * ((-b / k).ln() - k - 1.0)
        })
        .collect();
    let (_, posterior) = normalise(&profile);
    let b: f64 = candidates.iter().zip(&posterior).map(|(b, p)| b * p).sum();
    // A weak prior worth ten observations at 0.5.
    (shape(b) * size + 5.0) / (size + 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn identity_equal_weights() {
        let summary = WeightSummary::new(&[-3.0; 50]);
        assert_eq!((summary.elbo, summary.elbo_std_error), (-3.0, 0.0));
        assert!((summary.log_evidence + 3.0).abs() < 1e-14 && (summary.effective_sample_size - 50.0).abs() < 1e-9);
        assert_eq!(summary.k_hat, f64::NEG_INFINITY);
    }

    #[test]
    fn identity_evidence_exceeds_the_bound() {
        let summary = WeightSummary::new(&[0.0, 1.0, 2.0]);
        assert!((summary.log_evidence - ((1.0 + 1f64.exp() + 2f64.exp()) / 3.0).ln()).abs() < 1e-14);
        assert!(summary.log_evidence > summary.elbo);
    }

    /// Weights U^{−k} have a Pareto tail of shape k. The estimate from 3√n = 1342 excesses has a standard deviation of
    /// about (1 + k)/√1342; 5 of them: false alarm below 1e-6 per case.
    #[test]
    fn statistics_pareto_shape_is_found() {
        for (i, k) in [0.2, 0.5, 0.9].into_iter().enumerate() {
            let mut rng = crate::stream(5, i as u64);
            let logs: Vec<f64> = (0..200_000).map(|_| -k * (1.0 - rng.random::<f64>()).ln()).collect();
            let got = pareto_k(&logs);
            assert!((got - k).abs() < 5.0 * (1.0 + k) / 1342f64.sqrt(), "{k}: {got}");
        }
    }
}
