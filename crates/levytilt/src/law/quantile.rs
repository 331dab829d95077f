//! Invert the distribution of the standard symmetric stable law.

use super::standard::Standard;

/// Logarithms of the smallest and the largest z that f64 holds.
const LN_LEAST: f64 = -744.0;
const LN_LARGEST: f64 = 709.78;
/// Newton's step in ln z after which the next one would be far below rounding; not below the spacing of f64 at 700.
const SETTLED: f64 = 1e-12;
/// Newton's method takes about 5 steps; after so many it goes round in circles, and every other step halves the bracket.
const PATIENCE: usize = 20;

/// The z ≥ 0 with P(Z > z) = `upper`, for 0 < `upper` ≤ 1/2; `central` is 1/2 − `upper`, given apart because one of the
/// two is exact where the other is rounded.
///
/// Newton's method in ln z on the logarithm of the smaller probability, inside a bracket that starts as the range of
/// f64. Infinite or 0 if z is beyond that range.
pub(super) fn upper_quantile(law: &Standard, alpha: f64, upper: f64, central: f64) -> f64 {
    if central == 0.0 {
        return 0.0;
    }
    let outer = upper < central;
    let (mut low, mut high) = (LN_LEAST, LN_LARGEST);
    let guess =
        if outer { (law.tail_coefficient() / upper).ln() / alpha } else { central.ln() - law.at(0.0).ln_density };
    // At α = 2 there is no tail to guess from; start from the middle of the law.
    let mut ln_z = if guess.is_finite() { guess.clamp(low, high) } else { 0.0 };
    // Bisection of the whole range ends after some 60 halvings.
    for count in 0..200 {
        let z = ln_z.exp();
        let point = law.at(z);
        // z·f(z) stays moderate where f(z) alone overflows.
        let mass = (ln_z + point.ln_density).exp();
        // Positive residual: z is too small.
        let (residual, rate) = if outer {
            ((point.upper / upper).ln(), mass / point.upper)
        } else {
            ((central / point.central).ln(), mass / point.central)
        };
        if residual > 0.0 {
            low = ln_z;
        } else {
            high = ln_z;
        }
        let step = residual / rate;
        let next = ln_z + step;
        if step.abs() <= SETTLED {
            // Correct z, not its logarithm, whose rounding would show for large |ln z|.
            return z * step.exp();
        }
        // Written so that a step that is not a number bisects.
        let newton = next > low && next < high && (count < PATIENCE || count % 2 == 0);
        ln_z = if newton { next } else { 0.5 * (low + high) };
        if high - low <= SETTLED {
            break;
        }
    }
    if LN_LARGEST - low <= SETTLED {
        f64::INFINITY
    } else if high - LN_LEAST <= SETTLED {
        0.0
    } else {
        ln_z.exp()
    }
}
