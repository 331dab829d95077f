//! Hold every noise family to what is exactly true of it: characteristic function, derivatives, sums of steps, bad input.

use levytilt::noise::{
    CompoundPoisson, FAMILIES, Family, Gaussian, Nig, NodeCache, Nodes, Noise, PlusBrownian, Stable, Student,
    TemperedStable, TruncatedStable, VarianceGamma,
};
use levytilt::{Error, Result};

/// A noise with the figures it is held to.
struct Case {
    noise: Box<dyn Noise>,
    /// Largest error of the characteristic function.
    characteristic: f64,
    /// Largest error of a derivative, relative to 1 + its size.
    derivative: f64,
}

fn case<N: Noise + 'static>(noise: Result<N>, characteristic: f64, derivative: f64) -> Case {
    Case { noise: Box::new(noise.unwrap()), characteristic, derivative }
}

fn cases() -> Vec<Case> {
    vec![
        case(Gaussian::new(0.7), 1e-15, 1e-3),
        case(Stable::new(1.5, 2.0), 2e-6, 5e-2),
        case(Stable::new(0.8, 1.0), 2e-6, 5e-2),
        case(Stable::new(1.9, 0.5), 2e-6, 5e-2),
        case(Student::new(3.0, 0.5), 2e-6, 2e-3),
        case(Student::new(30.0, 1.0), 1e-7, 2e-3),
        case(VarianceGamma::new(1.0, 0.5), 1e-5, 1e-2),
        case(VarianceGamma::new(0.3, 4.0), 1e-5, 1e-2),
        case(Nig::new(1.0, 1.0), 1e-6, 5e-3),
        case(Nig::new(0.2, 8.0), 1e-6, 5e-3),
        case(TemperedStable::new(1.5, 1.0, 1.0), 1e-6, 2e-2),
        case(TemperedStable::new(0.7, 2.0, 0.3), 2e-6, 5e-2),
        case(TemperedStable::new(1.9, 1.0, 5.0), 1e-6, 2e-2),
        case(CompoundPoisson::new(3.0, 1.0), 1e-13, 1e-3),
        case(CompoundPoisson::new(800.0, 0.1), 1e-9, 1e-3),
        case(TruncatedStable::new(1.5, 1.0, 0.1, 1.0), 2e-6, 2e-2),
        case(TruncatedStable::new(1.9, 1.0, 0.01, 1.0), 2e-6, 2e-2),
        case(TruncatedStable::new(0.9, 2.0, 0.2, 0.5), 5e-6, 2e-2),
        case(PlusBrownian::new(Box::new(Nig::new(1.0, 1.0).unwrap()), 0.5), 1e-6, 5e-3),
        case(PlusBrownian::new(Box::new(VarianceGamma::new(1.0, 0.5).unwrap()), 0.1), 1e-6, 1e-2),
        case(PlusBrownian::new(Box::new(TruncatedStable::new(1.5, 1.0, 0.1, 1.0).unwrap()), 0.3), 2e-6, 2e-2),
    ]
}

/// How a noise is called in a message.
fn title(noise: &dyn Noise) -> String {
    format!("{} {:?}", noise.family(), noise.parameters())
}

const STEPS: [f64; 6] = [1e-4, 1e-2, 0.1, 1.0, 3.7, 10.0];

/// Smallest x with P(J ≤ x) ≥ p, for p > ½.
fn quantile(nodes: &Nodes, p: f64) -> f64 {
    let mut high = 1e-12;
    while nodes.cdf(high) < p {
        high *= 2.0;
    }
    let mut low = 0.5 * high;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if nodes.cdf(middle) < p { low = middle } else { high = middle }
    }
    high
}

/// Frequencies over which the characteristic function goes from about 1 to about 0: powers of ten around 1/(upper
/// quartile), down to where increments of 10⁴ quartiles are seen.
fn frequencies(nodes: &Nodes) -> Vec<f64> {
    let atom = if nodes.variances()[0] == 0.0 { nodes.weights()[0] } else { 0.0 };
    let unit = quantile(nodes, 1.0 - 0.25 * (1.0 - atom)).max(1e-4);
    (-32..=8).map(|i| 10f64.powf(f64::from(i) / 8.0) / unit).collect()
}

#[test]
fn identity_characteristic_function_of_the_nodes() {
    for case in cases() {
        for dt in STEPS {
            let nodes = case.noise.nodes(dt).unwrap();
            for u in frequencies(&nodes) {
                let error = (nodes.characteristic(u) - case.noise.log_characteristic(dt, u).exp()).abs();
                assert!(error <= case.characteristic, "{} dt {dt} u {u}: {error:e}", title(&*case.noise));
            }
        }
    }
}

#[test]
fn identity_at_most_96_nodes_and_weights_that_keep_their_sum() {
    for case in cases() {
        for dt in STEPS {
            let nodes = case.noise.nodes(dt).unwrap();
            assert!(nodes.len() <= 96, "{} dt {dt}: {}", title(&*case.noise), nodes.len());
            assert!((nodes.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for derivative in nodes.derivatives() {
                let sum: f64 = derivative.weights.iter().sum();
                let size: f64 = derivative.weights.iter().map(|w| w.abs()).sum();
                assert!(
                    sum.abs() <= 1e-6 * (1.0 + size),
                    "{} dt {dt} {}: {sum:e}",
                    title(&*case.noise),
                    derivative.name
                );
            }
        }
    }
}

/// ∂ ln p/∂θ ≈ [ln p(x; θ(1+h)) − ln p(x; θ(1−h))]/(2hθ), compared as θ·∂/∂θ. With h = 1% the jitter of the nodes between
/// the two parameter values (1e-4 of the density) is seen as 5e-3. Near α = 2 the tail is proportional to 2 − α, so there h
/// is a share of that.
#[test]
fn identity_derivatives_in_the_parameters() {
    for case in cases() {
        for dt in STEPS {
            let nodes = case.noise.nodes(dt).unwrap();
            let parameters = case.noise.parameters();
            for (j, &(name, value)) in parameters.iter().enumerate() {
                let h = if name == "alpha" { 1e-2f64.min(0.05 * (2.0 - value)) } else { 1e-2 };
                let moved = |factor: f64| {
                    let mut values: Vec<f64> = parameters.iter().map(|p| p.1).collect();
                    values[j] *= factor;
                    case.noise.with_parameters(&values).unwrap().nodes(dt).unwrap()
                };
                let (up, down) = (moved(1.0 + h), moved(1.0 - h));
                for p in [0.6, 0.75, 0.9, 0.99, 0.9995, 0.9999] {
                    let x = quantile(&nodes, p);
                    // An atom at zero has no density, and a law that hardly moves has no scale there to compare on.
                    if x < 1e-7 {
                        continue;
                    }
                    let difference = (up.log_density(x).value - down.log_density(x).value) / (2.0 * h);
                    let derivative = value * nodes.log_density(x).parameters[j];
                    let error = (difference - derivative).abs() / (1.0 + derivative.abs());
                    assert!(
                        error <= case.derivative,
                        "{} dt {dt} x {x}: ∂/∂{name} {derivative} {difference}",
                        title(&*case.noise)
                    );
                }
            }
        }
    }
}

/// ∂ ln p/∂x ≈ [ln p(x + h) − ln p(x − h)]/(2h) with h = 1e-4·x, as x·∂/∂x.
#[test]
fn identity_derivative_in_x() {
    for case in cases() {
        for dt in STEPS {
            let nodes = case.noise.nodes(dt).unwrap();
            for p in [0.6, 0.9, 0.9995, 0.999_999_9] {
                let x = quantile(&nodes, p);
                let h = 1e-4 * x;
                let difference = (nodes.log_density(x + h).value - nodes.log_density(x - h).value) / (2.0 * h);
                let derivative = nodes.log_density(x).dx;
                let error = x * (difference - derivative).abs();
                assert!(
                    error <= 1e-6 * (1.0 + (x * derivative).abs()),
                    "{} dt {dt} x {x}: {error:e}",
                    title(&*case.noise)
                );
            }
        }
    }
}

#[test]
fn identity_steps_add_up_for_levy_families() {
    for case in cases().iter().filter(|case| case.noise.family() != "student") {
        for (first, second) in [(1e-3, 2e-2), (0.5, 0.7), (2.0, 8.0)] {
            let [a, b, both] = [first, second, first + second].map(|dt| case.noise.nodes(dt).unwrap());
            for u in frequencies(&both) {
                let error = (a.characteristic(u) * b.characteristic(u) - both.characteristic(u)).abs();
                assert!(
                    error <= 3.0 * case.characteristic,
                    "{} {first}+{second} u {u}: {error:e}",
                    title(&*case.noise)
                );
                let analytic = case.noise.log_characteristic(first, u) + case.noise.log_characteristic(second, u);
                let whole = case.noise.log_characteristic(first + second, u);
                assert!((analytic - whole).abs() <= 1e-12 * whole.abs().max(1e-3));
            }
        }
    }
}

#[test]
fn identity_student_steps_do_not_add_up() {
    let noise = Student::new(3.0, 1.0).unwrap();
    let product = (2.0 * noise.log_characteristic(0.5, 1.0)).exp();
    assert!((product - noise.log_characteristic(1.0, 1.0).exp()).abs() > 1e-2);
}

#[test]
fn identity_tempered_stable_with_alpha_one_is_nig() {
    let tempered = TemperedStable::new(1.0, 0.7, 1.3).unwrap();
    let nig = Nig::new(0.7, 1.3).unwrap();
    for dt in [1e-4, 1e-2, 1.0, 10.0, 1e4] {
        let (a, b) = (tempered.nodes(dt).unwrap(), nig.nodes(dt).unwrap());
        for p in [0.51, 0.75, 0.99, 0.999_999] {
            let x = quantile(&b, p);
            let (a, b) = (a.log_density(x), b.log_density(x));
            assert!((a.value - b.value).abs() < 2e-4, "dt {dt} x {x}: {} {}", a.value, b.value);
            // Parameters: (alpha, scale, tempering) and (scale, tempering).
            for (a, b) in a.parameters[1..].iter().zip(&b.parameters) {
                assert!((a - b).abs() < 1e-3 * (1.0 + b.abs()), "dt {dt} x {x}: {a} {b}");
            }
        }
        for u in [0.01, 0.5, 3.0, 1e6] {
            let (a, b) = (tempered.log_characteristic(dt, u), nig.log_characteristic(dt, u));
            assert!((a / b - 1.0).abs() < 1e-13, "{a} {b}");
        }
    }
}

#[test]
fn identity_tempered_stable_approaches_stable_and_gaussian() {
    // Hardly tempered: stable in the bulk.
    let (tempered, stable) = (TemperedStable::new(1.5, 1.0, 1e-6).unwrap(), Stable::new(1.5, 1.0).unwrap());
    let (a, b) = (tempered.nodes(1.0).unwrap(), stable.nodes(1.0).unwrap());
    for x in [0.1, 1.0, 10.0] {
        assert!((a.log_density(x).value - b.log_density(x).value).abs() < 1e-4);
    }
    // Tempered so strongly that the sum of all jumps is Gaussian: variance per time α·scale^α·ℓ^{α−2}.
    let noise = TemperedStable::new(1.5, 1.0, 1e3).unwrap();
    let (a, b) =
        (noise.nodes(10.0).unwrap(), Gaussian::new((1.5 / 1e3f64.sqrt()).sqrt()).unwrap().nodes(10.0).unwrap());
    for x in [0.1, 1.0, 3.0] {
        assert!((a.log_density(x).value - b.log_density(x).value).abs() < 1e-3);
    }
    // Beyond: an error that says what to do.
    let error = TemperedStable::new(1.5, 1.0, 1e9).unwrap().nodes(1.0).unwrap_err();
    assert!(matches!(&error, Error::Numerical { why, .. } if why.contains("gaussian")), "{error}");
}

#[test]
fn identity_cache_shares_steps_equal_up_to_rounding() {
    let noise = Nig::new(1.0, 1.0).unwrap();
    let mut cache = NodeCache::new(&noise);
    let times: Vec<f64> = (0..=1000).map(|i| 0.1 * f64::from(i)).collect();
    for pair in times.windows(2) {
        cache.nodes(pair[1] - pair[0]).unwrap();
    }
    assert_eq!(cache.lengths(), 1, "differences of 0.1·i differ by rounding only");
    for i in 1..=10 {
        cache.nodes(0.1 + 1e-3 * f64::from(i)).unwrap();
    }
    assert_eq!(cache.lengths(), 11);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(cache.nodes(bad), Err(Error::Parameter { name, .. }) if name == "step length"));
    }
}

/// The parameter an error is about.
fn blamed(result: Result<Box<dyn Noise>>) -> String {
    match result {
        Err(Error::Parameter { name, .. }) => name,
        other => panic!("expected a parameter error, got {other:?}"),
    }
}

#[test]
fn identity_bad_parameters_are_named() {
    for family in FAMILIES {
        let good: Vec<f64> =
            family.parameters.iter().map(|entry| if entry.domain.contains(1.5) { 1.5 } else { 0.5 }).collect();
        assert!(family.build(&good).is_ok());
        for (j, entry) in family.parameters.iter().enumerate() {
            let name = entry.name;
            let bad = [f64::NAN, 0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY];
            for bad in bad.into_iter().filter(|bad| !entry.domain.contains(*bad)) {
                let mut values = good.clone();
                values[j] = bad;
                assert_eq!(blamed(family.build(&values)), name, "{} {bad}", family.name);
                assert_eq!(blamed(family.build(&good).unwrap().with_parameters(&values)), name);
            }
        }
        if family.parameters[0].name == "alpha" {
            let mut values = good.clone();
            values[0] = 2.1;
            assert_eq!(blamed(family.build(&values)), "alpha");
        }
        let short = family.build(&good).unwrap().with_parameters(&good[1..]).unwrap_err();
        assert!(matches!(short, Error::Shape { .. }), "{short}");
        for bad in [f64::NAN, 0.0, -1.0] {
            assert!(family.build(&good).unwrap().nodes(bad).is_err(), "{} step {bad}", family.name);
        }
    }
    // α = 2 is allowed for the stable noise only.
    assert!(Family::named("stable").unwrap().build(&[2.0, 1.0]).is_ok());
    assert_eq!(blamed(Family::named("tempered-stable").unwrap().build(&[2.0, 1.0, 1.0])), "alpha");
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        let inner = || Box::new(Nig::new(1.0, 1.0).unwrap());
        assert_eq!(blamed(PlusBrownian::new(inner(), bad).map(|n| Box::new(n) as Box<dyn Noise>)), "brownian");
        let noise = PlusBrownian::new(inner(), 1.0).unwrap();
        assert_eq!(blamed(noise.with_parameters(&[1.0, 1.0, bad])), "brownian");
        assert_eq!(blamed(noise.with_parameters(&[1.0, bad, 1.0])), "tempering");
    }
}

#[test]
fn identity_extreme_parameters_give_nodes_or_an_error_but_never_panic() {
    for family in FAMILIES {
        for power in [-300, -30, -6, 6, 30, 300] {
            for j in 0..family.parameters.len() {
                let mut values = vec![1.3; family.parameters.len()];
                values[j] = 10f64.powi(power);
                let Ok(noise) = family.build(&values) else { continue };
                for dt in [1e-300, 1e-8, 1.0, 1e8, 1e300] {
                    if let Ok(nodes) = noise.nodes(dt) {
                        assert!(nodes.len() <= if family.is_skewed() { 400 } else { 96 });
                        let density = nodes.log_density(1.0);
                        assert!(!density.value.is_nan() && !density.dx.is_nan(), "{} dt {dt}", title(&*noise));
                        assert!(density.parameters.iter().all(|d| !d.is_nan()), "{} dt {dt}", title(&*noise));
                    }
                }
            }
        }
    }
}

#[test]
fn identity_variance_is_that_of_the_characteristic_function() {
    // −2 ln E e^{iuJ}/u² → Var J for u → 0; infinite for power-law tails below 2.
    for case in cases() {
        let noise = &case.noise;
        let curvature = |u: f64| -2.0 * noise.log_characteristic(1.0, u) / (u * u);
        let (near, nearer) = (curvature(1e-3), curvature(1e-4));
        assert_eq!((nearer / near - 1.0).abs() < 1e-2, noise.has_variance(), "{}: {near} {nearer}", title(&**noise));
        if noise.has_variance() && noise.family() != "student" {
            let nodes = noise.nodes(1.0).unwrap();
            let variance: f64 = nodes.variances().iter().zip(nodes.weights()).map(|(s, w)| s * w).sum();
            assert!((variance / nearer - 1.0).abs() < 1e-4, "{}: {variance} {nearer}", title(&**noise));
        }
    }
}
