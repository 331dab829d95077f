//! Let time run by trading: learn the effective length of every step, and find the way back to the calendar.
//!
//! Hours of the day and closed gaps have lengths of their own (`--clock business`), and after large moves time runs faster
//! (`--volatility recent`): moves of a Lévy process that are s times as large are those over s² times the time, exactly so for
//! noises that grow with the square root of time. What `backtest` calls +clock and +adaptive is learned the same way.

use anyhow::Result;
use levytilt::internals::fit::Fit;
use levytilt_baselines::{LearnedPace, Pace, Record};
use std::collections::BTreeMap;

use crate::directory::trading_record::TradingRecord;
use crate::failure::bad;
use crate::settings::{Clock, Settings, Volatility};
use crate::table::Table;

/// Complete rows below which no clock is learned.
const FEWEST: usize = 20;

/// Trading time of a record.
#[derive(Debug, Clone)]
pub struct Trading {
    /// Trading time of every row; the first is that of the calendar.
    pub times: Vec<f64>,
    /// What a forecast needs of it.
    pub record: TradingRecord,
}

impl Trading {
    /// The trading time of `table`, if `settings` ask for it.
    ///
    /// # Errors
    /// A season, which goes by the calendar; a record with too few complete rows, or that never moves.
    pub fn of(settings: &Settings, table: &Table) -> Result<Option<Self>> {
        check(settings)?;
        Self::by(settings.model.clock, settings.model.volatility, table)
    }

    /// The same, given what is asked for.
    ///
    /// # Errors
    /// A record with too few complete rows, or that never moves.
    pub fn by(clock: Option<Clock>, volatility: Option<Volatility>, table: &Table) -> Result<Option<Self>> {
        let (business, recent) = (clock == Some(Clock::Business), volatility == Some(Volatility::Recent));
        if !business && !recent {
            return Ok(None);
        }
        let prices = Pace::prices();
        let memory = if recent { prices.memory } else { Vec::new() };
        let pace = Pace { clock: prices.clock.filter(|_| business), memory, gaps_tell: prices.gaps_tell };
        let complete = |row: &usize| table.columns.iter().all(|column| !column[*row].is_nan());
        let rows: Vec<usize> = (0..table.times.len()).filter(complete).collect();
        if rows.len() < FEWEST {
            return Err(bad(format!(
                "{}: has {} rows without a missing value; --clock and --volatility are learned from at least {FEWEST}",
                table.source,
                rows.len()
            )));
        }
        let of = |column: &[f64]| rows.iter().map(|&row| column[row]).collect::<Vec<f64>>();
        let record = Record::new(of(&table.times), table.columns.iter().map(|column| of(column)).collect())?;
        Ok(Some(Self::at_pace(pace.learn(&record)?, &rows, &table.times)?))
    }

    /// Trading time at `times`, by the pace of the record of `rows`.
    fn at_pace(learned: LearnedPace, rows: &[usize], times: &[f64]) -> Result<Self> {
        let LearnedPace { clock, scales, scale, .. } = learned;
        let lengths = match &clock {
            Some(clock) => clock.measure(times)?,
            None => times.windows(2).map(|pair| pair[1] - pair[0]).collect(),
        };
        // A step to a row with a missing value has the scale of the complete step that it is a part of.
        let at = |row: usize| {
            let step = rows.partition_point(|&known| known < row).saturating_sub(1);
            scales.get(step).copied().unwrap_or(scale)
        };
        let mut now = times[0];
        let mut all = vec![now];
        for (k, length) in lengths.iter().enumerate() {
            now += length * at(k + 1).powi(2);
            all.push(now);
        }
        let step = (now - times[0]) / lengths.len() as f64;
        let record = TradingRecord { clock, scale, from: times[times.len() - 1], step };
        Ok(Self { times: all, record })
    }

    /// The record with its times in trading time.
    pub fn table(&self, table: &Table) -> Table {
        Table { times: self.times.clone(), ..table.clone() }
    }

    /// Take latent times and jumps of a fit back to the calendar of `times`, and note its typical step.
    pub fn back(&mut self, fit: &mut Fit, times: &[f64]) {
        self.latent_back(&mut fit.times, times);
        for jump in fit.jumps.iter_mut().flatten() {
            jump.time = self.calendar(jump.time, times);
        }
    }

    /// Take latent times back to the calendar of `times`, and note their typical step.
    pub fn latent_back(&mut self, latent: &mut [f64], times: &[f64]) {
        let mut lengths: Vec<f64> = latent.windows(2).map(|pair| pair[1] - pair[0]).collect();
        lengths.sort_by(f64::total_cmp);
        self.record.step = lengths[lengths.len() / 2];
        latent.iter_mut().for_each(|time| *time = self.calendar(*time, times));
    }

    /// The time of the calendar, linear between rows.
    fn calendar(&self, time: f64, times: &[f64]) -> f64 {
        let after = self.times.partition_point(|known| *known <= time).clamp(1, times.len() - 1);
        let (from, to) = (self.times[after - 1], self.times[after]);
        let share = (time - from) / (to - from);
        if share == 1.0 { times[after] } else { times[after - 1] + share * (times[after] - times[after - 1]) }
    }
}

/// Refuse what does not go with trading time.
///
/// # Errors
/// A season, which goes by the calendar.
pub fn check(settings: &Settings) -> Result<()> {
    let model = &settings.model;
    let asked = model.clock == Some(Clock::Business) || model.volatility == Some(Volatility::Recent);
    match asked && settings.drift.season.is_some() {
        true => Err(bad(
            "--season is in calendar time and cannot be combined with --clock business or --volatility recent; give one of them",
        )),
        false => Ok(()),
    }
}

/// Days of a record's end whose rows show when there is trading.
const WEEKS: f64 = 4.0;
const MINUTES: f64 = 1440.0;

/// The times after `from`, up to `length` days later, at which trading is to be expected: times of the week, to the minute, at
/// which half of the last four weeks have a row. The end itself if there is none; every k-th of them if there are more than `most`.
pub fn session_times(rows: &[f64], (from, length): (f64, f64), most: usize) -> Vec<f64> {
    let minute = |time: f64| (time.rem_euclid(7.0) * MINUTES).round() as i64 % (7 * 1440);
    let recent: Vec<f64> = rows.iter().copied().filter(|time| *time > from - 7.0 * WEEKS).collect();
    let span = recent.first().map_or(0.0, |first| from - first);
    let weeks = (span / 7.0).ceil().max(1.0);
    let mut slots: BTreeMap<i64, f64> = BTreeMap::new();
    recent.iter().for_each(|time| *slots.entry(minute(*time)).or_default() += 1.0);
    let (first, last) = ((from / 7.0).floor() as i64, ((from + length) / 7.0).floor() as i64);
    let expected = (first..=last).flat_map(|week| {
        let often = slots.iter().filter(|(_, count)| 2.0 * **count >= weeks);
        often.map(move |(slot, _)| 7.0 * week as f64 + *slot as f64 / MINUTES)
    });
    // Half a minute is rounding.
    let half = 0.5 / MINUTES;
    let times: Vec<f64> = expected.filter(|time| *time > from + half && *time <= from + length + half).collect();
    match times.len() {
        0 => vec![from + length],
        count => {
            let every = count.div_ceil(most);
            times.into_iter().rev().step_by(every).collect::<Vec<f64>>().into_iter().rev().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::input::from_numbers;

    /// Seven hours a day for 20 days; a night moves as much as an hour.
    fn market() -> Table {
        let times: Vec<f64> = (0..140).map(|k| f64::from(k / 7) + f64::from(k % 7) / 24.0).collect();
        let mut value = 0.0;
        let column = (0..140).map(|k: u32| {
            value += f64::from(k * k % 11) - 5.0;
            value
        });
        from_numbers("market", vec!["price".into()], &times, &[column.collect()]).unwrap()
    }

    #[test]
    fn identity_trading_time_goes_back_to_the_calendar() {
        let table = market();
        let plain = Settings::default();
        assert!(Trading::of(&plain, &table).unwrap().is_none());
        let mut settings = plain;
        settings.model.clock = Some(Clock::Business);
        let trading = Trading::of(&settings, &table).unwrap().unwrap();
        // The whole record has the same length by both; a night is much shorter than 18 of its 24 hours.
        let (first, last) = (table.times[0], table.times[139]);
        assert!((trading.times[139] - last).abs() < 1e-9 && trading.times[0] == first);
        let night = trading.times[7] - trading.times[6];
        assert!(night < 0.9 * (table.times[7] - table.times[6]), "{night}");
        for (time, known) in table.times.iter().zip(&trading.times) {
            assert_eq!(trading.calendar(*known, &table.times), *time);
        }
        let between = 0.5 * (trading.times[3] + trading.times[4]);
        assert!((trading.calendar(between, &table.times) - 0.5 * (table.times[3] + table.times[4])).abs() < 1e-12);
        // A day ahead: a night and six hours, as long as a day of the record.
        let ahead = trading.record.ahead(&[last + 0.75, last + 1.0]).unwrap();
        assert!(ahead[0] > 0.0 && ahead[1] > ahead[0]);
    }

    #[test]
    fn golden_sessions_go_on() {
        // Five days a week, at 10:00, 11:00 and 12:00, from a Monday on; the last row is of a Friday.
        let open = |day: &i32| day % 7 < 5;
        let rows: Vec<f64> = (0..26)
            .filter(open)
            .flat_map(|day| (10..13).map(move |hour| f64::from(day) + f64::from(hour) / 24.0))
            .collect();
        let from = rows[rows.len() - 1];
        assert_eq!(session_times(&rows, (from, 1.0), 100), [from + 1.0]);
        let next = session_times(&rows, (from, 4.0), 100);
        let expected = [28.0 + 10.0 / 24.0, 28.0 + 11.0 / 24.0, 28.0 + 12.0 / 24.0, 29.0 + 10.0 / 24.0];
        assert!(next.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9) && next.len() == 6, "{next:?}");
        assert_eq!(session_times(&rows, (from, 14.0), 10).len(), 10);
    }

    #[test]
    fn identity_recent_moves_stretch_time() {
        let times: Vec<f64> = (0..80).map(f64::from).collect();
        let mut value = 0.0;
        let column = (0..80).map(|k: u32| {
            value += if k.is_multiple_of(2) { 1.0 } else { -0.9 } * if k < 60 { 1.0 } else { 5.0 };
            value
        });
        let table = from_numbers("calm", vec!["x".into()], &times, &[column.collect()]).unwrap();
        let mut settings = Settings::default();
        settings.model.volatility = Some(Volatility::Recent);
        let trading = Trading::of(&settings, &table).unwrap().unwrap();
        let step = |k: usize| trading.times[k] - trading.times[k - 1];
        assert!(step(79) > 2.0 * step(50), "{} {}", step(79), step(50));
        assert!(trading.record.scale > 1.3, "{}", trading.record.scale);
        assert_eq!(trading.record.ahead(&[80.0]).unwrap(), [trading.record.scale.powi(2)]);
        settings.drift.season = Some(vec!["24".into()]);
        assert!(Trading::of(&settings, &table).unwrap_err().to_string().contains("--season"));
    }
}
