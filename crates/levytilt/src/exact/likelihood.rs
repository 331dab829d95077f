//! Weigh evenly spaced states with the likelihood of a value, and average over them what its slopes need.

use crate::ErrorLaw;

/// Standard deviations beyond which e^{−z²/2} counts as 0: it is 1e-307 there, next to the smallest normal number.
const FAR: f64 = 37.6;
/// Cells after which a recurrence begins anew, so that its relative error stays below 256²/2 roundings.
const BLOCK: usize = 256;

/// Sums over masses m at errors z that [`ErrorLaw`] takes to its slopes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums {
    /// Σ m.
    pub total: f64,
    /// Σ m z² E[1/S | z].
    pub squares: f64,
    /// Σ m ∂ ln f(z)/∂p for the parameters p of the law, without its constants.
    pub slopes: Vec<f64>,
}

/// Multiply value i of `message` by f(z)/f(0) at z = `first` + i·`step`.
pub(super) fn weigh(law: &ErrorLaw, (first, step): (f64, f64), message: &mut [f64]) {
    match law {
        ErrorLaw::Gaussian => bell((first, step), message),
        ErrorLaw::Student { .. } => {
            message.iter_mut().enumerate().for_each(|(i, value)| *value *= law.relative(first + i as f64 * step));
        }
        ErrorLaw::Outliers { probability, size } => {
            let [good, gross] = outlier_parts(*probability, *size, (first, step), message.len());
            message.iter_mut().zip(good.iter().zip(&gross)).for_each(|(value, (good, gross))| *value *= good + gross);
        }
    }
}

/// The sums over `masses` at z = `first` + i·`step`.
pub(super) fn sums(law: &ErrorLaw, (first, step): (f64, f64), masses: &[f64]) -> Sums {
    let each = masses.iter().enumerate().map(|(i, mass)| (*mass, first + i as f64 * step));
    let mut sums = Sums { total: masses.iter().sum(), squares: 0.0, slopes: vec![0.0; law.values().len()] };
    match law {
        ErrorLaw::Gaussian => sums.squares = each.map(|(mass, z)| mass * z * z).sum(),
        ErrorLaw::Student { .. } => {
            for (mass, z) in each {
                sums.squares += mass * z * z * law.precision(z);
                law.add_slopes(z, mass, &mut sums.slopes);
            }
        }
        ErrorLaw::Outliers { probability, size } => {
            let [good, gross] = outlier_parts(*probability, *size, (first, step), masses.len());
            // Masses of good and of gross errors, and their squares.
            let mut split = [[0.0; 2]; 2];
            for ((mass, z), (good, gross)) in each.zip(good.iter().zip(&gross)) {
                let wrong = if *good > 0.0 { mass * gross / (good + gross) } else { mass };
                for (part, mass) in split.iter_mut().zip([mass - wrong, wrong]) {
                    part[0] += mass;
                    part[1] += mass * z * z;
                }
            }
            let [[good, near], [gross, far]] = split;
            sums.squares = near + far / (size * size);
            sums.slopes[0] = gross / probability - good / (1.0 - probability);
            sums.slopes[1] = far / size.powi(3) - gross / size;
        }
    }
    sums
}

/// What good and gross errors add to f(z)/f(0) at `count` places z = `first` + i·`step`.
fn outlier_parts(probability: f64, size: f64, (first, step): (f64, f64), count: usize) -> [Vec<f64>; 2] {
    let weights = [1.0 - probability, probability / size];
    let part = |weight: f64, size: f64| {
        let mut values = vec![weight / (weights[0] + weights[1]); count];
        bell((first / size, step / size), &mut values);
        values
    };
    [part(weights[0], 1.0), part(weights[1], size)]
}

/// Multiply value i by e^{−z²/2} at z = `first` + i·`step`, which counts as 0 beyond [`FAR`].
///
/// By recurrence from the largest factor outward, since e^{−(z+h)²/2} = e^{−z²/2} e^{−zh−h²/2}: two multiplications in place of
/// an exponential.
fn bell((first, step): (f64, f64), values: &mut [f64]) {
    let count = values.len() as f64;
    let cell = |z: f64| (z - first) / step;
    let from = cell(-FAR).ceil().clamp(0.0, count) as usize;
    let until = (cell(FAR).floor() + 1.0).clamp(from as f64, count) as usize;
    values[..from].fill(0.0);
    values[until..].fill(0.0);
    if from == until {
        return;
    }
    let peak = cell(0.0).round().clamp(from as f64, (until - 1) as f64) as usize;
    let (below, above) = values[from..until].split_at_mut(peak - from);
    let at = |cell: usize| first + cell as f64 * step;
    for (k, block) in above.chunks_mut(BLOCK).enumerate() {
        shrink(block.iter_mut(), at(peak + k * BLOCK), step);
    }
    for (k, block) in below.rchunks_mut(BLOCK).enumerate() {
        shrink(block.iter_mut().rev(), at(peak - 1 - k * BLOCK), -step);
    }
}

/// Multiply values by e^{−z²/2} at z, z + `step`, …, which do not come nearer to 0.
fn shrink<'a>(values: impl Iterator<Item = &'a mut f64>, z: f64, step: f64) {
    let (mut factor, mut ratio) = ((-0.5 * z * z).exp(), (-step * (z + 0.5 * step)).exp());
    let shrink = (-step * step).exp();
    for value in values {
        *value *= factor;
        factor *= ratio;
        ratio *= shrink;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAWS: [ErrorLaw; 5] = [
        ErrorLaw::Gaussian,
        ErrorLaw::Student { dof: 3.5 },
        ErrorLaw::Outliers { probability: 0.02, size: 20.0 },
        ErrorLaw::Outliers { probability: 0.3, size: 1.5 },
        ErrorLaw::Outliers { probability: 1e-6, size: 400.0 },
    ];
    /// First place, step and number of places.
    const PLACES: [((f64, f64), usize); 8] = [
        ((-7.0, 0.07), 201),
        ((-37.0, 0.2), 371),
        ((3.0, 0.1), 60),
        ((-9.0, 0.05), 120),
        ((0.0, 2.0), 9),
        ((-900.0, 0.4), 5000),
        ((-1e-3, 3e-5), 70_000),
        ((1.7, 0.0), 1),
    ];

    #[test]
    fn identity_weights_are_the_density() {
        for law in LAWS {
            for ((first, step), count) in PLACES {
                let mut values = vec![2.0; count];
                weigh(&law, (first, step), &mut values);
                for (i, value) in values.iter().enumerate() {
                    let exact = 2.0 * law.relative(first + i as f64 * step);
                    assert!(
                        (value - exact).abs() <= 1e-11 * exact + 1e-300,
                        "{law:?} {first} {step} {i}: {value} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn identity_sums_are_those_of_every_cell() {
        for law in LAWS {
            for ((first, step), count) in PLACES {
                let masses: Vec<f64> = (0..count).map(|i| 1.0 + (i as f64).sin()).collect();
                let mut plain = Sums { total: 0.0, squares: 0.0, slopes: vec![0.0; law.values().len()] };
                for (i, mass) in masses.iter().enumerate() {
                    let z = first + i as f64 * step;
                    plain.total += mass;
                    plain.squares += mass * z * z * law.precision(z);
                    law.add_slopes(z, *mass, &mut plain.slopes);
                }
                let found = sums(&law, (first, step), &masses);
                let pairs = [(found.total, plain.total), (found.squares, plain.squares)];
                for (found, plain) in pairs.into_iter().chain(found.slopes.into_iter().zip(plain.slopes)) {
                    assert!(
                        (found - plain).abs() <= 1e-10 * (plain.abs() + 1.0),
                        "{law:?} {first} {step}: {found} {plain}"
                    );
                }
            }
        }
    }
}
