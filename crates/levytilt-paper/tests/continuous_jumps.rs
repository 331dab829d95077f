//! Jumps of the tilted measure and paths of the tilted process have the law that they should.

#[path = "../../levytilt/tests/common/mod.rs"]
mod common;

use common::{ks_p_value, ks_statistic};
use levytilt::drift::{Drift, NoDrift, Ou};
use levytilt::internals::potential::Quadratic;
use levytilt::internals::tilt::TiltedStep;
use levytilt::noise::{Noise, TruncatedStable};
use levytilt::{StreamRng, stream};
use levytilt_paper::continuous::{Brownian, JumpMeasure, JumpSize, TiltedMeasure, TiltedProcess};
use rand_distr::{Distribution, StandardNormal};

fn tilted(alpha: f64, tau: f64, a: f64, kappa: f64) -> TiltedMeasure {
    let measure = JumpMeasure::mixture(alpha, 1.0, tau, 1.0).unwrap();
    measure.tilted(Quadratic::new(a, (kappa / a).sqrt()).unwrap(), 0.0)
}

/// Distribution function of a jump at increasing places: e^{φ(y)−φ(0)} times the density of jumps, summed on a fine grid.
fn jump_cdf(measure: &JumpMeasure, potential: Quadratic) -> impl Fn(f64) -> f64 {
    let (low, high, cells) = (-12.0, 14.0, 400_000);
    let width = (high - low) / f64::from(cells);
    let mut sums = vec![0.0];
    for i in 0..cells {
        let y = low + (f64::from(i) + 0.5) * width;
        let weight = (potential.log_value(y) - potential.log_value(0.0)).exp() * measure.density(y);
        sums.push(sums[sums.len() - 1] + weight * width);
    }
    let total = sums[sums.len() - 1];
    move |y: f64| {
        let place = ((y - low) / width).clamp(0.0, f64::from(cells) - 1e-9);
        let (cell, part) = (place as usize, place.fract());
        (sums[cell] * (1.0 - part) + sums[cell + 1] * part) / total
    }
}

/// Both samplers against the density of the tilted measure: seven Kolmogorov–Smirnov tests at 1e-4 each.
#[test]
fn statistics_jumps_have_the_tilted_law() {
    for (i, (alpha, a, kappa)) in
        [(1.5, 0.7, 0.0), (1.5, 0.7, 2.8), (1.2, 2.0, 5.0), (1.8, 1.0, 20.0)].iter().enumerate()
    {
        let measure = JumpMeasure::mixture(*alpha, 1.0, 0.1, 1.0).unwrap();
        let potential = Quadratic::new(*a, (kappa / a).sqrt()).unwrap();
        let tilted = measure.tilted(potential, 0.0);
        let (sampler, mut rng) = (tilted.sampler().unwrap(), stream(11, i as u64));
        let n = 20_000;
        let mut samples: Vec<Vec<f64>> = vec![(0..n).map(|_| sampler.draw(&mut rng).jump).collect()];
        if *kappa <= 5.0 {
            samples.push((0..n).map(|_| tilted.draw_by_prior(1 << 20, &mut rng).unwrap().jump).collect());
        }
        let cdf = jump_cdf(&measure, potential);
        for mut jumps in samples {
            jumps.sort_by(f64::total_cmp);
            let p = ks_p_value(ks_statistic(&jumps, &cdf), n);
            assert!(p > 1e-4, "α {alpha}, a {a}, κ {kappa}: p = {p}");
        }
    }
}

/// At κ = 1e6 the published sampler would need e^κ tries; ours draws r with 1/(1+u) nearly gamma(ρ + ½)/κ.
#[test]
fn statistics_far_messages_are_met_by_one_jump() {
    let tilted = tilted(1.5, 0.01, 1.0, 1e6);
    let (sampler, mut rng) = (tilted.sampler().unwrap(), stream(12, 0));
    let n = 20_000;
    let mean = (0..n).map(|_| sampler.draw(&mut rng).r.powi(-2) / 2.0 * 1e6).sum::<f64>() / f64::from(n);
    // Shape 1.25: mean and variance of κ/u. Five standard errors: false alarm 6e-7.
    assert!((mean - 1.25).abs() < 5.0 * (1.25 / f64::from(n)).sqrt(), "{mean}");
    let lands = sampler.draw(&mut rng).jump;
    assert!((lands - 1e3).abs() < 5.0, "{lands}");
    assert!(tilted.draw_by_prior(1000, &mut rng).is_err());
}

/// Acceptance by quadrature over the whole box, and measured within 5.5 standard errors (false alarm 1e-5 over the box).
#[test]
fn statistics_acceptance_stays_above_one_half() {
    for alpha in [0.3, 1.1, 1.9] {
        for tau in [1e-4, 0.01, 3.0] {
            for a in [1e-6, 0.1, 10.0, 1e6] {
                for kappa in [0.0, 0.3, 3.0, 10.0, 100.0, 1e4, 1e6, 1e12] {
                    let sampler = tilted(alpha, tau, a, kappa).sampler().unwrap();
                    let acceptance = sampler.acceptance();
                    let near = format!("α {alpha}, τ {tau}, a {a}, κ {kappa}");
                    assert!((0.66..=1.0 + 1e-9).contains(&acceptance), "{near}: {acceptance}");
                    let mut rng = stream(13, kappa as u64);
                    let draws = 500;
                    let tries: u64 = (0..draws).map(|_| sampler.draw(&mut rng).tries).sum();
                    // Tries are geometric: mean 1/p, variance (1−p)/p².
                    let se = ((1.0 - acceptance).max(0.0) / f64::from(draws)).sqrt() / acceptance;
                    let gap = tries as f64 / f64::from(draws) - 1.0 / acceptance;
                    assert!(gap.abs() <= 5.5 * se + 0.01, "{near}: {gap} {se}");
                }
            }
        }
    }
}

#[test]
fn identity_the_power_law_is_not_drawn_from() {
    let tilted = JumpMeasure::power_law(1.5, 1.0, 0.1).unwrap().tilted(Quadratic::new(1.0, 0.0).unwrap(), 0.0);
    assert!(tilted.sampler().is_err() && tilted.draw_by_prior(10, &mut stream(1, 1)).is_err());
}

/// P(D ≥ statistic) for two samples of the same law, of equal size n.
fn two_sample_p(mut first: Vec<f64>, mut second: Vec<f64>) -> f64 {
    first.sort_by(f64::total_cmp);
    second.sort_by(f64::total_cmp);
    let below = |x: f64| second.partition_point(|y| *y <= x) as f64 / second.len() as f64;
    ks_p_value(ks_statistic(&first, below), first.len() / 2)
}

/// The end of a chain of tiny discrete tilted steps: flow, then a tilted step whose variances are γ(x)² S_k + σ²Δ.
fn chain_end(
    drift: &dyn Drift,
    noise: &TruncatedStable,
    size: JumpSize,
    sigma: f64,
    potentials: [Quadratic; 2],
    rng: &mut StreamRng,
) -> f64 {
    let (steps, dt) = (100, 0.01);
    let mut x = 0.3;
    for j in 0..2 * steps {
        let potential = potentials[j / steps];
        let gamma = size.at(x);
        let mut moved = [0.0];
        drift.flow(0.0, dt, &[x], &mut moved);
        // In units of γ the noise has its own law; the Brownian part follows as a step of its own.
        let scaled = Quadratic::new(potential.a() * gamma * gamma, potential.c() / gamma).unwrap();
        NODES.with(|nodes| {
            let nodes = nodes.get_or_init(|| noise.nodes(dt).unwrap());
            x = gamma * TiltedStep::new(nodes, scaled).draw(moved[0] / gamma, rng).state;
        });
        if sigma > 0.0 {
            x = Brownian::new(sigma).unwrap().step(potential, dt, x, StandardNormal.sample(rng));
        }
    }
    x
}

thread_local! {
    static NODES: std::cell::OnceCell<levytilt::noise::Nodes> = const { std::cell::OnceCell::new() };
}

/// Paths over two potentials against chains of 200 tiny steps: four two-sample tests at 1e-3, so a false alarm in 250.
#[test]
fn statistics_paths_have_the_law_of_tiny_steps() {
    let noise = TruncatedStable::new(1.5, 0.7, 0.3, 1.0).unwrap();
    let potentials = [Quadratic::new(0.5, 2.0).unwrap(), Quadratic::new(1.5, -1.0).unwrap()];
    let (none, ou) = (NoDrift::new(1).unwrap(), Ou::new(2.0, 1.0).unwrap());
    let cases: [(&dyn Drift, f64, f64); 4] = [(&none, 0.0, 0.0), (&ou, 0.0, 0.0), (&ou, 0.2, 0.0), (&ou, 0.2, 0.5)];
    for (i, (drift, slope, sigma)) in cases.into_iter().enumerate() {
        let size = JumpSize::new(1.0, slope).unwrap();
        let process = TiltedProcess::new(drift, JumpMeasure::from(&noise)).unwrap().with_size(size);
        let process = process.with_brownian(Brownian::new(sigma).unwrap(), 50).unwrap();
        let n = 1500;
        let mut rng = stream(14, i as u64);
        let ends =
            (0..n).map(|_| process.path(0.3, &[0.0, 1.0, 2.0], &potentials, &mut rng).unwrap().states[2]).collect();
        let chain = (0..n).map(|_| chain_end(drift, &noise, size, sigma, potentials, &mut rng)).collect();
        let p = two_sample_p(ends, chain);
        assert!(p > 1e-3, "case {i}: p = {p}");
    }
}

/// Without a message the number of jumps is Poisson with mean λT (five standard errors), and with a far one the first
/// jump comes at once and lands near the centre.
#[test]
fn statistics_number_and_place_of_jumps() {
    let measure = JumpMeasure::mixture(1.5, 1.0, 0.1, 1.0).unwrap();
    let none = NoDrift::new(1).unwrap();
    let process = TiltedProcess::new(&none, measure).unwrap();
    let mut rng = stream(15, 0);
    let free = Quadratic::new(0.0, 0.0).unwrap();
    let path = process.path(0.0, &[0.0, 100.0], &[free], &mut rng).unwrap();
    let mean = 100.0 * measure.rate();
    assert!((path.jumps.len() as f64 - mean).abs() < 5.0 * mean.sqrt(), "{} {mean}", path.jumps.len());
    assert!(path.jumps.windows(2).all(|pair| pair[0].time <= pair[1].time));
    let far = process.path(0.0, &[0.0, 1e-9], &[Quadratic::new(50.0, 100.0).unwrap()], &mut rng).unwrap();
    assert!((far.states[1] - 100.0).abs() < 1.0 && far.jumps.len() < 5, "{far:?}");
}

#[test]
fn identity_inputs_that_cannot_be_used_are_errors() {
    let measure = JumpMeasure::mixture(1.5, 1.0, 0.1, 1.0).unwrap();
    let none = NoDrift::new(1).unwrap();
    let process = TiltedProcess::new(&none, measure).unwrap();
    let free = Quadratic::new(0.0, 0.0).unwrap();
    let mut rng = stream(1, 1);
    assert!(process.path(0.0, &[0.0, 1.0], &[free, free], &mut rng).is_err());
    assert!(process.path(f64::NAN, &[0.0, 1.0], &[free], &mut rng).is_err());
    assert!(process.path(0.0, &[0.0, 0.0], &[free], &mut rng).is_err());
    assert!(TiltedProcess::new(&NoDrift::new(2).unwrap(), measure).is_err());
    assert!(TiltedProcess::new(&none, JumpMeasure::power_law(1.5, 1.0, 0.1).unwrap()).is_err());
    assert!(JumpSize::new(0.0, 1.0).is_err() && JumpSize::new(1.0, -0.1).is_err());
    assert!(process.with_brownian(Brownian::new(0.5).unwrap(), 0).is_err());
    let size = JumpSize::new(1.0, 0.2).unwrap();
    assert_eq!(size.range(-1.0, 2.0), (1.0, 1.4));
    assert_eq!(size.range(1.0, 2.0), (1.2, 1.4));
}
