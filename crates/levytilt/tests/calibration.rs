//! Simulation-based calibration in small: true states are one more draw from the posterior. The whole table is printed by
//! the example `calibration`.

#[path = "../../../validation/src/bin/calibration/replicate.rs"]
#[allow(dead_code)]
mod replicate;
#[path = "../../../validation/src/bin/calibration/verdict.rs"]
#[allow(dead_code)]
mod verdict;

use rayon::prelude::*;
use replicate::{SETTINGS, Setting};
use verdict::Verdict;

/// Replicates of 20 nearly independent states each: a posterior sd wrong by a tenth moves the mean square score by 0.2,
/// seven of its standard errors.
const REPLICATES: u64 = 140;
/// Standard errors that are too many: a false alarm in 15 000 runs for each of mean and spread.
const TOO_MANY: f64 = 4.0;

fn verdict(setting: &Setting, stretches: &[f64]) -> Vec<Verdict> {
    let scores = |seed: u64| {
        let data = setting.data(seed).unwrap();
        let paths = data.paths().unwrap();
        stretches.iter().map(|&stretch| data.states(&paths, stretch).unwrap()).collect::<Vec<_>>()
    };
    let all: Vec<Vec<Vec<f64>>> = (1..=REPLICATES).into_par_iter().map(scores).collect();
    (0..stretches.len()).map(|k| Verdict::new(&all.iter().flat_map(|one| one[k].clone()).collect::<Vec<_>>())).collect()
}

#[test]
fn statistics_states_are_calibrated_and_an_error_of_a_tenth_is_seen() {
    for setting in [&SETTINGS[0], &SETTINGS[3]] {
        let [right, wide, narrow] = verdict(setting, &[1.0, 1.1, 0.9])[..] else {
            unreachable!("three were asked for")
        };
        assert!(right.bias.abs() < TOO_MANY && right.spread_error.abs() < TOO_MANY, "{setting:?}: {right:?}");
        assert!(right.distance < 1.2, "{setting:?}: {right:?}");
        // Broken on purpose: posteriors a tenth too wide or too narrow.
        assert!(wide.spread_error < -TOO_MANY, "{setting:?}: {wide:?}");
        assert!(narrow.spread_error > TOO_MANY, "{setting:?}: {narrow:?}");
    }
}
