//! Compute in double precision what losses need: softplus, digamma, and a logarithm of a sum of exponentials.

/// ln(1 + eˣ) without overflow, and its slope 1/(1 + e⁻ˣ).
pub(crate) fn softplus(x: f64) -> (f64, f64) {
    let small = (-x.abs()).exp();
    let slope = if x > 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
    (if x > 0.0 { x } else { 0.0 } + small.ln_1p(), slope)
}

/// ψ(x), the slope of ln Γ, to 1e-9 for x ≥ 1: ψ(x) = ψ(x + 6) − Σ 1/(x + k), and Stirling's series there.
pub(crate) fn digamma(x: f64) -> f64 {
    let z = x + 6.0;
    let square = 1.0 / (z * z);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)));
    let back: f64 = (0..6).map(|k| 1.0 / (x + f64::from(k))).sum();
    z.ln() - 0.5 / z - series - back
}

/// ln Σ eˣ; the numbers become their shares eˣ/Σ eˣ, which are its slopes.
pub(crate) fn log_sum_exp(values: &mut [f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter_mut().for_each(|x| *x = (*x - largest).exp());
    let sum: f64 = values.iter().sum();
    values.iter_mut().for_each(|x| *x /= sum);
    largest + sum.ln()
}

/// Compare the slope that a loss fills in with central differences at a point.
#[cfg(test)]
pub(crate) fn assert_slope(point: &[f32], loss: impl Fn(&[f32], &mut [f32]) -> f64) {
    let (mut slope, mut unused) = (vec![f32::NAN; point.len()], vec![0.0; point.len()]);
    loss(point, &mut slope);
    for k in 0..point.len() {
        let mut at = |shift: f32| {
            let mut moved = point.to_vec();
            moved[k] += shift;
            (loss(&moved, &mut unused), f64::from(moved[k]))
        };
        let ((up, high), (down, low)) = (at(1.0 / 512.0), at(-1.0 / 512.0));
        let (got, difference) = (f64::from(slope[k]), (up - down) / (high - low));
        assert!((got - difference).abs() < 2e-5 * (1.0 + got.abs()), "number {k}: {got} {difference}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_functions_agree_with_plain_formulas() {
        for x in [-200.0, -3.0, 0.0, 0.5, 200.0] {
            let (value, slope) = softplus(x);
            assert!((value - (f64::max(x, 0.0) + (-f64::abs(x)).exp().ln_1p())).abs() < 1e-15);
            assert!((slope - 1.0 / (1.0 + (-x).exp())).abs() < 1e-15, "{x}");
        }
        for x in [1.0, 1.01, 1.5, 2.0, 3.7, 10.0, 60.0] {
            let slope = (libm::lgamma(x + 1e-4) - libm::lgamma(x - 1e-4)) / 2e-4;
            assert!((digamma(x) - slope).abs() < 1e-8, "{} {slope} at {x}", digamma(x));
        }
        let mut values = [1000.0, 1000.0 + 2f64.ln(), -5.0];
        assert!((log_sum_exp(&mut values) - (1000.0 + 3f64.ln())).abs() < 1e-12);
        assert!((values[0] - 1.0 / 3.0).abs() < 1e-12 && (values[1] - 2.0 / 3.0).abs() < 1e-12 && values[2] == 0.0);
    }

    #[test]
    fn nan_stays() {
        assert!(softplus(f64::NAN).0.is_nan() && digamma(f64::NAN).is_nan());
        assert!(log_sum_exp(&mut [0.0, f64::NAN]).is_nan());
    }
}
