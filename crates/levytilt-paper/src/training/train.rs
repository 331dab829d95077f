//! Train a neural potential by maximising the ELBO, one iteration at a time.

use super::fingerprint::Fingerprint;
use super::frame::frame;
use super::optimiser::{Optimiser, Rule, rescale};
use super::trained::Trained;
use crate::potential::{FrameKind, Group, NeuralPotential, NeuralPotentialSpec};
use levytilt::context::{Checkpoint, Progress};
use levytilt::internals::Chain;
use levytilt::internals::error::expect_length;
use levytilt::internals::posterior::WeightSummary;
use levytilt::{Context, Error, Result};
use serde::{Deserialize, Serialize};

/// How to train.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainOptions {
    /// Most iterations.
    pub iterations: usize,
    /// Paths per iteration.
    pub paths: usize,
    /// Seed of networks and paths.
    pub seed: u64,
    /// How a gradient becomes a step.
    pub rule: Rule,
    /// Initial learning rate of the two networks; it is reduced to a third whenever the ELBO stops rising.
    pub rate: f64,
    /// Number of reductions of the rate before training ends.
    pub falls: usize,
    /// Learning rate of sharpness and embeddings, relative to `rate`.
    pub encoder_rate: f64,
    /// Learning rate of the reference times, in spans, relative to `rate`.
    pub reference_rate: f64,
    /// Quantile of the layerwise rescaling; `None` for no rescaling.
    pub rescale: Option<f64>,
    /// Centre and unit of the networks' message.
    pub frame: FrameKind,
    /// Weight of half the sum of squares of all parameters except the reference times.
    pub ridge: f64,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            iterations: 3000,
            paths: 500,
            seed: 1,
            rule: Rule::Adam,
            rate: 1e-3,
            falls: 3,
            encoder_rate: 1.0,
            reference_rate: 0.1,
            rescale: None,
            frame: FrameKind::Robust,
            ridge: 1e-5,
        }
    }
}

/// Training in progress.
#[derive(Debug)]
pub struct Trainer<'a> {
    chain: &'a Chain<'a>,
    options: TrainOptions,
    trained: Trained,
    optimiser: Optimiser<f32>,
    plateau: Plateau,
    fingerprint: u64,
}

/// Iterations between checkpoints: a few seconds at the paper's size.
pub(crate) const EVERY: usize = 50;

/// Train until the ELBO stops rising, or until `context`, which is told of every iteration, asks for an end.
///
/// Training continues from the state of `trainer`, or from its checkpoint in `context`.
pub fn train(mut trainer: Trainer, context: &Context) -> Result<Trained> {
    if let Some(checkpoint) = context.find(trainer.fingerprint()) {
        trainer.resume(checkpoint)?;
    }
    while !trainer.done() {
        let WeightSummary { elbo, elbo_std_error, .. } = trainer.step()?;
        let goes_on = context.tell(&Progress {
            subject: context.subject(),
            iteration: trainer.iteration() - 1,
            most: trainer.options.iterations,
            part: false,
            elbo,
            elbo_std_error,
            parts: None,
            parameters: &[],
            values: &[],
        });
        let stopped = !goes_on;
        if stopped || trainer.iteration().is_multiple_of(EVERY) {
            context.keep(|| trainer.checkpoint());
        }
        if stopped {
            break;
        }
    }
    Ok(trainer.into_trained())
}

impl<'a> Trainer<'a> {
    /// Start with random networks of these sizes; dimension and span are those of the chain.
    pub fn new(chain: &'a Chain<'a>, spec: NeuralPotentialSpec, options: TrainOptions) -> Result<Self> {
        let times = chain.times();
        let spec = NeuralPotentialSpec { dim: chain.dim(), span: (times[0], times[times.len() - 1]), ..spec };
        let potential = NeuralPotential::new(spec, options.seed)?;
        let frame = frame(chain, options.frame, potential.spec().least)?;
        Self::from_trained(chain, Trained { potential, frame, trace: Vec::new() }, options)
    }

    /// Start with networks that were trained before, perhaps on other times.
    ///
    /// # Errors
    /// Networks of another dimension than the chain's.
    pub fn from_trained(chain: &'a Chain<'a>, trained: Trained, options: TrainOptions) -> Result<Self> {
        expect_length("dimensions of the networks", trained.potential.spec().dim, chain.dim())?;
        let trained = Trained { trace: Vec::new(), ..trained };
        let optimiser = Optimiser::new(options.rule, trained.potential.parameters().len());
        let fingerprint = fingerprint(chain, &trained, &options)?;
        Ok(Self { chain, options, trained, optimiser, plateau: Plateau::default(), fingerprint })
    }

    /// Whether the iterations are used up, or the ELBO has stopped rising at every learning rate.
    pub fn done(&self) -> bool {
        self.iteration() >= self.options.iterations || self.plateau.falls > self.options.falls
    }

    /// Iterations done.
    pub fn iteration(&self) -> usize {
        self.trained.trace.len()
    }

    /// The current potential.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }

    /// The final potential.
    pub fn into_trained(self) -> Trained {
        self.trained
    }

    /// A number that identifies this training: its chain, initial state and options. Training with more iterations has
    /// the same number.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// A checkpoint of the current state.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            fingerprint: self.fingerprint(),
            parameters: self.trained.potential.parameters().to_vec(),
            moments: self.optimiser.moments().map(<[f32]>::to_vec),
            trace: self.trained.trace.clone(),
            rest: Vec::new(),
        }
    }

    /// Resume from a checkpoint of this training; every iteration that follows is identical to that of an uninterrupted
    /// run.
    ///
    /// # Errors
    /// A checkpoint of another training, or of other sizes.
    pub fn resume(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let Checkpoint { fingerprint, parameters, moments, trace, .. } = checkpoint;
        if fingerprint != self.fingerprint() {
            let (what, got) = ("checkpoint", "one from another series, model or set of options".into());
            return Err(Error::Shape { what, got, expected: "one of this training".into() });
        }
        let spec = self.trained.potential.spec().clone();
        self.optimiser.restore(moments, trace.len())?;
        self.trained.potential = NeuralPotential::from_parameters(spec, parameters)?;
        self.plateau = Plateau::default();
        (1..=trace.len()).for_each(|n| self.plateau.see(&trace[..n]));
        self.trained.trace = trace;
        Ok(())
    }

    /// Do one iteration; return the ELBO before it.
    pub fn step(&mut self) -> Result<WeightSummary> {
        let seed = self.options.seed.wrapping_add((self.iteration() as u64 + 1) << 32);
        let (found, mut gradient) = self.trained.gradient(self.chain, self.options.paths, seed)?;
        self.regularise(&mut gradient);
        if let Some(quantile) = self.options.rescale {
            rescale(&mut gradient, &self.trained.potential.layers(), quantile);
        }
        let groups = self.trained.potential.groups().into_iter();
        let rates: Vec<_> = groups.map(|(group, range)| (range, self.rate(group))).collect();
        self.optimiser.step(self.trained.potential.parameters_mut(), &gradient, &rates);
        self.trained.trace.push(found.summary.elbo);
        self.plateau.see(&self.trained.trace);
        Ok(found.summary)
    }

    fn regularise(&self, gradient: &mut [f32]) {
        let ridge = self.options.ridge as f32;
        let free = self.trained.potential.groups()[0].1.end;
        for (g, p) in gradient.iter_mut().zip(self.trained.potential.parameters()).skip(free) {
            *g -= ridge * p;
        }
    }

    fn rate(&self, group: Group) -> f64 {
        let share = match group {
            Group::References => self.options.reference_rate,
            Group::Sharpness | Group::Embeddings => self.options.encoder_rate,
            Group::Firmness | Group::Pull => 1.0,
        };
        self.options.rate * share * FALL.powi(self.plateau.falls as i32)
    }
}

fn fingerprint(chain: &Chain, first: &Trained, options: &TrainOptions) -> Result<u64> {
    let options = TrainOptions { iterations: 0, ..options.clone() };
    let Trained { potential, frame, .. } = first;
    let print = Fingerprint::new().settings(&(potential.spec(), options, frame))?.chain(chain)?;
    Ok(print.numbers(potential.parameters().iter().map(|p| f64::from(*p))).finish())
}

/// Factor of the learning rate when the ELBO stops rising.
const FALL: f64 = 1.0 / 3.0;
/// Iterations over which the ELBO is averaged before it is compared.
const WINDOW: usize = 40;

/// Detects when the ELBO stops rising.
#[derive(Debug, Default)]
struct Plateau {
    falls: usize,
    /// Iteration at which the rate was last reduced.
    since: usize,
}

impl Plateau {
    /// Compare the last window with the one before, both since the last reduction of the rate: a gain within its own
    /// noise does not count.
    fn see(&mut self, trace: &[f64]) {
        if trace.len() - self.since < 2 * WINDOW || !(trace.len() - self.since).is_multiple_of(WINDOW) {
            return;
        }
        let (before, after) = trace[trace.len() - 2 * WINDOW..].split_at(WINDOW);
        let n = WINDOW as f64;
        let moments = |v: &[f64]| {
            let mean = v.iter().sum::<f64>() / n;
            (mean, v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0)))
        };
        let ((old, old_variance), (new, new_variance)) = (moments(before), moments(after));
        if new - old < 2.0 * (old_variance + new_variance).sqrt() {
            (self.falls, self.since) = (self.falls + 1, trace.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_the_rate_falls_where_the_bound_is_level_and_not_where_it_climbs() {
        let noise = |i: usize| ((i * 7919) % 101) as f64 / 50.0 - 1.0;
        let run = |bound: &dyn Fn(usize) -> f64| {
            let (mut plateau, mut trace) = (Plateau::default(), Vec::new());
            for i in 0..400 {
                trace.push(bound(i) + noise(i));
                plateau.see(&trace);
            }
            plateau.falls
        };
        assert_eq!(run(&|i| 0.1 * i as f64), 0);
        assert_eq!(run(&|_| -3.0), 5);
    }
}
