//! Compare the nodes of stable noise with the stable law: tables, full-accuracy law, tails, derivative in α.

use levytilt::internals::law::StableLaw;
use levytilt::noise::{Noise, Stable};

/// Indices with a promise of 1e-4.
const ALPHAS: [f64; 18] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 1.95, 1.99];

#[test]
fn golden_density_and_distribution_of_the_tables() {
    let table = include_str!("data/stable_law_beta0.csv");
    let mut rows = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let [alpha, x, expected]: [f64; 3] = std::array::from_fn(|i| fields[i + 1].parse().unwrap());
        let nodes = Stable::new(alpha, 1.0).unwrap().nodes(1.0).unwrap();
        let got = match fields[0] {
            "pdf" => nodes.log_density(x).value.exp(),
            "cdf" => nodes.cdf(x),
            other => panic!("unknown quantity {other}"),
        };
        assert!((got / expected - 1.0).abs() < 1e-4, "{line}: {got}");
        rows += 1;
    }
    assert!(rows > 300);
}

#[test]
fn golden_density_and_distribution_of_the_law_between_the_outer_quantiles() {
    for alpha in ALPHAS {
        let law = StableLaw::new(alpha, 1.0).unwrap();
        let nodes = Stable::new(alpha, 1.0).unwrap().nodes(1.0).unwrap();
        assert!(nodes.len() <= 96, "{alpha}: {}", nodes.len());
        for i in 0..=400 {
            let p = 0.5 + 0.4995 * f64::from(i) / 400.0;
            let x = law.quantile(p).unwrap();
            let density = nodes.log_density(x).value - law.log_pdf(x);
            assert!(density.abs() < 1e-4, "α {alpha} x {x}: density off by {density:e}");
            for x in [x, -x] {
                let share = nodes.cdf(x) / law.cdf(x) - 1.0;
                assert!(share.abs() < 1e-4, "α {alpha} x {x}: distribution off by {share:e}");
            }
        }
    }
}

#[test]
fn golden_power_law_tail_out_to_a_million_scales() {
    for alpha in ALPHAS {
        let law = StableLaw::new(alpha, 1.0).unwrap();
        let nodes = Stable::new(alpha, 1.0).unwrap().nodes(1.0).unwrap();
        for i in 0..=240 {
            let x = 10f64.powf(f64::from(i) / 40.0);
            let density = nodes.log_density(x).value - law.log_pdf(x);
            assert!(density.abs() < 1e-2, "α {alpha} x {x}: density off by {density:e}");
        }
    }
}

#[test]
fn golden_derivative_in_alpha_of_the_law() {
    for alpha in ALPHAS {
        let law = StableLaw::new(alpha, 1.0).unwrap();
        for dt in [1e-4, 1.0, 7.0] {
            let nodes = Stable::new(alpha, 0.8).unwrap().nodes(dt).unwrap();
            // J = c·X with c = 0.8·Δ^{1/α}: ∂c/∂α = −c·ln Δ/α².
            let unit = 0.8 * f64::powf(dt, 1.0 / alpha);
            let slide = -dt.ln() / (alpha * alpha);
            for (p, tolerance) in [(0.55, 1e-3), (0.75, 1e-3), (0.95, 1e-3), (0.9995, 1e-3), (0.99999, 1e-2)] {
                // Beyond a million scales nothing is promised.
                let x = law.quantile(p).unwrap().min(1e6);
                let exact = law.log_pdf_derivatives(x);
                let expected = exact.dalpha - slide * (1.0 + x * exact.dx);
                let got = nodes.log_density(unit * x).parameters[0];
                // Far out the error of x·∂/∂x, times the slide, counts as well.
                let error = (got - expected).abs() / (1.0 + expected.abs() + slide.abs());
                assert!(error < tolerance, "α {alpha} Δ {dt} x {x}: {got} {expected}");
            }
        }
    }
}
