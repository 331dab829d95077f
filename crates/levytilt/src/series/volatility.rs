//! Estimate current volatility relative to the whole record: recent moves count more, as far as its past supports it.

use crate::error::{check, positive};
use crate::{Error, Result};

/// How recent volatility is estimated.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct VolatilityOptions {
    /// Moves grow like length^{1/index}, as for [`super::ClockOptions`].
    pub index: f64,
    /// Number of steps ahead that the scale is meant for: the horizon.
    pub ahead: usize,
    /// How recent moves count; `None` to let the record choose.
    pub memory: Option<Memory>,
}

/// How recent moves count.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Memory {
    /// Half-life of a move's influence, in steps.
    pub half_life: f64,
    /// Share of the recent moves in the scale; the rest is the whole record.
    pub share: f64,
}

impl Default for VolatilityOptions {
    fn default() -> Self {
        Self { index: 2.0, ahead: 14, memory: None }
    }
}

/// Recent volatility of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Volatility {
    /// Scale of moves now over that of the whole record: multiply a scale by it, or lengths by `scale^index`.
    pub scale: f64,
    /// The same for every step of the record, predicted from its past.
    pub past: Vec<f64>,
    /// Half-life of a move's influence, in steps: the likelihood-weighted mean.
    pub half_life: f64,
    /// Share of the recent moves in the scale, the rest is the whole record: the likelihood-weighted mean.
    pub share: f64,
}

/// Half-lives tried, in steps.
const HALF_LIVES: [f64; 5] = [5.0, 10.0, 20.0, 40.0, 80.0];
/// Shares tried. Zero is one of them: a record with constant volatility keeps its scale.
const SHARES: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

/// Scale of the moves now, from `moves` over steps of effective `lengths` in the order of time.
///
/// Every move is divided by its length^{1/index}, and the mean size of all is the unit. A candidate (half-life h, share
/// w) predicts the size of the next moves as 1 − w + w·s, with s the exponentially weighted mean of the sizes so far,
/// which starts at 1. Candidates are weighted by their likelihood (Laplace distribution, whose scale is a mean size)
/// over the next `ahead` moves from every point of the record, as one observation per point; the scale is their mean.
///
/// # Errors
/// Lengths that are not positive or not as many as moves; moves that are not finite; fewer than 2; moves all zero.
pub fn recent_volatility(moves: &[f64], lengths: &[f64], options: &VolatilityOptions) -> Result<Volatility> {
    let sizes = sizes(moves, lengths, options)?;
    if let Some(Memory { half_life, share }) = options.memory {
        positive("half-life", half_life)?;
        check("share", share, (0.0..=1.0).contains(&share), "must be between 0 and 1")?;
        return Ok(foretell(&weighted_means(&sizes, half_life), half_life, share));
    }
    let mut candidates = Vec::with_capacity(HALF_LIVES.len() * SHARES.len());
    for half_life in HALF_LIVES {
        let recent = weighted_means(&sizes, half_life);
        for share in SHARES {
            let log_weight = likelihood(&sizes, &recent, share, options.ahead);
            candidates.push((log_weight, foretell(&recent, half_life, share)));
        }
    }
    Ok(average(&candidates))
}

/// Prediction of a candidate for every step, and for those to come.
fn foretell(recent: &[f64], half_life: f64, share: f64) -> Volatility {
    let mut past: Vec<f64> = recent.iter().map(|recent| 1.0 - share + share * recent).collect();
    // There is one mean more than there are steps: the last is of now.
    let scale = past.pop().unwrap_or(1.0);
    Volatility { scale, past, half_life, share }
}

/// Mean of the candidates, each with its log-weight.
fn average(candidates: &[(f64, Volatility)]) -> Volatility {
    let best = candidates.iter().fold(f64::NEG_INFINITY, |best, (log_weight, _)| best.max(*log_weight));
    let total: f64 = candidates.iter().map(|(log_weight, _)| (log_weight - best).exp()).sum();
    let steps = candidates.first().map_or(0, |(_, candidate)| candidate.past.len());
    let mut mean = Volatility { scale: 0.0, past: vec![0.0; steps], half_life: 0.0, share: 0.0 };
    for (log_weight, candidate) in candidates {
        let weight = (log_weight - best).exp() / total;
        mean.scale += weight * candidate.scale;
        mean.past.iter_mut().zip(&candidate.past).for_each(|(mean, past)| *mean += weight * past);
        mean.half_life += weight * candidate.half_life;
        mean.share += weight * candidate.share;
    }
    mean
}

/// |move|/length^{1/index} in units of their mean.
fn sizes(moves: &[f64], lengths: &[f64], options: &VolatilityOptions) -> Result<Vec<f64>> {
    check("index", options.index, options.index > 0.0 && options.index <= 2.0, "must be in (0, 2]")?;
    check("steps ahead", options.ahead as f64, options.ahead > 0, "must be at least 1")?;
    if moves.len() != lengths.len() || moves.len() < 2 {
        let (got, expected) = (format!("{} for {} lengths", moves.len(), lengths.len()), "as many, at least 2".into());
        return Err(Error::Shape { what: "moves", got, expected });
    }
    lengths.iter().try_for_each(|length| positive("length of a step", *length).map(drop))?;
    let raw: Vec<f64> =
        moves.iter().zip(lengths).map(|(x, length)| x.abs() / length.powf(1.0 / options.index)).collect();
    let mean = raw.iter().sum::<f64>() / raw.len() as f64;
    check("mean size of the moves", mean, mean > 0.0, "must be a finite number greater than 0")?;
    Ok(raw.iter().map(|size| size / mean).collect())
}

/// Exponentially weighted mean of the sizes before each, and after the last; it starts at 1.
fn weighted_means(sizes: &[f64], half_life: f64) -> Vec<f64> {
    let rate = 1.0 - (-std::f64::consts::LN_2 / half_life).exp();
    let mut mean = 1.0;
    let next = sizes.iter().map(|size| {
        mean += rate * (size - mean);
        mean
    });
    std::iter::once(1.0).chain(next).collect()
}

/// Mean log-likelihood of the next `ahead` sizes, summed over all points of the record.
fn likelihood(sizes: &[f64], recent: &[f64], share: f64, ahead: usize) -> f64 {
    let mut sums = Vec::with_capacity(sizes.len() + 1);
    sums.push(0.0);
    sizes.iter().for_each(|size| sums.push(sums[sums.len() - 1] + size));
    let from = |start: usize| {
        let end = (start + ahead).min(sizes.len());
        let scale = 1.0 - share + share * recent[start];
        let count = (end - start) as f64;
        // A scale of 0 predicts that nothing will ever move again.
        if scale > 0.0 { -scale.ln() - (sums[end] - sums[start]) / (count * scale) } else { f64::NEG_INFINITY }
    };
    (0..sizes.len()).map(from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use rand_distr::{Distribution, StandardNormal};

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, 9);
        (0..count).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    fn learn(moves: &[f64]) -> Volatility {
        recent_volatility(moves, &vec![1.0; moves.len()], &VolatilityOptions::default()).unwrap()
    }

    #[test]
    fn identity_equal_moves_have_scale_one() {
        let steady = learn(&[0.3, -0.3, 0.3, 0.3]);
        assert!((steady.scale - 1.0).abs() < 1e-12 && steady.past.iter().all(|past| (past - 1.0).abs() < 1e-12));
        assert_eq!(steady.past.len(), 4);
        let means = weighted_means(&[2.0, 2.0, 2.0], 1.0);
        assert!(means.iter().zip([1.0, 1.5, 1.75, 1.875]).all(|(a, b)| (a - b).abs() < 1e-12), "{means:?}");
    }

    #[test]
    fn statistics_a_steady_record_keeps_its_scale() {
        // Mean square of ln scale over 60 months of 150 moves; an unshrunk mean over a half-life of 10 has 0.02.
        let square: f64 = (0..60).map(|seed| learn(&noise(150, seed)).scale.ln().powi(2)).sum::<f64>() / 60.0;
        assert!(square < 0.006, "{square}");
    }

    #[test]
    fn statistics_a_change_of_pace_is_followed() {
        // Calm and lively spells of 75 moves, scales 1 and 4, ending lively and calm: 1.6 and 0.4 in units of the mean.
        // Spells end, so the best scale for the next moves is a little nearer to 1. Averages over 60 records.
        for (last, expected) in [(1, 1.3..1.8), (0, 0.35..0.65)] {
            let scale = |seed: u64| {
                let spell = |i: usize| if (i / 75) % 2 == last { 4.0 } else { 1.0 };
                let moves: Vec<f64> = noise(600, 100 + seed).iter().enumerate().map(|(i, x)| spell(i) * x).collect();
                // 600 moves are eight spells, 0 to 7; the last is odd.
                learn(&moves).scale
            };
            let mean = (0..60).map(scale).sum::<f64>() / 60.0;
            assert!(expected.contains(&mean), "{expected:?}: {mean}");
        }
    }

    #[test]
    fn identity_lengths_are_divided_out() {
        let moves = noise(200, 7);
        let lengths: Vec<f64> = (0..200).map(|i| if i % 7 == 0 { 9.0 } else { 1.0 }).collect();
        let stretched: Vec<f64> = moves.iter().zip(&lengths).map(|(x, l): (&f64, &f64)| x * l.sqrt()).collect();
        let found = recent_volatility(&stretched, &lengths, &VolatilityOptions::default()).unwrap();
        assert!((found.scale - learn(&moves).scale).abs() < 1e-9);
        let index = VolatilityOptions { index: 1.5, ..VolatilityOptions::default() };
        assert_ne!(recent_volatility(&stretched, &lengths, &index).unwrap().scale, found.scale);
    }

    #[test]
    fn identity_a_given_memory_is_kept_and_knows_no_later_move() {
        let options =
            VolatilityOptions { memory: Some(Memory { half_life: 1.0, share: 0.5 }), ..VolatilityOptions::default() };
        // Sizes 0.5, 1.5 in units of their mean; the mean over a half-life of 1 goes 1, 0.75, 1.125.
        let found = recent_volatility(&[1.0, -3.0], &[1.0, 1.0], &options).unwrap();
        assert!((found.past[1] - 0.875).abs() < 1e-12 && (found.scale - 1.0625).abs() < 1e-12, "{found:?}");
        assert_eq!((found.past[0], found.half_life, found.share), (1.0, 1.0, 0.5));
        for memory in [Memory { half_life: 0.0, share: 0.5 }, Memory { half_life: 1.0, share: 1.5 }] {
            let bad = VolatilityOptions { memory: Some(memory), ..VolatilityOptions::default() };
            assert!(recent_volatility(&[1.0, -3.0], &[1.0, 1.0], &bad).is_err());
        }
    }

    #[test]
    fn unusable_moves_are_errors() {
        let try_with =
            |moves: &[f64], lengths: &[f64]| recent_volatility(moves, lengths, &VolatilityOptions::default());
        assert!(try_with(&[1.0], &[1.0]).is_err() && try_with(&[1.0, 2.0], &[1.0]).is_err());
        assert!(try_with(&[0.0, 0.0], &[1.0, 1.0]).is_err() && try_with(&[1.0, f64::NAN], &[1.0, 1.0]).is_err());
        assert!(try_with(&[1.0, 2.0], &[1.0, 0.0]).unwrap_err().to_string().contains("length of a step"));
        assert!(try_with(&[1.0, 2.0], &[1.0, f64::NAN]).is_err());
        let options = VolatilityOptions { ahead: 0, ..VolatilityOptions::default() };
        assert!(recent_volatility(&[1.0, 2.0], &[1.0, 1.0], &options).is_err());
    }
}
