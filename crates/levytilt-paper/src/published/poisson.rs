//! Draw Poisson numbers of changing means fast, from tables of cumulative probabilities.
//!
//! A mean m up to 64 is split into the next lower multiple of ⅛, whose number is read off a table by inversion, and a
//! rest d < ⅛, whose number is almost always 0: a Poisson number of mean m is the sum of the two. Since 1 − d < e^{−d},
//! few draws need an exponential. Tables are exact to 2⁻⁵³, the resolution of a uniform number.

use levytilt::{Error, Result, StreamRng};
use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use std::sync::OnceLock;

/// Distance between the means with a table.
const SPACING: f64 = 0.125;
/// Number of tables; larger means are left to the general method.
const TABLES: usize = 513;
/// Entries of the guide.
const GUIDE: usize = 32;

static SHELF: [OnceLock<Table>; TABLES] = [const { OnceLock::new() }; TABLES];

/// The law of one mean.
struct Table {
    /// P(N ≤ k); the last entry is beyond every uniform number.
    below: Vec<f64>,
    /// The smallest number that a uniform number from i/32 on can mean.
    guide: [u16; GUIDE],
}

impl Table {
    fn new(mean: f64) -> Self {
        let (mut below, mut sum, mut term) = (Vec::new(), 0.0, (-mean).exp());
        // The terms fall from k = m on; at the end they do not change the sum.
        while below.len() as f64 <= mean || term > 1e-18 {
            sum += term;
            below.push(sum);
            term *= mean / below.len() as f64;
        }
        below.push(f64::INFINITY);
        let guide = std::array::from_fn(|i| below.partition_point(|&p| p <= i as f64 / GUIDE as f64) as u16);
        Self { below, guide }
    }

    /// The number whose probabilities hold `uniform` in [0, 1).
    fn number(&self, uniform: f64) -> u64 {
        let mut k = usize::from(self.guide[(uniform * GUIDE as f64) as usize]);
        while self.below[k] <= uniform {
            k += 1;
        }
        k as u64
    }
}

/// A Poisson number.
///
/// # Errors
/// A mean that is not a finite number, or negative.
pub(super) fn poisson(mean: f64, rng: &mut StreamRng) -> Result<u64> {
    let place = (mean / SPACING) as usize;
    if mean >= 0.0 && place < TABLES {
        let base = SPACING * place as f64;
        let table = SHELF[place].get_or_init(|| Table::new(base));
        return Ok(table.number(rng.random::<f64>()) + rest(mean - base, rng));
    }
    let law = Poisson::new(mean).map_err(|_| Error::Numerical {
        what: "number of jumps",
        why: format!("{mean} jumps are expected in a step; use shorter steps or a larger tau"),
    })?;
    Ok(law.sample(rng) as u64)
}

/// A Poisson number of mean d < ⅛: how many uniform numbers have a product above e^{−d}, less one.
fn rest(d: f64, rng: &mut StreamRng) -> u64 {
    let mut product: f64 = rng.random();
    if product <= 1.0 - d {
        return 0;
    }
    let (least, mut count) = ((-d).exp(), 0);
    while product > least {
        product *= rng.random::<f64>();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use levytilt::stream;

    /// 10⁵ draws against the probabilities, by χ² over all numbers with at least 20 expected draws; means on both sides of
    /// the end of the tables. Below 4.5 standard deviations of Wilson and Hilferty's normal number: eight means, a false
    /// alarm in 3·10⁴ seeds.
    #[test]
    fn statistics_numbers_have_poisson_frequencies() {
        let n = 100_000;
        for mean in [0.0, 0.03, 0.125, 0.99, 3.2, 13.37, 63.99, 70.0] {
            let mut rng = stream(5, (100.0 * mean) as u64);
            let mut counts = vec![0.0f64; 200];
            (0..n).for_each(|_| counts[poisson(mean, &mut rng).unwrap() as usize] += 1.0);
            let (mut term, mut chi, mut cells, mut left) = ((-mean).exp(), 0.0, 0.0, [n as f64, n as f64]);
            for (k, &count) in counts.iter().enumerate() {
                let want = n as f64 * term;
                if want >= 20.0 {
                    (chi, cells) = (chi + (count - want).powi(2) / want, cells + 1.0);
                    left = [left[0] - count, left[1] - want];
                }
                term *= mean / (k + 1) as f64;
            }
            // All other numbers are one more cell.
            chi += (left[0] - left[1]).powi(2) / left[1].abs().max(20.0);
            let share = 2.0 / (9.0 * cells);
            let limit = cells * (1.0 - share + 4.5 * f64::sqrt(share)).powi(3);
            assert!(chi <= limit, "{mean}: {chi} {limit}");
        }
        assert!(poisson(f64::NAN, &mut stream(1, 1)).is_err() && poisson(-1.0, &mut stream(1, 1)).is_err());
    }
}
