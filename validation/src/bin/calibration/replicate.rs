//! One replicate of simulation-based calibration: draw the truth from a prior, make data, infer, and ask where in the
//! posterior the truth lies.

use levytilt::drift::DriftFamily;
use levytilt::internals::Chain;
use levytilt::internals::forecast::{ForecastOptions, Target, forecast_drawn};
use levytilt::internals::posterior::{Paths, walk};
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{
    LearnOptions, Learned, Method, Parameter, Prior, SweepOptions, expect, learn, parameters, rebuild,
};
use levytilt::noise::Family;
use levytilt::score::Sample;
use levytilt::{Dimension, Error, Result, Start, StateSpace, StreamRng, simulate, stream};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use spec_math::NormDist;

/// What is drawn, seen and inferred.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub drift: &'static str,
    pub noise: &'static str,
    /// Middle of the prior of every parameter of drift and noise, in their order; the error of observation is known.
    pub middle: &'static [f64],
}

pub const SETTINGS: [Setting; 4] = [
    Setting { drift: "ou", noise: "stable", middle: &[3.0, 1.0, 1.5, 2.0] },
    Setting { drift: "double-well", noise: "stable", middle: &[4.0, 1.0, 1.5, 2.0] },
    Setting { drift: "ou", noise: "nig", middle: &[3.0, 1.0, 3.0, 1.0] },
    Setting { drift: "double-well", noise: "nig", middle: &[4.0, 1.0, 3.0, 1.0] },
];

/// Standard deviation of the prior on the free scale.
const PRIOR_STD: f64 = 0.3;
const OBSERVATION_STD: f64 = 0.1;
/// Latent steps, all observed, and their length.
const STEPS: usize = 400;
const STEP: f64 = 0.02;
/// Steps between the states that are ranked: far enough apart to be nearly independent.
const APART: usize = 20;
/// Steps ahead of the forecasts.
const AHEAD: [usize; 2] = [10, 100];
/// Draws that a truth is ranked among.
const DRAWS: usize = 199;

/// A truth, and what was seen of it.
pub struct Data {
    model: StateSpace,
    prior: Vec<Parameter>,
    path: Vec<f64>,
    times: Vec<f64>,
    values: Vec<f64>,
    seed: u64,
}

impl Setting {
    /// The model in the middle of the prior.
    fn model(&self) -> Result<StateSpace> {
        let drift = DriftFamily::named(self.drift).expect("a drift of the library");
        let noise = Family::named(self.noise).expect("a noise of the library");
        let (first, second) = self.middle.split_at(drift.parameters.len());
        let start = Start::Fixed(0.0);
        let (noise, errors) = (noise.build(second)?, levytilt::internals::Errors::default());
        let dimension = Dimension { noise, size: None, observation_std: OBSERVATION_STD, errors, start };
        StateSpace::multivariate(drift.build(first)?, vec![dimension])
    }

    /// Replicate number `seed`.
    pub fn data(&self, seed: u64) -> Result<Data> {
        let middle = self.model()?;
        let mut prior = parameters(&middle);
        let mut rng = stream(seed, 1 << 40);
        let mut truth = Vec::new();
        for parameter in &mut prior {
            let mean = parameter.transform.forward(parameter.value);
            parameter.fixed = parameter.name == "observation_std";
            let z: f64 = StandardNormal.sample(&mut rng);
            truth.push(match parameter.fixed {
                true => parameter.value,
                false => parameter.transform.backward(mean + PRIOR_STD * z),
            });
            parameter.prior = (!parameter.fixed).then_some(Prior { mean, std: PRIOR_STD });
        }
        let model = rebuild(&middle, &truth)?;
        let times: Vec<f64> = (0..=STEPS + AHEAD[1]).map(|j| j as f64 * STEP).collect();
        let made = simulate(&model, &times, seed)?;
        let values = made.observations[..=STEPS].to_vec();
        Ok(Data { model, prior, path: made.path, times: times[..=STEPS].to_vec(), values, seed })
    }
}

impl Data {
    fn grid(&self) -> Result<TimeGrid> {
        TimeGrid::new(&self.times, None)
    }

    /// Posterior paths at the true parameters.
    pub fn paths(&self) -> Result<Paths> {
        let grid = self.grid()?;
        let chain = Chain::new(&self.model, &grid, &[&self.values])?;
        let options = SweepOptions { seed: self.seed, ..SweepOptions::default() };
        let found = expect(&chain, None, Method::Auto, &options)?;
        Ok(walk(&chain, &found.potentials, DRAWS, self.seed + 1_000_000))
    }

    /// Normal scores of the true states among `paths`, whose distances from their mean are multiplied by `stretch`.
    pub fn states(&self, paths: &Paths, stretch: f64) -> Result<Vec<f64>> {
        let mut rng = stream(self.seed, 1 << 41);
        (APART..=STEPS)
            .step_by(APART)
            .map(|j| {
                let mean = paths.column(0, j).sum::<f64>() / paths.len() as f64;
                let draws = paths.column(0, j).map(|x| mean + stretch * (x - mean)).collect();
                normal_score(draws, self.path[j], &mut rng)
            })
            .collect()
    }

    /// The model learned with the prior that the truth was drawn from.
    pub fn learn(&self) -> Result<Learned> {
        let middle: Vec<f64> = self.prior.iter().map(|p| p.value).collect();
        let sweep = SweepOptions { seed: self.seed, ..SweepOptions::default() };
        let options = LearnOptions { sweep, ..LearnOptions::default() };
        learn(rebuild(&self.model, &middle)?, &self.prior, &self.grid()?, &[&self.values], &options)
    }

    /// Name and normal score of every true parameter that was learned: its distance from the mean of its law in posterior
    /// standard deviations, on the free scale.
    pub fn parameters(&self, learned: &Learned) -> Vec<(String, f64)> {
        let free: Vec<usize> = (0..self.prior.len()).filter(|&i| !self.prior[i].fixed).collect();
        let truth = parameters(&self.model);
        let score = |(k, &i): (usize, &usize)| {
            let transform = self.prior[i].transform;
            let sd = learned.optimum.covariance[k * free.len() + k].sqrt();
            let mean =
                transform.forward(learned.optimum.parameters[i].value) + learned.optimum.shift.get(k).unwrap_or(&0.0);
            (self.prior[i].name.clone(), (transform.forward(truth[i].value) - mean) / sd)
        };
        free.iter().enumerate().map(score).collect()
    }

    /// Normal scores of the true states ahead, near and far, in forecasts by the model learned, with parameters drawn.
    pub fn forecasts(&self, learned: &Learned) -> Result<[f64; 2]> {
        let grid = self.grid()?;
        let chain = Chain::new(&learned.optimum.model, &grid, &[&self.values])?;
        let options = SweepOptions { seed: self.seed, ..SweepOptions::default() };
        let method = learned.choice.method;
        let found = expect(&chain, Some(learned.potentials.clone()), method, &options)?;
        let ends: Vec<f64> = found.paths.column(0, STEPS).collect();
        let ahead = AHEAD.map(|j| (STEPS + j) as f64 * STEP);
        let from = self.times[STEPS];
        let options =
            ForecastOptions { from, longest_step: STEP, paths: DRAWS, seed: self.seed, target: Target::States };
        let law = learned.optimum.parameter_law().ok_or_else(|| {
            let why = "there is none, although every parameter has a prior".into();
            Error::Numerical { what: "covariance of the parameters", why }
        })?;
        let found = forecast_drawn(&law, (&ends, &found.weights), &ahead, &options)?;
        let mut rng = stream(self.seed, 1 << 42);
        let mut scores = [0.0; 2];
        for (k, score) in scores.iter_mut().enumerate() {
            let draws = found.states.iter().skip(k).step_by(2).copied().collect();
            *score = normal_score(draws, self.path[STEPS + AHEAD[k]], &mut rng)?;
        }
        Ok(scores)
    }
}

/// The normal quantile of the truth's rank among draws: standard normal if truth and draws come from one law.
fn normal_score(draws: Vec<f64>, truth: f64, rng: &mut StreamRng) -> Result<f64> {
    Ok(Sample::new(&draws)?.pit(truth, rng.random())?.norm_cdf_inv())
}
