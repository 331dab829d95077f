//! Measure calibration: coverage and probability integral transforms.

use super::compare::{BlockBootstrap, block_std_error};
use super::sample::Sample;
use super::{all_finite, finite_truth, level};
use crate::{Error, Result, stream};
use rand::RngExt;

impl Sample {
    /// Whether the central interval with probability `coverage` contains the truth.
    pub fn covers(&self, coverage: f64, truth: f64) -> Result<bool> {
        let (lower, upper) = self.interval(coverage)?;
        Ok((lower..=upper).contains(&finite_truth(truth)?))
    }

    /// Probability integral transform: where the truth falls in the forecast, from 0 (below all draws) to 1.
    ///
    /// The truth's rank among the M draws, ties included, spans a stretch of [0, 1]: with b draws below and e equal,
    /// from b/(M + 1) to (b + e + 1)/(M + 1). `uniform` in [0, 1] selects a point of it. A uniform random number makes
    /// the transform exactly uniform if truth and draws have the same distribution, ties or not; ½ is the mid-rank,
    /// which is deterministic but takes only M + 1 values.
    pub fn pit(&self, truth: f64, uniform: f64) -> Result<f64> {
        let inside = (0.0..=1.0).contains(&uniform);
        let uniform = crate::error::check("uniform", uniform, inside, "must be between 0 and 1")?;
        let (below, equal) = self.rank(finite_truth(truth)?);
        Ok((below as f64 + uniform * (equal as f64 + 1.0)) / (self.len() as f64 + 1.0))
    }
}

/// The transform of every forecast and its truth, randomised within their ranks; the same for the same seed.
pub fn pits(forecasts: &[(Sample, f64)], seed: u64) -> Result<Vec<f64>> {
    let mut rng = stream(seed, 0);
    forecasts.iter().map(|(sample, truth)| sample.pit(*truth, rng.random())).collect()
}

/// Share of the truths that lie in the central interval with probability `coverage`, from their [`Sample::pit`]s.
///
/// With calibrated forecasts it is `coverage` in expectation, also for few draws per forecast.
pub fn reliability(pits: &[f64], coverage: f64) -> Result<f64> {
    check(pits)?;
    let coverage = level("coverage", coverage)?;
    Ok(inside(pits, coverage) / pits.len() as f64)
}

/// Standard error of the [`reliability`] of all `windows` together, given the transforms of each in the order of time.
///
/// The truths of a window lie on one path and fall inside or outside their intervals together; neighbouring windows
/// share most of their training. So windows are resampled whole, in blocks ([`block_std_error`]), not truths. Windows
/// may differ in size: the contribution of each to the share is linearised around it.
///
/// # Errors
/// Fewer than 2 windows, or an empty one; a transform outside [0, 1]; a coverage outside (0, 1).
pub fn reliability_std_error(windows: &[&[f64]], coverage: f64, how: &BlockBootstrap) -> Result<f64> {
    windows.iter().try_for_each(|pits| check(pits))?;
    let share = reliability(&windows.concat(), coverage)?;
    let size = windows.iter().map(|pits| pits.len()).sum::<usize>() as f64 / windows.len() as f64;
    let brings = |pits: &&[f64]| (inside(pits, coverage) - share * pits.len() as f64) / size;
    block_std_error(&windows.iter().map(brings).collect::<Vec<f64>>(), how)
}

/// Number of transforms in the central interval.
fn inside(pits: &[f64], coverage: f64) -> f64 {
    pits.iter().filter(|u| (2.0 * **u - 1.0).abs() <= coverage).count() as f64
}

/// Number of [`Sample::pit`]s in each of `bins` equal parts of [0, 1]; flat if the forecasts are calibrated.
pub fn histogram(pits: &[f64], bins: usize) -> Result<Vec<usize>> {
    check(pits)?;
    crate::error::positive("bins", bins as f64)?;
    let mut counts = vec![0; bins];
    for u in pits {
        // The right end belongs to the last part.
        counts[((u * bins as f64) as usize).min(bins - 1)] += 1;
    }
    Ok(counts)
}

fn check(pits: &[f64]) -> Result<()> {
    if pits.is_empty() {
        return Err(Error::Shape { what: "transforms", got: "none".into(), expected: "at least 1".into() });
    }
    all_finite("transform", pits)?;
    match pits.iter().find(|u| !(0.0..=1.0).contains(*u)) {
        None => Ok(()),
        Some(u) => Err(Error::Series { place: format!("transform {u}"), problem: "is not between 0 and 1".into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn identity_transform_by_hand() {
        let sample = Sample::new(&[1.0, 2.0, 2.0, 3.0]).unwrap();
        for (truth, uniform, want) in
            [(0.0, 0.0, 0.0), (9.0, 1.0, 1.0), (2.0, 0.0, 0.2), (2.0, 0.5, 0.5), (2.5, 0.5, 0.7)]
        {
            assert!((sample.pit(truth, uniform).unwrap() - want).abs() < 1e-15, "{truth} {uniform}");
        }
        assert_eq!(histogram(&[0.0, 0.49, 0.5, 1.0], 2).unwrap(), [2, 2]);
        assert_eq!(reliability(&[0.1, 0.25, 0.5, 0.9], 0.5).unwrap(), 0.5);
        assert!(sample.covers(0.5, 2.0).unwrap() && !sample.covers(0.5, 0.9).unwrap());
    }

    #[test]
    fn statistics_transform_is_uniform_with_few_draws_and_ties() {
        // Truth and nine draws are dice: heavy ties. 4000 transforms in ten parts; chi-squared with 9 degrees of freedom
        // exceeds 33.7 with probability 1e-4.
        let mut rng = stream(11, 0);
        let die = |rng: &mut crate::StreamRng| f64::from(rng.random_range(1..=6));
        let pits: Vec<f64> = (0..4000)
            .map(|_| {
                let draws: Vec<f64> = (0..9).map(|_| die(&mut rng)).collect();
                let truth = die(&mut rng);
                Sample::new(&draws).unwrap().pit(truth, rng.random()).unwrap()
            })
            .collect();
        let chi: f64 = histogram(&pits, 10).unwrap().iter().map(|n| (*n as f64 - 400.0).powi(2) / 400.0).sum();
        assert!(chi < 33.7, "{chi}");
        // Binomial with n = 4000: four standard errors, two-sided 6e-5.
        let share = reliability(&pits, 0.8).unwrap();
        assert!((share - 0.8).abs() < 4.0 * (0.16f64 / 4000.0).sqrt(), "{share}");
    }

    #[test]
    fn statistics_intervals_cover_and_narrow_ones_do_not() {
        // 2000 normal truths, 400 normal draws each, and the same at half the width (which covers Φ(0.822) · 2 − 1 = 59%).
        let mut rng = stream(12, 0);
        let (mut right, mut narrow) = (0, 0);
        for _ in 0..2000 {
            let draws: Vec<f64> = (0..400).map(|_| StandardNormal.sample(&mut rng)).collect();
            let truth: f64 = StandardNormal.sample(&mut rng);
            right += usize::from(Sample::new(&draws).unwrap().covers(0.9, truth).unwrap());
            let half: Vec<f64> = draws.iter().map(|x| 0.5 * x).collect();
            narrow += usize::from(Sample::new(&half).unwrap().covers(0.9, truth).unwrap());
        }
        let error = |count: usize, p: f64| (count as f64 / 2000.0 - p).abs() / (p * (1.0 - p) / 2000.0).sqrt();
        assert!(error(right, 0.9) < 4.0 && error(narrow, 0.589) < 4.0, "{right} {narrow}");
    }

    #[test]
    fn statistics_windows_and_not_truths_are_counted() {
        // 400 windows of 5 or 10 truths that are all in the interval or all out of it: the error is that of 400 coins,
        // √(0.24/400 · mean n²/(mean n)²) = 0.0258, to 10% (its own standard error is 3.5% by windows and 1% by resampling).
        let mut rng = stream(13, 0);
        let window = |k: usize, u: f64| vec![if u < 0.6 { 0.5 } else { 0.99 }; 5 * (1 + k % 2)];
        let windows: Vec<Vec<f64>> = (0..400).map(|k| window(k, rng.random())).collect();
        let windows: Vec<&[f64]> = windows.iter().map(Vec::as_slice).collect();
        let how = BlockBootstrap { block: Some(1), ..BlockBootstrap::default() };
        let found = reliability_std_error(&windows, 0.6, &how).unwrap();
        assert!((found / 0.0258 - 1.0).abs() < 0.1, "{found}");
        // Counted one by one, the 3000 truths would seem surer than they are.
        assert!(found > 2.0 * (0.24f64 / 3000.0).sqrt());
        assert!(reliability_std_error(&windows[..1], 0.6, &how).is_err());
        assert!(reliability_std_error(&[&[0.5], &[]], 0.6, &how).is_err());
    }

    #[test]
    fn identity_equal_windows_leave_no_doubt() {
        let windows: [&[f64]; 3] = [&[0.5, 0.99], &[0.99, 0.5], &[0.4, 0.0, 0.6, 1.0]];
        assert_eq!(reliability_std_error(&windows, 0.5, &BlockBootstrap::default()).unwrap(), 0.0);
    }

    #[test]
    fn bad_inputs_are_errors() {
        let sample = Sample::new(&[0.0]).unwrap();
        assert!(
            sample.pit(0.0, 1.5).is_err() && sample.pit(f64::NAN, 0.5).is_err() && sample.pit(0.0, f64::NAN).is_err()
        );
        assert!(sample.covers(0.5, f64::NAN).is_err());
        assert!(
            reliability(&[], 0.5).is_err() && reliability(&[0.5], 1.0).is_err() && reliability(&[1.5], 0.5).is_err()
        );
        assert!(histogram(&[f64::NAN], 3).is_err() && histogram(&[0.5], 0).is_err());
    }
}
