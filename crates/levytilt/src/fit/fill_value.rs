//! Name values that cannot be measurements, such as 10⁸ among values near 1, before they spoil a fit.
//!
//! A record with heavy tails has far values, but it stays away for a while or the model would not need to jump. A fill value
//! stands alone: it lies many spreads of the record away from both its neighbours, which are close to each other.

use crate::{Error, Result};

/// Distance from both neighbours, in spreads of the record, from which a lone value is refused.
const IMPOSSIBLE: f64 = 1e5;
/// The same from which it is warned about.
const DOUBTFUL: f64 = 1e3;

/// A value that stands alone.
#[derive(Debug, Clone, PartialEq)]
struct Lone {
    row: usize,
    value: f64,
    /// Distance from the nearer neighbour in spreads.
    away: f64,
}

/// Refuse a lone value that is so far away that it must be a fill value.
///
/// # Errors
/// Names the observation and says what to do.
pub(super) fn refuse(name: Option<&str>, values: &[f64]) -> Result<()> {
    let Some(lone) = farthest(values).filter(|lone| lone.away >= IMPOSSIBLE) else { return Ok(()) };
    let problem = format!(
        "{} is {:.0e} times as far from its neighbours as the record is wide: it looks like a fill value for a missing one. \
         Leave that field empty, or write NaN",
        lone.value, lone.away
    );
    Err(Error::Observation { row: lone.row, dimension: name.map(String::from), problem })
}

/// A warning about a lone value that is hardly a measurement.
pub(super) fn warning(name: Option<&str>, values: &[f64]) -> Option<String> {
    let lone = farthest(values).filter(|lone| lone.away >= DOUBTFUL)?;
    let of = name.map_or(String::new(), |name| format!(" of {name}"));
    Some(format!(
        "observation {}{of}, {}, is {:.0} times as far from its neighbours as the record is wide, and dominates the fit. \
         If it is a wrong value, leave that field empty, or fit with errors outliers.",
        lone.row + 1,
        lone.value,
        lone.away
    ))
}

/// The lone value farthest from its neighbours, in units of the spread between the 5% and the 95% quantile; none if the
/// record is short or does not vary.
fn farthest(values: &[f64]) -> Option<Lone> {
    let seen: Vec<(usize, f64)> = values.iter().copied().enumerate().filter(|(_, y)| !y.is_nan()).collect();
    let mut sorted: Vec<f64> = seen.iter().map(|(_, y)| *y).collect();
    sorted.sort_by(f64::total_cmp);
    let quantile = |level: f64| sorted[((sorted.len() - 1) as f64 * level).round() as usize];
    let spread = if seen.len() < 20 { 0.0 } else { quantile(0.95) - quantile(0.05) };
    if spread <= 0.0 {
        return None;
    }
    let lone = |k: usize| {
        let (row, value) = seen[k];
        // The same fill value may stand there several times in a row.
        let other = |place: &&(usize, f64)| place.1 != value;
        let neighbours =
            [seen[..k].iter().rev().find(other), seen[k..].iter().find(other)].map(|place| place.map(|place| place.1));
        let distances = || neighbours.iter().flatten().map(|other| (value - other).abs());
        let away = distances().fold(f64::INFINITY, f64::min) / spread;
        // Where the neighbours differ as much, the record has moved.
        let together = match neighbours {
            [Some(before), Some(after)] => (before - after).abs() < 1e-2 * spread * away,
            _ => true,
        };
        together.then_some(Lone { row, value, away })
    };
    (0..seen.len()).filter_map(lone).max_by(|a, b| a.away.total_cmp(&b.away))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<f64> {
        (0..100).map(|i| 1.0 + 0.1 * (0.3 * f64::from(i)).sin()).collect()
    }

    #[test]
    fn identity_a_fill_value_is_named_with_its_row() {
        for (row, value) in [(0, 1e8), (40, -9999.0 * 10.0), (99, 9.96921e36)] {
            let mut values = record();
            values[row] = value;
            let error = refuse(Some("flow"), &values).unwrap_err().to_string();
            assert!(error.contains(&format!("observation {} of flow", row + 1)), "{error}");
            assert!(error.contains("fill value") && error.contains("NaN"), "{error}");
        }
        let mut values = record();
        values[60..63].fill(-1e6);
        assert!(refuse(None, &values).unwrap_err().to_string().contains("observation 63"));
        let mut values = record();
        values[41] = 999.0;
        assert!(refuse(None, &values).is_ok());
        assert!(warning(None, &values).unwrap().starts_with("observation 42, 999, is 5"));
    }

    #[test]
    fn identity_a_jump_that_stays_is_no_fill_value() {
        let mut values = record();
        values[50..].iter_mut().for_each(|y| *y += 1e8);
        // Missing values around it do not matter either.
        values[49] = f64::NAN;
        assert!(refuse(None, &values).is_ok() && warning(None, &values).is_none());
        assert!(warning(None, &record()).is_none());
        assert!(refuse(None, &[1.0, 1e9, 2.0]).is_ok());
    }
}
