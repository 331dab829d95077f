//! Infer a data set of the synthetic study: our posterior, that of networks, a Gaussian one, and the exact floor.

use levytilt::internals::Chain;
use levytilt::internals::exact;
use levytilt::internals::fit::Scales;
use levytilt::internals::posterior::{self, Paths};
use levytilt::internals::solve::{
    LearnOptions, Learned, Method, Optimum, SweepOptions, exact_paths, learn_from, parameters,
};
use levytilt::noise::{Gaussian, Noise, Stable};
use levytilt::{Context, Result, StateSpace};
use levytilt_paper::potential::NeuralPotentialSpec;
use levytilt_paper::training::{TrainOptions, Trainer, train};

use crate::workflow::reproduce::synthetic::score::{Scored, score};
use crate::workflow::reproduce::synthetic::set::{Data, DataSet};

/// Posterior paths that are scored.
const PATHS: usize = 100;
/// Paths that parameters are learned with.
const LEARN_PATHS: usize = 64;
/// Paths that networks are trained with.
const TRAIN_PATHS: usize = 192;

/// A way of inference: data, truth (for the floor alone) and seeds in, parameters and scores out.
pub type Way = fn(&DataSet, &Data, [f64; 2], [u64; 2]) -> Result<([f64; 2], Scored)>;

impl DataSet {
    /// Stable noise, parameters of drift and noise learned, exact paths at what was learned.
    pub fn tilt(&self, data: &Data, _: [f64; 2], seeds: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let (model, paths) = self.tilt_paths(data, seeds)?;
        Ok((drift_of(&model), score(data, &model, &paths, seeds[1])?))
    }

    /// Model and paths of [`DataSet::tilt`].
    pub fn tilt_paths(&self, data: &Data, [learned, drawn]: [u64; 2]) -> Result<(StateSpace, Paths)> {
        let model = self.learn_stable(data, learned)?.optimum.model;
        let posterior = exact_paths(&model, &data.grid()?, &data.values(), &exact::Options::default(), PATHS, drawn)?;
        Ok((model, posterior.paths))
    }

    /// The same parameters, but unweighted paths of networks of the paper's size, begun cold and trained on the ELBO of the
    /// chain, which is not the published recipe.
    pub fn neural(&self, data: &Data, _: [f64; 2], [learned, drawn]: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let model = self.learn_stable(data, learned)?.optimum.model;
        let (grid, values) = (data.grid()?, data.values());
        let chain = Chain::new(&model, &grid, &[&values])?;
        let options = TrainOptions { paths: TRAIN_PATHS, seed: drawn, ..TrainOptions::default() };
        let trained = train(Trainer::new(&chain, NeuralPotentialSpec::default(), options)?, &Context::silent())?;
        let paths = posterior::walk(&chain, &trained.potentials(&chain)?, PATHS, drawn);
        Ok((drift_of(&model), score(data, &model, &paths, drawn)?))
    }

    fn learn_stable(&self, data: &Data, seed: u64) -> Result<Learned> {
        let scales = Scales::new(&data.times(), &data.values(), Some(self.observation_std))?;
        // Half of all stable increments are below 0.97 scales, half of all normal ones below 0.674.
        let scale = 0.7 * scales.motion / scales.lag.powf(1.0 / self.alpha);
        self.learn(data, Box::new(Stable::new(self.alpha, scale)?), seed)
    }

    /// Brownian motion of a scale that is learned.
    pub fn gaussian(&self, data: &Data, _: [f64; 2], seeds: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let (model, paths) = self.gaussian_paths(data, seeds)?;
        Ok((drift_of(&model), score(data, &model, &paths, seeds[1])?))
    }

    /// Model and paths of [`DataSet::gaussian`].
    pub fn gaussian_paths(&self, data: &Data, [learned, drawn]: [u64; 2]) -> Result<(StateSpace, Paths)> {
        let scales = Scales::new(&data.times(), &data.values(), Some(self.observation_std))?;
        let noise = Gaussian::new(scales.root_mean_square / scales.lag.sqrt())?;
        let Learned { optimum: Optimum { model, .. }, potentials, .. } = self.learn(data, Box::new(noise), learned)?;
        let (grid, values) = (data.grid()?, data.values());
        let chain = Chain::new(&model, &grid, &[&values])?;
        let paths = posterior::walk(&chain, &potentials, PATHS, drawn);
        drop(chain);
        Ok((model, paths))
    }

    /// The true model and its exact posterior: no method can do better but by luck.
    pub fn exact(&self, data: &Data, truth: [f64; 2], [_, drawn]: [u64; 2]) -> Result<([f64; 2], Scored)> {
        let model = self.true_model(truth)?;
        let posterior = exact_paths(&model, &data.grid()?, &data.values(), &exact::Options::default(), PATHS, drawn)?;
        Ok((truth, score(data, &model, &posterior.paths, drawn)?))
    }

    /// Learn all but the observation noise; the drift starts and is held weakly where the paper draws it from.
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
        learn_from(start, &all, (&data.grid()?, &[&data.values()]), &options, None, &Context::silent())
    }
}

fn drift_of(model: &StateSpace) -> [f64; 2] {
    let values = model.drift.parameters();
    [values[0].1, values[1].1]
}
