//! Tell the pace of a record and of the steps ahead, all dimensions together: a clock stretches time, recent volatility
//! stretches moves.

use crate::forecaster::Record;
use levytilt::Result;
use levytilt::series::{Clock, ClockOptions, Memory, VolatilityOptions, recent_volatility};

/// How pace is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// How the clock is learned; nothing for calendar time.
    pub clock: Option<ClockOptions>,
    /// How recent moves count; nothing if all count the same.
    pub memory: Option<Memory>,
}

/// The pace of a record and of the steps ahead.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paced {
    /// Effective lengths of the record's steps.
    pub lengths: Vec<f64>,
    /// Effective lengths of the steps ahead.
    pub ahead: Vec<f64>,
    /// Scale of each of the record's moves, as its past foretold it.
    pub scales: Vec<f64>,
    /// Scale of the moves ahead.
    pub scale: f64,
}

impl Pace {
    /// Calendar time.
    pub fn calendar() -> Self {
        Self { clock: None, memory: None }
    }

    /// Pace of the record's steps and of those ahead.
    ///
    /// Dimensions share it: the size of a step is the mean over dimensions of |move| in units of its own mean.
    pub(crate) fn of(&self, record: &Record, ahead: &[f64]) -> Result<Paced> {
        let sizes = sizes(record);
        let (lengths, ahead) = match &self.clock {
            Some(options) => {
                let clock = Clock::learn(record.times(), &cumulative(&sizes), options)?;
                (clock.train().to_vec(), clock.ahead(ahead)?)
            }
            None => {
                let times: Vec<f64> = record.times().iter().chain(ahead).copied().collect();
                let mut lengths: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
                let ahead = lengths.split_off(sizes.len());
                (lengths, ahead)
            }
        };
        let (mut scales, mut scale) = (vec![1.0; sizes.len()], 1.0);
        if self.memory.is_some() {
            let options = VolatilityOptions { memory: self.memory, ..VolatilityOptions::default() };
            let volatility = recent_volatility(&sizes, &lengths, &options)?;
            (scales, scale) = (volatility.past, volatility.scale);
        }
        Ok(Paced { lengths, ahead, scales, scale })
    }
}

/// Size of every step: the mean over dimensions of |move| in units of the dimension's mean.
fn sizes(record: &Record) -> Vec<f64> {
    let mut sizes = vec![0.0; record.times().len() - 1];
    for i in 0..record.dim() {
        let moves = record.moves(i);
        let mean = moves.iter().map(|x| x.abs()).sum::<f64>() / moves.len() as f64;
        // A dimension that never moves says nothing about time; its law is refused where it is learned.
        if mean > 0.0 {
            sizes.iter_mut().zip(&moves).for_each(|(size, x)| *size += x.abs() / mean / record.dim() as f64);
        }
    }
    sizes
}

/// Values that begin with 0 and move by `moves`.
pub(crate) fn cumulative(moves: &[f64]) -> Vec<f64> {
    let sums = moves.iter().scan(0.0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    std::iter::once(0.0).chain(sums).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(columns: Vec<Vec<f64>>) -> Record {
        Record::new((0..columns[0].len()).map(|t| t as f64).collect(), columns).unwrap()
    }

    #[test]
    fn identity_calendar_time_is_the_calendar() {
        let paced = Pace::calendar().of(&record(vec![vec![0.0, 1.0, 3.0]]), &[4.0, 6.5]).unwrap();
        let expected = Paced { lengths: vec![1.0, 1.0], ahead: vec![2.0, 2.5], scales: vec![1.0, 1.0], scale: 1.0 };
        assert_eq!(paced, expected);
    }

    #[test]
    fn identity_units_of_dimensions_do_not_matter() {
        let column: Vec<f64> = (0..200).map(|k| (f64::from(k) * 0.7).sin() * (1.0 + f64::from(k % 24))).collect();
        let large: Vec<f64> = column.iter().map(|x| -1e3 * x).collect();
        let memory = Some(Memory { half_life: 10.0, share: 0.5 });
        let pace = Pace { clock: Some(ClockOptions::default()), memory };
        let one = pace.of(&record(vec![column.clone()]), &[200.0]).unwrap();
        let two = pace.of(&record(vec![column, large]), &[200.0]).unwrap();
        assert!(one.lengths.iter().zip(&two.lengths).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
        assert!((one.ahead[0] / two.ahead[0] - 1.0).abs() < 1e-9 && (one.scale / two.scale - 1.0).abs() < 1e-9);
        assert!(one.scale != 1.0 && one.scales[0] == 1.0);
    }
}
