//! Check the clock on simulated markets whose clock is known.

use super::*;
use crate::stream;
use rand_distr::{Distribution, StandardNormal, StudentT};

/// Seven prices a day, five days of seven.
fn market(days: usize) -> Vec<f64> {
    let open = |day: &usize| day % 7 < 5;
    (0..days).filter(open).flat_map(|day| (0..7).map(move |h| day as f64 + (13.5 + f64::from(h)) / 24.0)).collect()
}

/// Standard deviation of a step of the simulated market.
fn truth(kind: StepKind) -> f64 {
    match kind {
        StepKind::Open(0) => 2.0,
        StepKind::Open(_) => 1.0,
        StepKind::Overnight => 4.0,
        StepKind::Weekend => 5.0,
    }
}

fn walk(times: &[f64], sd: impl Fn(StepKind) -> f64, mut noise: impl FnMut() -> f64) -> Vec<f64> {
    let mut x = 3.0;
    let moves = Sessions::of(times).kinds(times).into_iter().map(|kind| {
        x += sd(kind) * noise();
        x
    });
    std::iter::once(3.0).chain(moves).collect()
}

#[test]
fn statistics_known_lengths_are_found() {
    // Twenty years of days: every length relative to an inner hour of the session within 12% (4.5 standard errors of the
    // rarest kind, about 1000 weekends, for Gaussian moves; Student moves need 20%).
    let times = market(7000);
    let mut rng = stream(3, 0);
    let student = StudentT::new(5.0).unwrap();
    let mut other = stream(4, 0);
    let records = [
        (walk(&times, truth, || StandardNormal.sample(&mut rng)), 0.12),
        (walk(&times, truth, || student.sample(&mut other)), 0.2),
    ];
    for (values, tolerance) in records {
        for power in [1.0, 2.0] {
            let clock = Clock::learn(&times, &values, &ClockOptions { power, ..ClockOptions::default() }).unwrap();
            let inner = clock.length(StepKind::Open(3)) / 24.0;
            for kind in [StepKind::Open(0), StepKind::Open(5), StepKind::Overnight, StepKind::Weekend] {
                let length = clock.length(kind) / if matches!(kind, StepKind::Open(_)) { 24.0 } else { 1.0 };
                let found = length / inner / truth(kind).powi(2);
                assert!((found - 1.0).abs() < tolerance, "{kind:?}, power {power}: {found}");
            }
        }
    }
}

#[test]
fn statistics_a_month_without_pattern_is_drawn_together() {
    // Equal moves at all hours of sessions: over 40 months the lengths of session hours spread by less than half of what
    // means of |move| over 21 days would (0.75/√21 · 2 = 33% for the length).
    let times = market(30);
    let spread: f64 = (0..40u64)
        .map(|seed| {
            let mut rng = stream(5, seed);
            let values = walk(&times, |kind| if is_open(kind) { 1.0 } else { 4.0 }, || StandardNormal.sample(&mut rng));
            let clock = Clock::learn(&times, &values, &ClockOptions::default()).unwrap();
            let lengths: Vec<f64> = (0..6).map(|k| clock.length(StepKind::Open(k)).ln()).collect();
            let mean = lengths.iter().sum::<f64>() / 6.0;
            lengths.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 5.0
        })
        .sum::<f64>()
        / 40.0;
    assert!(spread.sqrt() < 0.165, "{}", spread.sqrt());
}

#[test]
fn identity_total_is_the_calendar_and_ahead_goes_on() {
    let times = market(60);
    let mut rng = stream(6, 0);
    let values = walk(&times, truth, || StandardNormal.sample(&mut rng));
    let whole = Clock::learn(&times, &values, &ClockOptions::default()).unwrap();
    let total: f64 = whole.train().iter().sum();
    assert!((total - (times[times.len() - 1] - times[0])).abs() < 1e-9 * total);
    // Wherever the record is cut, also within a session or right after an opening, later steps are named as if it had
    // not been cut.
    for cut in [100, 105, 106, 110] {
        let clock = Clock::learn(&times[..cut], &values[..cut], &ClockOptions::default()).unwrap();
        let ahead = clock.ahead(&times[cut..cut + 20]).unwrap();
        let kinds = Sessions::of(&times).kinds(&times);
        assert_eq!(ahead.len(), 20);
        for (k, length) in ahead.iter().enumerate() {
            let kind = kinds[cut - 1 + k];
            let unit = if is_open(kind) { times[cut + k] - times[cut + k - 1] } else { 1.0 };
            assert_eq!(*length, clock.length(kind) * unit, "cut {cut}, step {k}");
        }
    }
}

#[test]
fn identity_a_heavy_prior_decides_and_a_light_one_does_not() {
    let times = market(7000);
    let mut rng = stream(8, 0);
    let values = walk(&times, truth, || StandardNormal.sample(&mut rng));
    let night = |weight: f64| {
        let prior = Some(ClockPrior { closed: 9.0, weight });
        let clock = Clock::learn(&times, &values, &ClockOptions { prior, ..ClockOptions::default() }).unwrap();
        clock.length(StepKind::Overnight) / (clock.length(StepKind::Open(3)) / 24.0)
    };
    // 4² = 16 by the record, 9 by the prior.
    assert!((night(1e9) - 9.0).abs() < 0.01, "{}", night(1e9));
    assert!((night(1e-3) / 16.0 - 1.0).abs() < 0.12, "{}", night(1e-3));
    for prior in [ClockPrior { closed: 0.0, weight: 1.0 }, ClockPrior { closed: 9.0, weight: f64::NAN }] {
        let options = ClockOptions { prior: Some(prior), ..ClockOptions::default() };
        assert!(Clock::learn(&times, &values, &options).is_err());
    }
}

#[test]
fn identity_scale_and_index() {
    let times = market(60);
    let mut rng = stream(7, 0);
    let values = walk(&times, truth, || StandardNormal.sample(&mut rng));
    let plain = Clock::learn(&times, &values, &ClockOptions::default()).unwrap();
    let large: Vec<f64> = values.iter().map(|x| 1e3 * x).collect();
    let same = Clock::learn(&times, &large, &ClockOptions::default()).unwrap();
    assert!(plain.train().iter().zip(same.train()).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
    // A stable clock of index 1.5: moves grow faster with length, so that long steps differ less.
    let stable = Clock::learn(&times, &values, &ClockOptions { index: 1.5, ..ClockOptions::default() }).unwrap();
    let ratio = |clock: &Clock| clock.length(StepKind::Overnight) / clock.length(StepKind::Open(3));
    assert!(ratio(&stable) < ratio(&plain));
}

#[test]
fn a_market_that_never_closes_has_hours_of_the_day() {
    let times: Vec<f64> = (0..24 * 400).map(|h| f64::from(h) / 24.0).collect();
    let mut rng = stream(8, 0);
    let busy = |kind| if matches!(kind, StepKind::Open(14..=20)) { 3.0 } else { 1.0 };
    let values = walk(&times, busy, || StandardNormal.sample(&mut rng));
    let clock = Clock::learn(&times, &values, &ClockOptions::default()).unwrap();
    let ratio = clock.length(StepKind::Open(16)) / clock.length(StepKind::Open(3));
    assert!((ratio / 9.0 - 1.0).abs() < 0.5, "{ratio}");
    let next = clock.ahead(&[times[times.len() - 1] + 1.0 / 24.0]).unwrap();
    assert!((next[0] * 24.0 / clock.length(StepKind::Open(23)) - 1.0).abs() < 1e-9);
}

#[test]
fn unusable_records_are_errors() {
    let learn = |times: &[f64], values: &[f64]| Clock::learn(times, values, &ClockOptions::default());
    assert!(learn(&[0.0, 1.0], &[1.0, 2.0]).is_err() && learn(&[0.0, 1.0, 2.0], &[1.0, 2.0]).is_err());
    assert!(learn(&[0.0, 1.0, 1.0], &[1.0, 2.0, 3.0]).is_err());
    assert!(learn(&[0.0, 1.0, 2.0], &[1.0, f64::NAN, 3.0]).unwrap_err().to_string().contains("observation 2"));
    assert!(learn(&[0.0, 1.0, 2.0], &[1.0; 3]).unwrap_err().to_string().contains("all values are equal"));
    let clock = learn(&[0.0, 1.0, 2.0], &[1.0, 2.0, 4.0]).unwrap();
    assert!(clock.ahead(&[1.5]).is_err() && clock.ahead(&[3.0, 3.0]).is_err() && clock.ahead(&[f64::NAN]).is_err());
    assert!(clock.ahead(&[]).unwrap().is_empty());
    let options = ClockOptions { index: 3.0, ..ClockOptions::default() };
    assert!(Clock::learn(&[0.0, 1.0, 2.0], &[1.0, 2.0, 4.0], &options).is_err());
}

#[test]
fn identity_a_clock_is_read_back_and_measures_the_same() {
    let times = market(20);
    let values: Vec<f64> =
        (0..times.len()).map(|k| ((k * k) % 7) as f64 * if k % 7 == 0 { 3.0 } else { 1.0 }).collect();
    let clock = Clock::learn(&times, &values, &ClockOptions::default()).unwrap();
    assert_eq!(clock.measure(&times).unwrap(), clock.train());
    let text = serde_json::to_string(&clock).unwrap();
    let again: Clock = serde_json::from_str(&text).unwrap();
    let end = times[times.len() - 1];
    let ahead = [end + 1.0 / 24.0, end + 0.7, end + 3.0];
    for (a, b) in again.ahead(&ahead).unwrap().iter().zip(clock.ahead(&ahead).unwrap()) {
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
}
