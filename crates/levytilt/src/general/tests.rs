//! Check filters against a Kalman filter, a plain Rao–Blackwellised filter, and exact evidences of single dimensions.

use super::chain::GeneralChain;
use super::disturbance::Trace;
use super::filter::{FilterOptions, combine};
use super::guide::Guide;
use super::model::{GeneralModel, Row, Source};
use super::online::OnlineFilter;
use super::pass::{Variances, predict_slices, see_slices};
use super::smooth::smooth;
use crate::drift::Linear;
use crate::noise::{Gaussian, Noise, Stable};
use crate::posterior::{normalise, systematic};
use crate::series::TimeGrid;
use crate::{StreamRng, stream};
use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

fn source(name: &str, noise: impl Noise + 'static, direction: &[f64]) -> Source {
    Source { name: name.into(), noise: Box::new(noise), direction: DVector::from_column_slice(direction) }
}

fn row(name: &str, weights: &[f64], std: f64) -> Row {
    Row { name: name.into(), weights: DVector::from_column_slice(weights), std }
}

fn linear(rows: &[&[f64]], offset: &[f64]) -> Box<Linear> {
    let matrix = DMatrix::from_row_slice(rows.len(), rows.len(), &rows.concat());
    Box::new(Linear::new(matrix, DVector::from_column_slice(offset)).unwrap())
}

/// Position and velocity, kicks on the velocity, the position seen.
pub(super) fn hidden_velocity(alpha: f64) -> GeneralModel {
    GeneralModel {
        states: vec!["x".into(), "v".into()],
        drift: linear(&[&[0.0, 1.0], &[0.0, -1.0]], &[0.0, 0.0]),
        sources: vec![source("kick", Stable::new(alpha, 1.0).unwrap(), &[0.0, 1.0])],
        rows: vec![row("position", &[1.0, 0.0], 0.05)],
        start_mean: DVector::zeros(2),
        start_covariance: DMatrix::identity(2, 2) * 0.01,
    }
    .checked()
    .unwrap()
}

/// Observations of a simulated path at every step.
pub(super) fn record(model: &GeneralModel, times: &[f64], seed: u64) -> Vec<Vec<f64>> {
    let mut rng = stream(seed, 0);
    let normal = |rng: &mut StreamRng| -> f64 { StandardNormal.sample(rng) };
    let mut z = model.start_mean.clone();
    let mut columns = vec![Vec::new(); model.rows.len()];
    for (j, &t) in times.iter().enumerate() {
        if j > 0 {
            let mut moved = vec![0.0; z.len()];
            model.drift.flow(times[j - 1], t - times[j - 1], z.as_slice(), &mut moved);
            z = DVector::from_vec(moved);
            for source in &model.sources {
                z.axpy(source.noise.sample(t - times[j - 1], &mut rng), &source.direction, 1.0);
            }
        }
        for (column, row) in columns.iter_mut().zip(&model.rows) {
            column.push(row.weights.dot(&z) + row.std * normal(&mut rng));
        }
    }
    columns
}

pub(super) fn times(count: u32, dt: f64) -> Vec<f64> {
    (0..count).map(|j| dt * f64::from(j)).collect()
}

type Law = (DVector<f64>, DMatrix<f64>);

fn predict(chain: &GeneralChain, j: usize, (mean, covariance): &Law) -> Law {
    let (mut moved, mut spread) = (mean.clone(), covariance.clone());
    let law = (mean.as_slice(), covariance.as_slice());
    predict_slices(chain.flow(j), law, moved.as_mut_slice(), spread.as_mut_slice());
    (moved, spread)
}

fn see(chain: &GeneralChain, j: usize, (mean, covariance): &mut Law) -> f64 {
    see_slices(chain, j, mean.as_mut_slice(), covariance.as_mut_slice())
}

/// The oracle: a Rao–Blackwellised filter that draws variances from the prior.
fn plain(chain: &GeneralChain, particles: usize, seed: u64) -> f64 {
    let mut rng = stream(seed, 7);
    let mut law = chain.start();
    let mut log_evidence = see(chain, 0, &mut law);
    let mut laws = vec![law; particles];
    for j in 1..chain.len() {
        let mut logs = Vec::with_capacity(particles);
        for law in &mut laws {
            *law = predict(chain, j, law);
            for (r, source) in chain.model.sources.iter().enumerate() {
                let nodes = chain.nodes(r, j);
                let mut left: f64 = rng.random();
                let node = nodes.weights().iter().position(|w| {
                    left -= w;
                    left < 0.0
                });
                let s = nodes.variances()[node.unwrap_or(nodes.len() - 1)];
                law.1.ger(s, &source.direction, &source.direction, 1.0);
            }
            logs.push(see(chain, j, law));
        }
        let (log_total, weights) = normalise(&logs);
        log_evidence += log_total - (particles as f64).ln();
        laws = systematic(&weights, particles, rng.random()).into_iter().map(|i| laws[i].clone()).collect();
    }
    log_evidence
}

/// Gaussian sources, one hidden state, correlated noise: every filter is a Kalman filter.
#[test]
fn identity_gaussian_sources_are_a_kalman_filter() {
    let model = GeneralModel {
        states: vec!["x".into(), "y".into(), "v".into()],
        drift: linear(&[&[0.0, 0.2, 1.0], &[0.1, -0.5, 0.0], &[-0.3, 0.0, -0.4]], &[0.1, 0.0, -0.2]),
        sources: vec![
            source("a", Gaussian::new(0.7).unwrap(), &[0.0, 0.3, 1.0]),
            source("b", Gaussian::new(0.4).unwrap(), &[0.0, 1.0, 0.0]),
        ],
        rows: vec![row("x", &[1.0, 0.0, 0.0], 0.1), row("sum", &[1.0, 1.0, 0.0], 0.2)],
        start_mean: DVector::from_vec(vec![1.0, 0.0, 0.0]),
        start_covariance: DMatrix::from_diagonal(&DVector::from_vec(vec![0.0, 1.0, 4.0])),
    }
    .checked()
    .unwrap();
    let times = times(60, 0.1);
    let mut columns = record(&model, &times, 3);
    columns[1][7] = f64::NAN;
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let chain = GeneralChain::new(&model, &TimeGrid::new(&times, None).unwrap(), &columns).unwrap();
    let values: Vec<f64> = (1..chain.len()).flat_map(|j| [0, 1].map(|r| chain.nodes(r, j).variances()[0])).collect();
    let kalman = Trace::new(&chain, &Variances { sources: 2, values: &values }).log_evidence;
    let guide = Guide::new(&chain).unwrap();
    let options = FilterOptions { filters: 2, particles: 3, seed: 1 };
    let found = smooth(&chain, &guide, 4, &options).unwrap();
    assert!((found.evidence.log_evidence - kalman).abs() < 1e-9 * kalman.abs().max(1.0), "{found:?} {kalman}");
    assert!(found.evidence.std_error < 1e-9);
}

/// 40 positions at the hard index 1.2, every second one missing: the twisted filter against the plain one with 5,000
/// particles, within 4 standard errors of both (false alarm below 1e-4), and with a smaller error.
#[test]
fn statistics_hidden_velocity_agrees_with_a_plain_filter() {
    let model = hidden_velocity(1.2);
    let times = times(81, 0.05);
    let mut columns = record(&model, &times, 11);
    columns[0].iter_mut().skip(1).step_by(2).for_each(|y| *y = f64::NAN);
    let chain = GeneralChain::new(&model, &TimeGrid::new(&times, None).unwrap(), &[&columns[0]]).unwrap();
    let guide = Guide::new(&chain).unwrap();
    let found = smooth(&chain, &guide, 8, &FilterOptions { filters: 8, particles: 100, seed: 2 }).unwrap().evidence;
    let oracle = combine(&(0..6).map(|seed| (plain(&chain, 5000, seed), 0)).collect::<Vec<_>>());
    let error = found.std_error.hypot(oracle.std_error);
    assert!((found.log_evidence - oracle.log_evidence).abs() < 4.0 * error, "{found:?} {oracle:?}");
    assert!(found.std_error < 0.5, "{found:?}");
}

/// The gradient of the log evidence at Gaussian sources against differences of the Kalman filter's evidence.
#[test]
fn identity_gradient_is_that_of_the_kalman_filter() {
    let times = times(40, 0.1);
    let build = |k: f64, scale: f64, load: f64, std: f64| {
        let formula = crate::drift::Formula::system(&[("x", "v"), ("v", "-k*x - 0.3*v + 0.2")], &[]).unwrap();
        GeneralModel {
            states: vec!["x".into(), "v".into()],
            drift: Box::new(formula.drift(&[k]).unwrap()),
            sources: vec![source("a", Gaussian::new(scale).unwrap(), &[load, 1.0])],
            rows: vec![row("x", &[1.0, 0.0], std)],
            start_mean: DVector::zeros(2),
            start_covariance: DMatrix::identity(2, 2),
        }
        .checked()
        .unwrap()
    };
    let point = [0.7, 0.5, 0.2, 0.1];
    let at = |p: [f64; 4]| build(p[0], p[1], p[2], p[3]);
    let model = at(point);
    let columns = record(&model, &times, 5);
    let grid = TimeGrid::new(&times, None).unwrap();
    let evidence = |p: [f64; 4]| {
        let model = at(p);
        let chain = GeneralChain::new(&model, &grid, &[&columns[0]]).unwrap();
        let values: Vec<f64> = (1..chain.len()).map(|j| chain.nodes(0, j).variances()[0]).collect();
        Trace::new(&chain, &Variances { sources: 1, values: &values }).log_evidence
    };
    let chain = GeneralChain::new(&model, &grid, &[&columns[0]]).unwrap();
    let guide = Guide::new(&chain).unwrap();
    let options = FilterOptions { filters: 2, particles: 2, seed: 1 };
    let (_, nodes) = super::smooth::draw_nodes(&chain, &guide, 2, &options);
    let gradient = super::gradient::mean_gradients(&chain, &nodes, 1).remove(0);
    let got = [gradient.drift[0], gradient.noise[0][0], gradient.directions[0][0], gradient.stds[0]];
    for (l, got) in got.into_iter().enumerate() {
        let h = 1e-5;
        let [mut up, mut down] = [point, point];
        up[l] += h;
        down[l] -= h;
        let want = (evidence(up) - evidence(down)) / (2.0 * h);
        assert!((got - want).abs() < 1e-5 * want.abs().max(1.0), "parameter {l}: {got}, expected {want}");
    }
}

fn velocity_spec() -> super::GeneralSpec {
    use super::{GeneralSpec, Loading, RowSpec, SourceSpec, StartSpec};
    let drift = crate::drift::Formula::system(&[("x", "v"), ("v", "-c*v")], &[]).unwrap();
    GeneralSpec {
        drift: drift.with_bounds("c", Some(0.0), None).unwrap(),
        sources: vec![SourceSpec {
            name: "kick".into(),
            family: crate::noise::Family::named("stable").unwrap(),
            on: vec![(1, Loading::Fixed(1.0))],
        }],
        rows: vec![RowSpec { name: "position".into(), of: vec![(0, 1.0)] }],
        starts: vec![StartSpec::Open; 2],
        held: Vec::new(),
    }
}

/// Two parameters of a simulated record with hidden velocity within 4 standard errors (false alarm below 1e-3 in all).
#[test]
fn statistics_parameters_of_a_hidden_velocity_are_found() {
    let times = times(81, 0.05);
    let columns = record(&hidden_velocity(1.5), &times, 21);
    let grid = TimeGrid::new(&times, None).unwrap();
    let options = super::GeneralOptions { paths: 50, ..Default::default() };
    let mut spec = velocity_spec();
    spec.held = vec![("alpha[kick]".into(), 1.5), ("observation_std[position]".into(), 0.05)];
    let fit = super::fit_general(&spec, &grid, &[&columns[0]], &options).unwrap();
    for (name, truth) in [("c", 1.0), ("scale[kick]", 1.0)] {
        let found = fit.parameters.iter().find(|p| p.name == name).unwrap();
        let error = found.std_error.unwrap();
        assert!((found.value - truth).abs() < 4.0 * error && error < 2.0, "{found:?}");
    }
}

/// A state that no column sees is an error that names it.
#[test]
fn identity_unobservable_states_are_named() {
    let mut spec = velocity_spec();
    spec.drift = crate::drift::Formula::system(&[("x", "-x"), ("v", "-c*v")], &[]).unwrap();
    let times = times(20, 0.1);
    let values: Vec<f64> = (0..20).map(|j| f64::from(j % 7)).collect();
    let grid = TimeGrid::new(&times, None).unwrap();
    let error = super::fit_general(&spec, &grid, &[&values], &Default::default()).unwrap_err().to_string();
    assert!(error.contains("state v") && error.contains("not observable"), "{error}");
}

/// Positions of a body that is kicked once, at time 0.6, seen every fourth step with errors of about 0.02; the states in
/// either order.
fn kicked(swapped: bool) -> (GeneralModel, Vec<f64>, Vec<f64>) {
    let times = times(20, 0.1);
    let place = |t: &f64| {
        let moved = if *t > 0.6 { 5.0 * (1.0 - (0.6 - t).exp()) } else { 0.0 };
        moved + 0.02 * (37.0 * t).sin()
    };
    let positions = times.iter().map(place).collect();
    let pick = |x: f64, v: f64| if swapped { [v, x] } else { [x, v] };
    let drift = match swapped {
        false => linear(&[&[0.0, 1.0], &[0.0, -1.0]], &[0.0, 0.0]),
        true => linear(&[&[-1.0, 0.0], &[1.0, 0.0]], &[0.0, 0.0]),
    };
    let model = GeneralModel {
        states: vec!["a".into(), "b".into()],
        drift,
        sources: vec![source("kick", Stable::new(1.5, 0.5).unwrap(), &pick(0.0, 1.0))],
        rows: vec![row("position", &pick(1.0, 0.0), 0.05)],
        start_mean: DVector::zeros(2),
        start_covariance: DMatrix::from_diagonal(&DVector::from_column_slice(&pick(0.0, 1.0))),
    };
    (model.checked().unwrap(), times, positions)
}

/// A sharp kick whose step is in doubt: both orders of the states, with different seeds, agree with each other and with a
/// plain filter within 3 standard errors (false alarm below 1%), and no single filter carries the evidence.
#[test]
fn statistics_a_kick_may_come_a_step_later() {
    let run = |swapped: bool, seed: u64| {
        let (model, times, positions) = kicked(swapped);
        let grid = TimeGrid::new(&times, Some(4 * (times.len() - 1))).unwrap();
        let chain = GeneralChain::new(&model, &grid, &[&positions]).unwrap();
        let guide = Guide::new(&chain).unwrap();
        let found = smooth(&chain, &guide, 2, &FilterOptions { filters: 20, particles: 200, seed }).unwrap();
        assert!(found.effective_filters > 15.0, "{found:?}");
        let plain = || combine(&(0..8).map(|seed| (plain(&chain, 4000, seed), 0)).collect::<Vec<_>>());
        (found.evidence, (!swapped).then(plain))
    };
    let (first, oracle) = run(false, 1);
    let (second, _) = run(true, 2);
    let agree = |a: &crate::posterior::Evidence, b: &crate::posterior::Evidence| {
        (a.log_evidence - b.log_evidence).abs() < 3.0 * a.std_error.hypot(b.std_error)
    };
    assert!(agree(&first, &second), "{first:?} {second:?}");
    assert!(agree(&first, oracle.as_ref().unwrap()), "{first:?} {oracle:?}");
}

/// Rows taken in one by one from a known state: with Gaussian sources the filter is Kalman's, whatever the particles; values
/// may be missing, and a gap may take several steps.
#[test]
fn identity_rows_taken_in_are_a_kalman_filter() {
    let build = || {
        GeneralModel {
            states: vec!["x".into(), "v".into()],
            drift: linear(&[&[0.0, 1.0], &[-0.3, -0.4]], &[0.0, 0.1]),
            sources: vec![
                source("a", Gaussian::new(0.7).unwrap(), &[0.2, 1.0]),
                source("b", Gaussian::new(0.4).unwrap(), &[1.0, 0.0]),
            ],
            rows: vec![row("x", &[1.0, 0.0], 0.1), row("v", &[0.0, 1.0], 0.3)],
            start_mean: DVector::from_vec(vec![0.5, -0.2]),
            start_covariance: DMatrix::zeros(2, 2),
        }
        .checked()
        .unwrap()
    };
    let times = [0.0, 0.1, 0.2, 0.45, 0.55];
    let x = [f64::NAN, 0.6, f64::NAN, 0.1, 9.0];
    let v = [f64::NAN, -0.1, -0.4, f64::NAN, 0.2];
    let model = build();
    // Latent times at tenths, and two steps over the gap.
    let grid = TimeGrid::new(&[0.0, 0.1, 0.2, 0.325, 0.45, 0.55], None).unwrap();
    let spread = |c: &[f64; 5]| [c[0], c[1], c[2], f64::NAN, c[3], c[4]];
    let chain = GeneralChain::new(&model, &grid, &[&spread(&x), &spread(&v)]).unwrap();
    let expected = smooth(&chain, &Guide::new(&chain).unwrap(), 2, &FilterOptions::default()).unwrap().evidence;
    let mut online = OnlineFilter::new(build(), 0.125, 1);
    let mut state = online.start(0.0, &[0.5, -0.2].repeat(5)).unwrap();
    let mut sum = 0.0;
    let mut last = None;
    for k in 1..5 {
        let seen = online.advance(&mut state, times[k], &[x[k], v[k]]).unwrap();
        sum += seen.log_evidence.unwrap();
        assert_eq!(seen.p_values[0].is_none(), x[k].is_nan());
        last = Some(seen);
    }
    assert!((sum - expected.log_evidence).abs() < 1e-9, "{sum} {expected:?}");
    // Nine units away where a step moves by a few tenths.
    let last = last.unwrap();
    assert!(last.p_values[0].unwrap() < 1e-12 && last.p_values[1].unwrap() > 0.01, "{last:?}");
    assert!(online.advance(&mut state, 0.55, &[0.0, 0.0]).is_err());
}

/// P-values of rows of the model itself are uniform: of 400 rows with hidden velocity and stable kicks, a share of 10% below
/// 0.1 within four standard errors; and a kick far beyond the tails is called a jump of its source.
#[test]
fn statistics_p_values_of_rows_taken_in() {
    let model = hidden_velocity(1.5);
    let times = times(401, 0.1);
    let mut columns = record(&model, &times, 5);
    let mut online = OnlineFilter::new(hidden_velocity(1.5), 0.1, 3);
    let mut state = online.start(0.0, &[0.0, 0.0].repeat(300)).unwrap();
    let mut small = 0;
    columns[0][400] += 40.0;
    for (time, value) in times[1..400].iter().zip(&columns[0][1..400]) {
        let seen = online.advance(&mut state, *time, &[*value]).unwrap();
        small += usize::from(seen.p_values[0].unwrap() < 0.1);
    }
    assert!((16..=64).contains(&small), "{small}");
    let again = online.advance(&mut state.clone(), times[400], &[columns[0][400]]).unwrap();
    let last = online.advance(&mut state, times[400], &[columns[0][400]]).unwrap();
    assert_eq!(last, again);
    assert!(last.jump_probability[0] > 0.99 && last.p_values[0].unwrap() < 0.02, "{last:?}");
}
