//! The law of learned parameters lies around the mean of their posterior, not around its maximum.

use levytilt::drift::Ou;
use levytilt::internals::exact;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Parameter, Prior, learn, parameters};
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::{Start, StateSpace, simulate};

fn model(noise: &dyn Noise, [theta, mu]: [f64; 2]) -> StateSpace {
    let noise = noise.with_parameters(&noise.parameters().iter().map(|p| p.1).collect::<Vec<f64>>()).unwrap();
    StateSpace::new(Box::new(Ou::new(theta, mu).unwrap()), noise, 0.1, Start::Fixed(0.0)).unwrap()
}

/// Shift of rate and level, and mean less maximum of their posterior by sums over a grid of exact evidences, both in
/// posterior standard deviations.
fn shifts(noise: &dyn Noise, seed: u64) -> [[f64; 2]; 2] {
    let times: Vec<f64> = (0..=120).map(|j| 0.1 * f64::from(j)).collect();
    let grid = TimeGrid::new(&times, None).unwrap();
    let values = simulate(&model(noise, [1.0, 0.5]), &times, seed).unwrap().observations;
    let guess = model(noise, [1.5, 0.0]);
    let mut all = parameters(&guess);
    for (k, p) in all.iter_mut().enumerate() {
        (p.fixed, p.prior) = (k >= 2, (k < 2).then_some(Prior { mean: 0.0, std: 1.0 }));
    }
    let learned = learn(guess, &all, &grid, &[&values], &LearnOptions::default()).unwrap();
    let sd: Vec<f64> = [0, 3].iter().map(|&k| learned.optimum.covariance[k].sqrt()).collect();
    let free = |p: &Parameter| p.transform.forward(p.value);
    let top: Vec<f64> = learned.optimum.parameters[..2].iter().map(free).collect();
    let spacing = exact::smooth(&learned.optimum.model, &grid, &values, &exact::Options::default()).unwrap().spacing;
    let options = exact::Options { spacing: Some(spacing), ..exact::Options::default() };
    let posterior = |at: [f64; 2]| {
        let evidence = exact::log_evidence(&model(noise, [at[0].exp(), at[1]]), &grid, &values, &options).unwrap();
        evidence - 0.5 * (at[0] * at[0] + at[1] * at[1])
    };
    let (highest, mut sum) = (posterior([top[0], top[1]]), [0.0; 3]);
    for i in -6..=4 {
        for j in -5..=5 {
            let z = [0.8 * f64::from(i), 0.8 * f64::from(j)];
            let weight = (posterior([top[0] + z[0] * sd[0], top[1] + z[1] * sd[1]]) - highest).exp();
            sum = [sum[0] + weight, sum[1] + weight * z[0], sum[2] + weight * z[1]];
        }
    }
    [[learned.optimum.shift[0] / sd[0], learned.optimum.shift[1] / sd[1]], [sum[1] / sum[0], sum[2] / sum[0]]]
}

/// The shift is the first term of an expansion, and the records are so short that the mean is up to a standard deviation away.
#[test]
fn golden_the_mean_of_the_posterior_by_quadrature() {
    for (noise, seed) in [(&Gaussian::new(1.0).unwrap() as &dyn Noise, 1), (&Stable::new(1.6, 0.7).unwrap(), 1)] {
        let [found, exact] = shifts(noise, seed);
        let name =
            noise.parameters().iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
        println!("| {name} | {seed} | {:.2} | {:.2} | {:.2} | {:.2} |", found[0], exact[0], found[1], exact[1]);
        assert!(exact[0].abs() > 0.4, "a law that hardly leans shows nothing: {exact:?}");
        let miss = (found[0] - exact[0]).hypot(found[1] - exact[1]);
        assert!(miss < 0.3 * exact[0].hypot(exact[1]), "seed {seed}: {found:?}, exact {exact:?}");
    }
}
