//! Hold the Gaussian-sum filter to Kalman where everything is Gaussian and to the grid on sparse data.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::Chain;
use levytilt::internals::exact::{self, kalman};
use levytilt::internals::posterior::{WeightSummary, walk};
use levytilt::internals::potential::Potential;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{GaussianSumOptions, gaussian_sum};
use levytilt::noise::{CompoundPoisson, Gaussian, Noise, Stable};
use levytilt::{Dimension, Start, StateSpace, simulate};

const STEPS: usize = 300;

fn times() -> Vec<f64> {
    (0..=STEPS).map(|j| j as f64 * 0.01).collect()
}

fn ou() -> Box<dyn Drift> {
    Box::new(Ou::new(3.0, 1.0).unwrap())
}

/// Values of a simulated path at every `every`-th time, missing elsewhere.
fn sparse(model: &StateSpace, every: usize, seed: u64) -> Vec<f64> {
    let seen = simulate(model, &times(), seed).unwrap().observations;
    seen.iter().enumerate().map(|(j, &y)| if j % every == 0 { y } else { f64::NAN }).collect()
}

/// Exact evidence minus the bound of the filter's paths.
fn gap(drift: Box<dyn Drift>, noise: Box<dyn Noise>, every: usize, seed: u64) -> f64 {
    let model = StateSpace::new(drift, noise, 0.1, Start::Gaussian { mean: 0.0, std: 0.5 }).unwrap();
    let values = sparse(&model, every, seed);
    let grid = TimeGrid::new(&times(), Some(STEPS)).unwrap();
    let exact = exact::log_evidence(&model, &grid, &values, &exact::Options::default()).unwrap();
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    let potentials = gaussian_sum(&chain, &GaussianSumOptions::default()).unwrap();
    exact - WeightSummary::new(&walk(&chain, &potentials, 200, 1).log_weights()).elbo
}

#[test]
fn identity_gaussian_noise_needs_one_bump_and_gives_the_kalman_evidence() {
    for start in [Start::Fixed(0.0), Start::Gaussian { mean: 0.3, std: 0.5 }] {
        let model = StateSpace::new(ou(), Box::new(Gaussian::new(1.5).unwrap()), 0.1, start).unwrap();
        let values = sparse(&model, 7, 4);
        let grid = TimeGrid::new(&times(), Some(STEPS)).unwrap();
        let chain = Chain::new(&model, &grid, &[&values]).unwrap();
        let potentials = gaussian_sum(&chain, &GaussianSumOptions::default()).unwrap();
        assert!(potentials[0].iter().all(|p| matches!(p, Potential::Quadratic(_))));
        let decay = (-0.03f64).exp();
        let steps = vec![kalman::Step { slope: decay, offset: 1.0 - decay, variance: 2.25 * 0.01 }; STEPS];
        let exact = kalman::smooth(start, &steps, &values, 0.1).unwrap().log_evidence;
        for weight in walk(&chain, &potentials, 50, 1).log_weights() {
            assert!((weight - exact).abs() < 1e-9, "{weight} {exact}");
        }
    }
}

/// The bound has a standard error below 0.05 here; 0.5 nats is ten of them away from what is found.
#[test]
fn statistics_sparse_ou_is_close_to_exact() {
    let gap = gap(ou(), Box::new(Stable::new(1.5, 2.0).unwrap()), 20, 3);
    assert!(gap.abs() < 0.5, "{gap}");
}

/// A bent flow.
#[test]
fn statistics_sparse_double_well_is_close_to_exact() {
    let double_well = Box::new(DoubleWell::new(1.0, 1.0).unwrap());
    let gap = gap(double_well, Box::new(Stable::new(1.5, 2.0).unwrap()), 20, 3);
    assert!(gap > -0.5 && gap < 2.0, "{gap}");
}

/// Steps that may not move at all.
#[test]
fn statistics_sparse_jumps_with_an_atom_are_close_to_exact() {
    let gap = gap(ou(), Box::new(CompoundPoisson::new(2.0, 1.5).unwrap()), 20, 5);
    assert!(gap.abs() < 0.5, "{gap}");
}

/// Two dimensions that do not meet: the bound is the sum of two exact evidences.
#[test]
fn statistics_dimensions_add_up() {
    let noise = || Box::new(Stable::new(1.6, 2.0).unwrap());
    let one = StateSpace::new(ou(), noise(), 0.1, Start::Fixed(0.0)).unwrap();
    let columns = [sparse(&one, 10, 6), sparse(&one, 10, 7)];
    let grid = TimeGrid::new(&times(), Some(STEPS)).unwrap();
    let exact: f64 =
        columns.iter().map(|c| exact::log_evidence(&one, &grid, c, &exact::Options::default()).unwrap()).sum();
    let errors = levytilt::internals::Errors::default;
    let dimension =
        || Dimension { noise: noise(), size: None, observation_std: 0.1, errors: errors(), start: Start::Fixed(0.0) };
    let drift = Box::new(Ou::diagonal(vec![3.0; 2], vec![1.0; 2]).unwrap());
    let both = StateSpace::multivariate(drift, vec![dimension(), dimension()]).unwrap();
    let chain = Chain::new(&both, &grid, &[&columns[0], &columns[1]]).unwrap();
    let potentials = gaussian_sum(&chain, &GaussianSumOptions::default()).unwrap();
    let bound = WeightSummary::new(&walk(&chain, &potentials, 200, 1).log_weights()).elbo;
    assert!((exact - bound).abs() < 1.0, "{exact} {bound}");
}

#[test]
fn identity_options_are_checked() {
    let model = StateSpace::new(ou(), Box::new(Gaussian::new(1.0).unwrap()), 0.1, Start::Fixed(0.0)).unwrap();
    let grid = TimeGrid::new(&times(), Some(STEPS)).unwrap();
    let values = sparse(&model, 7, 4);
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    for options in [GaussianSumOptions { width: 0.0, bumps: 24 }, GaussianSumOptions { width: 0.7, bumps: 3 }] {
        assert!(gaussian_sum(&chain, &options).is_err());
    }
}
