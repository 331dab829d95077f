//! Fit a model by the published method.

use super::options::PaperOptions;
use super::path::Tape;
use super::train::{Bound, PaperTrainer, published_paths};
use crate::fit::NeuralFit;
use crate::potential::{Frame, NeuralPotentialSpec};
use crate::training::Trained;
use levytilt::fit::{FitOptions, PosteriorKind, PotentialFinder, Spec, fit_with};
use levytilt::posterior::{BLOCK, Made, Paths, Potentials, WeightSummary, marginals};
use levytilt::potential::Quadratic;
use levytilt::progress::{self, Progress};
use levytilt::series::TimeGrid;
use levytilt::solve::{Choice, LearnOptions, Learned, Method, Parameter, rebuild};
use levytilt::tilt::LogSum;
use levytilt::{Chain, Error, Result, StateSpace, stream};

/// Fit `spec` by the published method ([`Method::Paper`]): one dimension, truncated stable noise with given parameters,
/// a drift whose parameters are given or learned jointly with the networks. Paths are those of Algorithm 2, counted
/// equally; the log evidence is that of a particle filter on the library's chain that follows the same potentials.
///
/// # Errors
/// Another noise, several dimensions, a free parameter that is not the drift's; a tilt that stays too strong for paths.
pub fn fit_paper(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    sizes: &NeuralPotentialSpec,
    paper: &PaperOptions,
) -> Result<NeuralFit> {
    let learn = LearnOptions { method: Method::Paper, ..options.learn };
    let options = FitOptions { learn, ..options.clone() };
    let paper = PaperOptions { paths: options.paths, seed: options.seed, ..paper.clone() };
    let mut published = Published { options: &paper, sizes, trainer: None, values: Vec::new() };
    let mut fit = fit_with(spec, data, &options, &mut published)?;
    let Some(trainer) = published.trainer else {
        return Err(Error::Shape { what: "method paper", got: "no training".into(), expected: "a training".into() });
    };
    let chain = Chain::new(&fit.model, data.0, data.1)?;
    let fresh = paper.seed ^ 0x5eed_0000_0000_0000;
    let (bound, tapes) = published_paths(&chain, &trainer.potentials(&chain), &paper, fresh)?;
    let paths = gather(&chain, &tapes, fresh);
    let summary = WeightSummary::new(&paths.log_weights());
    let weights = vec![1.0 / tapes.len() as f64; tapes.len()];
    let known = vec![marginals(&paths, 0, &weights, &options.quantiles)];
    let times = chain.times().to_vec();
    drop(chain);
    let Bound { elbo, std_error, log_likelihood, kl } = bound;
    // What judged the library's paths says nothing about these.
    fit.summary =
        WeightSummary { elbo, elbo_std_error: std_error, effective_sample_size: tapes.len() as f64, ..summary };
    fit.choices = vec![Choice {
        method: Method::Paper,
        why: format!("as requested; the ELBO is a log likelihood of {log_likelihood:.1} less a divergence of {kl:.1}"),
    }];
    fit.posterior = PosteriorKind::Variational;
    fit.iterations = trainer.trace.len();
    (fit.marginals, fit.paths, fit.weights) = (known, paths, weights);
    let frame = Frame::new(times.clone(), vec![vec![0.0; times.len()]], vec![vec![1.0; times.len()]])?;
    let trace = trainer.trace.iter().copied().filter(|elbo| elbo.is_finite()).collect();
    Ok(NeuralFit { fit, trained: Some(Trained { potential: trainer.potential, frame, trace }) })
}

/// Tapes as paths; a step is a jump if one of its jumps is among the largest percent of the prior's steps.
fn gather(chain: &Chain, tapes: &[Tape], seed: u64) -> Paths {
    let limit = |j: usize| {
        let nodes = chain.nodes(0, j);
        let mut tail = 0.0;
        let far = nodes.weights().iter().rev().take_while(|&&w| {
            tail += w;
            tail < 0.01
        });
        let first = nodes.weights().len() - far.count();
        nodes.variances().get(first).map_or(f64::INFINITY, |variance| variance.sqrt())
    };
    let limits: Vec<f64> = (0..chain.len()).map(|j| if j == 0 { f64::INFINITY } else { limit(j) }).collect();
    let block = |(b, tapes): (usize, &[Tape])| Made {
        rngs: (0..tapes.len()).map(|p| stream(seed, (b * BLOCK + p) as u64)).collect(),
        sums: tapes.iter().map(|tape| log_sum(tape.log_likelihood - tape.kl)).collect(),
        states: (0..chain.len()).flat_map(|j| tapes.iter().map(move |tape| tape.states[j])).collect(),
        jumps: (0..chain.len())
            .flat_map(|j| tapes.iter().map(move |tape| (tape, j)))
            .map(|(tape, j)| tape.largest[j] > limits[j])
            .collect(),
    };
    Paths::from_blocks(chain.len(), tapes.chunks(BLOCK).enumerate().map(block).collect())
}

fn log_sum(value: f64) -> LogSum {
    let mut sum = LogSum::default();
    sum.add(value);
    sum
}

/// The published method on its way through a fit.
struct Published<'a> {
    options: &'a PaperOptions,
    sizes: &'a NeuralPotentialSpec,
    trainer: Option<PaperTrainer>,
    values: Vec<f64>,
}

impl Published<'_> {
    /// All iterations; `free` are the scales and slots of the drift's parameters that are learned.
    fn train(
        &mut self,
        mut model: StateSpace,
        data: (&TimeGrid, &[&[f64]]),
        parameters: &[Parameter],
    ) -> Result<StateSpace> {
        let mut values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
        let drift = model.drift.parameter_count();
        let mut last = (f64::NAN, f64::NAN);
        for iteration in 0..=self.options.iterations {
            let chain = Chain::new(&model, data.0, data.1)?;
            if self.trainer.is_none() {
                self.trainer = Some(PaperTrainer::new(&chain, self.sizes.clone(), self.options)?);
            }
            let Some(trainer) = &mut self.trainer else { break };
            if iteration == self.options.iterations {
                break;
            }
            let slopes: Vec<f64> = parameters[..drift]
                .iter()
                .zip(&values)
                .map(|(p, &value)| if p.fixed { 0.0 } else { p.transform.slope(value) })
                .collect();
            let (bound, moved) = trainer.step(&chain, self.options, &slopes)?;
            drop(chain);
            for (value, (p, step)) in values.iter_mut().zip(parameters.iter().zip(moved)) {
                if !p.fixed {
                    *value = p.transform.backward(p.transform.forward(*value) + step);
                }
            }
            model = rebuild(&model, &values)?;
            if let Some(bound) = bound {
                last = (bound.elbo, bound.std_error);
            }
            let (most, (elbo, elbo_std_error)) = (self.options.iterations, last);
            let values = &values[..];
            let told = Progress { iteration, most, part: false, elbo, elbo_std_error, parameters, values };
            if elbo.is_finite() && !progress::tell(&told) {
                break;
            }
        }
        self.values = values;
        Ok(model)
    }
}

impl PotentialFinder for Published<'_> {
    fn learns(&self) -> bool {
        true
    }

    fn learn(
        &mut self,
        model: &StateSpace,
        parameters: &[Parameter],
        data: (&TimeGrid, &[&[f64]]),
        _: &LearnOptions,
    ) -> Result<Learned> {
        let drift = model.drift.parameter_count();
        if let Some(free) = parameters[drift..].iter().find(|p| !p.fixed) {
            return Err(Error::Parameter {
                name: free.name.clone(),
                value: free.value,
                expected: "must be given: method paper learns the parameters of the drift alone; or use another method",
            });
        }
        let start: Vec<f64> = parameters.iter().map(|p| p.value).collect();
        let found = self.train(rebuild(model, &start)?, data, parameters)?;
        let unknown = vec![f64::NAN; parameters.len()];
        let values = self.values.iter();
        Ok(Learned {
            model: found,
            parameters: parameters.iter().zip(values).map(|(p, &value)| Parameter { value, ..p.clone() }).collect(),
            std_errors: unknown.clone(),
            data_shares: vec![1.0; unknown.len()],
            covariance: Vec::new(),
            shift: Vec::new(),
            choice: Choice { method: Method::Paper, why: "as requested".into() },
            potentials: Vec::new(),
            summary: WeightSummary::new(&[0.0, 0.0]),
            iterations: self.trainer.as_ref().map_or(0, |trainer| trainer.trace.len()),
            stopped: false,
            warnings: Vec::new(),
        })
    }

    fn potentials(&mut self, chain: &Chain, _: &LearnOptions) -> Result<Potentials> {
        let said = self.trainer.as_ref().map_or(Vec::new(), |trainer| trainer.potentials(chain));
        let all = said.iter().map(|&[a, c]| Ok(Quadratic::new(a, c)?.into())).collect::<Result<_>>()?;
        Ok(vec![all])
    }
}
