//! What a run keeps of its trading time, so that a forecast can go on from the end of the record.

use anyhow::Result;
use levytilt::internals::series::Clock;
use serde::{Deserialize, Serialize};

/// What goes on after the end of a record: a part of state.json.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TradingRecord {
    /// The clock; nothing where time runs by the calendar.
    pub clock: Option<Clock>,
    /// Scale of the moves to come, in that of the whole record.
    pub scale: f64,
    /// Last time of the record.
    pub from: f64,
    /// Typical latent step of trading time.
    pub step: f64,
}

impl TradingRecord {
    /// Trading time from the end of the record to each of `times`, which increase from there on.
    pub fn ahead(&self, times: &[f64]) -> Result<Vec<f64>> {
        let lengths: Vec<f64> = match &self.clock {
            Some(clock) => clock.ahead(times)?,
            None => [self.from].iter().chain(times).zip(times).map(|(before, time)| time - before).collect(),
        };
        let stretch = self.scale.powi(2);
        let mut now = 0.0;
        Ok(lengths
            .into_iter()
            .map(|length| {
                now += stretch * length;
                now
            })
            .collect())
    }

    /// Go on to a row at `time`.
    pub fn go_on(&mut self, time: f64) -> Result<()> {
        if let Some(clock) = &mut self.clock {
            clock.go_on(time)?;
        }
        self.from = time;
        Ok(())
    }

    /// What a forecast takes for granted.
    pub fn check(&self) -> Result<(), String> {
        match [self.scale, self.step].iter().all(|x| *x > 0.0 && x.is_finite()) && self.from.is_finite() {
            true => Ok(()),
            false => Err("trading: expected a scale and a step above 0, and a finite time".into()),
        }
    }
}
