//! Average the CRPS over the targets that follow a large move, as Kındap et al. report it.
//!
//! It selects targets by their outcome and is therefore improper: a forecaster that always predicts a large move wins.
//! It is here to be compared with published figures; for a judgement use [`super::Sample::tail_crps`].

use super::all_finite;
use crate::{Error, Result};

/// Targets of one forecast window and their scores.
#[derive(Debug, Clone, Copy)]
pub struct ScoredWindow<'a> {
    /// Targets in the order of time, all dimensions of a time together.
    pub targets: &'a [f64],
    /// CRPS per time; the mean over the dimensions if there are several.
    pub crps: &'a [f64],
}

/// CRPS over the largest moves.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct JumpCrps {
    /// Percentile of the moves, such as 97.5.
    pub percentile: f64,
    /// The move at that percentile.
    pub threshold: f64,
    /// Number of times with a move above it.
    pub count: usize,
    /// Their mean CRPS; nothing if there are none.
    pub crps: Option<f64>,
}

/// Mean CRPS of the times whose move exceeds a percentile of all moves, for every percentile asked for.
///
/// A move is the largest |y_t − y_{t−1}| over the `dim` dimensions, between neighbours in one window; the first time of
/// a window has none and is left out. Moves of all windows are pooled; the percentile lies linearly between them, the
/// smallest at 0 and the largest at 100.
///
/// # Errors
/// Windows whose targets and scores differ in length; numbers that are not finite; no move at all; a percentile outside
/// 0–100.
pub fn jump_crps(windows: &[ScoredWindow], dim: usize, percentiles: &[f64]) -> Result<Vec<JumpCrps>> {
    let moves = moves(windows, dim)?;
    let mut sizes: Vec<f64> = moves.iter().map(|(size, _)| *size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    percentiles.iter().map(|percentile| above(&moves, &sizes, *percentile)).collect()
}

/// Size of every move with the CRPS of the time it leads to.
fn moves(windows: &[ScoredWindow], dim: usize) -> Result<Vec<(f64, f64)>> {
    crate::error::positive("dimension", dim as f64)?;
    let mut moves = Vec::new();
    for window in windows {
        if window.targets.len() != window.crps.len() * dim {
            return Err(Error::Shape {
                what: "window",
                got: format!("{} targets and {} scores", window.targets.len(), window.crps.len()),
                expected: format!("{dim} targets per score"),
            });
        }
        all_finite("target", window.targets)?;
        all_finite("score", window.crps)?;
        let ahead = window.targets.get(dim..).unwrap_or_default();
        let size = |(before, now): (&[f64], &[f64])| {
            before.iter().zip(now).map(|(before, now)| (now - before).abs()).fold(0.0, f64::max)
        };
        let sizes = window.targets.chunks_exact(dim).zip(ahead.chunks_exact(dim)).map(size);
        moves.extend(sizes.zip(window.crps.iter().skip(1).copied()));
    }
    if moves.is_empty() {
        let (got, expected) = ("no move".into(), "a window with at least 2 times".into());
        return Err(Error::Shape { what: "jump CRPS", got, expected });
    }
    Ok(moves)
}

fn above(moves: &[(f64, f64)], sizes: &[f64], percentile: f64) -> Result<JumpCrps> {
    let inside = (0.0..=100.0).contains(&percentile);
    crate::error::check("percentile", percentile, inside, "must be between 0 and 100")?;
    let place = percentile / 100.0 * (sizes.len() - 1) as f64;
    let (left, share) = (place.floor() as usize, place.fract());
    let threshold = sizes[left] + share * (sizes[(left + 1).min(sizes.len() - 1)] - sizes[left]);
    let chosen: Vec<f64> = moves.iter().filter(|(size, _)| *size > threshold).map(|(_, crps)| *crps).collect();
    let crps = (!chosen.is_empty()).then(|| chosen.iter().sum::<f64>() / chosen.len() as f64);
    Ok(JumpCrps { percentile, threshold, count: chosen.len(), crps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_by_hand() {
        // Moves 1, 2 (first window) and 5 (second); the first score of each window never counts.
        let first = ScoredWindow { targets: &[0.0, 1.0, 3.0], crps: &[100.0, 0.1, 0.2] };
        let second = ScoredWindow { targets: &[9.0, 4.0], crps: &[100.0, 0.6] };
        let found = jump_crps(&[first, second], 1, &[0.0, 50.0, 75.0, 100.0]).unwrap();
        let row = |k: usize| (found[k].threshold, found[k].count, found[k].crps);
        assert_eq!(row(0), (1.0, 2, Some(0.4)));
        assert_eq!(row(1), (2.0, 1, Some(0.6)));
        assert_eq!(row(2), (3.5, 1, Some(0.6)));
        assert_eq!(row(3), (5.0, 0, None));
    }

    #[test]
    fn identity_largest_dimension_decides() {
        let window = ScoredWindow { targets: &[0.0, 0.0, 1.0, -3.0, 1.5, -3.0], crps: &[0.0, 1.0, 2.0] };
        let found = jump_crps(&[window], 2, &[50.0]).unwrap();
        assert_eq!((found[0].threshold, found[0].crps), (1.75, Some(1.0)));
    }

    #[test]
    fn bad_inputs_are_errors() {
        let good = ScoredWindow { targets: &[0.0, 1.0], crps: &[0.1, 0.1] };
        assert!(jump_crps(&[], 1, &[90.0]).is_err() && jump_crps(&[good], 2, &[90.0]).is_err());
        assert!(jump_crps(&[good], 0, &[90.0]).is_err() && jump_crps(&[good], 1, &[101.0]).is_err());
        let nan = ScoredWindow { targets: &[0.0, f64::NAN], ..good };
        assert!(jump_crps(&[nan], 1, &[90.0]).unwrap_err().to_string().contains("target 2"));
        let single = ScoredWindow { targets: &[0.0], crps: &[0.1] };
        assert!(jump_crps(&[single], 1, &[90.0]).is_err());
    }
}
