//! Make one data set of the synthetic study.

use levytilt::internals::series::TimeGrid;
use levytilt::noise::{Noise, TruncatedStable};
use levytilt::{Result, Start, StateSpace, simulate};
use serde::{Deserialize, Serialize};

use crate::workflow::reproduce::system::System;

/// Fine steps in the span of 10.
pub const FINE: usize = 10_000;
/// Length of a fine step.
pub const STEP: f64 = 0.001;
/// Observations seen, the others are held out.
const SEEN: usize = 1000;
/// Scale of the paper's jumps (a draw of its generator, the same for all of its data), its smallest size and its spread.
const JUMPS: [f64; 3] = [0.860_175, 0.01, 1.0];
/// A data set, by what it is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSet {
    /// The system.
    pub system: System,
    /// Index of the jumps.
    pub alpha: f64,
    /// Observation standard deviation.
    pub observation_std: f64,
    /// Its number.
    pub realisation: usize,
}

/// What was simulated.
pub struct Data {
    /// Observations at all fine times.
    pub observations: Vec<f64>,
    /// Which of them are seen.
    pub seen: Vec<usize>,
}

impl DataSet {
    /// A name that no other set has.
    pub fn name(&self) -> String {
        format!("{:?} {} {} {}", self.system, self.alpha, self.observation_std, self.realisation)
    }

    /// Simulate.
    pub fn data(&self, truth: [f64; 2], seed: u64) -> Result<Data> {
        let times: Vec<f64> = (0..=FINE).map(|i| STEP * i as f64).collect();
        let observations = simulate(&self.true_model(truth)?, &times, seed)?.observations;
        let seen = (0..SEEN).map(|i| (i as f64 * FINE as f64 / (SEEN - 1) as f64).round() as usize).collect();
        Ok(Data { observations, seen })
    }

    pub fn model(&self, drift: [f64; 2], noise: Box<dyn Noise>) -> Result<StateSpace> {
        StateSpace::new(self.system.drift(drift)?, noise, self.observation_std, Start::Fixed(0.0))
    }

    pub fn true_model(&self, truth: [f64; 2]) -> Result<StateSpace> {
        let [scale, tau, sigma] = JUMPS;
        self.model(truth, Box::new(TruncatedStable::new(self.alpha, scale, tau, sigma)?))
    }
}

impl Data {
    pub fn times(&self) -> Vec<f64> {
        self.seen.iter().map(|&i| STEP * i as f64).collect()
    }

    pub fn values(&self) -> Vec<f64> {
        self.seen.iter().map(|&i| self.observations[i]).collect()
    }

    pub fn grid(&self) -> Result<TimeGrid> {
        TimeGrid::new(&self.times(), Some(1))
    }
}
