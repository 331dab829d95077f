//! Fit a model with potentials from trained networks.

use crate::potential::NeuralPotentialSpec;
use crate::training::{TrainOptions, Trained, Trainer, learn_alongside, train};
use levytilt::internals::Chain;
use levytilt::internals::fit::{Fit, FitOptions, PotentialFinder, Spec, fit_by};
use levytilt::internals::posterior::Potentials;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{LearnOptions, Learned, Method, Parameter};
use levytilt::{Context, Result, StateSpace};

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
/// As for [`levytilt::internals::fit::fit`]; a drift network that is to be learned jointly; networks of another dimension.
pub fn fit_neural(
    spec: &Spec,
    data: (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    neural: &NeuralOptions,
    context: &Context,
) -> Result<NeuralFit> {
    let learn = LearnOptions { method: Method::Neural, ..options.learn };
    let options = FitOptions { learn, ..options.clone() };
    let trained = neural.networks.clone();
    let mut networks = Networks { options: neural, paths: options.paths, trained, context };
    let fit = fit_by(&mut networks, spec, data, &options, context)?;
    Ok(NeuralFit { fit, trained: networks.trained })
}

/// Networks on their way through a fit.
struct Networks<'a> {
    options: &'a NeuralOptions,
    paths: usize,
    trained: Option<Trained>,
    context: &'a Context,
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
        let (learned, trained) = learn_alongside(model, parameters, data, options, networks, &train, self.context)?;
        self.trained = Some(trained);
        Ok(learned)
    }

    fn potentials(&mut self, chain: &Chain, options: &LearnOptions) -> Result<Potentials> {
        let train_options = self.train_options(options.sweep.seed);
        let trainer = match self.trained.take() {
            Some(networks) => Trainer::from_trained(chain, networks, train_options)?,
            None => Trainer::new(chain, self.options.sizes.clone(), train_options)?,
        };
        let trained = train(trainer, self.context)?;
        let potentials = trained.potentials(chain)?;
        self.trained = Some(trained);
        Ok(potentials)
    }
}
