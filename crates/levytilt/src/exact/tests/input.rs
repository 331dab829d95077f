//! Bad input: each is an error that names the value and the place.

use super::models::{Brown, Ou, even};
use crate::exact::{Options, log_evidence, smooth};
use crate::series::TimeGrid;
use crate::{Start, StateSpace};

fn model() -> StateSpace {
    StateSpace::new(Box::new(Ou(1.0, 0.0)), Box::new(Brown(1.0)), 0.1, Start::Fixed(0.0)).unwrap()
}

fn message(values: &[f64], options: &Options) -> String {
    let grid = TimeGrid::new(&even(4, 1.0), Some(4)).unwrap();
    let error = smooth(&model(), &grid, values, options).unwrap_err().to_string();
    assert_eq!(log_evidence(&model(), &grid, values, options).unwrap_err().to_string(), error);
    error
}

#[test]
fn values() {
    let options = Options::default();
    assert!(message(&[0.0; 4], &options).contains("values has 4, expected 5"));
    assert!(message(&[f64::NAN; 5], &options).contains("all 5 values are missing"));
    assert!(message(&[0.0, 0.0, 1e300, 0.0, 0.0], &options).contains("observation 3 of values: value 1e300"));
    assert!(message(&[0.0, 0.0, f64::INFINITY, 0.0, 0.0], &options).contains("observation 3"));
    assert!(message(&[1e140, 0.0, 0.0, 0.0, 0.0], &options).contains("subtract a constant"));
}

#[test]
fn impossible_data() {
    let options = Options::default();
    let far = message(&[0.0, 0.0, 1e3, 0.0, 0.0], &options);
    assert!(far.contains("at time 0.5 the model gives the data essentially zero probability"), "{far}");
    assert!(far.contains("observation_std"));
    let start = message(&[1e3, 0.0, 0.0, 0.0, 0.0], &options);
    assert!(start.contains("at time 0 "), "{start}");
    let gap = message(&[0.0, f64::NAN, f64::NAN, 1e3, 1e3], &options);
    assert!(gap.contains("essentially zero probability"), "{gap}");
}

#[test]
fn starts_without_measure() {
    let grid = TimeGrid::new(&even(4, 1.0), Some(4)).unwrap();
    let values = [f64::NAN, 0.1, 0.2, 0.0, 0.1];
    let with = |start| {
        let model = StateSpace::new(Box::new(Ou(1.0, 0.0)), Box::new(Brown(1.0)), 0.1, start).unwrap();
        log_evidence(&model, &grid, &values, &Options::default())
    };
    let fixed = with(Start::Fixed(1.0)).unwrap();
    assert!((with(Start::Gaussian { mean: 1.0, std: 1e-25 }).unwrap() - fixed).abs() < 1e-9);
    assert!(with(Start::Gaussian { mean: 1.0, std: 1e6 }).unwrap_err().to_string().contains("cells"));
}

#[test]
fn options() {
    let values = [0.0, f64::NAN, 0.2, 0.0, 0.1];
    let with = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        message(&values, &options)
    };
    assert!(with(|o| o.spacing = Some(0.0)).contains("spacing = 0"));
    assert!(with(|o| o.spacing = Some(f64::NAN)).contains("spacing = NaN"));
    assert!(with(|o| o.quantiles = vec![0.5, 1.0]).contains("quantile = 1"));
    assert!(with(|o| o.max_cells = 0).contains("max_cells = 0"));
    assert!(with(|o| o.domain = Some((1.0, -1.0))).contains("domain end = -1"));
    assert!(with(|o| o.domain = Some((f64::NEG_INFINITY, 1.0))).contains("domain start = -inf"));
    assert!(with(|o| o.domain = Some((-1.0, 0.15))).contains("time 0.5: value 0.2 lies outside the domain"));
    assert!(with(|o| o.domain = Some((0.05, 1.0))).contains("x0 = 0"));
    let cells = with(|o| o.max_cells = 100);
    assert!(cells.contains("more than the 100 allowed") && cells.contains("spacing of"), "{cells}");
    assert!(with(|o| o.spacing = Some(1e-9)).contains("cells"));
    let narrow = Options { domain: Some((-0.4, 0.4)), ..Options::default() };
    let grid = TimeGrid::new(&even(4, 1.0), Some(4)).unwrap();
    let notes = smooth(&model(), &grid, &values, &narrow).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("the given domain is narrow")), "{notes:?}");
}

#[test]
fn a_model_with_one_observation_in_several_times_is_fine() {
    let grid = TimeGrid::new(&even(4, 1.0), Some(4)).unwrap();
    let mut values = [f64::NAN; 5];
    values[0] = 0.1;
    let found = smooth(&model(), &grid, &values, &Options::default()).unwrap();
    // A known start: the one observation has density N(0.1; 0, 0.1²), and the rest is prediction.
    let expected = -0.5 - (0.1 * (2.0 * std::f64::consts::PI).sqrt()).ln();
    assert!((found.log_evidence - expected).abs() < 1e-12);
    assert!((found.sd[4].powi(2) - (1..=4).map(|k| 0.25 * (-0.5 * (k - 1) as f64).exp()).sum::<f64>()).abs() < 1e-6);
    let coarse = Options { spacing: Some(1.0), ..Options::default() };
    let notes = smooth(&model(), &grid, &values, &coarse).unwrap().notes;
    assert!(notes[0].contains("the given spacing 1.000e0 is wide"), "{notes:?}");
    let round: Options = serde_json::from_str(&serde_json::to_string(&Options::default()).unwrap()).unwrap();
    assert_eq!(round, Options::default());
}
