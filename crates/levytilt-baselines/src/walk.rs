//! Walk on from the last value with moves like those of the record, in its own business time if asked to.

use crate::forecaster::{Forecaster, Paths, Record};
use crate::increments::{Increments, Law};
use levytilt::Result;
use levytilt::internals::series::{Clock, ClockOptions, VolatilityOptions, recent_volatility};

/// A random walk without drift (the bootstrap keeps the mean move of the record, because its moves are the record's).
///
/// Without a clock every step is alike, from one time to the next, however long it takes. With it, moves are divided
/// by the root of their steps' effective lengths before their law is learned, and multiplied by that of the steps
/// ahead. An adaptive walk scales the moves ahead by [`recent_volatility`] as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Walk {
    /// Law of the moves.
    pub increments: Increments,
    /// How effective lengths of steps are learned; nothing if all steps are alike.
    pub clock: Option<ClockOptions>,
    /// Whether recent moves count more.
    pub adaptive: bool,
}

impl Walk {
    /// The walk that any forecaster of prices must beat: Gaussian moves of the record's spread.
    pub fn gaussian() -> Self {
        Self::plain(Increments::Gaussian)
    }

    /// A walk with neither clock nor adaptive scale.
    pub fn plain(increments: Increments) -> Self {
        Self { increments, clock: None, adaptive: false }
    }

    /// Lengths of the record's steps and of those ahead, and the scale ahead, for dimension `i`.
    fn pace(&self, record: &Record, i: usize, ahead: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let moves = record.moves(i);
        let (train, mut next) = if let Some(options) = &self.clock {
            let clock = Clock::learn(record.times(), record.column(i), options)?;
            (clock.train().to_vec(), clock.ahead(ahead)?)
        } else {
            (vec![1.0; moves.len()], vec![1.0; ahead.len()])
        };
        if self.adaptive {
            let options = VolatilityOptions { ahead: ahead.len().max(1), ..VolatilityOptions::default() };
            let scale = recent_volatility(&moves, &train, &options)?.scale;
            next.iter_mut().for_each(|length| *length *= scale * scale);
        }
        Ok((train, next))
    }
}

impl Forecaster for Walk {
    fn name(&self) -> String {
        let law = format!("{:?} walk", self.increments).to_lowercase();
        let clock = self.clock.as_ref().map_or(String::new(), |options| format!(", clock ({})", options.power));
        law + &clock + if self.adaptive { ", adaptive" } else { "" }
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        record.check_ahead(ahead)?;
        let dim = record.dim();
        let paces = (0..dim).map(|i| self.pace(record, i, ahead)).collect::<Result<Vec<_>>>()?;
        let standard =
            |i: usize| record.moves(i).iter().zip(&paces[i].0).map(|(x, length)| x / length.sqrt()).collect();
        let columns: Vec<Vec<f64>> = (0..dim).map(standard).collect();
        let law = Law::learn(self.increments, &columns)?;
        let factors: Vec<Vec<f64>> =
            (0..ahead.len()).map(|j| paces.iter().map(|(_, next)| next[j].sqrt()).collect()).collect();
        let last = record.last();
        Paths::sample((paths, seed), (ahead.len(), dim), |rng| {
            let mut x = last.clone();
            let mut path = Vec::with_capacity(ahead.len() * dim);
            for factors in &factors {
                let moves = law.draw(rng);
                (0..dim).for_each(|i| x[i] += factors[i] * moves[i]);
                path.extend(&x);
            }
            path
        })
    }
}
