//! Hold the filter for drifts that are nonlinear in several states to exact evidences, to Kalman, and to known parameters.

use levytilt::drift::Formula;
use levytilt::internals::exact;
use levytilt::internals::general::{
    FilterOptions, GeneralChain, GeneralModel, GeneralOptions, GeneralSpec, Guide, Loading, RowSpec, Smoothed,
    SourceSpec, StartSpec, fit_general, simulate_general, smooth, smooth_nonlinear,
};
use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Family, Stable};
use levytilt::{Start, StateSpace};

/// A model with a source of `family` on each of the states `kicked` and a column for each of the states `seen`, all with
/// std 0.1.
fn spec(states: &[(&str, &str)], family: &str, kicked: &[usize], seen: &[usize]) -> GeneralSpec {
    let source = |&i: &usize| SourceSpec {
        name: format!("on_{}", states[i].0),
        family: Family::named(family).unwrap(),
        on: vec![(i, Loading::Fixed(1.0))],
    };
    let row = |&i: &usize| RowSpec { name: states[i].0.into(), of: vec![(i, 1.0)] };
    let mut held: Vec<(String, f64)> =
        seen.iter().map(|&i| (format!("observation_std[{}]", states[i].0), 0.1)).collect();
    for &i in kicked {
        held.push((format!("scale[on_{}]", states[i].0), 0.7));
        if family == "stable" {
            held.push((format!("alpha[on_{}]", states[i].0), 1.6));
        }
    }
    GeneralSpec {
        drift: Formula::system(states, &[]).unwrap(),
        sources: kicked.iter().map(source).collect(),
        rows: seen.iter().map(row).collect(),
        starts: vec![StartSpec::Gaussian { mean: 1.0, std: 0.3 }; states.len()],
        held,
    }
}

fn times(steps: u32) -> Vec<f64> {
    (0..=steps).map(|j| 0.1 * f64::from(j)).collect()
}

/// Columns of a simulated record, with every `every`-th value.
fn record(model: &GeneralModel, steps: u32, every: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut columns = simulate_general(model, &times(steps), seed).unwrap().columns;
    for column in &mut columns {
        column.iter_mut().enumerate().filter(|(j, _)| j % every != 0).for_each(|(_, y)| *y = f64::NAN);
    }
    columns
}

fn run(model: &GeneralModel, columns: &[Vec<f64>], paths: usize) -> Smoothed {
    let times = times(columns[0].len() as u32 - 1);
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    smooth_nonlinear(model, &grid, &slices, paths, &FilterOptions { filters: 10, particles: 200, seed: 5 }).unwrap()
}

/// Two double wells that do not touch each other, every second value seen: the sum of the exact evidences of each by itself, within
/// 4 standard errors (false alarm below 1e-3 with ten filters) and the 0.01 nats that the grid of the exact one is worth.
#[test]
fn statistics_double_wells_have_their_exact_evidence() {
    let spec = spec(&[("x", "x - x^3"), ("y", "y - y^3")], "stable", &[0, 1], &[0, 1]);
    let model = spec.closed().unwrap();
    let columns = record(&model, 40, 2, 7);
    let found = run(&model, &columns, 100);
    let formula = Formula::parse("x - x^3").unwrap().drift(&[]).unwrap();
    let start = Start::Gaussian { mean: 1.0, std: 0.3 };
    let one = StateSpace::new(Box::new(formula), Box::new(Stable::new(1.6, 0.7).unwrap()), 0.1, start).unwrap();
    let grid = TimeGrid::new(&times(40), Some(40)).unwrap();
    let exact: f64 =
        columns.iter().map(|c| exact::log_evidence(&one, &grid, c, &exact::Options::default()).unwrap()).sum();
    let away = (found.evidence.log_evidence - exact).abs();
    assert!(away < 0.01 + 4.0 * found.evidence.std_error, "{:?} {exact}", found.evidence);
    assert!(found.evidence.std_error < 0.2 && found.effective_paths > 30.0, "{:?}", found.evidence);
}

/// Gaussian noise and affine drifts, noise on one state or on both: the evidence and the smoothed means of a Kalman filter.
#[test]
fn statistics_gaussian_noise_and_affine_drifts_are_kalman() {
    for (kicked, seen) in [(&[1][..], &[0][..]), (&[0, 1], &[0])] {
        let spec = spec(&[("x", "v"), ("v", "-v - 0.5*x")], "gaussian", kicked, seen);
        let model = spec.closed().unwrap();
        let columns = record(&model, 60, 2, 3);
        let found = run(&model, &columns, 400);
        let grid = TimeGrid::new(&times(60), Some(60)).unwrap();
        let chain = GeneralChain::new(&model, &grid, &[&columns[0]]).unwrap();
        let options = FilterOptions { filters: 2, particles: 2, seed: 1 };
        let kalman = smooth(&chain, &Guide::new(&chain).unwrap(), 2000, &options).unwrap();
        let away = (found.evidence.log_evidence - kalman.evidence.log_evidence).abs();
        assert!(away < 4.0 * found.evidence.std_error + 1e-6, "{:?} {:?}", found.evidence, kalman.evidence);
        assert!(found.evidence.std_error < 0.1, "{:?}", found.evidence);
        for place in [10, 61, 80] {
            let law = |smoothed: &Smoothed| {
                let count = smoothed.paths.len() as f64;
                let mean = smoothed.paths.iter().map(|path| path.states[place]).sum::<f64>() / count;
                let square = smoothed.paths.iter().map(|path| (path.states[place] - mean).powi(2)).sum::<f64>();
                (mean, (square / count).sqrt())
            };
            let ((mean, sd), (want, spread)) = (law(&found), law(&kalman));
            let error = spread * (1.0 / found.effective_paths + 1.0 / 2000.0).sqrt();
            assert!((mean - want).abs() < 5.0 * error, "{place}: {mean} {want} ± {error}");
            assert!((0.7..1.4).contains(&(sd / spread)), "{place}: {sd} {spread}");
        }
    }
}

/// A path is what its jumps make of its start.
#[test]
fn identity_jumps_lead_along_the_path() {
    let spec = spec(&[("x", "v"), ("v", "(1 - x^2)*v - x")], "stable", &[1], &[0]);
    let model = spec.closed().unwrap();
    let found = run(&model, &record(&model, 20, 1, 2), 20);
    let mut moved = [0.0; 2];
    for path in &found.paths {
        for (j, jump) in path.jumps.iter().enumerate() {
            model.drift.flow(0.1 * j as f64, 0.1, &path.states[2 * j..2 * j + 2], &mut moved);
            moved[1] += jump;
            let there = &path.states[2 * j + 2..2 * j + 4];
            assert!((moved[0] - there[0]).abs() + (moved[1] - there[1]).abs() < 1e-9, "{moved:?} {there:?}");
        }
    }
}

/// The coupling of two wells and the scale of its noise, within 4 standard errors.
#[test]
fn statistics_parameters_of_coupled_wells_are_found() {
    let mut spec = spec(&[("x", "x - x^3 + k*(y - x)"), ("y", "y - y^3 + k*(x - y)")], "stable", &[0, 1], &[0, 1]);
    spec.drift = spec.drift.with_bounds("k", Some(0.0), None).unwrap().with_guess("k", 0.3).unwrap();
    let truth = GeneralSpec { held: [&spec.held[..], &[("k".into(), 1.0)]].concat(), ..spec.clone() };
    let columns = record(&truth.closed().unwrap(), 80, 1, 4);
    spec.held.retain(|(name, _)| name != "scale[on_x]");
    let grid = TimeGrid::new(&times(80), Some(80)).unwrap();
    let options = GeneralOptions { paths: 50, ..Default::default() };
    let fit = fit_general(&spec, &grid, &[&columns[0], &columns[1]], &options).unwrap();
    for (name, truth) in [("k", 1.0), ("scale[on_x]", 0.7)] {
        let found = fit.parameters.iter().find(|p| p.name == name).unwrap();
        let error = found.std_error.unwrap();
        assert!((found.value - truth).abs() < 4.0 * error && error < truth, "{found:?}");
    }
}

/// A formula that has no value where the data lead is an error that names it.
#[test]
fn identity_a_drift_without_a_value_is_named() {
    let spec = spec(&[("x", "-sqrt(x - 20)"), ("y", "x - y^3")], "stable", &[0, 1], &[0, 1]);
    let grid = TimeGrid::new(&times(20), None).unwrap();
    let values: Vec<f64> = (0..21).map(|j| f64::from(j % 7)).collect();
    let error = fit_general(&spec, &grid, &[&values, &values], &Default::default()).unwrap_err().to_string();
    assert!(error.contains("sqrt(x - 20)"), "{error}");
}
