//! Cut a record into rolling windows by calendar span, each with a training and a forecast part.

use super::check_times;
use crate::error::{check, finite, positive};
use crate::{Error, Result};
use std::ops::Range;

/// How windows roll, in the unit of the times.
///
/// Window number k trains on times in [from + k·stride, from + k·stride + train) and forecasts those in the `horizon`
/// after it. All ends are half open, so that no observation is in both parts.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rolling {
    /// Start of the first window. On hourly prices midnight and noon are different protocols: they put the overnight
    /// moves at different places of the horizon.
    pub from: f64,
    /// No forecast reaches beyond this.
    pub to: f64,
    /// Length of the training part.
    pub train: f64,
    /// Length of the forecast part.
    pub horizon: f64,
    /// From one window to the next; `horizon` for forecasts that do not overlap.
    pub stride: f64,
    /// Windows with fewer training times are skipped.
    pub least: usize,
}

/// One window: positions in the series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Its number, skipped windows counted.
    pub number: usize,
    /// Training part.
    pub train: Range<usize>,
    /// Forecast part; it begins where the training part ends.
    pub ahead: Range<usize>,
}

/// A window that cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Skipped {
    /// Its number.
    pub number: usize,
    /// Where it starts.
    pub start: f64,
    /// Why.
    pub reason: String,
}

/// The windows of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    /// Those to use, in the order of time.
    pub windows: Vec<Window>,
    /// Those left out.
    pub skipped: Vec<Skipped>,
}

/// Most windows of one series.
const MOST_WINDOWS: f64 = 1e6;

impl Rolling {
    /// 30 days of training, 2 days ahead, every 2 days, at least 20 training times: the protocol of Kındap et al.
    pub fn monthly(from: f64, to: f64) -> Self {
        Self { from, to, train: 30.0, horizon: 2.0, stride: 2.0, least: 20 }
    }

    /// All windows over `times`.
    ///
    /// # Errors
    /// Times that do not increase; spans that are not positive; not one window between `from` and `to`.
    pub fn windows(&self, times: &[f64]) -> Result<Windows> {
        check_times(times)?;
        let count = self.count()?;
        let mut found = Windows { windows: vec![], skipped: vec![] };
        for number in 0..count {
            let start = self.from + number as f64 * self.stride;
            let place = |time: f64| times.partition_point(|t| *t < time);
            let (first, middle) = (place(start), place(start + self.train));
            let window =
                Window { number, train: first..middle, ahead: middle..place(start + self.train + self.horizon) };
            match self.unusable(&window) {
                None => found.windows.push(window),
                Some(reason) => found.skipped.push(Skipped { number, start, reason }),
            }
        }
        Ok(found)
    }

    /// Number of windows whose forecast part ends by `to`.
    fn count(&self) -> Result<usize> {
        let (from, to) = (finite("from", self.from)?, finite("to", self.to)?);
        let length = positive("train", self.train)? + positive("horizon", self.horizon)?;
        let stride = positive("stride", self.stride)?;
        // Count a window that misses its end only by rounding.
        let count = ((to - from - length) / stride * (1.0 + 1e-12) + 1e-9).floor() + 1.0;
        if count < 1.0 {
            return Err(Error::Series {
                place: format!("times from {from} to {to}"),
                problem: format!("span {}, less than one window of {length}; use shorter windows", to - from),
            });
        }
        check("number of windows", count, count <= MOST_WINDOWS, "must be at most a million: use a longer stride")?;
        Ok(count as usize)
    }

    fn unusable(&self, window: &Window) -> Option<String> {
        let (seen, ahead) = (window.train.len(), window.ahead.len());
        if seen < self.least.max(2) {
            Some(format!("{seen} training times, fewer than {}", self.least.max(2)))
        } else if ahead == 0 {
            Some("nothing to forecast".into())
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hourly(days: usize) -> Vec<f64> {
        // Seven prices from 13:30 on, five days of seven.
        let open = |day: &usize| day % 7 < 5;
        (0..days).filter(open).flat_map(|day| (0..7).map(move |h| day as f64 + (13.5 + f64::from(h)) / 24.0)).collect()
    }

    #[test]
    fn identity_windows_partition_the_forecast_span() {
        let times = hourly(70);
        let found = Rolling::monthly(0.0, 70.0).windows(&times).unwrap();
        assert_eq!(found.windows.len() + found.skipped.len(), 20);
        // Day 30 is a Wednesday: windows 0 (Wed, Thu), 1 (Fri, Sat), 2 (Sun, Mon), ..., and the one of Sat, Sun is empty.
        let weekends: Vec<usize> = found.skipped.iter().map(|skipped| skipped.number).collect();
        assert_eq!(weekends, [5, 12, 19]);
        assert!(found.skipped.iter().all(|skipped| skipped.reason == "nothing to forecast"));
        let ahead: Vec<usize> = found.windows.iter().flat_map(|window| window.ahead.clone()).collect();
        let first = times.partition_point(|t| *t < 30.0);
        assert_eq!(ahead, (first..times.len()).collect::<Vec<_>>());
        for window in &found.windows {
            assert_eq!(window.train.end, window.ahead.start);
            let start = 2.0 * window.number as f64;
            assert!(times[window.train.clone()].iter().all(|t| (start..start + 30.0).contains(t)));
            assert!(times[window.ahead.clone()].iter().all(|t| (start + 30.0..start + 32.0).contains(t)));
        }
    }

    #[test]
    fn identity_ends_are_half_open() {
        let times: Vec<f64> = (0..10).map(f64::from).collect();
        let rolling = Rolling { from: 0.0, to: 9.0, train: 3.0, horizon: 2.0, stride: 2.0, least: 2 };
        let found = rolling.windows(&times).unwrap();
        let parts: Vec<_> = found.windows.iter().map(|w| (w.train.clone(), w.ahead.clone())).collect();
        assert_eq!(parts, [(0..3, 3..5), (2..5, 5..7), (4..7, 7..9)]);
    }

    #[test]
    fn thin_windows_are_skipped_and_named() {
        let times = [0.0, 1.0, 2.0, 40.0, 41.0, 42.0, 43.0];
        let rolling = Rolling { from: 0.0, to: 44.0, train: 3.0, horizon: 1.0, stride: 40.0, least: 3 };
        let found = rolling.windows(&times).unwrap();
        assert_eq!((found.windows.len(), found.skipped.len()), (1, 1));
        assert_eq!((found.skipped[0].number, found.skipped[0].start), (0, 0.0));
        let thin = Rolling { least: 4, ..rolling }.windows(&times).unwrap();
        assert!(thin.windows.is_empty());
        assert!(thin.skipped.iter().all(|skipped| skipped.reason == "3 training times, fewer than 4"), "{thin:?}");
    }

    #[test]
    fn bad_spans_are_errors() {
        let times: Vec<f64> = (0..10).map(f64::from).collect();
        let good = Rolling { from: 0.0, to: 9.0, train: 3.0, horizon: 2.0, stride: 2.0, least: 2 };
        for bad in [
            Rolling { train: 0.0, ..good.clone() },
            Rolling { horizon: f64::NAN, ..good.clone() },
            Rolling { stride: -1.0, ..good.clone() },
            Rolling { stride: 1e-9, ..good.clone() },
            Rolling { to: f64::INFINITY, ..good.clone() },
        ] {
            assert!(bad.windows(&times).is_err(), "{bad:?}");
        }
        let long = Rolling { train: 30.0, ..good.clone() }.windows(&times).unwrap_err().to_string();
        assert!(long.contains("less than one window of 32"), "{long}");
        assert!(good.windows(&[0.0, 1.0, 1.0]).unwrap_err().to_string().contains("occurs twice"));
    }
}
