//! Check what must hold exactly, up to rounding.

use super::{ALPHAS, POINTS, close, law};
use levytilt::Error;
use levytilt::internals::law::StableLaw;
use std::f64::consts::PI;

#[test]
fn alpha_one_is_cauchy() {
    let law = StableLaw::new(1.0, 2.0).unwrap();
    for x in POINTS {
        let z: f64 = x / 2.0;
        assert!(close(law.pdf(x), 0.5 / (PI * (1.0 + z * z)), 1e-14, 0.0), "pdf at {x}");
        assert!(close(law.sf(x), (1.0 / z).atan() / PI, 1e-14, 0.0), "sf at {x}");
        assert!(close(law.log_pdf_derivatives(x).dx, -z / (1.0 + z * z), 1e-14, 1.0), "slope at {x}");
    }
    assert!(close(law.quantile(0.75).unwrap(), 2.0, 1e-14, 0.0));
    assert!(close(law.quantile(1e-12).unwrap(), -2.0 / (PI * 1e-12).tan(), 1e-13, 0.0));
}

#[test]
fn alpha_two_is_gaussian() {
    let law = StableLaw::new(2.0, 3.0).unwrap();
    for x in [0.0, 1e-3, 1.0, 5.0, 20.0, 60.0, 100.0] {
        let z: f64 = x / 3.0;
        let log = -0.25 * z * z - (6.0 * PI.sqrt()).ln();
        assert!(close(law.log_pdf(x), log, 1e-14, 1.0), "log pdf at {x}");
        assert!(close(law.pdf(x), log.exp(), 1e-13, 0.0), "pdf at {x}");
        assert!(close(law.cdf(-x), 0.5 * libm::erfc(z / 2.0), 1e-13, 0.0), "cdf at {x}");
        assert!(close(law.log_pdf_derivatives(x).dx, -z / 6.0, 1e-14, 0.0), "slope at {x}");
    }
    assert!(close(law.log_pdf(1e6), -(1e6_f64 / 6.0).powi(2), 1e-10, 0.0), "the log density does not underflow");
}

#[test]
fn parameters_at_their_limits_are_continuous() {
    for x in POINTS {
        for step in [-1e-13, 1e-13] {
            let (near, at) = (law(1.0 + step), law(1.0));
            assert!(close(near.pdf(x), at.pdf(x), 1e-11, 0.0), "pdf at {x}");
            assert!(close(near.sf(x), at.sf(x), 1e-11, 0.0), "sf at {x}");
            let slope = (near.log_pdf_derivatives(x).dalpha, at.log_pdf_derivatives(x).dalpha);
            assert!(close(slope.0, slope.1, 1e-10, 1.0), "derivative at {x}: {slope:?}");
        }
        if x < 7.0 {
            let (near, at) = (law(2.0 - 1e-15), law(2.0));
            assert!(close(near.pdf(x), at.pdf(x), 1e-11, 0.0), "pdf at {x}");
            assert!(close(near.sf(x), at.sf(x), 1e-11, 0.0), "sf at {x}");
            let slope = (near.log_pdf_derivatives(x).dalpha, at.log_pdf_derivatives(x).dalpha);
            assert!(close(slope.0, slope.1, 1e-10, 1.0), "derivative at {x}: {slope:?}");
        }
    }
}

#[test]
fn density_at_zero_is_a_gamma_function() {
    for alpha in ALPHAS {
        let want = libm::lgamma(1.0 + 1.0 / alpha) - PI.ln();
        let got = law(alpha).log_pdf_derivatives(0.0);
        assert!(close(got.value, want, 1e-14, 1.0), "alpha {alpha}");
        assert!(got.dx == 0.0);
        assert!(close(law(alpha).log_pdf(1e-300), want, 1e-13, 1.0), "alpha {alpha}, next to zero");
    }
}

#[test]
fn law_is_symmetric_and_sums_to_one() {
    for alpha in ALPHAS {
        let law = StableLaw::new(alpha, 0.7).unwrap();
        for x in POINTS {
            assert_eq!(law.pdf(x), law.pdf(-x));
            assert_eq!(law.cdf(-x), law.sf(x));
            assert_eq!(law.log_pdf_derivatives(x).dx, -law.log_pdf_derivatives(-x).dx);
            assert!(close(law.cdf(x) + law.sf(x), 1.0, 1e-15, 0.0));
            assert!(close(law.log_pdf(x), law.pdf(x).ln(), 1e-13, 1.0), "alpha {alpha} at {x}");
        }
    }
}

#[test]
fn density_is_the_derivative_of_the_distribution() {
    // f(x) = −(8[S(x+h) − S(x−h)] − [S(x+2h) − S(x−2h)])/(12h) + O(h⁴), S = sf, h = x/4000
    for alpha in ALPHAS {
        let law = law(alpha);
        for x in POINTS.into_iter().filter(|&x| x > 0.05) {
            let h = x / 4000.0;
            let ahead = |n: f64| law.sf(x + n * h) - law.sf(x - n * h);
            let difference = -(8.0 * ahead(1.0) - ahead(2.0)) / (12.0 * h);
            // A rounding of S of 1e-16·S is divided by h.
            let noise = 4e-11 * law.sf(x) / x;
            assert!((difference - law.pdf(x)).abs() < 1e-9 * law.pdf(x) + noise, "alpha {alpha} at {x}");
        }
    }
}

#[test]
fn derivatives_agree_with_differences() {
    // g'(p) = (8[g(p+h) − g(p−h)] − [g(p+2h) − g(p−2h)])/(12h) + O(h⁴) for g = ln f, p = x, α, scale
    let difference = |g: &dyn Fn(f64) -> f64, p: f64, h: f64| {
        (8.0 * (g(p + h) - g(p - h)) - (g(p + 2.0 * h) - g(p - 2.0 * h))) / (12.0 * h)
    };
    for alpha in ALPHAS {
        let scale = 1.3;
        let law = StableLaw::new(alpha, scale).unwrap();
        for x in POINTS.into_iter().filter(|&x| x > 0.05) {
            let got = law.log_pdf_derivatives(x);
            assert!(close(got.value, law.log_pdf(x), 1e-15, 1.0));
            let dx = difference(&|x| law.log_pdf(x), x, x / 1000.0);
            assert!(close(got.dx, dx, 1e-8, 0.1 / x), "dx {} {dx}, alpha {alpha} at {x}", got.dx);
            let dscale = difference(&|s| StableLaw::new(alpha, s).unwrap().log_pdf(x), scale, 1e-3);
            assert!(close(got.dscale, dscale, 1e-8, 1.0), "dscale {} {dscale}, alpha {alpha} at {x}", got.dscale);
            let h = 1e-3 * alpha.min(2.0 - alpha);
            let dalpha = difference(&|a| StableLaw::new(a, scale).unwrap().log_pdf(x), alpha, h);
            let noise = 1e-8_f64.max(1e-14 / h);
            assert!(close(got.dalpha, dalpha, noise, 1.0), "dalpha {} {dalpha}, alpha {alpha} at {x}", got.dalpha);
        }
    }
}

#[test]
fn quantile_inverts_the_distribution() {
    for alpha in ALPHAS.into_iter().chain([2.0]) {
        let law = StableLaw::new(alpha, 5.0).unwrap();
        for x in POINTS.into_iter().filter(|&x| x > 1e-4 && (alpha < 2.0 || x < 100.0)) {
            let upper = law.upper_quantile(law.sf(x)).unwrap();
            // Near 0 the distribution is rounded at 1/2.
            let rounding = 1e-15 / (x * law.pdf(x));
            assert!(close(upper, x, 1e-12 + rounding, 0.0), "alpha {alpha} at {x}: {upper}");
            let lower = law.quantile(law.cdf(-x)).unwrap();
            assert!(close(lower, -x, 1e-12 + rounding, 0.0), "alpha {alpha} at {x}: {lower}");
        }
        assert_eq!(law.quantile(0.5).unwrap(), 0.0);
        // Next to the median: x = (p − 1/2)/f(0).
        let step = 1e-9;
        let near = law.quantile(0.5 + step).unwrap() * law.pdf(0.0);
        assert!(alpha < 0.5 || close(near, 0.5 + step - 0.5, 1e-12, 0.0), "alpha {alpha}: {near}");
    }
    for (alpha, p) in [(1.5, 1e-300), (1.5, 1e-20), (1.999_999, 1e-40), (1.999_999, 1e-9), (2.0, 1e-300), (2.0, 1e-9)] {
        let x = law(alpha).quantile(p).unwrap();
        assert!(close(law(alpha).cdf(x), p, 1e-12, 0.0), "alpha {alpha}, p = {p}");
    }
    assert_eq!(law(0.05).quantile(1e-50).unwrap(), f64::NEG_INFINITY, "beyond the range of f64");
    // The density at 0 overflows here, the quantile does not.
    let x = law(0.005).upper_quantile(0.3).unwrap();
    assert!(close(law(0.005).sf(x), 0.3, 1e-12, 0.0), "x = {x}");
}

#[test]
fn extreme_arguments_are_sane() {
    for alpha in ALPHAS.into_iter().chain([1e-300, 1e-5, 1e-3, 0.01, 2.0]) {
        let law = law(alpha);
        for x in [0.0, 5e-324, 1e-300, 1e-30, 1e30, 1e150, 1e300, f64::MAX] {
            assert!(law.pdf(x) >= 0.0, "pdf, alpha {alpha} at {x}");
            assert!((0.0..=0.5).contains(&law.sf(x)), "sf, alpha {alpha} at {x}");
            assert!((0.5..=1.0).contains(&law.cdf(x)), "cdf, alpha {alpha} at {x}");
            let log = law.log_pdf_derivatives(x);
            assert!(!(log.value.is_nan() || log.dx.is_nan() || log.dalpha.is_nan() || log.dscale.is_nan()));
            assert!(log.value.is_finite() || alpha == 2.0, "log pdf, alpha {alpha} at {x}");
        }
        for x in [f64::INFINITY, f64::NEG_INFINITY] {
            let up = if x > 0.0 { 1.0 } else { 0.0 };
            assert_eq!((law.pdf(x), law.cdf(x), law.sf(x)), (0.0, up, 1.0 - up));
            assert_eq!(law.log_pdf(x), f64::NEG_INFINITY);
        }
        let log = law.log_pdf_derivatives(f64::NAN);
        assert!(law.pdf(f64::NAN).is_nan() && law.log_pdf(f64::NAN).is_nan());
        assert!(law.cdf(f64::NAN).is_nan() && law.sf(f64::NAN).is_nan());
        assert!(log.value.is_nan() && log.dx.is_nan() && log.dalpha.is_nan() && log.dscale.is_nan());
    }
    // The power tail, far beyond where the density underflows: ln f ≈ ln(Γ(α+1) sin(πα/2)/π) − (1+α) ln x.
    let want = (libm::tgamma(2.5) * (0.75 * PI).sin() / PI).ln() - 2.5 * 1e300_f64.ln();
    assert!(close(law(1.5).log_pdf(1e300), want, 1e-14, 0.0));
}

#[test]
fn wrong_inputs_are_named() {
    for (alpha, scale, name) in [
        (0.0, 1.0, "alpha"),
        (2.1, 1.0, "alpha"),
        (f64::NAN, 1.0, "alpha"),
        (1.5, 0.0, "scale"),
        (1.5, f64::INFINITY, "scale"),
    ] {
        let error = StableLaw::new(alpha, scale).unwrap_err();
        assert!(matches!(&error, Error::Parameter { name: got, .. } if got == name), "{error}");
    }
    for p in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(law(1.5).quantile(p).is_err() && law(1.5).upper_quantile(p).is_err());
    }
}
