//! Look for seasons of the calendar in a column: in its level, and in the size of its moves.

use levytilt::internals::residuals::Period;
use serde::Serialize;

/// Periods in days, with the flag that puts each into a drift.
const PERIODS: [Period; 3] = [(1.0, "day"), (7.0, "week"), (365.25, "year")];
/// Harmonics of each period.
const HARMONICS: usize = 2;
/// Periods that a record must hold, and values that a period must have.
const FEWEST_PERIODS: f64 = 3.0;
const FEWEST_VALUES: f64 = 4.0;
/// p-value below which a season is named.
const LIMIT: f64 = 1e-4;
/// Moves beyond this many typical ones are held back, so that one jump does not decide.
const HELD: f64 = 4.0;

/// A season that was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Season {
    /// Its period.
    pub period: &'static str,
    /// What it shows in: `level`, or `size of moves`.
    pub of: &'static str,
    /// Share of the variance that it explains, of what the value before does not.
    pub share: f64,
    /// Probability of a larger share without a season.
    pub p_value: f64,
}

impl Season {
    /// The flag that puts a season of the level into the drift.
    pub fn flag(&self) -> &'static str {
        match self.period {
            "day" => "24h",
            "week" => "7d",
            _ => "365.25d",
        }
    }
}

/// The seasons of values at times in days, NaN where missing.
///
/// Regresses every value on the one before it and on sines and cosines of the period (for sizes: |move| on the size before),
/// and tests these by F.
pub fn seasons(times: &[f64], values: &[f64]) -> Vec<Season> {
    let seen: Vec<(f64, f64)> =
        times.iter().copied().zip(values.iter().copied()).filter(|(_, value)| !value.is_nan()).collect();
    if seen.len() < 50 {
        return Vec::new();
    }
    let span = seen[seen.len() - 1].0 - seen[0].0;
    let moves: Vec<f64> = seen.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let mut sizes: Vec<f64> = moves.iter().map(|x| x.abs()).collect();
    let typical = {
        let mut sorted = sizes.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2] / 0.6745
    };
    if typical == 0.0 {
        return Vec::new();
    }
    let held: Vec<f64> = moves.iter().map(|x| x.clamp(-HELD * typical, HELD * typical)).collect();
    sizes.iter_mut().for_each(|size| *size = size.min(HELD * typical));
    let mut found = Vec::new();
    for (length, period) in PERIODS {
        let typical_gap = span / (seen.len() - 1) as f64;
        if span < FEWEST_PERIODS * length || length < FEWEST_VALUES * typical_gap {
            continue;
        }
        let before: Vec<f64> = seen[..moves.len()].iter().map(|(_, value)| *value).collect();
        let at: Vec<f64> = seen[1..].iter().map(|(time, _)| *time).collect();
        let of_level = test(&at, &before, &held, length).map(|(share, p)| ("level", share, p));
        let sizes_before: Vec<f64> = sizes[..sizes.len() - 1].to_vec();
        let of_sizes = test(&at[1..], &sizes_before, &sizes[1..], length).map(|(share, p)| ("size of moves", share, p));
        for (of, share, p_value) in [of_level, of_sizes].into_iter().flatten() {
            if p_value < LIMIT {
                found.push(Season { period, of, share, p_value });
            }
        }
    }
    found
}

/// Share of the variance of `y`, given `before`, that waves of `length` explain, and its p-value.
fn test(at: &[f64], before: &[f64], y: &[f64], length: f64) -> Option<(f64, f64)> {
    let mean = before.iter().sum::<f64>() / before.len() as f64;
    let row = |k: usize| {
        let angle = |h: usize| 2.0 * std::f64::consts::PI * h as f64 * (at[k] / length).fract();
        let waves = (1..=HARMONICS).flat_map(|h| [angle(h).sin(), angle(h).cos()]);
        [1.0, before[k] - mean].into_iter().chain(waves).collect::<Vec<f64>>()
    };
    let rows: Vec<Vec<f64>> = (0..y.len()).map(row).collect();
    let (without, with) = (unexplained(&rows, y, 2)?, unexplained(&rows, y, 2 + 2 * HARMONICS)?);
    let share = 1.0 - with / without;
    // For many values, n times the share is χ² with as many degrees as there are waves; 4 have a closed form.
    let half = 0.5 * y.len() as f64 * share;
    Some((share, (1.0 + half) * (-half).exp()))
}

/// Sum of squares of `y` that the first `count` columns of `rows` leave; nothing where they are not independent.
///
/// Columns are made orthogonal to each other one by one (modified Gram–Schmidt), and `y` to all of them.
fn unexplained(rows: &[Vec<f64>], y: &[f64], count: usize) -> Option<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let project = |basis: &[Vec<f64>], column: &mut Vec<f64>| {
        for known in basis {
            let along = dot(known, column);
            column.iter_mut().zip(known).for_each(|(x, known)| *x -= along * known);
        }
    };
    for k in 0..count {
        let mut column: Vec<f64> = rows.iter().map(|row| row[k]).collect();
        let before = dot(&column, &column).sqrt();
        project(&basis, &mut column);
        let size = dot(&column, &column).sqrt();
        if size <= 1e-9 * before {
            return None;
        }
        column.iter_mut().for_each(|x| *x /= size);
        basis.push(column);
    }
    let mut rest = y.to_vec();
    project(&basis, &mut rest);
    Some(dot(&rest, &rest)).filter(|sum| *sum > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(count: usize) -> Vec<f64> {
        let mut state = 3u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 2f64.powi(53) - 0.5
        };
        (0..count).map(|_| draw()).collect()
    }

    /// Hourly values with a wave of a day, with moves that are larger by day, and with neither.
    #[test]
    fn statistics_seasons_are_seen_where_they_are() {
        let times: Vec<f64> = (0..1000).map(|k| f64::from(k) / 24.0).collect();
        let wave = |t: &f64| (2.0 * std::f64::consts::PI * t).sin();
        let steps = draws(1000);
        let level: Vec<f64> = times.iter().zip(&steps).map(|(t, e)| wave(t) + 0.5 * e).collect();
        let names = |values: &[f64]| {
            seasons(&times, values).iter().map(|season| (season.period, season.of)).collect::<Vec<_>>()
        };
        assert!(names(&level).contains(&("day", "level")), "{:?}", names(&level));
        let mut x = 0.0;
        let paced: Vec<f64> = times
            .iter()
            .zip(&steps)
            .map(|(t, e)| {
                x += (1.0 + 0.9 * wave(t)) * e;
                x
            })
            .collect();
        assert_eq!(names(&paced), [("day", "size of moves")]);
        x = 0.0;
        let plain: Vec<f64> = steps
            .iter()
            .map(|e| {
                x += e;
                x
            })
            .collect();
        assert!(names(&plain).is_empty(), "{:?}", names(&plain));
    }
}
