//! Treat a function on a uniform grid as a local polynomial: interpolate it, and convolve it with narrow Gaussians.

/// Number of points of the interpolation; the polynomial has one degree less.
pub(super) const POINTS: usize = 12;
/// Points to the left of the cell the target lies in.
pub(super) const LEFT: i64 = 5;

/// 1/Π_{m≠k}(k − m) over the points −5 … 6.
const DENOMINATORS: [f64; POINTS] = denominators();

const fn denominators() -> [f64; POINTS] {
    let mut out = [1.0; POINTS];
    let mut k = 0;
    while k < POINTS {
        let mut m = 0;
        while m < POINTS {
            if m != k {
                out[k] /= k as f64 - m as f64;
            }
            m += 1;
        }
        k += 1;
    }
    out
}

/// Weights of the values at −5 … 6 that give the interpolating polynomial at `fraction` in [0, 1].
///
/// Relative error for a function that varies over σ: about 0.6 (spacing/σ)¹² in the bulk of a Gaussian of that width.
pub(super) fn weights(fraction: f64) -> [f64; POINTS] {
    // Products of the distances from both ends: no division, so a target on a point is nothing special.
    let mut out = DENOMINATORS;
    let mut product = 1.0;
    for (k, weight) in out.iter_mut().enumerate() {
        *weight *= product;
        product *= fraction - (k as i64 - LEFT) as f64;
    }
    product = 1.0;
    for (k, weight) in out.iter_mut().enumerate().rev() {
        *weight *= product;
        product *= fraction - (k as i64 - LEFT) as f64;
    }
    out
}

/// Σ `weights`·`values`, in four sums side by side.
#[inline]
pub(super) fn dot(weights: &[f64; POINTS], values: &[f64; POINTS]) -> f64 {
    let mut sums = [0.0; 4];
    for (w, v) in weights.chunks_exact(4).zip(values.chunks_exact(4)) {
        for i in 0..4 {
            sums[i] += w[i] * v[i];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// ∂/∂`fraction` of [`weights`]: the weights that give the slope of the interpolating polynomial.
pub(super) fn slopes(fraction: f64) -> [f64; POINTS] {
    // Products of the distances from one end, with their derivatives; then the product rule with those from the other.
    let mut left = [(1.0, 0.0); POINTS];
    for k in 1..POINTS {
        let ((product, slope), distance) = (left[k - 1], fraction - (k as i64 - 1 - LEFT) as f64);
        left[k] = (product * distance, slope * distance + product);
    }
    let mut out = DENOMINATORS;
    let (mut product, mut slope) = (1.0, 0.0);
    for (k, weight) in out.iter_mut().enumerate().rev() {
        *weight *= left[k].1 * product + left[k].0 * slope;
        let distance = fraction - (k as i64 - LEFT) as f64;
        (product, slope) = (product * distance, slope * distance + product);
    }
    out
}

/// Half-width of the stencil of a narrow Gaussian.
pub(super) const REACH: usize = 6;
/// Largest variance, in squared spacings, for which the stencil is used; from here on samples of the Gaussian itself are
/// exact to e^{−2π²·1.5} ≈ 1e-13.
pub(super) const NARROW: f64 = 1.5;

/// Weights t_0 … t_6 (t_{−k} = t_k) of a stencil with the moments of N(0, `variance`) up to order 13, spacing 1.
///
/// t_k = E[L_k(X)], L_k the Lagrange polynomial of degree 12 on −6 … 6: convolving any such polynomial is exact. Variance
/// 0 gives the identity. Domain: 0 ≤ `variance` ≤ [`NARROW`]; there the stencil damps every frequency.
pub(super) fn narrow_gaussian(variance: f64) -> [f64; REACH + 1] {
    // E[X^{2p}] = variance^p (2p − 1)!!
    let mut moments = [1.0; REACH + 1];
    for p in 1..=REACH {
        moments[p] = moments[p - 1] * variance * (2 * p - 1) as f64;
    }
    stencil(&moments)
}

/// ∂/∂variance of [`narrow_gaussian`].
pub(super) fn narrow_gaussian_slope(variance: f64) -> [f64; REACH + 1] {
    // p variance^{p−1} (2p − 1)!!
    let (mut slopes, mut moment) = ([0.0; REACH + 1], 1.0);
    for (p, slope) in slopes.iter_mut().enumerate().skip(1) {
        let odd = (2 * p - 1) as f64;
        *slope = p as f64 * moment * odd;
        moment *= variance * odd;
    }
    stencil(&slopes)
}

/// Σ_p (coefficient of x^{2p} in L_k) · moments[p] for k = 0 … 6.
fn stencil(moments: &[f64; REACH + 1]) -> [f64; REACH + 1] {
    std::array::from_fn(|k| {
        // Coefficients of Π_{m≠k} (u − m²)/(k² − m²) in u = x²; symmetric pairs share it, so k > 0 gets half.
        let mut coefficients = [0.0; REACH + 1];
        coefficients[0] = if k == 0 { 1.0 } else { 0.5 };
        for m in (0..=REACH).filter(|&m| m != k) {
            let (root, scale) = ((m * m) as f64, 1.0 / ((k * k) as f64 - (m * m) as f64));
            for p in (0..=REACH).rev() {
                let lower = if p > 0 { coefficients[p - 1] } else { 0.0 };
                coefficients[p] = (lower - root * coefficients[p]) * scale;
            }
        }
        coefficients.iter().zip(moments).map(|(c, m)| c * m).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_interpolated_exactly() {
        for fraction in [0.0, 0.2, 0.5, 0.93, 1.0] {
            let w = weights(fraction);
            for degree in 0..POINTS as i32 {
                let value: f64 =
                    w.iter().enumerate().map(|(k, w)| w * (0.1 * (k as f64 - LEFT as f64)).powi(degree)).sum();
                assert!((value - (0.1 * fraction).powi(degree)).abs() < 1e-14, "degree {degree}");
            }
        }
        assert!((weights(0.0)[LEFT as usize] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn identity_slopes_are_the_derivatives() {
        for fraction in [0.0, 0.3, 1.0] {
            let (high, low) = (weights(fraction + 1e-6), weights(fraction - 1e-6));
            for (k, slope) in slopes(fraction).iter().enumerate() {
                assert!((slope - (high[k] - low[k]) / 2e-6).abs() < 1e-9, "{fraction} {k}");
            }
        }
        for variance in [0.0, 0.2, NARROW] {
            let (high, low) = (narrow_gaussian(variance + 1e-6), narrow_gaussian(variance - 1e-6));
            for (k, slope) in narrow_gaussian_slope(variance).iter().enumerate() {
                assert!((slope - (high[k] - low[k]) / 2e-6).abs() < 1e-8, "{variance} {k}");
            }
        }
    }

    #[test]
    fn stencil_has_the_moments_of_the_gaussian() {
        assert_eq!(narrow_gaussian(0.0), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        for variance in [1e-9, 0.1, 0.7, NARROW] {
            let taps = narrow_gaussian(variance);
            let mut expected = 1.0;
            for p in 0..=REACH {
                let moment: f64 =
                    (0..=REACH).map(|k| taps[k] * (k as f64).powi(2 * p as i32) * if k > 0 { 2.0 } else { 1.0 }).sum();
                assert!((moment - expected).abs() < 1e-9 * (1.0 + expected), "moment {p}: {moment} {expected}");
                expected *= variance * (2 * p + 1) as f64;
            }
        }
    }

    #[test]
    fn stencil_and_interpolation_never_amplify() {
        // Otherwise rounding would grow with the number of steps.
        for i in 0..=200 {
            let frequency = std::f64::consts::PI * i as f64 / 200.0;
            for v in 0..=30 {
                let taps = narrow_gaussian(NARROW * v as f64 / 30.0);
                let symbol: f64 =
                    taps[0] + (1..=REACH).map(|k| 2.0 * taps[k] * (k as f64 * frequency).cos()).sum::<f64>();
                assert!(symbol.abs() <= 1.0 + 1e-12, "variance {v}/30, frequency {frequency}: {symbol}");
            }
            for f in 0..=20 {
                let w = weights(f as f64 / 20.0);
                let (re, im) = w.iter().enumerate().fold((0.0, 0.0), |(re, im), (k, w)| {
                    let angle = frequency * (k as f64 - LEFT as f64);
                    (re + w * angle.cos(), im + w * angle.sin())
                });
                assert!(f64::hypot(re, im) <= 1.0 + 1e-12);
            }
        }
    }
}
