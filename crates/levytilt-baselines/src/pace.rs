//! Tell the pace of a record and of the steps ahead, all dimensions together: a clock stretches time, recent volatility
//! stretches moves.

use crate::forecaster::Record;
use levytilt::Result;
use levytilt::internals::series::{
    Clock, ClockOptions, Memory, Sessions, StepKind, VolatilityOptions, recent_volatility,
};

/// How pace is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// How the clock is learned; nothing for calendar time.
    pub clock: Option<ClockOptions>,
    /// How recent moves count; the mean of several, and nothing if all moves count the same.
    pub memory: Vec<Memory>,
    /// Whether moves over closed gaps tell volatility as well as those of open hours.
    pub gaps_tell: bool,
}

/// What was learned of the pace of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedPace {
    /// The clock; nothing for calendar time.
    pub clock: Option<Clock>,
    /// Effective lengths of the record's steps.
    pub lengths: Vec<f64>,
    /// Scale of each of the record's moves, as its past foretold it.
    pub scales: Vec<f64>,
    /// Scale of the moves to come.
    pub scale: f64,
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
        Self { clock: None, memory: vec![], gaps_tell: true }
    }

    /// Learn the pace of a record.
    ///
    /// Dimensions share it: the size of a step is the mean over dimensions of |move| in units of its own mean.
    ///
    /// # Errors
    /// A record that never moves.
    pub fn learn(&self, record: &Record) -> Result<LearnedPace> {
        let sizes = sizes(record);
        let learn = |options| Clock::learn(record.times(), &cumulative(&sizes), options);
        let clock = self.clock.as_ref().map(learn).transpose()?;
        let lengths = match &clock {
            Some(clock) => clock.train().to_vec(),
            None => record.times().windows(2).map(|pair| pair[1] - pair[0]).collect(),
        };
        let (scales, scale) = self.scales(record.times(), &sizes, &lengths)?;
        Ok(LearnedPace { clock, lengths, scales, scale })
    }

    /// Pace of the record's steps and of those ahead.
    pub(crate) fn of(&self, record: &Record, ahead: &[f64]) -> Result<Paced> {
        let LearnedPace { clock, lengths, scales, scale } = self.learn(record)?;
        let ahead = match clock {
            Some(clock) => clock.ahead(ahead)?,
            None => {
                let last = record.times().last().into_iter();
                last.chain(ahead).zip(ahead).map(|(before, time)| time - before).collect()
            }
        };
        Ok(Paced { lengths, ahead, scales, scale })
    }

    /// Scale of every move of the record, as its past foretold it, and of the moves ahead.
    fn scales(&self, times: &[f64], sizes: &[f64], lengths: &[f64]) -> Result<(Vec<f64>, f64)> {
        let kinds = Sessions::of(times).kinds(times);
        let tells = |step: &usize| self.gaps_tell || matches!(kinds[*step], StepKind::Open(_));
        let telling: Vec<usize> = (0..sizes.len()).filter(tells).collect();
        let of = |column: &[f64]| telling.iter().map(|&step| column[step]).collect::<Vec<f64>>();
        let (sizes, lengths) = (of(sizes), of(lengths));
        // One scale more than there are steps: the last is of now. Without a memory all are 1.
        let mut scales = vec![if self.memory.is_empty() { 1.0 } else { 0.0 }; kinds.len() + 1];
        for memory in &self.memory {
            let options = VolatilityOptions { memory: Some(*memory), ..VolatilityOptions::default() };
            let volatility = recent_volatility(&sizes, &lengths, &options)?;
            // A step that does not tell has the scale of the next one that does.
            let next = |step: usize| telling.partition_point(|&other| other < step);
            let at = |step: usize| volatility.past.get(next(step)).copied().unwrap_or(volatility.scale);
            scales.iter_mut().enumerate().for_each(|(step, scale)| *scale += at(step) / self.memory.len() as f64);
        }
        let scale = scales.pop().unwrap_or(1.0);
        Ok((scales, scale))
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
    fn identity_several_memories_are_averaged_and_gaps_may_be_silent() {
        // Four moves a day for a week, and gaps of 20 hours between with moves ten times as large from day 3 on.
        let times: Vec<f64> = (0..28).map(|k| f64::from(k / 4) + f64::from(k % 4) / 24.0).collect();
        let jump = |k: i32| if k % 4 == 0 && k > 12 { 10.0 } else { 1.0 + 0.1 * f64::from(k % 3) };
        let moves: Vec<f64> = (1..28).map(jump).collect();
        let record = Record::new(times, vec![cumulative(&moves)]).unwrap();
        let (short, long) = (Memory { half_life: 2.0, share: 0.8 }, Memory { half_life: 20.0, share: 0.4 });
        let scales = |memory: &[Memory], gaps_tell: bool| {
            let pace = Pace { clock: None, memory: memory.to_vec(), gaps_tell };
            pace.of(&record, &[7.5]).unwrap()
        };
        let (a, b, both) = (scales(&[short], true), scales(&[long], true), scales(&[short, long], true));
        for (k, both) in both.scales.iter().enumerate() {
            assert!((both - 0.5 * (a.scales[k] + b.scales[k])).abs() < 1e-12);
        }
        assert!((both.scale - 0.5 * (a.scale + b.scale)).abs() < 1e-12);
        // Without gaps the record is nearly steady, with them it is not.
        let spread = |paced: &Paced| paced.scales.iter().map(|scale| (scale - 1.0).abs()).fold(0.0, f64::max);
        let silent = scales(&[short], false);
        assert_eq!(silent.scales.len(), 27);
        assert!(spread(&silent) < 0.05 && spread(&a) > 0.2, "{} {}", spread(&silent), spread(&a));
    }

    #[test]
    fn identity_units_of_dimensions_do_not_matter() {
        let column: Vec<f64> = (0..200).map(|k| (f64::from(k) * 0.7).sin() * (1.0 + f64::from(k % 24))).collect();
        let large: Vec<f64> = column.iter().map(|x| -1e3 * x).collect();
        let memory = vec![Memory { half_life: 10.0, share: 0.5 }];
        let pace = Pace { clock: Some(ClockOptions::default()), memory, gaps_tell: true };
        let one = pace.of(&record(vec![column.clone()]), &[200.0]).unwrap();
        let two = pace.of(&record(vec![column, large]), &[200.0]).unwrap();
        assert!(one.lengths.iter().zip(&two.lengths).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
        assert!((one.ahead[0] / two.ahead[0] - 1.0).abs() < 1e-9 && (one.scale / two.scale - 1.0).abs() < 1e-9);
        assert!(one.scale != 1.0 && one.scales[0] == 1.0);
    }
}
