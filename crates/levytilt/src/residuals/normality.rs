//! Test residuals for what independent standard normal values would not show: statistics and their p-values.

/// Allowance for the correlation of residuals with an earlier level: for a random walk it has Dickey and Fuller's law, whose
/// quantiles (−2.86 at 5%, −3.43 at 1%) lie about this much beyond those of the normal law.
const DICKEY_FULLER: f64 = 0.87;
/// Share of the rows that must be one period apart for the record to show it.
const REGULAR: f64 = 0.8;
/// Most lags whose autocorrelations tell how much others fluctuate.
const MOST_LAGS: usize = 200;

/// Φ⁻¹ of a PIT given as the probabilities below and above, by Newton's method in the smaller tail.
pub(super) fn normal_score(below: f64, above: f64) -> f64 {
    let (tail, sign) = if below < above { (below, -1.0) } else { (above, 1.0) };
    sign * upper_quantile(tail.max(1e-300))
}

/// The z ≥ 0 with P(Z > z) = `tail` ≤ ½.
fn upper_quantile(tail: f64) -> f64 {
    // Start: the leading term of the tail; Newton on ln P, which is nearly a parabola.
    let mut z = (-2.0 * (2.0 * tail).ln()).max(0.0).sqrt();
    for _ in 0..50 {
        let p = upper_tail(z);
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let change = (p.ln() - tail.ln()) * p / density;
        z += change;
        if change.abs() < 1e-12 * (1.0 + z) {
            break;
        }
    }
    z
}

/// P(Z > z).
pub(super) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

fn two_sided(z: f64) -> f64 {
    2.0 * upper_tail(z.abs())
}

/// Autocorrelation at a lag, with the mean taken out; 0 if all values are equal.
pub(super) fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let pairs = values.iter().zip(values.iter().skip(lag));
    let covariance: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// Ljung and Box's Q over lags 1 … `lags` (even) and its p-value, P(χ²_lags > Q) = e^{−Q/2} Σ_{k < lags/2} (Q/2)^k/k!.
pub(super) fn ljung_box(values: &[f64], lags: usize) -> (f64, f64) {
    let n = values.len() as f64;
    let term = |lag: usize| autocorrelation(values, lag).powi(2) / (n - lag as f64);
    let q = n * (n + 2.0) * (1..=lags).map(term).sum::<f64>();
    let mut part = (-0.5 * q).exp();
    let mut p = 0.0;
    for k in 0..lags / 2 {
        p += part;
        part *= 0.5 * q / (k as f64 + 1.0);
    }
    (q, p.min(1.0))
}

/// By how much the autocorrelation after one period and after two exceeds the mean of those nearly half a period before and
/// after, whichever of the two is less, and the probability of a larger excess for values without a period.
///
/// Dependence that fades with the lag is convex there and does not exceed it; a bump at one lag is not there after two periods,
/// and a season is. Nearly half is 3/7: three days of a week, so that a season of a day does not look like one of a week.
/// Fluctuations of dependence that fades do exceed it, so that the variance is Bartlett's, (1 + 2Σρ²)/n for each of the three,
/// with the lags of one period.
pub(super) fn at_period(values: &[f64], lag: usize) -> (f64, f64) {
    let (n, half) = (values.len() as f64, (3 * lag / 7).max(1));
    let excess = |lag: usize| {
        let [early, at, late] = [lag - half, lag, lag + half].map(|lag| autocorrelation(values, lag));
        at - 0.5 * (early + late)
    };
    let least = excess(lag).min(excess(2 * lag));
    let dependence: f64 = (1..lag.min(MOST_LAGS)).map(|lag| autocorrelation(values, lag).powi(2)).sum();
    let variance = 1.5 * (1.0 + 2.0 * dependence) / (n - (2 * lag + half) as f64);
    (least, upper_tail(least / variance.sqrt()))
}

/// The number of rows in a period, if there are at least two and enough of them lie one period apart, over four periods.
pub(super) fn lag_of(times: &[f64], period: f64) -> Option<usize> {
    let n = times.len();
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let middle = gaps.len() / 2;
    let gap = *gaps.select_nth_unstable_by(middle, f64::total_cmp).1;
    let lag = (period / gap).round();
    if !(lag >= 2.0 && 4.0 * lag <= n as f64) {
        return None;
    }
    let lag = lag as usize;
    let apart = times.iter().zip(&times[lag..]).filter(|(a, b)| (*b - *a - period).abs() < 0.5 * gap).count();
    (apart as f64 >= REGULAR * (n - lag) as f64).then_some(lag)
}

/// The correlation of residuals with the rank of the level before, straight or as a cubic, whichever is clearer.
pub(super) fn level(before: &[f64], values: &[f64]) -> (f64, f64) {
    let n = before.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| before[a].total_cmp(&before[b]));
    let (mut straight, mut cubic, mut square) = (0.0, 0.0, 0.0);
    let mean = values.iter().sum::<f64>() / n as f64;
    for (rank, &k) in order.iter().enumerate() {
        // Legendre's polynomials on even ranks, each with mean square 1.
        let u = (2.0 * rank as f64 + 1.0) / n as f64 - 1.0;
        let z = values[k] - mean;
        straight += 3f64.sqrt() * u * z;
        cubic += 7f64.sqrt() * 0.5 * (5.0 * u * u * u - 3.0 * u) * z;
        square += z * z;
    }
    let clearer = if f64::abs(straight) >= f64::abs(cubic) { straight } else { cubic };
    let correlation = clearer / (square * n as f64).sqrt();
    let t = (correlation.abs() * (n as f64).sqrt() - DICKEY_FULLER).max(0.0);
    // Twice, for the choice between two.
    (correlation, (2.0 * two_sided(t)).min(1.0))
}

/// Anderson and Darling's A² of PITs given as (below, above), with Marsaglia and Marsaglia's limit law (2004).
pub(super) fn anderson_darling(tails: &[(f64, f64)]) -> (f64, f64) {
    let mut sorted = tails.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let n = sorted.len();
    let log = |p: f64| p.max(1e-300).ln();
    let term = |i: usize| (2 * i + 1) as f64 * (log(sorted[i].0) + log(sorted[n - 1 - i].1));
    let statistic = -(n as f64) - (0..n).map(term).sum::<f64>() / n as f64;
    (statistic, exceeds(statistic))
}

/// P(A² > z) in the limit of many values; to about 2e-6 below z = 2 and 8e-7 above.
fn exceeds(z: f64) -> f64 {
    let horner = |coefficients: [f64; 6]| coefficients.iter().rev().fold(0.0, |sum, c| sum * z + c);
    if z < 2.0 {
        let series = horner([2.00012, 0.247105, -0.0649821, 0.0347962, -0.011672, 0.00168691]);
        return 1.0 - (-1.2337141 / z).exp() / z.sqrt() * series;
    }
    -(-horner([1.0776, -2.30695, 0.43424, -0.082433, 0.008056, -0.0003146]).exp()).exp_m1()
}

/// The sample skewness, with D'Agostino's (1970) transformation to a normal value.
pub(super) fn skewness(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let moment = |power: i32| values.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / n;
    let skew = moment(3) / moment(2).powf(1.5);
    let y = skew * ((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0))).sqrt();
    let kurtosis =
        3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0) / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0));
    let w2 = (2.0 * (kurtosis - 1.0)).sqrt() - 1.0;
    let scale = (2.0 / (w2 - 1.0)).sqrt();
    let z = (y / scale).asinh() / (0.5 * w2.ln()).sqrt();
    (skew, two_sided(z))
}

/// The largest |z|, and the probability that the largest of so many is larger.
pub(super) fn largest(tails: &[(f64, f64)]) -> (f64, f64) {
    let least = tails.iter().map(|(below, above)| below.min(*above)).fold(0.5, f64::min).max(1e-300);
    let none = tails.len() as f64 * (-2.0 * least).ln_1p();
    (upper_quantile(least), -none.exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_p_values_from_tables() {
        // χ²_10: 18.307 at 5%; A²: 2.492 at 5%, 3.878 at 1% (its exact law, not Stephens's 3.857); Φ⁻¹(0.975).
        let series: Vec<f64> = (0..200).map(|k| f64::from(k * k % 17) - 8.0).collect();
        let (q, _) = ljung_box(&series, 10);
        assert!(q > 0.0);
        let chi = |q: f64| {
            (0..5).fold((0.0, (-0.5 * q).exp()), |(p, part), k| (p + part, part * 0.5 * q / (f64::from(k) + 1.0))).0
        };
        assert!((chi(18.307) - 0.05).abs() < 1e-5);
        assert!((exceeds(2.492) - 0.05).abs() < 2e-4 && (exceeds(3.878) - 0.01).abs() < 1e-4);
        assert!((normal_score(0.975, 0.025) - 1.959_963_984_540_054).abs() < 1e-10);
        assert!((normal_score(1e-20, 1.0) + 9.262_340_089_798_408).abs() < 1e-9);
        assert_eq!(normal_score(0.5, 0.5), 0.0);
    }

    /// Two false alarms in 200 at 1% are expected; 8 or more have a probability of 0.001.
    #[test]
    fn statistics_a_period_is_told_from_dependence_that_fades() {
        use rand_distr::{Distribution, StandardNormal};
        let (mut alarms, mut found, mut bumps, mut weeks) = (0, 0, 0, 0);
        for seed in 0..200 {
            let mut rng = crate::stream(seed, 0);
            let mut x = 0.0;
            let mut step = |keep: f64, rng: &mut crate::StreamRng| {
                let z: f64 = StandardNormal.sample(rng);
                x = keep * x + z;
                x
            };
            let fading: Vec<f64> = (0..2000).map(|_| step(0.9, &mut rng)).collect();
            alarms += u32::from(at_period(&fading, 7).1 < 0.01);
            let daily: Vec<f64> =
                (0..2000).map(|k| step(0.5, &mut rng) + (f64::from(k) * std::f64::consts::TAU / 24.0).sin()).collect();
            found += u32::from(at_period(&daily, 24).1 < 1e-3);
            // A season of a day is none of a week, and an echo after a week is no season.
            weeks += u32::from(at_period(&daily, 168).1 < 0.01);
            let fresh: Vec<f64> = (0..2007).map(|_| StandardNormal.sample(&mut rng)).collect();
            let echo: Vec<f64> = fresh.windows(8).map(|w| w[7] + 0.3 * w[0]).collect();
            bumps += u32::from(at_period(&echo, 7).1 < 0.01);
        }
        assert!(alarms < 8 && bumps < 8 && weeks < 8 && found == 200, "{alarms} {bumps} {weeks} {found}");
    }

    #[test]
    fn identity_a_day_of_hours_is_24_rows() {
        let hours: Vec<f64> = (0..200).map(|k| f64::from(k) / 24.0).collect();
        assert_eq!((lag_of(&hours, 1.0), lag_of(&hours, 7.0)), (Some(24), None));
        // Days have no hours, and uneven times no lag.
        assert_eq!(lag_of(&(0..200).map(f64::from).collect::<Vec<_>>(), 1.0), None);
        let uneven: Vec<f64> = (0..200).map(|k| f64::from(k) / 24.0 + 0.3 * f64::from(k % 11)).collect();
        assert_eq!(lag_of(&uneven, 1.0), None);
    }

    #[test]
    fn identity_what_leans_or_returns_is_seen() {
        let normal: Vec<f64> = (0..500)
            .map(|k| {
                let u = (f64::from(k * 197 % 500) + 0.5) / 500.0;
                normal_score(u, 1.0 - u)
            })
            .collect();
        assert!(skewness(&normal).1 > 0.9);
        assert!(skewness(&normal.iter().map(|z| z + 0.3 * z * z).collect::<Vec<_>>()).1 < 1e-6);
        let levels: Vec<f64> = (0..500).map(|k| f64::from(k * 71 % 500)).collect();
        let (correlation, p) = level(&levels, &levels.iter().map(|x| -x).collect::<Vec<_>>());
        assert!(correlation < -0.99 && p < 1e-9);
        let tails: Vec<(f64, f64)> = normal.iter().map(|z| (upper_tail(-z), upper_tail(*z))).collect();
        assert!(anderson_darling(&tails).1 > 0.9 && largest(&tails).1 > 0.1);
    }
}
