//! Check windows that follow the data against the reference on its full domain, slopes against differences, and where a search ends.

use crate::drift::{DoubleWell, Drift, NoDrift, Ou};
use crate::exact::follow::{Follower, Memory, answer};
use crate::exact::problem::Problem;
use crate::exact::{Options, log_evidence};
use crate::noise::Family;
use crate::series::TimeGrid;
use crate::solve::{parameters, rebuild};
use crate::{Start, StateSpace, simulate};

const FAMILIES: [(&str, &[f64]); 9] = [
    ("stable", &[1.1, 2.0]),
    ("stable", &[1.5, 2.0]),
    ("stable", &[1.9, 1.0]),
    ("tempered-stable", &[1.3, 2.0, 0.5]),
    ("variance-gamma", &[2.0, 0.05]),
    ("nig", &[2.0, 0.7]),
    ("student", &[3.0, 2.0]),
    ("compound-poisson", &[20.0, 0.7]),
    ("gaussian", &[2.0]),
];

fn drifts() -> [Box<dyn Drift>; 3] {
    [
        Box::new(NoDrift::new(1).unwrap()),
        Box::new(Ou::new(3.0, 1.0).unwrap()),
        Box::new(DoubleWell::new(4.0, 2.0).unwrap()),
    ]
}

/// Which times are observed, one in so many, and how far times are from even ones. Uneven ones share kernels between lengths.
const TIMES: [(usize, f64); 3] = [(1, 0.0), (6, 0.0), (1, 0.003)];

/// A model with data.
fn case(
    drift: Box<dyn Drift>,
    (family, values): (&str, &[f64]),
    (every, uneven): (usize, f64),
) -> (StateSpace, TimeGrid, Vec<f64>) {
    let noise = Family::named(family).unwrap().build(values).unwrap();
    let model = StateSpace::new(drift, noise, 0.1, Start::Gaussian { mean: 0.2, std: 0.5 }).unwrap();
    let times: Vec<f64> = (0..=150).map(|j| 0.01 * f64::from(j) + uneven * (13.0 * f64::from(j)).sin()).collect();
    let mut seen = simulate(&model, &times, 3).unwrap().observations;
    let kept = |j: usize| j.is_multiple_of(every) || j == 7 % every;
    seen.iter_mut().enumerate().filter(|(j, _)| !kept(*j)).for_each(|(_, y)| *y = f64::NAN);
    (model, TimeGrid::new(&times, None).unwrap(), seen)
}

#[test]
fn identity_evidence_is_that_of_the_reference() {
    for every in TIMES {
        for family in FAMILIES {
            for drift in drifts() {
                let (model, grid, seen) = case(drift, family, every);
                let name = format!("{} {family:?} {every:?}", model.drift.kind());
                let exact = log_evidence(&model, &grid, &seen, &Options::default()).unwrap();
                let found = answer(&Problem::new(&model, &grid, &seen).unwrap(), &[0.5], Memory::default()).unwrap();
                let difference = found.run.log_evidence - exact;
                let follower = Follower::new(&model, &grid, &seen).unwrap();
                let learning = follower.log_evidence(&model, &mut Memory::default(), usize::MAX).unwrap() - exact;
                assert!(difference.abs() < 5e-4, "{name}: {exact} {difference}");
                assert!(learning.abs() < 2e-2, "{name}: {exact} {learning}");
                let few = follower.log_evidence(&model, &mut Memory::default(), 10).unwrap_err().to_string();
                assert!(few.contains("affordable"), "{name}: {few}");
            }
        }
    }
}

#[test]
fn identity_slopes_are_those_of_the_evidence() {
    for every in TIMES {
        for family in FAMILIES {
            for drift in drifts() {
                let (model, grid, seen) = case(drift, family, every);
                let follower = Follower::new(&model, &grid, &seen).unwrap();
                let mut memory = Memory::default();
                let gradient = follower.gradient(&model, &mut memory).unwrap();
                let all = parameters(&model);
                assert_eq!(gradient.slope.len(), all.len());
                for (i, p) in all.iter().enumerate() {
                    let step = 1e-3 * p.value.abs().max(0.1);
                    let [high, low] = [step, -step].map(|step| {
                        let mut values: Vec<f64> = all.iter().map(|p| p.value).collect();
                        values[i] += step;
                        follower
                            .log_evidence(&rebuild(&model, &values).unwrap(), &mut memory.clone(), usize::MAX)
                            .unwrap()
                    });
                    let expected = (high - low) / (2.0 * step);
                    let error = (gradient.slope[i] - expected).abs() * step;
                    // Windows leave out what changes a slope by less than a hundredth.
                    assert!(
                        error < 3e-4,
                        "{} {family:?} {every:?} {}: {} {expected}",
                        model.drift.kind(),
                        p.name,
                        gradient.slope[i]
                    );
                }
            }
        }
    }
}

/// Where jumps are rare, messages of a double well narrow only where the data are near its unstable point: one step of e^{4·0.05} in this
/// record, which takes no more than 200 cells per time.
#[test]
fn identity_rare_jumps_in_a_double_well_take_few_cells() {
    let noise = Family::named("compound-poisson").unwrap().build(&[1.0, 2.0]).unwrap();
    let drift = Box::new(DoubleWell::new(4.0, 1.0).unwrap());
    let model = StateSpace::new(drift, noise, 0.1, Start::Fixed(2.0)).unwrap();
    let times: Vec<f64> = (0..=80).map(|j| 0.05 * f64::from(j)).collect();
    let values: Vec<f64> = (0..=80).map(|j| if j < 40 { 2.0 } else { -2.0 }).collect();
    let grid = TimeGrid::unsplit(&times).unwrap();
    let follower = Follower::new(&model, &grid, &values).unwrap();
    assert!(follower.cells(&model).unwrap() < 200 * times.len());
    let found = follower.log_evidence(&model, &mut Memory::default(), usize::MAX).unwrap();
    let reference = log_evidence(&model, &grid, &values, &Options::default()).unwrap();
    assert!((found - reference).abs() < 1e-3, "{found} {reference}");
}
