//! Infer a data set of the synthetic study by the method of the paper, and score its own paths.

use levytilt::internals::Chain;
use levytilt::internals::posterior::{BLOCK, Made, Paths};
use levytilt::internals::solve::{Parameter, parameters, rebuild};
use levytilt::internals::tilt::LogSum;
use levytilt::noise::TruncatedStable;
use levytilt::{Context, Result, stream};
use levytilt_paper::published::{DrawnPath, Gradient, PaperOptions, PaperTrainer, draw_paths};
use rand_distr::{Distribution, StandardNormal};
use std::path::Path;

use crate::directory::training::kept_in;
use crate::workflow::reproduce::synthetic::score::{Scored, score};
use crate::workflow::reproduce::synthetic::set::{Data, DataSet};
use crate::workflow::reproduce::synthetic::ways::{PATHS, drift_of};

/// Iterations that the paper takes.
pub const ITERATIONS: usize = 3000;
/// Scale, smallest mixing variable and spread of the jumps that the published model has, whatever the data have.
const JUMPS: [f64; 3] = [1.0, 0.01, 1.0];
/// Its penalty, the sum of squares of the drift's parameters, is twice half of that sum.
const DRIFT_RIDGE: f64 = 2.0;

impl DataSet {
    /// The published recipe for so many iterations: α and the observation error are given, the scale of the jumps is held at 1,
    /// and the drift begins at a draw from the law of the study. Latent times are those observed; the divergence is computed
    /// by quadrature. Training resumes from its checkpoint in `kept`, if there is one.
    pub fn published(
        &self,
        data: &Data,
        [learned, drawn]: [u64; 2],
        iterations: usize,
        kept: Option<&Path>,
    ) -> Result<([f64; 2], Scored)> {
        let gradient = Gradient::Published;
        let options =
            PaperOptions { iterations, seed: learned, gradient, drift_ridge: DRIFT_RIDGE, ..PaperOptions::default() };
        let mut rng = stream(learned, 0);
        let start = self.system.draw([StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng)]);
        let [scale, tau, sigma] = JUMPS;
        let mut model = self.model(start, Box::new(TruncatedStable::new(self.alpha, scale, tau, sigma)?))?;
        let own = model.drift.parameter_count();
        let learned = |(k, p): (usize, Parameter)| Parameter { fixed: k >= own, ..p };
        let all: Vec<Parameter> = parameters(&model).into_iter().enumerate().map(learned).collect();
        let mut values: Vec<f64> = all.iter().map(|p| p.value).collect();
        let (grid, seen) = (data.grid()?, data.values());
        let context = kept_in(&Context::silent(), kept);
        let chain = Chain::new(&model, &grid, &[&seen])?;
        let mut trainer = PaperTrainer::new(&chain, &options)?;
        drop(chain);
        trainer.resume_kept(&mut values, &context)?;
        while trainer.iterations < iterations {
            model = rebuild(&model, &values)?;
            trainer.step(&Chain::new(&model, &grid, &[&seen])?, &options, &all, &mut values)?;
            trainer.keep(&values, false, &context);
        }
        model = rebuild(&model, &values)?;
        let chain = Chain::new(&model, &grid, &[&seen])?;
        let options = PaperOptions { paths: PATHS, ..options };
        let paths = gathered(&draw_paths(&chain, &trainer.potentials(&chain), &options, drawn)?, drawn);
        drop(chain);
        Ok((drift_of(&model), score(data, &model, &paths, drawn)?))
    }
}

/// Drawn paths in the form that is scored, all of the same weight.
fn gathered(drawn: &[DrawnPath], seed: u64) -> Paths {
    let times = drawn[0].states.len();
    let block = |(b, paths): (usize, &[DrawnPath])| Made {
        rngs: (0..paths.len()).map(|p| stream(seed, (b * BLOCK + p) as u64)).collect(),
        sums: vec![LogSum::default(); paths.len()],
        states: (0..times).flat_map(|j| paths.iter().map(move |path| path.states[j])).collect(),
        jumps: vec![false; times * paths.len()],
    };
    Paths::from_blocks(1, times, drawn.chunks(BLOCK).enumerate().map(block).collect())
}
