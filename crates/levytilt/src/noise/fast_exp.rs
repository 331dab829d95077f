//! Exponentiate a whole slice: plain arithmetic without branches, so the compiler uses the vector unit.

/// 1.5·2⁵²: adding it rounds a small number to an integer and leaves that integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two pieces; the first has trailing zeros, so its multiples are exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Below this e^x is not a normal number; it counts as zero.
const SMALLEST: f64 = -708.0;

/// Replace every x ≤ 700 by e^x, within 1e-14 of itself; below −708 by zero.
pub(crate) fn exp_slice(values: &mut [f64]) {
    for x in values.iter_mut() {
        *x = exp(*x);
    }
}

/// x = n ln 2 + r, |r| ≤ ½ ln 2; e^r by its Taylor polynomial (next term 6e-15), 2ⁿ by adding n to the exponent bits.
///
/// The polynomial is summed in pairs of pairs (Estrin): a third of the latency of Horner's rule.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let low = (1.0 + r) + (0.5 + r * (1.0 / 6.0)) * r2;
    let middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5_040.0)) * r2;
    let high = (1.0 / 40_320.0 + r * (1.0 / 362_880.0)) + (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0)) * r2;
    let p = low + (middle + high * r4) * r4;
    let scaled = f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x < SMALLEST { 0.0 } else { scaled }
}

/// Replace every x ≤ 80 by e^x in single precision, within 3e-7 of itself; below −87 by zero.
pub(crate) fn exp_slice_single(values: &mut [f32]) {
    for x in values.iter_mut() {
        *x = exp_single(*x);
    }
}

/// As [`exp`]: the next term of the polynomial is 1.2e-7.
#[inline(always)]
fn exp_single(x: f32) -> f32 {
    // 1.5·2²³.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let r2 = r * r;
    let low = (1.0 + r) + (0.5 + r * (1.0 / 6.0)) * r2;
    let high = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0) * r2;
    let p = low + high * (r2 * r2);
    let scaled = f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23));
    if x < -87.0 { 0.0 } else { scaled }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_agrees_with_the_standard_library() {
        let mut values: Vec<f64> = (0..200_000).map(|i| -707.9 + i as f64 * 0.007).collect();
        let expected: Vec<f64> = values.iter().map(|x| x.exp()).collect();
        exp_slice(&mut values);
        for (got, want) in values.iter().zip(&expected) {
            assert!((got / want - 1.0).abs() < 1e-14, "{got} {want}");
        }
    }

    #[test]
    fn identity_single_precision_agrees_with_the_standard_library() {
        let mut values: Vec<f32> = (0..100_000).map(|i| -86.9 + i as f32 * 0.001).collect();
        let expected: Vec<f32> = values.iter().map(|x| x.exp()).collect();
        exp_slice_single(&mut values);
        for (got, want) in values.iter().zip(&expected) {
            assert!((got / want - 1.0).abs() < 4e-7, "{got} {want}");
        }
        let mut edges = [0.0, -87.1, f32::NEG_INFINITY];
        exp_slice_single(&mut edges);
        assert_eq!(edges, [1.0, 0.0, 0.0]);
    }

    #[test]
    fn identity_edges() {
        let mut values = [0.0, -0.0, -708.1, -1e308, f64::NEG_INFINITY];
        exp_slice(&mut values);
        assert_eq!(values, [1.0, 1.0, 0.0, 0.0, 0.0]);
    }
}
