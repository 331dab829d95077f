//! What every forecaster must obey, and what each of them should learn.

use levytilt::internals::series::{ClockOptions, Sessions, StepKind};
use levytilt::score::{Estimator, Sample};
use levytilt::stream;
use levytilt_baselines::{Forecaster, ForecasterOptions, Garch, Increments, Record, Walk, forecaster};
use rand_distr::{Distribution, StandardNormal};

fn all() -> Vec<Box<dyn Forecaster>> {
    let mut models: Vec<Box<dyn Forecaster>> = vec![Box::new(Garch)];
    for name in ["tilt", "tilt+nig+ou+calendar+steady", "gaussian-sde", "gaussian-sde+clock+adaptive"] {
        models.push(forecaster(name, &ForecasterOptions::default()).unwrap());
    }
    for increments in [Increments::Gaussian, Increments::Student, Increments::Stable, Increments::Bootstrap] {
        for clock in [None, Some(ClockOptions::default())] {
            for adaptive in [false, true] {
                models.push(Box::new(Walk { increments, clock: clock.clone(), adaptive }));
            }
        }
    }
    models
}

/// Seven values a day, five days of seven; nights move four times as much as hours.
fn market(days: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let open = |day: &usize| day % 7 < 5;
    let times: Vec<f64> =
        (0..days).filter(open).flat_map(|day| (0..7).map(move |h| day as f64 + (13.5 + f64::from(h)) / 24.0)).collect();
    let mut rng = stream(seed, 0);
    let mut x = 0.0;
    let kinds = Sessions::of(&times).kinds(&times);
    let walk = kinds.iter().map(|kind| {
        let z: f64 = StandardNormal.sample(&mut rng);
        x += if matches!(kind, StepKind::Open(_)) { z } else { 4.0 * z };
        x
    });
    let values = std::iter::once(0.0).chain(walk).collect();
    (times, values)
}

#[test]
fn identity_same_seed_same_paths_for_any_number_of_threads() {
    let (times, values) = market(30, 1);
    let cut = times.len() - 10;
    let record = Record::new(times[..cut].to_vec(), vec![values[..cut].to_vec(), values[1..=cut].to_vec()]).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for model in all() {
        let run = |seed| model.forecast(&record, &times[cut..], 50, seed).unwrap();
        let first = run(7);
        assert_eq!(first, pool.install(|| run(7)), "{}", model.name());
        assert_ne!(first, run(8), "{}", model.name());
        // Two dimensions of a path: the cloud holds what the draws hold.
        let (a, b, cloud) = (first.draws(9, 0), first.draws(9, 1), first.cloud(9));
        assert!((0..50).all(|k| cloud[2 * k] == a[k] && cloud[2 * k + 1] == b[k]), "{}", model.name());
    }
}

#[test]
fn statistics_every_model_is_centred_and_spreads_with_the_horizon() {
    // Median of 4000 paths within five standard errors of the last value, but for the bootstrap, which keeps the mean
    // move of the record. The spread grows like a root of the steps; by the clock the first of them is a long night.
    let (times, values) = market(60, 2);
    let cut = times.len() - 14;
    let record = Record::new(times[..cut].to_vec(), vec![values[..cut].to_vec()]).unwrap();
    for model in all() {
        let paths = model.forecast(&record, &times[cut..], 4000, 3).unwrap();
        let law = |j: usize| Sample::new(&paths.draws(j, 0)).unwrap();
        let width = |j: usize| law(j).quantile(0.75).unwrap() - law(j).quantile(0.25).unwrap();
        let error = width(13) / 1.35 * 1.2533 / 4000f64.sqrt();
        let (name, shift) = (model.name(), (law(13).median() - record.last()[0]).abs());
        // A drift leans back from the last value.
        assert!(shift < 5.0 * error || name.starts_with("bootstrap") || name.contains("ou"), "{name}: {shift} {error}");
        let by_gaps = name.contains("clock") || name.starts_with("tilt") || name.starts_with("gaussian-sde");
        let growth = if by_gaps { 1.3 } else { 2.5 };
        assert!(width(13) > growth * width(0), "{name}: {} {}", width(0), width(13));
    }
}

#[test]
fn statistics_the_clock_beats_the_plain_walk_where_nights_differ() {
    // 60 forecasts of two days on simulated markets: the clock's mean CRPS is lower, and near that of the true law.
    let mean_crps = |model: &dyn Forecaster| {
        let one = |seed: u64| {
            let (times, values) = market(32, 100 + seed);
            let cut = times.iter().position(|t| *t >= 30.0).unwrap();
            let record = Record::new(times[..cut].to_vec(), vec![values[..cut].to_vec()]).unwrap();
            let paths = model.forecast(&record, &times[cut..], 400, seed).unwrap();
            let scores = (cut..times.len())
                .map(|j| Sample::new(&paths.draws(j - cut, 0)).unwrap().crps(values[j], Estimator::Fair).unwrap());
            scores.sum::<f64>() / (times.len() - cut) as f64
        };
        (0..60).map(one).sum::<f64>() / 60.0
    };
    let plain = mean_crps(&Walk::gaussian());
    let clock = mean_crps(&Walk { clock: Some(ClockOptions::default()), ..Walk::gaussian() });
    assert!(clock < 0.99 * plain, "{clock} {plain}");
}

#[test]
fn statistics_tilt_keeps_dimensions_together() {
    // Two dimensions with correlation 0.9: so have the forecasts, within 0.1 (five standard errors for 500 paths, whose
    // moves are heavy-tailed, and that of the record's own correlation).
    let (times, first) = market(60, 5);
    let (_, other) = market(60, 6);
    let cut = times.len() - 3;
    let second: Vec<f64> = first.iter().zip(&other).map(|(a, b)| 0.9 * a + 0.436 * b).collect();
    let record = Record::new(times[..cut].to_vec(), vec![first[..cut].to_vec(), second[..cut].to_vec()]).unwrap();
    let tilt = forecaster("tilt", &ForecasterOptions::default()).unwrap();
    let paths = tilt.forecast(&record, &times[cut..], 500, 1).unwrap();
    let ranks = |draws: Vec<f64>| -> Vec<f64> {
        draws.iter().map(|x| draws.iter().filter(|y| *y < x).count() as f64 / 500.0 - 0.4990).collect()
    };
    let (a, b) = (ranks(paths.draws(2, 0)), ranks(paths.draws(2, 1)));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let correlation = product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt();
    assert!((correlation - 0.9).abs() < 0.1, "{correlation}");
}

#[test]
fn identity_tilt_does_not_look_at_the_value_of_now_but_for_moves() {
    // A constant added to the record is added to the forecast.
    let (times, values) = market(40, 7);
    let cut = times.len() - 4;
    let tilt = forecaster("tilt", &ForecasterOptions::default()).unwrap();
    let run = |shift: f64| {
        let values = values[..cut].iter().map(|x| x + shift).collect();
        tilt.forecast(&Record::new(times[..cut].to_vec(), vec![values]).unwrap(), &times[cut..], 50, 1).unwrap()
    };
    let (plain, shifted) = (run(0.0).draws(3, 0), run(64.0).draws(3, 0));
    assert!(plain.iter().zip(&shifted).all(|(a, b)| (b - a - 64.0).abs() < 1e-6), "{plain:?} {shifted:?}");
}

#[test]
fn bad_requests_are_errors() {
    let (times, values) = market(30, 4);
    let record = Record::new(times.clone(), vec![values.clone()]).unwrap();
    for model in all() {
        assert!(model.forecast(&record, &[], 10, 1).is_err(), "{}", model.name());
        assert!(model.forecast(&record, &[40.0], 0, 1).is_err(), "{}", model.name());
        assert!(model.forecast(&record, &[3.0], 10, 1).is_err(), "{}: a time within the record", model.name());
        assert!(model.forecast(&record, &[41.0, 40.0], 10, 1).is_err(), "{}", model.name());
        let still = Record::new(times.clone(), vec![vec![1.0; times.len()]]).unwrap();
        assert!(model.forecast(&still, &[40.0], 10, 1).is_err(), "{}", model.name());
    }
    let mut gap = values.clone();
    gap[5] = f64::NAN;
    assert!(Record::new(times.clone(), vec![gap]).unwrap_err().to_string().contains("observation 6"));
    assert!(Record::new(times[..2].to_vec(), vec![values[..2].to_vec()]).is_err());
    assert!(Record::new(vec![0.0, 1.0, 1.0], vec![vec![1.0; 3]]).is_err());
}
