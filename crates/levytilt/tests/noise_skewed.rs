//! Skewed noise: nodes with means against characteristic functions and densities, derivatives, draws, and the exact grid
//! against an independent Fourier filter.

use levytilt::drift::{DriftFamily, Ou};
use levytilt::internals::exact::{Options, log_evidence};
use levytilt::internals::fit::{FitOptions, Spec, fit};
use levytilt::internals::law::{Parametrization, StableLaw};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::Method;
use levytilt::noise::{Family, Noise, SkewedStable};
use levytilt::{Start, StateSpace, simulate, stream};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::PI;

const FAMILIES: [(&str, &[f64]); 5] = [
    ("skewed-stable", &[1.5, 1.0, 0.7]),
    ("skewed-tempered-stable", &[1.4, 0.8, 0.5, 0.9]),
    ("skewed-variance-gamma", &[0.9, 0.3, -0.8]),
    ("skewed-nig", &[1.2, 0.8, 0.6]),
    ("skewed-compound-poisson", &[2.0, 0.3, 1.1]),
];

fn build(name: &str, values: &[f64]) -> Box<dyn Noise> {
    Family::named(name).unwrap().build(values).unwrap()
}

/// E exp(iuJ) as (real, imaginary).
fn characteristic(noise: &dyn Noise, dt: f64, u: f64) -> (f64, f64) {
    let (size, phase) = (noise.log_characteristic(dt, u).exp(), noise.characteristic_phase(dt, u));
    (size * phase.cos(), size * phase.sin())
}

#[test]
fn identity_nodes_have_the_characteristic_function() {
    for (name, values) in FAMILIES {
        let noise = build(name, values);
        let tolerance = if name == "skewed-stable" { 1e-3 } else { 3e-5 };
        for dt in [0.05, 0.7, 5.0] {
            let nodes = noise.nodes(dt).unwrap();
            assert!(nodes.means().is_some() && nodes.len() <= 192, "{name}: {} nodes", nodes.len());
            for i in 1..60 {
                let u = 0.15 * f64::from(i) / dt.max(0.2).sqrt();
                let (got, want) = (nodes.characteristic_complex(u), characteristic(noise.as_ref(), dt, u));
                let error = (got.re - want.0).hypot(got.im - want.1);
                assert!(error < tolerance, "{name}, step {dt}, u = {u}: {error}");
            }
        }
    }
}

#[test]
fn identity_derivatives_agree_with_differences() {
    for (name, values) in FAMILIES.into_iter().skip(1) {
        let dt = 0.7;
        let nodes = build(name, values).nodes(dt).unwrap();
        for x in [-2.0, -0.3, 0.4, 3.0] {
            let got = nodes.log_density(x);
            let h = 1e-5;
            let dx = (nodes.log_density_value(x + h) - nodes.log_density_value(x - h)) / (2.0 * h);
            assert!((got.dx - dx).abs() < 1e-6 * dx.abs().max(1.0), "{name} at {x}");
            for (k, derivative) in got.parameters.iter().enumerate() {
                let at = |change: f64| {
                    let mut values = values.to_vec();
                    values[k] += change;
                    build(name, &values).nodes(dt).unwrap().log_density_value(x)
                };
                let want = (at(h) - at(-h)) / (2.0 * h);
                assert!(
                    (derivative - want).abs() < 5e-3 * want.abs().max(1.0),
                    "{name}, {k} at {x}: {derivative} {want}"
                );
            }
        }
    }
    // Refitted weights change in jumps, so the stable nodes are compared with the law itself.
    let (alpha, skew, dt) = (1.5, 0.7, 0.7f64);
    let nodes = SkewedStable::new(alpha, 1.0, skew).unwrap().nodes(dt).unwrap();
    for x in [-2.0, -0.3, 0.4, 3.0] {
        let law = StableLaw::skewed(alpha, skew, dt.powf(1.0 / alpha), 0.0, Parametrization::S1).unwrap();
        let (got, want) = (nodes.log_density(x), law.log_pdf_derivatives(x));
        let by_alpha = want.dalpha - want.dscale * law.scale() * dt.ln() / (alpha * alpha);
        for (got, want) in got.parameters.iter().zip([by_alpha, want.dscale * law.scale(), law.log_pdf_by_beta(x)]) {
            assert!((got - want).abs() < 2e-2 * want.abs().max(1.0), "at {x}: {got} {want}");
        }
    }
}

#[test]
fn identity_stable_nodes_follow_the_density() {
    let two_sided = [(0.5, 0.3), (0.6, 0.5), (0.77, 0.47), (0.85, -0.9), (1.2, 0.9), (1.5, -0.4), (1.8, 0.7)];
    let one_sided = [(0.5, 1.0), (0.77, -1.0), (1.0, 1.0), (1.5, -1.0), (1.95, 1.0)];
    for (alpha, skew) in two_sided.into_iter().chain(one_sided) {
        let nodes = SkewedStable::new(alpha, 1.0, skew).unwrap().nodes(1.0).unwrap();
        assert!(nodes.len() <= 192);
        let law = StableLaw::skewed(alpha, skew, 1.0, 0.0, Parametrization::S1).unwrap();
        let error = |x: f64| ((nodes.log_density_value(x) - law.log_pdf(x)).exp() - 1.0).abs();
        for i in 0..=60 {
            let x = law.quantile(0.0005 + 0.999 * f64::from(i) / 60.0).unwrap();
            assert!(error(x) < 1.2e-3, "alpha {alpha} skew {skew} at {x}: {}", error(x));
        }
        for i in 0..=30 {
            let x = 100.0 * 1e4f64.powf(f64::from(i) / 30.0);
            for x in [x, -x].into_iter().filter(|x| 1.0 + skew * x.signum() > 0.0) {
                assert!(error(x) < 0.02, "alpha {alpha} skew {skew} at {x}: {}", error(x));
            }
        }
    }
    assert!(SkewedStable::new(0.4, 1.0, 0.5).unwrap().nodes(1.0).is_err());
    assert!(SkewedStable::new(1.5, 1.0, 1.01).is_err());
}

#[test]
fn statistics_draws_have_the_characteristic_function() {
    // 5 families × 6 means of numbers in [−1, 1]: a z above 5 has a false-alarm rate below 2e-5 over all of them.
    let (count, dt) = (40_000, 0.7);
    for (name, values) in FAMILIES {
        let noise = build(name, values);
        let mut rng = stream(3, 4);
        let draws: Vec<f64> = (0..count).map(|_| noise.sample(dt, &mut rng)).collect();
        for u in [0.3, 1.0, 2.0] {
            let want = characteristic(noise.as_ref(), dt, u);
            let mean = |f: fn(f64) -> f64| draws.iter().map(|d| f(u * d)).sum::<f64>() / f64::from(count);
            let z = (mean(f64::cos) - want.0).abs().max((mean(f64::sin) - want.1).abs()) * f64::from(count).sqrt();
            assert!(z < 5.0, "{name}, u = {u}: z = {z}");
        }
    }
}

/// ln p(values) of dx = θ(μ − x) dt + dL by characteristic functions: φ_{x'}(u) = e^{iub} φ_x(au) φ_J(u), transformed back
/// around each observation. J is the noise of the `parts` latent steps of a gap, each shrunk by the drift after it. Knows
/// nothing of nodes and kernels.
fn fourier_evidence(
    noise: &dyn Noise,
    (theta, mu): (f64, f64),
    (dt, parts): (f64, usize),
    values: &[f64],
    (sigma, x0): (f64, f64),
) -> f64 {
    let (decay, du, top) = ((-theta * dt).exp(), 2.0 * PI / 1500.0, 7.5 / sigma);
    let push = mu * (1.0 - decay);
    let frequencies: Vec<f64> = (0..(top / du) as usize).map(|i| (i as f64 + 0.5) * du).collect();
    let (cells, reach) = (180, 8.0 * sigma);
    let step = 2.0 * reach / f64::from(cells);
    let mut points = vec![(x0, 1.0)];
    let mut total = 0.0;
    for &y in values {
        let spectrum: Vec<(f64, f64)> = frequencies
            .iter()
            .map(|&u| {
                let step = dt / parts as f64;
                let each = |k: usize| {
                    let u = u * (-theta * step * k as f64).exp();
                    (noise.log_characteristic(step, u), noise.characteristic_phase(step, u))
                };
                let (size, phase) = (0..parts).map(each).fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
                let jump = (size.exp() * phase.cos(), size.exp() * phase.sin());
                let (re, im) = points.iter().fold((0.0, 0.0), |(re, im), &(x, mass)| {
                    let angle = u * (decay * x + push);
                    (re + mass * angle.cos(), im + mass * angle.sin())
                });
                (re * jump.0 - im * jump.1, re * jump.1 + im * jump.0)
            })
            .collect();
        points = (0..=cells)
            .map(|i| {
                let x = y - reach + step * f64::from(i);
                let density: f64 =
                    frequencies.iter().zip(&spectrum).map(|(u, s)| s.0 * (u * x).cos() + s.1 * (u * x).sin()).sum();
                let z = (x - y) / sigma;
                (x, density * du / PI * (-0.5 * z * z).exp() * step / (sigma * (2.0 * PI).sqrt()))
            })
            .collect();
        let mass: f64 = points.iter().map(|p| p.1).sum();
        total += mass.ln();
        points.iter_mut().for_each(|p| p.1 /= mass);
    }
    total
}

#[test]
fn golden_exact_grid_agrees_with_a_fourier_filter() {
    let (theta, mu, dt, sigma, x0) = (0.8, 0.5, 0.4, 0.25, 0.2);
    for (name, values) in FAMILIES {
        let noise = build(name, values);
        let mut rng = stream(11, 1);
        let (mut x, mut seen) = (x0, Vec::new());
        for _ in 0..8 {
            x = mu + (x - mu) * f64::exp(-theta * dt) + noise.sample(dt, &mut rng);
            let error: f64 = StandardNormal.sample(&mut rng);
            seen.push(x + sigma * error);
        }
        let times: Vec<f64> = (1..=8).map(|j| dt * f64::from(j)).collect();
        let mut all = vec![0.0];
        all.extend(times);
        let grid = TimeGrid::new(&all, None).unwrap();
        let parts = grid.steps() / seen.len();
        let want = fourier_evidence(noise.as_ref(), (theta, mu), (dt, parts), &seen, (sigma, x0));
        let mut values = vec![f64::NAN];
        values.extend(seen);
        let drift = Box::new(Ou::new(theta, mu).unwrap());
        let model = StateSpace::new(drift, noise, sigma, Start::Fixed(x0)).unwrap();
        let got = log_evidence(&model, &grid, &values, &Options::default()).unwrap();
        assert!((got - want).abs() < 0.05, "{name}: grid {got}, Fourier {want}");
    }
}

/// A record of dx = θ(μ − x) dt + dL seen every `dt` with error `sigma`: grid and values.
fn record(noise: &dyn Noise, (theta, mu): (f64, f64), dt: f64, sigma: f64, count: usize) -> (TimeGrid, Vec<f64>) {
    let mut rng = stream(21, 3);
    let (mut x, mut values) = (mu, Vec::new());
    for _ in 0..count {
        x = mu + (x - mu) * f64::exp(-theta * dt) + noise.sample(dt, &mut rng);
        let error: f64 = StandardNormal.sample(&mut rng);
        values.push(x + sigma * error);
    }
    let times: Vec<f64> = (0..count).map(|j| dt * j as f64).collect();
    (TimeGrid::new(&times, None).unwrap(), values)
}

#[test]
fn identity_without_skew_the_evidence_is_that_of_the_symmetric_family() {
    for (name, values) in FAMILIES {
        let mut still = values.to_vec();
        still[values.len() - 1] = 0.0;
        let skewed = build(name, &still);
        let (grid, seen) = record(skewed.as_ref(), (0.8, 0.5), 0.4, 0.2, 40);
        let evidence = |noise: Box<dyn Noise>| {
            let start = Start::Gaussian { mean: 0.5, std: 1.0 };
            let model = StateSpace::new(Box::new(Ou::new(0.8, 0.5).unwrap()), noise, 0.2, start).unwrap();
            log_evidence(&model, &grid, &seen, &Options::default()).unwrap()
        };
        let symmetric = build(name.trim_start_matches("skewed-"), &values[..values.len() - 1]);
        let (with, without) = (evidence(skewed), evidence(symmetric));
        // The numbers of compound Poisson jumps are condensed for the symmetric family.
        let allowed = if name == "skewed-compound-poisson" { 1e-4 } else { 1e-7 };
        assert!((with - without).abs() < allowed, "{name}: {with} {without}");
    }
}

fn fit_options() -> FitOptions {
    FitOptions { paths: 400, seed: 5, ..FitOptions::default() }
}

#[test]
fn statistics_skew_is_learned_and_paths_follow_the_exact_marginals() {
    for (name, values) in [FAMILIES[3], FAMILIES[4]] {
        let noise = build(name, values);
        let (grid, seen) = record(noise.as_ref(), (0.5, 1.0), 0.5, 0.1, 250);
        let with = |family: &str| {
            let spec = Spec::new(DriftFamily::named("ou").unwrap(), Family::named(family).unwrap());
            fit(&spec.fix("observation_std", 0.1), &grid, &[&seen], &fit_options()).unwrap()
        };
        let (skewed, symmetric) = (with(name), with(name.trim_start_matches("skewed-")));
        let truth = values[values.len() - 1];
        let found = skewed.parameters.iter().find(|p| p.name == "skew" || p.name == "jump_mean").unwrap();
        // False alarm rate 1e-4 each.
        assert!((found.value - truth).abs() < 3.9 * found.std_error.unwrap(), "{name}: {found:?}");
        assert!(skewed.evidence.log_evidence > symmetric.evidence.log_evidence + 2.0, "{name}");
        // 400 exact draws per time: 250 z-values, below 4.7 but for 1e-3 of all seeds.
        for j in 0..grid.len() {
            let drawn: Vec<f64> = skewed.paths.column(0, j).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let marginal = &skewed.marginals[0][j];
            let z = (mean - marginal.mean) / (marginal.sd / (drawn.len() as f64).sqrt());
            assert!(z.abs() < 4.7, "{name} at {j}: {mean} {marginal:?}");
        }
    }
}

#[test]
fn skewed_noise_is_refused_by_name_where_it_cannot_be_fitted() {
    let spec = || Spec::new(DriftFamily::named("ou").unwrap(), Family::named("skewed-nig").unwrap());
    let (grid, seen) = record(build("nig", &[1.0, 1.0]).as_ref(), (0.5, 1.0), 0.5, 0.1, 30);
    for method in [Method::Sweep, Method::GaussianSum] {
        let mut options = fit_options();
        options.learn.method = method;
        let error = fit(&spec(), &grid, &[&seen], &options).unwrap_err().to_string();
        assert!(error.contains("skewed-nig") && error.contains("method auto"), "{error}");
    }
    let coupled = Spec::new(DriftFamily::named("linear").unwrap(), Family::named("skewed-nig").unwrap());
    let error = fit(&coupled.named(&["A", "B"]), &grid, &[&seen, &seen], &fit_options()).unwrap_err().to_string();
    assert!(error.contains("symmetric family nig"), "{error}");
}

/// Jumps of one sign, which symmetric noise takes for many small ones: the search from there ends 115 nats below the truth. A false
/// alarm once in 16 000 seeds: four standard errors.
#[test]
fn statistics_jumps_of_one_sign_are_found_where_symmetric_noise_leads_astray() {
    let times: Vec<f64> = (0..500).map(|j| 0.5 * f64::from(j)).collect();
    let family = Family::named("skewed-compound-poisson").unwrap();
    let drift = Box::new(Ou::new(0.5, 1.0).unwrap());
    let model = StateSpace::new(drift, family.build(&[2.0, 0.5, 0.8]).unwrap(), 0.1, Start::Fixed(1.0)).unwrap();
    let seen = simulate(&model, &times, 27).unwrap().observations;
    let spec = Spec::new(DriftFamily::named("ou").unwrap(), family);
    let options = FitOptions { paths: 2, ..FitOptions::default() };
    let found = fit(&spec, &TimeGrid::new(&times, None).unwrap(), &[&seen], &options).unwrap();
    let mean = found.parameter("jump_mean").unwrap();
    assert!((mean.value - 0.8).abs() < 4.0 * mean.std_error.unwrap(), "{} {:?}", mean.value, mean.std_error);
    assert!(mean.std_error.unwrap() < 0.1);
}
