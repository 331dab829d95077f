//! Identities and convergence for heavy tails.

use super::models::{Ou, Student, Well, even, simulate, thin};
use crate::exact::{Options, log_evidence, smooth};
use crate::series::TimeGrid;
use crate::{Model, Start};

fn model(well: bool) -> Model {
    let noise = Box::new(Student(1.5, 1.0));
    let start = Start::Fixed(0.5);
    if well {
        Model::new(Box::new(Well(4.0, 1.0)), noise, 0.1, start).unwrap()
    } else {
        Model::new(Box::new(Ou(3.0, 1.0)), noise, 0.1, start).unwrap()
    }
}

#[test]
fn halving_the_spacing_changes_nothing() {
    let times = even(1000, 10.0);
    let grid = TimeGrid::new(&times, Some(1000)).unwrap();
    for well in [false, true] {
        let model = model(well);
        let dense = simulate(&model, &times, 11);
        for every in [1, 5, 20] {
            let values = thin(&dense, every);
            let clock = std::time::Instant::now();
            let found = smooth(&model, &grid, &values, &Options::default()).unwrap();
            let seconds = clock.elapsed().as_secs_f64();
            let clock = std::time::Instant::now();
            let alone = log_evidence(&model, &grid, &values, &Options::default()).unwrap();
            let alone_seconds = clock.elapsed().as_secs_f64();
            let range = dense.iter().fold((0.0f64, 0.0f64), |(lo, hi), y| (lo.min(*y), hi.max(*y)));
            let half = Options { spacing: Some(0.5 * found.spacing), ..Options::default() };
            let finer = smooth(&model, &grid, &values, &half).unwrap();
            let change = (finer.log_evidence - found.log_evidence).abs();
            let off = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |top, (a, b)| top.max((a - b).abs()));
            println!(
                "well {well} every {every}: ln p {:.4} change {change:.1e} mean {:.1e} sd {:.1e} alone {:.1e}; \
                 spacing {:.2e} cells {} range {range:?} domain {:?}; {seconds:.2} s, evidence {alone_seconds:.2} s {:?}",
                found.log_evidence,
                off(&found.mean, &finer.mean),
                off(&found.sd, &finer.sd),
                (alone - found.log_evidence).abs(),
                found.spacing,
                found.cells,
                found.domain,
                found.notes
            );
            assert!(change < 1e-4 && (alone - found.log_evidence).abs() < 1e-4);
        }
    }
}
