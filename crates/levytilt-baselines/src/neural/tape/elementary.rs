//! Compute exponentials and sigmoids of single precision without branches, so that loops over them are vectorised.

/// What follows a layer; the slope is computed from the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    /// Nothing.
    Linear,
    /// max(x, 0).
    Relu,
    /// CELU with unit scale: x for x > 0, eˣ − 1 below.
    Celu,
    Tanh,
}

impl Activation {
    pub fn apply(self, values: &mut [f32]) {
        match self {
            Self::Linear => {}
            // A comparison, unlike `max`, lets NaN through.
            Self::Relu => values.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
            Self::Celu => values.iter_mut().for_each(|x| *x = celu(*x)),
            Self::Tanh => values.iter_mut().for_each(|x| *x = tanh(*x)),
        }
    }

    /// slope ← slope · f'(x), from y = f(x): 1, [y > 0], 1 or y + 1, and 1 − y².
    pub fn pull(self, results: &[f32], slope: &mut [f32]) {
        let pairs = slope.iter_mut().zip(results);
        match self {
            Self::Linear => {}
            Self::Relu => pairs.for_each(|(slope, y)| *slope = if *y > 0.0 { *slope } else { 0.0 }),
            Self::Celu => pairs.for_each(|(slope, y)| *slope *= if *y > 0.0 { 1.0 } else { *y + 1.0 }),
            Self::Tanh => pairs.for_each(|(slope, y)| *slope *= 1.0 - y * y),
        }
    }
}

/// eˣ within 2 ulp for −87.3 ≤ x ≤ 88.3; 0 below, ∞ above, NaN for NaN.
///
/// x = n ln 2 + r with |r| ≤ ½ ln 2, a polynomial for eʳ, and 2ⁿ from the bits of n.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding 1.5·2²³ rounds to a whole number, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first with few bits.
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 0.166_666_66;
    p = p * r + 0.5;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    let y = (p * r * r + r + 1.0) * power;
    let y = if x < -87.3 { 0.0 } else { y };
    if x > 88.3 { f32::INFINITY } else { y }
}

/// x for x > 0, eˣ − 1 below, to 1e-7.
#[inline(always)]
pub(super) fn celu(x: f32) -> f32 {
    let below = exp(x) - 1.0;
    if x > 0.0 { x } else { below }
}

/// tanh x within 4 ulp, by a ratio of polynomials up to |x| = 7.9, beyond which it is ±1 but for rounding.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    const END: f32 = 7.905_311;
    let x = if x > END { END } else { x };
    let x = if x < -END { -END } else { x };
    let s = x * x;
    let mut p = -2.760_768_5e-16;
    p = p * s + 2.000_188e-13;
    p = p * s - 8.604_672e-11;
    p = p * s + 5.122_297e-8;
    p = p * s + 1.485_722_4e-5;
    p = p * s + 6.372_619e-4;
    p = p * s + 4.893_524_6e-3;
    let mut q = 1.198_258_4e-6;
    q = q * s + 1.185_347_1e-4;
    q = q * s + 2.268_434_6e-3;
    q = q * s + 4.893_525_3e-3;
    x * p / q
}

/// 1/(1 + e⁻ˣ) = ½ + ½ tanh(x/2).
#[inline(always)]
pub(super) fn logistic(x: f32) -> f32 {
    0.5 + 0.5 * tanh(0.5 * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest error over the range, relative to the value plus `floor`.
    fn worst(range: std::ops::Range<i32>, f: impl Fn(f32) -> f32, oracle: impl Fn(f64) -> f64, floor: f64) -> f64 {
        let error = |k: i32| {
            let x = k as f32 * 1.1e-3;
            let y = oracle(f64::from(x));
            (f64::from(f(x)) - y).abs() / (y.abs() + floor)
        };
        range.map(error).fold(0.0, f64::max)
    }

    #[test]
    fn identity_functions_agree_with_those_of_double_precision() {
        assert!(worst(-79_000..80_000, exp, f64::exp, 0.0) < 2.4e-7);
        assert!(worst(-20_000..20_000, tanh, f64::tanh, 0.0) < 5e-7);
        assert!(worst(-20_000..20_000, logistic, |x| 1.0 / (1.0 + (-x).exp()), 1.0) < 2e-7);
        assert!(worst(-20_000..20_000, celu, |x| if x > 0.0 { x } else { x.exp_m1() }, 1.0) < 2e-7);
    }

    #[test]
    fn identity_edges_are_limits_and_nan_stays() {
        assert_eq!([exp(-200.0), exp(0.0), exp(200.0)], [0.0, 1.0, f32::INFINITY]);
        assert!((tanh(50.0) - 1.0).abs() < 2e-7 && (tanh(f32::NEG_INFINITY) + 1.0).abs() < 2e-7);
        assert!(exp(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && celu(f32::NAN).is_nan());
        let mut values = [f32::NAN];
        Activation::Relu.apply(&mut values);
        assert!(values[0].is_nan());
    }
}
