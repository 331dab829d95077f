//! Compare draws with the law they should come from.
// Every test binary that includes this file uses its own part of it.
#![allow(dead_code)]

/// Kolmogorov–Smirnov statistic D = sup |F_n − F| of draws sorted in increasing order against a continuous `cdf`.
pub fn ks_statistic(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    sorted.iter().enumerate().fold(0.0, |worst: f64, (i, &x)| {
        let f = cdf(x);
        // Written so that a NaN fails instead of being passed over.
        let gap = (f - i as f64 / n).abs().max(((i + 1) as f64 / n - f).abs());
        if gap <= worst { worst } else { gap }
    })
}

/// P(D ≥ `statistic`) for `n` draws from the law itself: Kolmogorov's limit with Stephens' correction for finite n.
pub fn ks_p_value(statistic: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let scaled = (root + 0.12 + 0.11 / root) * statistic;
    if scaled < 1.18 {
        // The theta function turned around: converges fast where the alternating sum does not.
        let exponent = -(std::f64::consts::PI / scaled).powi(2) / 8.0;
        let sum: f64 = (1..=4).map(|k| (f64::from(2 * k - 1).powi(2) * exponent).exp()).sum();
        1.0 - (2.0 * std::f64::consts::PI).sqrt() / scaled * sum
    } else {
        let term = |k: i32| (-2.0 * f64::from(k * k) * scaled * scaled).exp();
        2.0 * (1..=4).map(|k| if k % 2 == 1 { term(k) } else { -term(k) }).sum::<f64>()
    }
}

/// Pearson's statistic of `counts` against probabilities, cells pooled until each expects at least 10 draws, and the
/// bound that it exceeds with probability 1e-6 (infinite if only one cell is left).
pub fn chi_square(counts: &[f64], probabilities: &[f64]) -> (f64, f64) {
    let draws: f64 = counts.iter().sum();
    let (mut statistic, mut cells, mut expected, mut seen) = (0.0, 0.0, 0.0, 0.0);
    for (count, q) in counts.iter().zip(probabilities) {
        expected += q * draws;
        seen += count;
        if expected >= 10.0 {
            statistic += (seen - expected).powi(2) / expected;
            cells += 1.0;
            (expected, seen) = (0.0, 0.0);
        }
    }
    (statistic, if cells < 2.0 { f64::INFINITY } else { chi_square_bound(cells - 1.0) })
}

/// Upper bound of a χ² variable that is passed with probability about 1e-6 (Wilson and Hilferty 1931).
fn chi_square_bound(freedom: f64) -> f64 {
    let (z, v) = (4.753_424, 2.0 / (9.0 * freedom));
    freedom * (1.0 - v + z * v.sqrt()).powi(3)
}
