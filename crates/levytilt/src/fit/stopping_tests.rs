//! Ask an exact fit for an end at any moment: it ends at once, and the same fit goes on from where it stood.

use super::{Fit, FitOptions, Spec, fit_with};
use crate::context::{Checkpoint, Keeper};
use crate::drift::DriftFamily;
use crate::noise::Family;
use crate::series::TimeGrid;
use crate::{Context, Error, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Paths that are too many for a fit that was asked to end, and few enough.
const MANY: usize = 4000;
const FEW: usize = 50;
/// Times that a fit may still look whether an end is asked for, once it is: once per pass, task and failed step.
const LATE: usize = 300;

#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Option<Checkpoint>>>);

impl Keeper for Shelf {
    fn find(&mut self, fingerprint: u64) -> Option<Checkpoint> {
        self.0.lock().unwrap().clone().filter(|kept| kept.fingerprint == fingerprint)
    }

    fn keep(&mut self, checkpoint: &Checkpoint) {
        *self.0.lock().unwrap() = Some(checkpoint.clone());
    }
}

/// The fit of a record of 300 values, asked to end when it has looked `end` times whether to; how often it looked in all.
fn fit(paths: usize, end: usize, shelf: &Shelf) -> (Result<Fit>, usize) {
    let times: Vec<f64> = (0..300).map(|j| 0.1 * f64::from(j)).collect();
    let jump = |j: usize| if j > 120 { 3.0 } else { 0.0 };
    let values: Vec<f64> = (0..300).map(|j| (1.7 * (j * j % 97) as f64).sin() + jump(j)).collect();
    let spec = Spec::new(DriftFamily::named("ou").unwrap(), Family::named("nig").unwrap());
    let looked = Arc::new(AtomicUsize::new(0));
    let count = looked.clone();
    let context =
        Context::silent().kept_by(shelf.clone()).ended_by(move || count.fetch_add(1, Ordering::Relaxed) >= end);
    let grid = TimeGrid::unsplit(&times).unwrap();
    let options = FitOptions { paths, ..FitOptions::default() };
    let fit = fit_with(&spec, (&grid, &[&values]), &options, &context);
    (fit, looked.load(Ordering::Relaxed))
}

#[test]
fn identity_a_fit_ends_at_once_and_goes_on_from_where_it_stood() {
    let (whole, all) = fit(MANY, usize::MAX, &Shelf::default());
    let whole = whole.unwrap();
    for (share, is_kept) in [(0.0, false), (0.2, true), (0.6, true), (0.97, true), (0.995, true)] {
        let (shelf, end) = (Shelf::default(), (share * all as f64) as usize);
        let (stopped, looked) = fit(MANY, end, &shelf);
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{share}: {:?}", stopped.map(|fit| fit.warnings));
        assert!(looked < end + LATE, "{share}: looked {} times after the end", looked - end);
        assert_eq!(shelf.0.lock().unwrap().is_some(), is_kept, "{share}");
        if share == 0.6 {
            let again = fit(MANY, usize::MAX, &shelf).0.unwrap();
            assert!(again.iterations <= whole.iterations);
            for (again, whole) in again.parameters.iter().zip(&whole.parameters) {
                let error = whole.std_error.unwrap();
                assert!(
                    (again.value - whole.value).abs() < 0.05 * error,
                    "{}: {} {}",
                    again.name,
                    again.value,
                    whole.value
                );
            }
        }
    }
}

/// A small fit that was stopped while it learned has its results nevertheless, and says so.
#[test]
fn identity_what_is_quick_is_computed_after_the_end() {
    let (_, all) = fit(FEW, usize::MAX, &Shelf::default());
    let stopped = fit(FEW, all / 2, &Shelf::default()).0.unwrap();
    assert!(stopped.warnings.iter().any(|warning| warning.contains("stopped on request")), "{:?}", stopped.warnings);
    assert_eq!((stopped.paths.len(), stopped.marginals[0].len()), (FEW, 300));
}
