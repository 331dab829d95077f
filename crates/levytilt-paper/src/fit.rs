//! Fit a model with potentials from trained networks.

use crate::potential::NeuralPotentialSpec;
use crate::training::{TrainOptions, Trained, Trainer, learn_alongside, train};
use levytilt::fit::{Fit, FitOptions, PotentialFinder, Spec, fit_with};
use levytilt::posterior::{Potentials, WeightSummary};
use levytilt::progress::{self, Progress};
use levytilt::series::TimeGrid;
use levytilt::solve::{LearnOptions, Learned, Method, Parameter};
use levytilt::{Chain, Result, StateSpace};

/// Sizes and training of the networks; paths and seed are those of the fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NeuralOptions {
    /// Sizes of new networks.
    pub sizes: NeuralPotentialSpec,
    /// How to train.
    pub train: TrainOptions,
    /// Networks to start from instead of new ones, perhaps trained on other times.
    pub networks: Option<Trained>,
    /// Whether parameters are learned jointly with the networks rather than by sweeps beforehand.
    pub alongside: bool,
}

/// A fit and the networks of its potentials.
#[derive(Debug)]
pub struct NeuralFit {
    /// The fit.
    pub fit: Fit,
    /// The networks.
    pub trained: Option<Trained>,
}

impl AsRef<Fit> for NeuralFit {
    fn as_ref(&self) -> &Fit {
        &self.fit
    }
}

/// Fit `spec` with potentials from networks ([`Method::Neural`], whatever `options` say).
///
/// # Errors
/// As for [`levytilt::fit::fit`]; a drift network that is to be learned jointly; networks of another dimension.
pub fn fit_neural(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    neural: &NeuralOptions,
) -> Result<NeuralFit> {
    let learn = LearnOptions { method: Method::Neural, ..options.learn };
    let options = FitOptions { learn, ..options.clone() };
    let mut networks = Networks { options: neural, paths: options.paths, trained: neural.networks.clone() };
    let fit = fit_with(spec, data, &options, &mut networks)?;
    Ok(NeuralFit { fit, trained: networks.trained })
}

/// Networks on their way through a fit.
struct Networks<'a> {
    options: &'a NeuralOptions,
    paths: usize,
    trained: Option<Trained>,
}

impl Networks<'_> {
    fn train_options(&self, seed: u64) -> TrainOptions {
        TrainOptions { paths: self.paths, seed, ..self.options.train.clone() }
    }
}

impl PotentialFinder for Networks<'_> {
    fn learns(&self) -> bool {
        self.options.alongside
    }

    fn learn(
        &mut self,
        model: &StateSpace,
        parameters: &[Parameter],
        data: (&TimeGrid, &[&[f64]]),
        options: &LearnOptions,
    ) -> Result<Learned> {
        let train = self.train_options(options.sweep.seed);
        let networks = (self.trained.take(), &self.options.sizes);
        let (learned, trained) = learn_alongside(model, parameters, data, options, networks, &train)?;
        self.trained = Some(trained);
        Ok(learned)
    }

    fn potentials(&mut self, chain: &Chain, options: &LearnOptions) -> Result<Potentials> {
        let train_options = self.train_options(options.sweep.seed);
        let most = train_options.iterations;
        let trainer = match self.trained.take() {
            Some(networks) => Trainer::from_trained(chain, networks, train_options)?,
            None => Trainer::new(chain, self.options.sizes.clone(), train_options)?,
        };
        let trained = train(trainer, |iteration, summary| {
            let WeightSummary { elbo, elbo_std_error, .. } = *summary;
            let (parameters, values) = (&[][..], &[][..]);
            let (part, parts) = (false, None);
            progress::tell(&Progress { iteration, most, part, elbo, elbo_std_error, parts, parameters, values })
        })?;
        let potentials = trained.potentials(chain)?;
        self.trained = Some(trained);
        Ok(potentials)
    }
}
