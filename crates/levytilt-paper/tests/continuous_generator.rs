//! The generator of the tilted process in two ways, and its parts.

use levytilt::internals::potential::Quadratic;
use levytilt_paper::continuous::{Brownian, Generator, JumpMeasure, JumpSize};

fn generators() -> Vec<Generator> {
    let mut all = Vec::new();
    for (alpha, tau) in [(1.5, 0.1), (1.1, 0.02)] {
        for (drift, sigma, slope) in [(0.0, 0.0, 0.0), (-1.3, 0.5, 0.0), (0.4, 0.5, 0.2)] {
            all.push(Generator {
                drift,
                brownian: Brownian::new(sigma).unwrap(),
                measure: JumpMeasure::mixture(alpha, 0.8, tau, 1.0).unwrap(),
                size: JumpSize::new(1.0, slope).unwrap(),
            });
        }
    }
    all
}

/// L^φ h = e^{−φ}\[L(e^φ h) − h L e^φ\], the left from Gaussian jumps given r, the right from the density of jumps.
#[test]
fn identity_conjugation_gives_the_tilted_generator() {
    let tests: [fn(f64) -> f64; 3] = [|x| (x - 0.3).tanh(), |x| (-x * x).exp(), |x| 1.0 / (1.0 + (x + 1.0).powi(2))];
    for generator in generators() {
        for (a, c, x) in [(0.7, 1.0, -0.5), (2.0, 0.3, 1.4), (0.1, 0.0, 0.0)] {
            let potential = Quadratic::new(a, c).unwrap();
            let phi = |y: f64| potential.log_value(y) - potential.log_value(x);
            for h in tests {
                let direct = generator.tilted(potential, &h, x).unwrap();
                let product = generator.prior(&|y| phi(y).exp() * h(y), x).unwrap();
                let alone = generator.prior(&|y| phi(y).exp(), x).unwrap();
                let conjugate = product - h(x) * alone;
                let tolerance = 1e-8 * (1.0 + product.abs() + alone.abs());
                assert!((direct - conjugate).abs() < tolerance, "{generator:?} {a} {c} {x}: {direct} {conjugate}");
            }
        }
    }
}

/// e^{−φ} L e^φ = Λ − λ without drift and Brownian part: the rate from the density of jumps.
#[test]
fn identity_the_generator_of_the_message_is_the_change_of_rate() {
    let measure = JumpMeasure::mixture(1.5, 0.8, 0.1, 1.0).unwrap();
    let generator = Generator { drift: 0.0, brownian: Brownian::new(0.0).unwrap(), measure, size: JumpSize::default() };
    for (a, c) in [(0.7, 1.0), (2.0, 1.5), (0.1, 0.0)] {
        let potential = Quadratic::new(a, c).unwrap();
        let got = generator.prior(&|y| (potential.log_value(y) - potential.log_value(0.0)).exp(), 0.0).unwrap();
        let expected = measure.tilted(potential, 0.0).rate() - measure.rate();
        assert!((got - expected).abs() < 1e-9 * measure.rate(), "{a} {c}: {got} {expected}");
    }
}

/// Divergence per time = e^{−φ}\[L(e^φ φ) − (1 + φ) L e^φ\], jumps, drift and Brownian part together; a drift costs nothing.
#[test]
fn identity_divergence_rate_by_generators() {
    for generator in generators() {
        for (a, c, x) in [(0.7, 1.0, -0.5), (2.0, 0.3, 1.4)] {
            let potential = Quadratic::new(a, c).unwrap();
            let phi = |y: f64| potential.log_value(y) - potential.log_value(x);
            // φ relative to its value here, so that 1 + φ = 1.
            let got = generator.prior(&|y| phi(y).exp() * phi(y), x).unwrap()
                - generator.prior(&|y| phi(y).exp(), x).unwrap();
            let jumps = generator.measure.stretched(generator.size.at(x)).unwrap().tilted(potential, x);
            let expected = jumps.divergence_rate() + generator.brownian.divergence_rate(potential, x);
            assert!((got - expected).abs() < 1e-8 * (1.0 + expected), "{generator:?} {a} {c} {x}: {got} {expected}");
        }
    }
}

/// The tilted Brownian part over dt is the discrete Kalman step to first order, and settles at variance 1/(4a).
#[test]
fn identity_brownian_step() {
    let (brownian, potential) = (Brownian::new(0.5).unwrap(), Quadratic::new(2.0, 1.0).unwrap());
    let dt = 1e-6;
    let moved = (brownian.step(potential, dt, 0.2, 0.0) - 0.2) / dt;
    assert!((moved - brownian.drift_correction(potential, 0.2)).abs() < 1e-5);
    let spread = brownian.step(potential, 1e3, 0.2, 1.0) - brownian.step(potential, 1e3, 0.2, 0.0);
    assert!((spread * spread - 1.0 / (4.0 * 2.0)).abs() < 1e-12);
    let free = brownian.step(Quadratic::new(0.0, 9.0).unwrap(), 4.0, 0.2, 1.0);
    assert!((free - 1.2).abs() < 1e-12);
    assert!(Brownian::new(-1.0).is_err());
}
