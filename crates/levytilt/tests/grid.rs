//! Hold the paths of the grid solver to closed forms, to the exact marginals and to their own weights.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::internals::Chain;
use levytilt::internals::exact::{self, Options, kalman};
use levytilt::internals::posterior::{Paths, WeightSummary, jump_law, marginals};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::exact_paths;
use levytilt::noise::{CompoundPoisson, Gaussian, Nodes, Noise, Stable};
use levytilt::{Start, StateSpace, simulate};

const PATHS: usize = 4000;
const GAUSSIAN: Start = Start::Gaussian { mean: 0.3, std: 0.5 };

fn ou() -> Box<dyn Drift> {
    Box::new(Ou::new(3.0, 1.0).unwrap())
}

fn stable(alpha: f64) -> Box<dyn Noise> {
    Box::new(Stable::new(alpha, 2.0).unwrap())
}

/// Times that are not even, an observation at all of them but every `every`-th kept alone.
fn data(model: &StateSpace, steps: usize, every: usize, seed: u64) -> (TimeGrid, Vec<f64>) {
    let times: Vec<f64> = (0..=steps).map(|j| 0.01 * j as f64 + 0.003 * ((j % 7) as f64 / 7.0)).collect();
    let mut values = simulate(model, &times, seed).unwrap().observations;
    (0..=steps).filter(|j| j % every != 0).for_each(|j| values[j] = f64::NAN);
    (TimeGrid::new(&times, Some(1)).unwrap(), values)
}

/// Under a linear Gaussian model means, variances and lag-one covariances of the sample have known standard errors. At
/// most 6 of them in some 600 comparisons: false alarm 1e-6 per start.
#[test]
fn statistics_linear_gaussian_paths_have_the_moments_of_kalman() {
    for start in [Start::Fixed(0.2), GAUSSIAN] {
        let model = StateSpace::new(ou(), Box::new(Gaussian::new(1.5).unwrap()), 0.1, start).unwrap();
        let (times, mut values) = data(&model, 200, 1, 4);
        values[50..80].fill(f64::NAN);
        values[190..].fill(f64::NAN);
        let steps: Vec<kalman::Step> = (0..times.steps())
            .map(|j| {
                let slope = (-3.0 * times.step(j)).exp();
                kalman::Step { slope, offset: 1.0 - slope, variance: 2.25 * times.step(j) }
            })
            .collect();
        let exact = kalman::smooth(start, &steps, &times.spread(&values).unwrap(), 0.1).unwrap();
        let found = exact_paths(&model, &times, &values, &Options::default(), PATHS, 1).unwrap();
        for weight in found.paths.log_weights() {
            assert!((weight - exact.log_evidence).abs() < 1e-6, "{weight} {}", exact.log_evidence);
        }
        let n = PATHS as f64;
        let columns: Vec<Vec<f64>> = (0..times.len()).map(|j| found.paths.column(0, j).collect()).collect();
        let covariance = |i: usize, j: usize| {
            let products = columns[i].iter().zip(&columns[j]).map(|(a, b)| (a - exact.mean[i]) * (b - exact.mean[j]));
            products.sum::<f64>() / n
        };
        for (j, column) in columns.iter().enumerate() {
            let (mean, sd) = (column.iter().sum::<f64>() / n, exact.sd[j]);
            assert!((mean - exact.mean[j]).abs() <= 6.0 * sd / n.sqrt() + 1e-12, "mean {j}: {mean} {}", exact.mean[j]);
            assert!((covariance(j, j) - sd * sd).abs() <= 6.0 * sd * sd * (2.0 / n).sqrt() + 1e-12, "variance {j}");
            if j > 0 {
                let (lag, expected) = (covariance(j - 1, j), exact.covariance[j - 1]);
                let error = ((sd * exact.sd[j - 1]).powi(2) + expected * expected).sqrt() / n.sqrt();
                assert!((lag - expected).abs() <= 6.0 * error + 1e-12, "covariance {j}: {lag} {expected}");
            }
        }
    }
}

/// The share of paths below an exact quantile is binomial. At most 5.5 standard deviations in `levels` × times < 1500
/// comparisons: false alarm 6e-5.
fn assert_quantiles(paths: &Paths, exact: &exact::Smoothed, levels: &[f64]) {
    let n = paths.len() as f64;
    for (l, level) in levels.iter().enumerate() {
        for j in 1..paths.times() {
            let below = paths.column(0, j).filter(|x| *x < exact.quantiles[l][j]).count() as f64 / n;
            let z = (below - level) / (level * (1.0 - level) / n).sqrt();
            assert!(z.abs() < 5.5, "level {level} at time {j}: {below}, z = {z:.1}");
        }
    }
}

/// As above for the quantiles; means and variances at observed times, where the law has all moments: 6 standard errors in
/// 22 comparisons, false alarm below 1e-6 (the error of a variance from the fourth moment of the sample).
#[test]
fn statistics_sparse_double_well_has_the_exact_marginals() {
    let drift = Box::new(DoubleWell::new(4.0, 1.0).unwrap());
    let model = StateSpace::new(drift, stable(1.5), 0.1, Start::Fixed(0.5)).unwrap();
    let (times, mut values) = data(&model, 220, 20, 11);
    values[201..].fill(f64::NAN);
    let options = Options { quantiles: vec![0.01, 0.1, 0.5, 0.8, 0.97], ..Options::default() };
    let exact = exact::smooth(&model, &times, &values, &options).unwrap();
    let found = exact_paths(&model, &times, &values, &options, PATHS, 2).unwrap();
    let summary = WeightSummary::new(&found.paths.log_weights());
    assert!((summary.elbo - exact.log_evidence).abs() < 2e-3, "{} {}", summary.elbo, exact.log_evidence);
    assert_quantiles(&found.paths, &exact, &options.quantiles);
    let n = PATHS as f64;
    for j in (20..=200).step_by(20) {
        let moment = |p: i32| found.paths.column(0, j).map(|x| (x - exact.mean[j]).powi(p)).sum::<f64>() / n;
        let variance = exact.sd[j].powi(2);
        assert!(moment(1).abs() < 6.0 * exact.sd[j] / n.sqrt(), "mean {j}");
        assert!((moment(2) - variance).abs() < 6.0 * (moment(4) / n).sqrt(), "variance {j}: {} {variance}", moment(2));
    }
}

/// Steps without movement are an atom: it must be drawn as such, next to jumps of all sizes.
#[test]
fn statistics_atoms_and_jumps_of_compound_poisson_noise() {
    let noise = || Box::new(CompoundPoisson::new(3.0, 1.0).unwrap());
    let model = StateSpace::new(ou(), noise(), 0.1, GAUSSIAN).unwrap();
    let (times, values) = data(&model, 150, 2, 5);
    let options = Options { quantiles: vec![0.1, 0.5, 0.9], ..Options::default() };
    let exact = exact::smooth(&model, &times, &values, &options).unwrap();
    let found = exact_paths(&model, &times, &values, &options, PATHS, 3).unwrap();
    let summary = WeightSummary::new(&found.paths.log_weights());
    assert!((summary.elbo - exact.log_evidence).abs() < 1e-3, "{} {}", summary.elbo, exact.log_evidence);
    assert_quantiles(&found.paths, &exact, &options.quantiles);
    let chain = Chain::new(&model, &times, &[&values]).unwrap();
    let still = jump_law(&found.paths, &chain, 0, 75, &[1.0 / PATHS as f64; PATHS], &[0.5]);
    assert_eq!(still.quantiles, [0.0]);
    assert_jumps(&found.paths, &chain);
}

/// Nodes of the upper tail that hold less than 1% together.
fn threshold(nodes: &Nodes) -> usize {
    let mut tail = 0.0;
    let small = |w: &&f64| {
        tail += **w;
        tail < 0.01
    };
    nodes.len() - nodes.weights().iter().rev().take_while(small).count()
}

/// Given the increments, flags are independent with known probabilities: 5 standard deviations, false alarm 6e-7.
fn assert_jumps(paths: &Paths, chain: &Chain) {
    let (mut excess, mut variance, mut total) = (0.0, 0.0, 0.0);
    for j in 1..paths.times() {
        let nodes = chain.nodes(0, j);
        let from: Vec<f64> = paths.column(0, j - 1).collect();
        let mut moved = vec![0.0; from.len()];
        chain.flow_many(j, &from, &mut moved);
        for ((x, ahead), jump) in paths.column(0, j).zip(&moved).zip(paths.jumps(0, j)).step_by(5) {
            let terms = nodes.variances().iter().zip(nodes.weights()).map(|(s, w)| match (*s, x - ahead) {
                (0.0, r) => {
                    if r.abs() < 1e-9 {
                        f64::INFINITY
                    } else {
                        0.0
                    }
                }
                (s, r) => w * (-0.5 * r * r / s).exp() / s.sqrt(),
            });
            let terms: Vec<f64> = terms.collect();
            let sum: f64 = terms.iter().sum();
            let p = if sum.is_infinite() { 0.0 } else { terms[threshold(nodes)..].iter().sum::<f64>() / sum };
            excess += f64::from(u8::from(jump)) - p;
            variance += p * (1.0 - p);
            total += p;
        }
    }
    assert!(excess.abs() <= 5.0 * f64::sqrt(variance), "{excess} of {total}, sd {}", f64::sqrt(variance));
    assert!(total > 10.0, "{total}");
}

#[test]
fn statistics_jump_flags_have_the_law_of_the_node_given_the_increment() {
    let model = StateSpace::new(ou(), stable(1.4), 0.1, Start::Fixed(0.0)).unwrap();
    let (times, values) = data(&model, 200, 1, 6);
    let found = exact_paths(&model, &times, &values, &Options::default(), PATHS, 4).unwrap();
    assert_jumps(&found.paths, &Chain::new(&model, &times, &[&values]).unwrap());
}

/// With a domain so narrow that the grid's evidence is wrong, paths leave it and their weights still average to the right
/// evidence: 5 standard errors, false alarm 1e-6.
#[test]
fn statistics_weights_correct_a_narrow_domain() {
    let model = StateSpace::new(ou(), stable(1.3), 0.1, Start::Fixed(0.0)).unwrap();
    let (times, values) = data(&model, 60, 20, 3);
    let right = exact::log_evidence(&model, &times, &values, &Options::default()).unwrap();
    let span = values.iter().filter(|y| !y.is_nan()).fold((0.0f64, 0.0f64), |(lo, hi), y| (lo.min(*y), hi.max(*y)));
    let narrow = Options { domain: Some((span.0 - 0.15, span.1 + 0.15)), ..Options::default() };
    let found = exact_paths(&model, &times, &values, &narrow, PATHS, 5).unwrap();
    let left = found.paths.column(0, 10).filter(|x| *x < found.domain.0 || *x > found.domain.1).count();
    let summary = WeightSummary::new(&found.paths.log_weights());
    let error = (1.0 / summary.effective_sample_size - 1.0 / PATHS as f64).sqrt();
    assert!((found.log_evidence - right).abs() > 10.0 * error, "{} {right} {error}", found.log_evidence);
    assert!(left > 20, "{left}");
    assert!((summary.log_evidence - right).abs() < 5.0 * error, "{} {right} ± {error}", summary.log_evidence);
}

#[test]
fn identity_paths_do_not_depend_on_threads() {
    let model = StateSpace::new(ou(), stable(1.5), 0.1, GAUSSIAN).unwrap();
    let (times, values) = data(&model, 60, 3, 8);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let found = exact_paths(&model, &times, &values, &Options::default(), 300, 9).unwrap();
            let states: Vec<f64> =
                (0..times.len()).flat_map(|j| found.paths.column(0, j).collect::<Vec<_>>()).collect();
            (states, found.paths.log_weights())
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(8));
}

#[test]
fn identity_jump_law_of_a_known_jump() {
    let model = StateSpace::new(ou(), stable(1.6), 0.1, Start::Fixed(1.0)).unwrap();
    let times: Vec<f64> = (0..=100).map(|j| 0.01 * f64::from(j)).collect();
    let values: Vec<f64> =
        (0..=100).map(|j| if j < 60 { 1.0 } else { 1.0 + 8.0 * (-0.03 * f64::from(j - 60)).exp() }).collect();
    let grid_times = TimeGrid::new(&times, Some(1)).unwrap();
    let chain = Chain::new(&model, &grid_times, &[&values]).unwrap();
    let paths = exact_paths(&model, &grid_times, &values, &Options::default(), 1000, 1).unwrap().paths;
    let weights = [1e-3; 1000];
    let law = |j| jump_law(&paths, &chain, 0, j, &weights, &[0.05, 0.5, 0.95]);
    let jump = law(60);
    // A linear flow moves the mean like a state.
    let means = marginals(&paths, 0, &weights, &[]);
    let expected = means[60].mean - (1.0 + (means[59].mean - 1.0) * (-0.03f64).exp());
    assert!((jump.mean - expected).abs() < 1e-12 && (jump.mean - 8.0).abs() < 0.2, "{jump:?}");
    assert!(jump.probability == 1.0 && jump.quantiles_given_jump.as_ref() == Some(&jump.quantiles), "{jump:?}");
    assert!(jump.quantiles[0] < jump.quantiles[1] && jump.quantiles[1] < jump.quantiles[2] && jump.sd < 0.2);
    let quiet = law(30);
    assert!(quiet.mean.abs() < 0.05 && quiet.probability < 0.05, "{quiet:?}");
    assert_eq!(law(0).probability, 0.0);
    assert_eq!(law(0).quantiles_given_jump, None);
}

#[test]
fn errors_name_what_is_wrong() {
    let model = StateSpace::new(ou(), stable(1.5), 0.1, Start::Fixed(0.0)).unwrap();
    let (times, values) = data(&model, 10, 1, 1);
    let none = exact_paths(&model, &times, &values, &Options::default(), 0, 1).unwrap_err();
    assert!(none.to_string().contains("paths = 0"), "{none}");
    let short = exact_paths(&model, &times, &values[1..], &Options::default(), 10, 1).unwrap_err();
    assert!(short.to_string().contains("10"), "{short}");
}
