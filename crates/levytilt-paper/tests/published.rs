//! Hold the published method to finite differences, to the exact evidence, and to exact thinning.

use levytilt::drift::DriftFamily;
use levytilt::drift::{NoDrift, Ou};
use levytilt::internals::fit::{FitOptions, PosteriorKind, Spec};
use levytilt::internals::posterior::jump_table;
use levytilt::internals::potential::Quadratic;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::{Chain, exact};
use levytilt::noise::{Family, TruncatedStable};
use levytilt::{Start, StateSpace, simulate, stream};
use levytilt_paper::continuous::{JumpMeasure, TiltedProcess};
use levytilt_paper::published::{Gradient, Kl, Motion, PaperOptions, RateTable, fit_paper, published_gradient};
use rand::RngExt;

fn model(theta: f64) -> StateSpace {
    let noise = TruncatedStable::new(1.5, 1.0, 0.05, 1.0).unwrap();
    StateSpace::new(Box::new(Ou::new(theta, 0.5).unwrap()), Box::new(noise), 0.2, Start::Fixed(0.0)).unwrap()
}

fn record() -> (Vec<f64>, Vec<f64>) {
    let times: Vec<f64> = (0..=8).map(|j| f64::from(j) * 0.05).collect();
    let values = simulate(&model(2.0), &times, 3).unwrap().observations;
    (times, values)
}

fn potentials(values: &[f64]) -> Vec<[f64; 2]> {
    (0..values.len()).map(|j| [1.0 + 0.2 * j as f64, values[j]]).collect()
}

fn bound(theta: f64, at: &[[f64; 2]], options: &PaperOptions) -> levytilt_paper::published::PublishedGradient {
    let ((times, values), model) = (record(), model(theta));
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    published_gradient(&Chain::new(&model, &grid, &[&values]).unwrap(), at, options, 5).unwrap()
}

/// Central differences of the ELBO with 20 000 paths, other numbers of jumps included, against the mean gradient: within
/// 6 standard errors of the differences, which have half a million-th chance to fail for each of 6 slopes.
#[test]
fn statistics_the_unbiased_gradient_is_the_slope_of_the_elbo() {
    let (_, values) = record();
    let options = PaperOptions { paths: 20_000, ..PaperOptions::default() };
    let at = potentials(&values);
    let found = bound(2.0, &at, &options);
    let check = |name: &str,
                 slope: f64,
                 high: levytilt_paper::published::Bound,
                 low: levytilt_paper::published::Bound,
                 h: f64| {
        let want = (high.elbo - low.elbo) / (2.0 * h);
        let error = 6.0 * (high.std_error.hypot(low.std_error)) / (2.0 * h);
        assert!((slope - want).abs() < error, "{name}: {slope} {want} ± {error}");
    };
    for (j, k) in [(2, 0), (2, 1), (5, 0), (5, 1), (8, 1)] {
        let h = 0.2;
        let moved = |h: f64| {
            let mut at = at.clone();
            at[j][k] += h;
            bound(2.0, &at, &options).bound
        };
        check(&format!("{j} {k}"), found.tilts[j][k], moved(h), moved(-h), h);
    }
    check("theta", found.drift[0], bound(2.3, &at, &options).bound, bound(1.7, &at, &options).bound, 0.3);
}

/// The same where parts end early at large jumps, so that their costs are random: one long step under a strong tilt (κ = 8)
/// towards a value at −1.5. Costs left out of the score would give −7.3 and 14.2 for −4.5 and 9.0.
#[test]
fn statistics_the_gradient_of_a_strong_tilt_is_the_slope_of_the_elbo() {
    let noise = TruncatedStable::new(1.5, 1.0, 0.05, 1.0).unwrap();
    let drift = Box::new(NoDrift::new(1).unwrap());
    let model = StateSpace::new(drift, Box::new(noise), 1.0, Start::Fixed(0.0)).unwrap();
    let grid = TimeGrid::new(&[0.0, 0.02], Some(1)).unwrap();
    let values = [f64::NAN, -1.5];
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    let options = PaperOptions { paths: 40_000, ..PaperOptions::default() };
    let at = |tilt: [f64; 2], seed: u64| published_gradient(&chain, &[tilt; 2], &options, seed).unwrap();
    let found = at([2.0, -2.0], 5).tilts[1];
    for (k, h) in [(0, 0.2), (1, 0.1)] {
        let moved = |h: f64, seed: u64| {
            let mut tilt = [2.0, -2.0];
            tilt[k] += h;
            at(tilt, seed).bound
        };
        let (high, low) = (moved(h, 6), moved(-h, 7));
        let want = (high.elbo - low.elbo) / (2.0 * h);
        let error = 6.0 * high.std_error.hypot(low.std_error) / (2.0 * h);
        assert!((found[k] - want).abs() < error, "{k}: {} {want} ± {error}", found[k]);
    }
}

/// The three ways agree on the ELBO of the same potentials: series and quadrature to rounding, Monte Carlo within six
/// standard errors; and the bound stays below the exact evidence of the same chain.
#[test]
fn statistics_the_elbo_stays_below_the_exact_evidence() {
    let ((times, values), model) = (record(), model(2.0));
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    let evidence = exact::smooth(&model, &grid, &values, &exact::Options::default()).unwrap().log_evidence;
    let at = potentials(&values);
    let with =
        |kl: Kl| bound(2.0, &at, &PaperOptions { paths: 4000, kl, kl_draws: 200, ..PaperOptions::default() }).bound;
    let [quadrature, series, drawn] = [Kl::Quadrature, Kl::Series, Kl::MonteCarlo].map(with);
    assert!((quadrature.elbo - series.elbo).abs() < 1e-6 * quadrature.elbo.abs(), "{quadrature:?} {series:?}");
    assert!((quadrature.elbo - drawn.elbo).abs() < 6.0 * quadrature.std_error.hypot(drawn.std_error), "{drawn:?}");
    assert!(quadrature.elbo < evidence + 3.0 * quadrature.std_error, "{quadrature:?} {evidence}");
    assert!(evidence - quadrature.elbo < 60.0, "{quadrature:?} {evidence}");
    let euler = bound(2.0, &at, &PaperOptions { paths: 4000, motion: Motion::Euler, ..PaperOptions::default() }).bound;
    assert!((euler.elbo - quadrature.elbo).abs() < 2.0 + 6.0 * quadrature.std_error, "{euler:?} {quadrature:?}");
}

/// 300 random (a, δ): the table against the series, where that keeps its digits.
#[test]
fn identity_quadrature_and_series_agree() {
    let mut rng = stream(9, 0);
    let mut compared = 0;
    for _ in 0..300 {
        let alpha = 1.05 + 0.9 * rng.random::<f64>();
        let measure = JumpMeasure::mixture(alpha, 1.0, 0.01, 1.0).unwrap();
        let (a, delta) = ((6.0 * rng.random::<f64>() - 3.0).exp(), 4.0 * rng.random::<f64>() - 2.0);
        let found = RateTable::new(&measure, a).at(delta).unwrap();
        let tilted = measure.tilted(Quadratic::new(a, delta).unwrap(), 0.0);
        if let Ok(series) = tilted.expansion() {
            compared += 1;
            assert!((found.divergence - series.divergence_rate).abs() < 1e-8 * (series.rate + series.divergence_rate));
        }
    }
    assert!(compared > 100, "{compared}");
}

/// End state and number of jumps of `n` paths over `span` from 0 without drift under −a(x − c)²: by exact thinning, and by
/// Algorithm 2 in `steps`.
fn thinned_and_drawn([a, c]: [f64; 2], n: usize, (steps, span): (usize, f64)) -> [Vec<[f64; 2]>; 2] {
    let times: Vec<f64> = (0..=steps).map(|j| span * j as f64 / steps as f64).collect();
    let drift = NoDrift::new(1).unwrap();
    let process = TiltedProcess::new(&drift, JumpMeasure::mixture(1.5, 1.0, 0.05, 1.0).unwrap()).unwrap();
    let potential = Quadratic::new(a, c).unwrap();
    let thin = |k: usize| {
        let path = process.path(0.0, &[0.0, span], &[potential], &mut stream(1, k as u64)).unwrap();
        [path.states[1], path.jumps.len() as f64]
    };
    let thinned = (0..n).map(thin).collect();
    let noise = TruncatedStable::new(1.5, 1.0, 0.05, 1.0).unwrap();
    let model = StateSpace::new(Box::new(drift), Box::new(noise), 0.2, Start::Fixed(0.0)).unwrap();
    let grid = TimeGrid::new(&times, Some(steps)).unwrap();
    let values = vec![f64::NAN; times.len()];
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    let options = PaperOptions { paths: n, ..PaperOptions::default() };
    let paths = levytilt_paper::published::draw_paths(&chain, &vec![[a, c]; times.len()], &options, 2).unwrap();
    let end = |path: &levytilt_paper::published::DrawnPath| {
        [path.states[steps], path.jumps.iter().map(|&jumps| f64::from(jumps)).sum()]
    };
    [thinned, paths.iter().map(end).collect()]
}

/// Algorithm 2 against exact thinning: two-sample Kolmogorov–Smirnov statistics of the end state and of the number of jumps
/// below 2.23√(2/n), which the same law exceeds once in 10⁴ seeds. A weak tilt over 40 steps, and a strong one (κ = 8) over
/// one long step, where rates that hold beyond the first large jump give 0.09 and 0.06, four and three times the limit.
#[test]
fn statistics_paths_of_algorithm_2_have_the_law_of_exact_thinning() {
    for (tilt, n, steps) in [([1.5, 0.8], 4000, (40, 0.2)), ([2.0, -2.0], 20_000, (1, 0.02))] {
        let ends = thinned_and_drawn(tilt, n, steps);
        for k in 0..2 {
            let [thinned, drawn] = ends.each_ref().map(|ends| {
                let mut sorted: Vec<f64> = ends.iter().map(|end| end[k]).collect();
                sorted.sort_by(f64::total_cmp);
                sorted
            });
            let below = |sorted: &[f64], x: f64| sorted.partition_point(|&s| s <= x) as f64 / n as f64;
            let gap = |&x: &f64| (below(&thinned, x) - below(&drawn, x)).abs();
            let most = thinned.iter().chain(&drawn).map(gap).fold(0.0, f64::max);
            assert!(most < 2.23 * (2.0 / n as f64).sqrt(), "{tilt:?} {k}: {most}");
        }
    }
}

/// Paths go in groups, yet each is its own: the first 7 of 60 are those of 7, to the bit.
#[test]
fn identity_a_path_does_not_depend_on_the_others() {
    let ((times, values), model) = (record(), model(2.0));
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    let chain = Chain::new(&model, &grid, &[&values]).unwrap();
    let draw = |paths: usize| {
        let options = PaperOptions { paths, ..PaperOptions::default() };
        levytilt_paper::published::draw_paths(&chain, &potentials(&values), &options, 3).unwrap()
    };
    assert_eq!(draw(60)[..7], draw(7)[..]);
}

/// A whole fit: the ELBO rises, the posterior is called what it is, nothing is said about weights that it does not have, and the
/// same seed gives the same result; a free τ is refused.
#[test]
fn identity_a_fit_trains_and_repeats() {
    let times: Vec<f64> = (0..=40).map(|j| f64::from(j) * 0.02).collect();
    let values = simulate(&model(2.0), &times, 4).unwrap().observations;
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    let given = [("alpha", 1.5), ("scale", 1.0), ("tau", 0.05), ("observation_std", 0.2), ("mu", 0.5)];
    let spec = Spec {
        given: given.map(|(name, value)| (name.to_string(), value)).into_iter().collect(),
        x0: Some(0.0),
        ..Spec::new(DriftFamily::named("ou").unwrap(), Family::named("truncated-stable").unwrap())
    };
    let small =
        PaperOptions { references: 10, features: 8, units: 16, layers: 2, sharpness: 20.0, ..PaperOptions::default() };
    for gradient in [Gradient::Unbiased, Gradient::Published] {
        let paper = PaperOptions { iterations: 20, learning_rate: 3e-3, encoder_rate: 3e-3, gradient, ..small.clone() };
        let options = FitOptions { paths: 32, ..FitOptions::default() };
        let run = || fit_paper(&spec, (&grid, &[&values]), &options, &paper).unwrap();
        let (first, second) = (run(), run());
        let trace = &first.trained.as_ref().unwrap().trace;
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        assert!(mean(&trace[15..]) > mean(&trace[..5]), "{gradient:?} {trace:?}");
        assert_eq!(first.fit.posterior, PosteriorKind::Variational);
        assert!(!first.fit.warnings.iter().any(|warning| warning.contains("weights")), "{:?}", first.fit.warnings);
        let chain = Chain::new(&first.fit.model, &grid, &[&values]).unwrap();
        assert_eq!(first.fit.jumps[0], jump_table(&first.fit.paths, &chain, 0, &first.fit.weights, None));
        assert!(
            first.fit.summary.elbo < first.fit.evidence.log_evidence + 3.0 * first.fit.summary.elbo_std_error + 1.0
        );
        assert!(first.fit.parameter("theta").unwrap().value > 0.0 && !first.fit.parameter("theta").unwrap().fixed);
        assert_eq!(first.fit.summary.elbo.to_bits(), second.fit.summary.elbo.to_bits());
    }
    let free = Spec { given: spec.given.iter().filter(|(name, _)| *name != "tau").cloned().collect(), ..spec };
    let error = fit_paper(&free, (&grid, &[&values]), &FitOptions::default(), &small);
    assert!(error.unwrap_err().to_string().contains("tau"));
}
