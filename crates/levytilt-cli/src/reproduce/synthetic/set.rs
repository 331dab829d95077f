//! Make one data set of the synthetic study, and the lines that say how it was inferred.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::noise::{Noise, TruncatedStable};
use levytilt::series::TimeGrid;
use levytilt::solve::Prior;
use levytilt::{Model, Result, Start, simulate, stream};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::time::Instant;

use crate::backtest::score::identity;
use crate::reproduce::synthetic::score::Scored;
use crate::reproduce::synthetic::ways::Way;

/// Fine steps in the span of 10.
pub const FINE: usize = 10_000;
/// Length of a fine step.
pub const STEP: f64 = 0.001;
/// Observations seen, the others are held out.
const SEEN: usize = 1000;
/// Scale of the paper's jumps (a draw of its generator, the same for all of its data), its smallest size and its spread.
const JUMPS: [f64; 3] = [0.860_175, 0.01, 1.0];
/// Mean and standard deviation of ln|z| and of |z|, z standard normal.
const LOG_HALF_NORMAL: [f64; 2] = [-0.635_181_422_730_739, 1.110_720_734_539_591_7];
const HALF_NORMAL: [f64; 2] = [0.797_884_560_802_865_4, 0.602_810_275_989_839_3];

/// A system of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// dx = θ(μ − x) dt, θ = |5z|, μ = 5z'.
    Ou,
    /// dx = (θ₁x − θ₂x³) dt, θ₁ = |z|, θ₂ = |z'|.
    DoubleWell,
}

/// A data set, by what it is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataSet {
    /// The system.
    pub system: System,
    /// Index of the jumps.
    pub alpha: f64,
    /// Standard deviation of the observation error.
    pub observation_std: f64,
    /// Its number.
    pub realisation: usize,
}

/// A line of sets.jsonl.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    /// The data set.
    pub set: DataSet,
    /// True parameters of the drift.
    pub truth: [f64; 2],
    /// Ways of inference: tilt, gaussian, exact; or neural alone.
    pub rows: Vec<Row>,
}

/// A piece of work: a data set, by networks or in the quick ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The data set.
    pub set: DataSet,
    /// Whether networks are trained on it.
    pub neural: bool,
}

/// One way of inference on one data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Parameters of the drift that were found.
    pub found: Option<[f64; 2]>,
    /// Scores of the posterior.
    pub scores: Option<Scored>,
    /// Time it took.
    pub seconds: f64,
    /// Why there are no scores.
    pub error: Option<String>,
}

/// What was simulated.
pub struct Data {
    /// Observations at all fine times.
    pub observations: Vec<f64>,
    /// Which of them are seen.
    pub seen: Vec<usize>,
}

impl System {
    fn drift(self, [a, b]: [f64; 2]) -> Result<Box<dyn Drift>> {
        Ok(match self {
            System::Ou => Box::new(Ou::new(a, b)?),
            System::DoubleWell => Box::new(DoubleWell::new(a, b)?),
        })
    }

    /// The law that the paper draws parameters from, and starts its models from: also the prior.
    pub fn draw(self, z: [f64; 2]) -> [f64; 2] {
        match self {
            System::Ou => [(5.0 * z[0]).abs(), 5.0 * z[1]],
            System::DoubleWell => z.map(f64::abs),
        }
    }

    /// Rate at which a small departure from rest dies out: θ, and 2θ₁ in a well.
    pub fn return_rate(self, [first, _]: [f64; 2]) -> f64 {
        match self {
            System::Ou => first,
            System::DoubleWell => 2.0 * first,
        }
    }

    /// That law on the free scales: θ and θ₂ are free in their logarithm, μ and θ₁, which may be negative, as they are.
    pub fn priors(self) -> [Prior; 2] {
        let half = |unit: f64| Prior { mean: LOG_HALF_NORMAL[0] + unit.ln(), std: LOG_HALF_NORMAL[1] };
        match self {
            System::Ou => [half(5.0), Prior { mean: 0.0, std: 5.0 }],
            System::DoubleWell => [Prior { mean: HALF_NORMAL[0], std: HALF_NORMAL[1] }, half(1.0)],
        }
    }
}

impl Task {
    /// The task that a line is the result of.
    pub fn of(line: &Line) -> Self {
        Self { set: line.set.clone(), neural: line.rows.iter().any(|row| row.name == "neural") }
    }

    /// A name that no other task has; the quick ways of a set come first.
    pub fn name(&self) -> String {
        format!("{}{}", self.set.name(), if self.neural { ", neural" } else { "" })
    }

    /// Do it.
    pub fn line(&self, seed: u64) -> Line {
        let quick: [(&str, Way); 3] =
            [("tilt", DataSet::tilt), ("gaussian", DataSet::gaussian), ("exact", DataSet::exact)];
        self.set.line(if self.neural { &[("neural", DataSet::neural as Way)] } else { &quick }, seed)
    }
}

impl DataSet {
    /// A name that no other set has.
    pub fn name(&self) -> String {
        format!("{:?} {} {} {}", self.system, self.alpha, self.observation_std, self.realisation)
    }

    /// Simulate, infer and score.
    fn line(&self, ways: &[(&str, Way)], seed: u64) -> Line {
        let mut rng = stream(seed, identity(&self.name()));
        let truth = self.system.draw([StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)]);
        let [made, learned, drawn] = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        let row = |(name, way): &(&str, Way)| {
            let start = Instant::now();
            let outcome = self.data(truth, made).and_then(|data| way(self, &data, truth, [learned, drawn]));
            let seconds = start.elapsed().as_secs_f64();
            let (found, scores, error) = match outcome {
                Ok((found, scores)) => (Some(found), Some(scores), None),
                Err(error) => (None, None, Some(error.to_string())),
            };
            Row { name: name.to_string(), found, scores, seconds, error }
        };
        Line { set: self.clone(), truth, rows: ways.iter().map(row).collect() }
    }

    fn data(&self, truth: [f64; 2], seed: u64) -> Result<Data> {
        let times: Vec<f64> = (0..=FINE).map(|i| STEP * i as f64).collect();
        let observations = simulate(&self.true_model(truth)?, &times, seed)?.observations;
        let seen = (0..SEEN).map(|i| (i as f64 * FINE as f64 / (SEEN - 1) as f64).round() as usize).collect();
        Ok(Data { observations, seen })
    }

    pub fn model(&self, drift: [f64; 2], noise: Box<dyn Noise>) -> Result<Model> {
        Model::new(self.system.drift(drift)?, noise, self.observation_std, Start::Fixed(0.0))
    }

    pub fn true_model(&self, truth: [f64; 2]) -> Result<Model> {
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
