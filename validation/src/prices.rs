//! Read prices, cut them into windows, score a forecaster on one of them.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use levytilt::internals::series::{Rolling, Scaled, Window, cumulative_log_returns};
use levytilt::score::{Estimator, Sample, pits};
use levytilt_baselines::{Forecaster, Record};
use std::error::Error;

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

pub const PATHS: usize = 1000;

/// Prices of one ticker and the windows over them: 30 days of training, 2 days ahead.
pub struct Prices {
    /// Days since the first window's start.
    times: Vec<f64>,
    prices: Vec<f64>,
    pub windows: Vec<Window>,
    pub skipped: usize,
}

pub struct Scored {
    pub targets: Vec<f64>,
    pub crps: Vec<f64>,
    pub pits: Vec<f64>,
}

impl Prices {
    /// Read a file with a column of ISO 8601 timestamps and one column per ticker.
    pub fn read(file: &str, ticker: &str, from: &str, to: &str) -> Outcome<Self> {
        let origin = instant(from)?;
        let days = |time: Timestamp| (time.as_second() - origin.as_second()) as f64 / 86_400.0;
        let to = days(instant(to)?);
        let rows = rows(file, ticker)?.into_iter().map(|(time, price)| (days(time), price));
        // The first price is only the base of the first return, so the first window must not begin with it.
        let (times, prices): (Vec<f64>, Vec<f64>) = rows.filter(|(time, _)| (0.0..to).contains(time)).unzip();
        let found = Rolling::monthly(0.0, to).windows(&times)?;
        Ok(Self { times, prices, windows: found.windows, skipped: found.skipped.len() })
    }

    pub fn score(&self, model: &dyn Forecaster, window: &Window) -> Outcome<Scored> {
        let Scaled { train, ahead, .. } = cumulative_log_returns(&self.prices, window)?;
        // The window knows the price before its first return: its value is 0 by construction.
        let base = window.train.start.checked_sub(1).map(|i| (self.times[i], 0.0));
        let (seen_times, seen): (Vec<f64>, Vec<f64>) =
            base.into_iter().chain(self.times[window.train.clone()].iter().copied().zip(train)).unzip();
        let record = Record::new(seen_times, vec![seen])?;
        let seed = window.number as u64;
        let paths = model.forecast(&record, &self.times[window.ahead.clone()], PATHS, seed)?;
        let samples = ahead.iter().enumerate().map(|(j, y)| Ok((Sample::new(&paths.draws(j, 0))?, *y)));
        let samples: Vec<(Sample, f64)> = samples.collect::<levytilt::Result<_>>()?;
        let crps = samples.iter().map(|(sample, y)| sample.crps(*y, Estimator::Fair));
        Ok(Scored { crps: crps.collect::<levytilt::Result<_>>()?, pits: pits(&samples, seed)?, targets: ahead })
    }
}

fn rows(file: &str, ticker: &str) -> Outcome<Vec<(Timestamp, f64)>> {
    let mut reader = csv::Reader::from_path(file)?;
    let column = reader.headers()?.iter().position(|name| name == ticker).ok_or("no such ticker")?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        if !record[column].is_empty() {
            rows.push((record[0].parse()?, record[column].parse()?));
        }
    }
    Ok(rows)
}

/// A date, at midnight UTC, or a date with a time.
fn instant(text: &str) -> Outcome<Timestamp> {
    Ok(text.parse::<DateTime>()?.to_zoned(TimeZone::UTC)?.timestamp())
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
