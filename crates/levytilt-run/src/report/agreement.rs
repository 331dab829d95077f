//! Say whether the increments of the posterior paths follow the law of the noise, where no one-step residuals judge it.

use super::page::Block;
use crate::number::readable;

/// Critical value of Kolmogorov's distance times √n at the 1% level.
const ONE_PERCENT: f64 = 1.628;

/// A verdict on one dimension, whose name comes first if there are several; per path the sign of every increment and the
/// logarithm of the chance to go further on that side.
pub fn verdict(name: Option<String>, paths: &[Vec<(f64, f64)>]) -> Option<Block> {
    let mut distances: Vec<f64> = paths.iter().map(|path| distance(path.iter().map(rank).collect())).collect();
    distances.sort_by(f64::total_cmp);
    let found = *distances.get(distances.len() / 2)?;
    let limit = ONE_PERCENT / (paths.first()?.len() as f64).sqrt();
    let of = name.map_or(String::new(), |name| format!("{name}: "));
    let figures =
        format!("Kolmogorov distance {}, critical value at the 1% level {}", readable(found), readable(limit));
    Some(if found > limit {
        Block::Warning(format!(
            "{of}The increments do not follow this noise: {figures}. Another family may fit better; --noise auto compares \
             families by evidence."
        ))
    } else {
        Block::Good(format!("{of}The increments follow this noise: {figures}. The Q–Q plot shows the largest ones."))
    })
}

/// Where an increment lies within the law, from 0 to 1.
fn rank((sign, tail): &(f64, f64)) -> f64 {
    if *sign > 0.0 { -tail.exp_m1() } else { tail.exp() }
}

/// Kolmogorov's distance of values from the uniform law.
fn distance(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let apart = |(k, u): (usize, &f64)| (u - k as f64 / n).abs().max(((k + 1) as f64 / n - u).abs());
    values.iter().enumerate().map(apart).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signs and tails of values within (0, 1).
    fn path(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
        values.map(|u| if u > 0.5 { (1.0, (1.0 - u).ln()) } else { (-1.0, u.ln()) }).collect()
    }

    #[test]
    fn golden_distances() {
        // Even ranks are half a step away; ranks in the lower half alone are half away.
        let even = |n: u32| (0..n).map(move |k| (f64::from(k) + 0.5) / f64::from(n));
        assert!((distance(path(even(100)).iter().map(rank).collect()) - 0.005).abs() < 1e-12);
        assert!((distance(path(even(100).map(|u| 0.5 * u)).iter().map(rank).collect()) - 0.5).abs() < 0.01);
        let word = |paths: &[Vec<(f64, f64)>]| match verdict(Some("A".into()), paths) {
            Some(Block::Good(text)) | Some(Block::Warning(text)) => text,
            _ => String::new(),
        };
        assert!(word(&[path(even(100))]).starts_with("A: The increments follow"));
        assert!(word(&[path(even(100).map(|u| u * u))]).starts_with("A: The increments do not follow"));
        assert!(verdict(None, &[]).is_none());
    }
}
