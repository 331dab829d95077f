//! Without merging, and through a linear flow, the filter is exact: hold it to a sum over all sequences of nodes.

use super::{GaussianSumOptions, Regions, filter_one};
use crate::drift::Ou;
use crate::exact::kalman::{self, Step};
use crate::noise::CompoundPoisson;
use crate::series::TimeGrid;
use crate::solve::robust::robust_smooth;
use crate::{Chain, Start, StateSpace};

/// ln p(values | x₀ = `x`) of three steps: Σ over sequences of nodes of their weight times a Kalman evidence.
fn by_sequences(chain: &Chain, x: f64, decay: f64) -> f64 {
    let nodes = chain.nodes(0, 1);
    let count = nodes.len();
    let mut total = 0.0;
    for sequence in 0..count.pow(3) {
        let picks = [sequence % count, sequence / count % count, sequence / count / count];
        let step = |k: usize| Step { slope: decay, offset: 1.0 - decay, variance: nodes.variances()[k] };
        let given = kalman::smooth(Start::Fixed(x), &picks.map(step), chain.values(0), 0.1).unwrap();
        total += picks.iter().map(|&k| nodes.weights()[k]).product::<f64>() * given.log_evidence.exp();
    }
    total.ln()
}

#[test]
fn identity_unmerged_message_is_the_sum_over_sequences_of_nodes() {
    // Jumps at rate 3 with an atom at no movement.
    let noise = Box::new(CompoundPoisson::new(3.0, 0.8).unwrap());
    let model = StateSpace::new(Box::new(Ou::new(3.0, 1.0).unwrap()), noise, 0.1, Start::Fixed(0.0)).unwrap();
    let times = [0.0, 0.1, 0.2, 0.3];
    let grid = TimeGrid::new(&times, Some(3)).unwrap();
    let chain = Chain::new(&model, &grid, &[&[0.2, f64::NAN, 0.9, 0.7]]).unwrap();
    let options = GaussianSumOptions { width: 1e-9, bumps: usize::MAX };
    let robust = robust_smooth(&chain).unwrap();
    let potential = &filter_one(&chain, 0, &robust, &Regions::new(&chain, 0, &robust), &options).unwrap()[0];
    let decay = (-0.3f64).exp();
    let difference = |x: f64| potential.log_value(x) - by_sequences(&chain, x, decay);
    let constant = difference(0.2);
    for x in [-0.5, 0.0, 0.15, 0.31, 0.6, 1.1] {
        assert!((difference(x) - constant).abs() < 1e-9, "{x}: {}", difference(x) - constant);
    }
}
