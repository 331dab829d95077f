//! Fit a model by the published method.

use super::bound::{Bound, published_paths};
use super::options::{Gradient, PaperOptions};
use super::tape::Tape;
use super::train::PaperTrainer;
use crate::fit::NeuralFit;
use crate::potential::Frame;
use crate::training::Trained;
use levytilt::context::Progress;
use levytilt::internals::Chain;
use levytilt::internals::fit::{FitOptions, OwnPaths, PotentialFinder, Spec, fit_by};
use levytilt::internals::posterior::{BLOCK, Made, Paths, Potentials, WeightSummary};
use levytilt::internals::potential::Quadratic;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Choice, LearnOptions, Learned, Method, Optimum, Parameter, rebuild};
use levytilt::internals::tilt::LogSum;
use levytilt::{Context, Error, Result, StateSpace, stream};

/// Fit `spec` by the published method ([`Method::Paper`]): truncated stable noise, perhaps with a Brownian part or a size
/// that depends on the state, and a drift. Parameters are given or learned jointly with the networks; τ, σ_G and the Brownian part
/// must be given. Paths are those of Algorithm 2, counted
/// equally; the log evidence is that of a particle filter on the library's chain that follows the same potentials.
///
/// # Errors
/// Another noise, a free parameter without an unbiased gradient; a tilt that stays too strong for paths.
pub fn fit_paper(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    paper: &PaperOptions,
) -> Result<NeuralFit> {
    fit_paper_with(spec, data, options, paper, &Context::silent())
}

/// [`fit_paper`], watched, and resumed from its checkpoint if there is one.
///
/// # Errors
/// As for [`fit_paper`].
pub fn fit_paper_with(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    paper: &PaperOptions,
    context: &Context,
) -> Result<NeuralFit> {
    let learn = LearnOptions { method: Method::Paper, ..options.learn };
    let options = FitOptions { learn, ..options.clone() };
    let paper = PaperOptions { paths: options.paths, seed: options.seed, ..paper.clone() };
    let mut published = Published {
        options: &paper,
        network: spec.network.is_some(),
        trainer: None,
        values: Vec::new(),
        stopped: false,
        context,
    };
    let mut fit = fit_by(&mut published, spec, data, &options, context)?;
    let Some(trainer) = published.trainer else {
        return Err(Error::Shape { what: "method paper", got: "no training".into(), expected: "a training".into() });
    };
    fit.iterations = trainer.iterations;
    let (dim, times) = (fit.model.dim(), data.0.times().to_vec());
    let everywhere = |value: f64| vec![vec![value; times.len()]; dim];
    let frame = Frame::new(times.clone(), everywhere(0.0), everywhere(1.0))?;
    Ok(NeuralFit { fit, trained: Some(Trained { potential: trainer.potential, frame, trace: trainer.trace }) })
}

/// Fit `spec` once for every value of α in `alphas`, in every dimension the same, and keep the fit with the highest ELBO,
/// which says what the others had; without values, fit it as it is.
///
/// # Errors
/// As for [`fit_paper`].
pub fn fit_paper_grid(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    paper: &PaperOptions,
    alphas: &[f64],
    context: &Context,
) -> Result<NeuralFit> {
    let mut fits: Vec<(f64, NeuralFit)> = Vec::new();
    for &alpha in alphas {
        let others = spec.given.iter().filter(|(name, _)| name != ALPHA).cloned();
        let at = Spec { given: others.chain([(ALPHA.to_string(), alpha)]).collect(), ..spec.clone() };
        fits.push((alpha, fit_paper_with(&at, data, options, paper, context)?));
        if context.stopped() {
            break;
        }
    }
    let elbo = |(alpha, found): &(f64, NeuralFit)| {
        format!("{alpha} {:.1} ± {:.1}", found.fit.summary.elbo, found.fit.summary.elbo_std_error)
    };
    let said = fits.iter().map(elbo).collect::<Vec<_>>().join(", ");
    let best = fits.into_iter().max_by(|a, b| a.1.fit.summary.elbo.total_cmp(&b.1.fit.summary.elbo));
    let Some((alpha, mut best)) = best else { return fit_paper_with(spec, data, options, paper, context) };
    for choice in &mut best.fit.choices {
        choice.why = format!("{}; alpha = {alpha} by the ELBO among {said}", choice.why);
    }
    Ok(best)
}

/// The index of a stable noise.
const ALPHA: &str = "alpha";

/// Tapes as paths; a step is a jump if one of its jumps is among the largest percent of the prior's steps.
fn gather(chain: &Chain, tapes: &[Tape], seed: u64) -> Paths {
    let limit = |i: usize, j: usize| {
        let nodes = chain.nodes(i, j);
        let mut tail = 0.0;
        let far = nodes.weights().iter().rev().take_while(|&&w| {
            tail += w;
            tail < 0.01
        });
        let first = nodes.weights().len() - far.count();
        nodes.variances().get(first).map_or(f64::INFINITY, |variance| variance.sqrt())
    };
    let dim = chain.dim();
    let limits: Vec<f64> = (0..chain.len() * dim)
        .map(|place| if place < dim { f64::INFINITY } else { limit(place % dim, place / dim) })
        .collect();
    // By time, path and dimension.
    let places = |tapes: &[Tape]| -> Vec<(usize, usize)> {
        let paths = tapes.len();
        let at = move |j: usize| (0..paths).flat_map(move |p| (j * dim..(j + 1) * dim).map(move |place| (p, place)));
        (0..chain.len()).flat_map(at).collect()
    };
    let block = |(b, tapes): (usize, &[Tape])| Made {
        rngs: (0..tapes.len()).map(|p| stream(seed, (b * BLOCK + p) as u64)).collect(),
        sums: tapes.iter().map(|tape| log_sum(tape.log_likelihood - tape.kl)).collect(),
        states: places(tapes).into_iter().map(|(p, place)| tapes[p].states[place]).collect(),
        jumps: places(tapes).into_iter().map(|(p, place)| tapes[p].largest[place] > limits[place]).collect(),
    };
    Paths::from_blocks(dim, chain.len(), tapes.chunks(BLOCK).enumerate().map(block).collect())
}

fn log_sum(value: f64) -> LogSum {
    let mut sum = LogSum::default();
    sum.add(value);
    sum
}

/// The published method on its way through a fit.
struct Published<'a> {
    options: &'a PaperOptions,
    /// Whether the drift is a network.
    network: bool,
    trainer: Option<PaperTrainer>,
    values: Vec<f64>,
    stopped: bool,
    context: &'a Context,
}

impl Published<'_> {
    /// All iterations, from the checkpoint in the context if there is one.
    fn train(
        &mut self,
        mut model: StateSpace,
        data: (&TimeGrid, &[&[f64]]),
        parameters: &[Parameter],
    ) -> Result<StateSpace> {
        let mut values: Vec<f64> = parameters.iter().map(|p| p.value).collect();
        let chain = Chain::new(&model, data.0, data.1)?;
        let mut trainer = PaperTrainer::new(&chain, self.options)?;
        drop(chain);
        trainer.resume_kept(&mut values, self.context)?;
        model = rebuild(&model, &values)?;
        let most = self.options.iterations;
        // The weights of a network are too many to tell of.
        let told = if self.network { model.drift.parameter_count() } else { 0 };
        while trainer.iterations < most {
            let chain = Chain::new(&model, data.0, data.1)?;
            let bound = trainer.step(&chain, self.options, parameters, &mut values)?;
            drop(chain);
            model = rebuild(&model, &values)?;
            let goes_on = bound.is_none_or(|Bound { elbo, std_error, log_likelihood, kl }| {
                self.context.tell(&Progress {
                    subject: self.context.subject(),
                    iteration: trainer.iterations - 1,
                    most,
                    part: false,
                    elbo,
                    elbo_std_error: std_error,
                    parts: Some([log_likelihood, kl]),
                    parameters: &parameters[told..],
                    values: &values[told..],
                })
            });
            trainer.keep(&values, !goes_on, self.context);
            if !goes_on {
                self.stopped = true;
                break;
            }
        }
        (self.trainer, self.values) = (Some(trainer), values);
        Ok(model)
    }

    /// Refuse free parameters that have no gradient, or a biased one.
    fn check_free(&self, model: &StateSpace, parameters: &[Parameter]) -> Result<()> {
        let refused =
            |p: &Parameter, expected| Err(Error::Parameter { name: p.name.clone(), value: p.value, expected });
        let dimension = &model.dimensions[0];
        let mixed = dimension.size.is_some() && dimension.noise.parameters().len() > 4;
        for free in parameters[model.drift.parameter_count()..].iter().filter(|p| !p.fixed) {
            match free.name.split('[').next().unwrap_or_default() {
                _ if self.options.gradient == Gradient::Published => {
                    return refused(free, "must be given with gradient published, which has no slope in the noise");
                }
                "tau" | "sigma_g" | "brownian" => {
                    return refused(free, "must be given: method paper does not learn it");
                }
                "scale" if mixed => {
                    return refused(free, "must be given beside a size that depends on the state and a Brownian part");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        let done = self.trainer.as_ref().map_or(0, |trainer| trainer.iterations);
        let say = || format!("stopped on request after {done} of {} iterations", self.options.iterations);
        self.stopped.then(say).into_iter().collect()
    }
}

impl PotentialFinder for Published<'_> {
    fn takes_sizes(&self) -> bool {
        true
    }

    /// Fresh paths by Algorithm 2.
    fn paths(&mut self, chain: &Chain, _: &FitOptions) -> Result<Option<OwnPaths>> {
        let Some(trainer) = &self.trainer else { return Ok(None) };
        let fresh = self.options.seed ^ 0x5eed_0000_0000_0000;
        let (bound, tapes) = published_paths(chain, &trainer.potentials(chain), self.options, fresh)?;
        let Bound { elbo, std_error, log_likelihood, kl } = bound;
        Ok(Some(OwnPaths {
            paths: gather(chain, &tapes, fresh),
            elbo: (elbo, std_error),
            why: format!(
                "as requested; the ELBO is a log likelihood of {log_likelihood:.1} less a divergence of {kl:.1}"
            ),
        }))
    }

    fn learns(&self) -> bool {
        true
    }

    fn learns_network(&self) -> bool {
        true
    }

    fn learn(
        &mut self,
        model: &StateSpace,
        parameters: &[Parameter],
        data: (&TimeGrid, &[&[f64]]),
        _: &LearnOptions,
    ) -> Result<Learned> {
        self.check_free(model, parameters)?;
        let start: Vec<f64> = parameters.iter().map(|p| p.value).collect();
        let found = self.train(rebuild(model, &start)?, data, parameters)?;
        let unknown = vec![f64::NAN; parameters.len()];
        let values = self.values.iter();
        let optimum = Optimum {
            model: found,
            parameters: parameters.iter().zip(values).map(|(p, &value)| Parameter { value, ..p.clone() }).collect(),
            std_errors: unknown.clone(),
            data_shares: vec![1.0; unknown.len()],
            covariance: Vec::new(),
            shift: Vec::new(),
            iterations: self.trainer.as_ref().map_or(0, |trainer| trainer.iterations),
            warnings: self.warnings(),
        };
        let choice = Choice { method: Method::Paper, why: "as requested".into() };
        let summary = WeightSummary::new(&[0.0, 0.0]);
        Ok(Learned { optimum, choice, potentials: Vec::new(), summary, stopped: self.stopped })
    }

    fn potentials(&mut self, chain: &Chain, _: &LearnOptions) -> Result<Potentials> {
        let said = self.trainer.as_ref().map_or(Vec::new(), |trainer| trainer.potentials(chain));
        let dimension = |i: usize| {
            let own = said.iter().skip(i).step_by(chain.dim());
            own.map(|&[a, c]| Ok(Quadratic::new(a, c)?.into())).collect::<Result<_>>()
        };
        (0..chain.dim()).map(dimension).collect()
    }
}
