//! Hold the gradient in the noise, and jumps whose size depends on the state, to differences of the ELBO and the exact evidence.

use levytilt::drift::{DriftFamily, Formula, Ou};
use levytilt::internals::fit::{FitOptions, Spec};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Parameter, parameters, rebuild};
use levytilt::internals::{Chain, Size, exact};
use levytilt::noise::{Family, PlusBrownian, TruncatedStable};
use levytilt::{Start, StateSpace, simulate};
use levytilt_paper::published::{Gradient, PaperOptions, PublishedGradient, fit_paper, noise_gradient};

fn model(size: Option<&str>, brownian: f64) -> StateSpace {
    let jumps = TruncatedStable::new(1.5, 0.8, 0.05, 1.0).unwrap();
    let noise: Box<dyn levytilt::noise::Noise> = match brownian {
        0.0 => Box::new(jumps),
        sigma => Box::new(PlusBrownian::new(Box::new(jumps), sigma).unwrap()),
    };
    let model = StateSpace::new(Box::new(Ou::new(2.0, 0.5).unwrap()), noise, 0.2, Start::Fixed(0.0)).unwrap();
    match size {
        None => model,
        Some(text) => model.with_size(&Size::new(&Formula::parse(text).unwrap(), &[0.7]).unwrap()),
    }
}

struct Case {
    grid: TimeGrid,
    values: Vec<f64>,
    tilts: Vec<[f64; 2]>,
}

fn case(model: &StateSpace) -> Case {
    let times: Vec<f64> = (0..=6).map(|j| f64::from(j) * 0.05).collect();
    let values = simulate(model, &times, 3).unwrap().observations;
    let tilts = (0..values.len()).map(|j| [1.0 + 0.3 * j as f64, values[j] + 0.4]).collect();
    Case { grid: TimeGrid::new(&times, Some(times.len() - 1)).unwrap(), values, tilts }
}

fn gradient(model: &StateSpace, case: &Case, tilts: &[[f64; 2]], paths: usize) -> (PublishedGradient, Vec<f64>) {
    let chain = Chain::new(model, &case.grid, &[&case.values]).unwrap();
    let options = PaperOptions { paths, ..PaperOptions::default() };
    let found = noise_gradient(&chain, tilts, &options, 5).unwrap();
    let all = found.parameters(&chain);
    (found, all)
}

/// The gradient against central differences of the ELBO with as many paths, whose standard error is stated: within 6 of them,
/// so a false alarm in 10⁸ slopes if the two ends were independent.
fn check(model: &StateSpace, names: &[&str], tilts: &[(usize, usize)], paths: usize) {
    let case = case(model);
    let (found, slopes) = gradient(model, &case, &case.tilts, paths);
    let near = |name: &str, slope: f64, ends: [PublishedGradient; 2], h: f64| {
        let [high, low] = ends.map(|end| end.bound);
        let want = (high.elbo - low.elbo) / (2.0 * h);
        let error = 6.0 * high.std_error.hypot(low.std_error) / (2.0 * h);
        assert!((slope - want).abs() < error, "{name}: {slope} {want} ± {error}");
        assert!(error < 3.0 + slope.abs(), "{name}: {slope} ± {error} says little");
    };
    for (k, p) in parameters(model).iter().enumerate().filter(|(_, p)| names.contains(&p.name.as_str())) {
        // Small enough that the third derivative does not show.
        let h = match p.name.as_str() {
            "alpha" => 0.1,
            "observation_std" => 0.03 * p.value,
            _ => 0.15 * p.value,
        };
        let moved = |h: f64| {
            let mut values: Vec<f64> = parameters(model).iter().map(|p: &Parameter| p.value).collect();
            values[k] += h;
            gradient(&rebuild(model, &values).unwrap(), &case, &case.tilts, paths).0
        };
        near(&p.name, slopes[k], [moved(h), moved(-h)], h);
    }
    for &(j, k) in tilts {
        let h = 0.2;
        let moved = |h: f64| {
            let mut tilts = case.tilts.clone();
            tilts[j][k] += h;
            gradient(model, &case, &tilts, paths).0
        };
        near(&format!("tilt {j} {k}"), found.tilts[j][k], [moved(h), moved(-h)], h);
    }
}

#[test]
fn statistics_slopes_in_the_noise_are_those_of_the_elbo() {
    check(&model(None, 0.0), &["alpha", "scale", "observation_std"], &[], 100_000);
}

/// With a Brownian part, which the scale does not touch.
#[test]
fn statistics_slopes_beside_a_brownian_part_are_those_of_the_elbo() {
    check(&model(None, 0.5), &["alpha", "scale"], &[], 50_000);
}

/// γ(x) = 1 + g|x|: the state before a step decides about its jumps, so early tilts act on later sizes.
#[test]
fn statistics_slopes_with_sizes_of_the_state_are_those_of_the_elbo() {
    check(&model(Some("1 + g*abs(x)"), 0.3), &["g"], &[(1, 0), (1, 1), (3, 1)], 8000);
}

/// Sizes of the state: γ = 1 is the plain walk to rounding, and the ELBO of a γ that changes stays below the exact evidence.
#[test]
fn statistics_the_elbo_with_sizes_stays_below_the_exact_evidence() {
    let plain = model(None, 0.0);
    let data = case(&plain);
    let one = model(Some("1 + 0*g*x"), 0.0);
    let [even, sized] = [&plain, &one].map(|model| gradient(model, &data, &data.tilts, 200).0.bound);
    assert!((even.elbo - sized.elbo).abs() < 1e-9 * even.elbo.abs(), "{even:?} {sized:?}");
    let model = model(Some("1 + g*abs(x)"), 0.0);
    let data = case(&model);
    let evidence = exact::log_evidence(&model, &data.grid, &data.values, &exact::Options::default()).unwrap();
    let tilts: Vec<[f64; 2]> = data.values.iter().map(|y| [2.0, *y]).collect();
    let bound = gradient(&model, &data, &tilts, 4000).0.bound;
    assert!(bound.elbo < evidence + 3.0 * bound.std_error, "{bound:?} {evidence}");
    assert!(evidence - bound.elbo < 30.0, "{bound:?} {evidence}");
}

/// A fit with α and a size left free trains both; the published gradient and a free τ are refused.
#[test]
fn identity_a_fit_learns_alpha_and_a_size() {
    let times: Vec<f64> = (0..=20).map(|j| f64::from(j) * 0.05).collect();
    let values = simulate(&model(Some("1 + g*abs(x)"), 0.0), &times, 4).unwrap().observations;
    let grid = TimeGrid::new(&times, Some(times.len() - 1)).unwrap();
    let given = |names: &[(&str, f64)]| names.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    let spec = Spec {
        given: given(&[("scale", 0.8), ("tau", 0.05), ("observation_std", 0.2), ("mu", 0.5), ("theta", 2.0)]),
        x0: Some(0.0),
        ..Spec::new(DriftFamily::named("ou").unwrap(), Family::named("truncated-stable").unwrap())
            .with_size(Formula::parse("1 + g*abs(x)").unwrap())
    };
    let small =
        PaperOptions { references: 5, features: 4, units: 8, layers: 2, sharpness: 10.0, ..PaperOptions::default() };
    let run = |spec: &Spec, gradient: Gradient| {
        let paper = PaperOptions { iterations: 6, gradient, ..small.clone() };
        fit_paper(spec, (&grid, &[&values]), &FitOptions { paths: 16, ..FitOptions::default() }, &paper)
    };
    let fit = run(&spec, Gradient::Unbiased).unwrap().fit;
    let alpha = fit.parameter("alpha").unwrap();
    assert!(!alpha.fixed && alpha.value > 0.0 && alpha.value < 2.0, "{alpha:?}");
    assert!(!fit.parameter("g").unwrap().fixed && fit.summary.elbo.is_finite());
    let said = run(&spec, Gradient::Published).unwrap_err().to_string();
    assert!(said.contains("alpha") && said.contains("gradient published"), "{said}");
    let free = Spec { given: given(&[("alpha", 1.5), ("scale", 0.8), ("observation_std", 0.2)]), ..spec };
    let said = run(&free, Gradient::Unbiased).unwrap_err().to_string();
    assert!(said.contains("tau"), "{said}");
}
