//! Train the published potential, and with it the drift, by following the gradient of the continuous-time ELBO.

use super::bound::{Bound, noise_gradient, noises_of, published_gradient};
use super::options::PaperOptions;
use crate::potential::{Group, NeuralPotential, NeuralPotentialSpec};
use crate::training::fingerprint::Fingerprint;
use crate::training::{Checkpoint, EVERY, Optimiser, Rule, rescale};
use levytilt::internals::Chain;
use levytilt::internals::error::expect_length;
use levytilt::internals::solve::{self, Parameter};
use levytilt::{Context, Error, Result};

/// Iterations in a row that may fail, because a tilt is too strong for some path, before training gives up.
const MOST_FAILURES: usize = 10;

/// Training in progress.
#[derive(Debug)]
pub struct PaperTrainer {
    /// The networks.
    pub potential: NeuralPotential,
    optimiser: Optimiser<f32>,
    model_optimiser: Optimiser<f64>,
    /// The ELBO before every iteration that succeeded.
    pub trace: Vec<f64>,
    /// Iterations so far; nothing was learned from those that failed.
    pub iterations: usize,
    failures: usize,
    fingerprint: u64,
}

impl PaperTrainer {
    /// New networks over the span of a chain.
    pub fn new(chain: &Chain, options: &PaperOptions) -> Result<Self> {
        noises_of(chain)?;
        let times = chain.times();
        let span = (times[0], times[times.len() - 1]);
        let spec = NeuralPotentialSpec { dim: chain.dim(), components: 1, span, ..options.sizes() };
        let potential: NeuralPotential = NeuralPotential::new(spec, options.seed)?;
        Ok(Self {
            optimiser: Optimiser::new(options.optimiser, potential.parameters().len()),
            model_optimiser: Optimiser::new(Rule::Adam, solve::parameters(chain.model()).len()),
            trace: Vec::new(),
            iterations: 0,
            failures: 0,
            fingerprint: fingerprint(chain, &potential, options)?,
            potential,
        })
    }

    /// a and c of the potential at the times of a chain, dimension fastest.
    pub fn potentials(&self, chain: &Chain) -> Vec<[f64; 2]> {
        self.potential.evaluate(chain.times()).coefficients.iter().flatten().map(|said| centred(said[0])).collect()
    }

    /// A number that identifies this training by its first chain, sizes and options; without the number of iterations, unless learning
    /// rates fall.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The state of training, with the values of the parameters that belong to it.
    pub fn checkpoint(&self, values: &[f64]) -> Checkpoint {
        let [first, second] = self.model_optimiser.moments();
        let counts = [self.iterations as f64, self.failures as f64];
        Checkpoint {
            fingerprint: self.fingerprint,
            parameters: self.potential.parameters().to_vec(),
            moments: self.optimiser.moments().map(<[f32]>::to_vec),
            trace: self.trace.clone(),
            rest: [&counts, values, first, second].concat(),
        }
    }

    /// Resume from a checkpoint, whose parameters go to `values`; all that follows is as in an uninterrupted run.
    ///
    /// # Errors
    /// A checkpoint of another training, or of other sizes.
    pub fn resume(&mut self, checkpoint: Checkpoint, values: &mut [f64]) -> Result<()> {
        let Checkpoint { fingerprint, parameters, moments, trace, rest } = checkpoint;
        if fingerprint != self.fingerprint {
            let (what, got) = ("checkpoint", "one from another series, model or set of options".into());
            return Err(Error::Shape { what, got, expected: "one of this training".into() });
        }
        let count = self.model_optimiser.moments()[1].len();
        expect_length("numbers of a checkpoint of method paper", rest.len(), 2 + values.len() + 2 * count)?;
        let (counts, rest) = rest.split_at(2);
        let (found, rest) = rest.split_at(values.len());
        let (first, second) = rest.split_at(count);
        self.optimiser.restore(moments, trace.len())?;
        self.model_optimiser.restore([first.to_vec(), second.to_vec()], trace.len())?;
        self.potential = NeuralPotential::from_parameters(self.potential.spec().clone(), parameters)?;
        values.copy_from_slice(found);
        (self.iterations, self.failures, self.trace) = (counts[0] as usize, counts[1] as usize, trace);
        Ok(())
    }

    /// Resume from the checkpoint in `context`, if it has one of this training.
    ///
    /// # Errors
    /// A checkpoint of other sizes.
    pub fn resume_kept(&mut self, values: &mut [f64], context: &Context) -> Result<()> {
        context.find(self.fingerprint).map_or(Ok(()), |checkpoint| self.resume(checkpoint, values))
    }

    /// Pass a checkpoint to this thread's keeper: now, or only every 50 iterations.
    pub fn keep(&self, values: &[f64], now: bool, context: &Context) {
        if now || self.iterations.is_multiple_of(EVERY) {
            context.keep(|| self.checkpoint(values));
        }
    }

    /// One iteration at a chain, whose `parameters` (the drift's first) have these `values`: the ELBO before it, or
    /// nothing if a tilt was too strong for a path. Free parameters take a step: those of the drift, α, the scale, those of a
    /// size that depends on the state, and the standard deviation of the observation error.
    ///
    /// # Errors
    /// Too many failures in a row.
    pub fn step(
        &mut self,
        chain: &Chain,
        options: &PaperOptions,
        parameters: &[Parameter],
        values: &mut [f64],
    ) -> Result<Option<Bound>> {
        self.iterations += 1;
        let seed = options.seed.wrapping_add((self.iterations as u64) << 32);
        let evaluation = self.potential.evaluate(chain.times());
        let potentials: Vec<[f64; 2]> = evaluation.coefficients.iter().flatten().map(|said| centred(said[0])).collect();
        let of_noise = parameters.iter().skip(chain.drift().parameter_count()).any(|p| !p.fixed);
        let gradient = if of_noise { noise_gradient } else { published_gradient };
        let found = match gradient(chain, &potentials, options, seed) {
            Ok(found) => found,
            Err(error @ Error::Numerical { .. }) => {
                self.failures += 1;
                return if self.failures > MOST_FAILURES { Err(error) } else { Ok(None) };
            }
            Err(error) => return Err(error),
        };
        self.failures = 0;
        // c = b/2a.
        let one = |(&[a, c], &[by_a, by_c]): (&[f64; 2], &[f64; 2])| vec![[0.0, by_a - by_c * c / a, 0.5 * by_c / a]];
        let all: Vec<_> = potentials.iter().zip(&found.tilts).map(one).collect();
        let by_said: Vec<_> = all.chunks_exact(chain.dim()).map(<[_]>::to_vec).collect();
        let mut gradient = self.potential.gradient(&evaluation, &by_said);
        self.climb(&mut gradient, options);
        self.trace.push(found.bound.elbo);
        let ridged = chain.drift().parameter_count();
        self.model_step((&found.parameters(chain), ridged), options, parameters, values);
        Ok(Some(found.bound))
    }

    /// The share of the learning rates at this iteration.
    fn rate_share(&self, options: &PaperOptions) -> f64 {
        let done = (self.iterations - 1) as f64 / (options.iterations.max(2) - 1) as f64;
        1.0 - (1.0 - options.rate_end) * done.min(1.0)
    }

    fn climb(&mut self, gradient: &mut [f32], options: &PaperOptions) {
        let free = self.potential.groups()[0].1.end;
        for (g, p) in gradient.iter_mut().zip(self.potential.parameters()).skip(free) {
            *g -= options.ridge as f32 * p;
        }
        if options.rescale > 0.0 {
            rescale(gradient, &self.potential.layers(), options.rescale);
        }
        let share = self.rate_share(options);
        let rate = |group: Group| match group {
            Group::References | Group::Sharpness | Group::Embeddings => share * options.encoder_rate,
            Group::Firmness | Group::Pull => share * options.learning_rate,
        };
        let rates: Vec<_> = self.potential.groups().into_iter().map(|(group, range)| (range, rate(group))).collect();
        self.optimiser.step(self.potential.parameters_mut(), gradient, &rates);
    }

    /// A step of the free parameters on their unconstrained scales; the first ones, those of the drift, have a penalty.
    fn model_step(
        &mut self,
        (gradient, ridged): (&[f64], usize),
        options: &PaperOptions,
        parameters: &[Parameter],
        values: &mut [f64],
    ) {
        let slope = |(k, (p, (&value, g))): (usize, (&Parameter, (&f64, &f64)))| match p.fixed {
            true => 0.0,
            false if k < ridged => (g - options.drift_ridge * value) * p.transform.slope(value),
            false => g * p.transform.slope(value),
        };
        let free: Vec<f64> = parameters.iter().zip(values.iter().zip(gradient)).enumerate().map(slope).collect();
        let mut moved = vec![0.0; free.len()];
        let rate = self.rate_share(options) * options.drift_rate;
        self.model_optimiser.step(&mut moved, &free, &[(0..free.len(), rate)]);
        for (value, (p, step)) in values.iter_mut().zip(parameters.iter().zip(moved)) {
            if !p.fixed {
                *value = p.transform.backward(p.transform.forward(*value) + step);
            }
        }
    }
}

/// (a, c) of −ax² + bx.
fn centred([_, a, b]: [f64; 3]) -> [f64; 2] {
    [a, 0.5 * b / a]
}

fn fingerprint(chain: &Chain, potential: &NeuralPotential, options: &PaperOptions) -> Result<u64> {
    // Falling rates depend on the number of iterations, constant ones do not.
    let iterations = if options.rate_end == 1.0 { 0 } else { options.iterations };
    let own = (iterations, options.paths, options.seed);
    Ok(Fingerprint::new().settings(&(potential.spec(), options, own))?.chain(chain)?.finish())
}
