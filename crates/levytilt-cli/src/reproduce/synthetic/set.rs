//! Make one data set of the synthetic study, infer it in three ways, and score each.

use levytilt::drift::{DoubleWell, Drift, Ou};
use levytilt::fit::Scales;
use levytilt::noise::{Gaussian, Noise, Stable, TruncatedStable};
use levytilt::series::TimeGrid;
use levytilt::solve::{LearnOptions, Learned, Method, Prior, SweepOptions, grid, learn, parameters};
use levytilt::{Chain, Model, Result, Start, simulate, stream};
use levytilt::{exact, posterior};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::time::Instant;

use crate::backtest::score::identity;
use crate::reproduce::synthetic::score::{Scored, score};

/// Fine steps in the span of 10.
pub const FINE: usize = 10_000;
/// Length of a fine step.
pub const STEP: f64 = 0.001;
/// Observations seen, the others are held out.
const SEEN: usize = 1000;
/// Scale of the paper's jumps (a draw of its generator, the same for all of its data), its smallest size and its spread.
const JUMPS: [f64; 3] = [0.860_175, 0.01, 1.0];
/// Posterior paths that are scored.
const PATHS: usize = 100;
/// Paths that parameters are learned with.
const LEARN_PATHS: usize = 64;
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
    /// Ways of inference: tilt, gaussian, exact.
    pub rows: Vec<Row>,
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
    fn draw(self, z: [f64; 2]) -> [f64; 2] {
        match self {
            System::Ou => [(5.0 * z[0]).abs(), 5.0 * z[1]],
            System::DoubleWell => z.map(f64::abs),
        }
    }

    /// That law on the free scales: θ and θ₂ are free in their logarithm, μ and θ₁, which may be negative, as they are.
    fn priors(self) -> [Prior; 2] {
        let half = |unit: f64| Prior { mean: LOG_HALF_NORMAL[0] + unit.ln(), std: LOG_HALF_NORMAL[1] };
        match self {
            System::Ou => [half(5.0), Prior { mean: 0.0, std: 5.0 }],
            System::DoubleWell => [Prior { mean: HALF_NORMAL[0], std: HALF_NORMAL[1] }, half(1.0)],
        }
    }
}

impl DataSet {
    /// A name that no other set has.
    pub fn name(&self) -> String {
        format!("{:?} {} {} {}", self.system, self.alpha, self.observation_std, self.realisation)
    }

    /// Simulate, infer and score.
    pub fn line(&self, seed: u64) -> Line {
        let mut rng = stream(seed, identity(&self.name()));
        let truth = self.system.draw([StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)]);
        let [made, learned, drawn] = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        let ways: [(&str, Way); 3] = [("tilt", Self::tilt), ("gaussian", Self::gaussian), ("exact", Self::exact)];
        let row = |(name, way): (&str, Way)| {
            let start = Instant::now();
            let outcome = self.data(truth, made).and_then(|data| way(self, &data, truth, [learned, drawn]));
            let seconds = start.elapsed().as_secs_f64();
            let (found, scores, error) = match outcome {
                Ok((found, scores)) => (Some(found), Some(scores), None),
                Err(error) => (None, None, Some(error.to_string())),
            };
            Row { name: name.into(), found, scores, seconds, error }
        };
        Line { set: self.clone(), truth, rows: ways.into_iter().map(row).collect() }
    }

    fn data(&self, truth: [f64; 2], seed: u64) -> Result<Data> {
        let times: Vec<f64> = (0..=FINE).map(|i| STEP * i as f64).collect();
        let observations = simulate(&self.true_model(truth)?, &times, seed)?.observations;
        let seen = (0..SEEN).map(|i| (i as f64 * FINE as f64 / (SEEN - 1) as f64).round() as usize).collect();
        Ok(Data { observations, seen })
    }

    fn model(&self, drift: [f64; 2], noise: Box<dyn Noise>) -> Result<Model> {
        Model::new(self.system.drift(drift)?, noise, self.observation_std, Start::Fixed(0.0))
    }

    fn true_model(&self, truth: [f64; 2]) -> Result<Model> {
        let [scale, tau, sigma] = JUMPS;
        self.model(truth, Box::new(TruncatedStable::new(self.alpha, scale, tau, sigma)?))
    }

    /// Stable noise, parameters of drift and noise learned, exact paths at what was learned.
    fn tilt(&self, data: &Data, _: [f64; 2], [learned, drawn]: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let scales = Scales::new(&data.times(), &data.values(), Some(self.observation_std))?;
        // Half of all stable increments are below 0.97 scales, half of all normal ones below 0.674.
        let scale = 0.7 * scales.motion / scales.lag.powf(1.0 / self.alpha);
        let found = self.learn(data, Box::new(Stable::new(self.alpha, scale)?), learned)?;
        let posterior = grid(&found.model, &data.grid()?, &data.values(), &exact::Options::default(), PATHS, drawn)?;
        Ok((drift_of(&found.model), score(data, &found.model, &posterior.paths, drawn)?))
    }

    /// Brownian motion of a scale that is learned.
    fn gaussian(&self, data: &Data, _: [f64; 2], [learned, drawn]: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let scales = Scales::new(&data.times(), &data.values(), Some(self.observation_std))?;
        let noise = Gaussian::new(scales.root_mean_square / scales.lag.sqrt())?;
        let Learned { model, potentials, .. } = self.learn(data, Box::new(noise), learned)?;
        let (grid, values) = (data.grid()?, data.values());
        let chain = Chain::new(&model, &grid, &[&values])?;
        let paths = posterior::walk(&chain, &potentials, PATHS, drawn);
        Ok((drift_of(&model), score(data, &model, &paths, drawn)?))
    }

    /// The true model and its exact posterior: no method can do better but by luck.
    fn exact(&self, data: &Data, truth: [f64; 2], [_, drawn]: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let model = self.true_model(truth)?;
        let posterior = grid(&model, &data.grid()?, &data.values(), &exact::Options::default(), PATHS, drawn)?;
        Ok((truth, score(data, &model, &posterior.paths, drawn)?))
    }

    /// Learn all but the error of observation; the drift starts and is held weakly where the paper draws it from.
    fn learn(&self, data: &Data, noise: Box<dyn Noise>, seed: u64) -> Result<Learned> {
        let start = self.model(self.system.draw([0.5, 0.0001]), noise)?;
        let mut all = parameters(&start);
        for (parameter, prior) in all.iter_mut().zip(self.system.priors()) {
            parameter.prior = Some(prior);
        }
        if let Some(last) = all.last_mut() {
            last.fixed = true;
        }
        let sweep = SweepOptions { paths: LEARN_PATHS, seed, ..SweepOptions::default() };
        let options = LearnOptions { method: Method::Sweep, sweep, tolerance: 0.02, ..LearnOptions::default() };
        learn(start, &all, &data.grid()?, &[&data.values()], &options)
    }
}

/// A way of inference: data, truth (for the floor alone) and seeds in, parameters and scores out.
type Way = fn(&DataSet, &Data, [f64; 2], [u64; 2]) -> Result<([f64; 2], Scored)>;

fn drift_of(model: &Model) -> [f64; 2] {
    let values = model.drift.parameters();
    [values[0].1, values[1].1]
}

impl Data {
    fn times(&self) -> Vec<f64> {
        self.seen.iter().map(|&i| STEP * i as f64).collect()
    }

    fn values(&self) -> Vec<f64> {
        self.seen.iter().map(|&i| self.observations[i]).collect()
    }

    fn grid(&self) -> Result<TimeGrid> {
        TimeGrid::new(&self.times(), Some(1))
    }
}
