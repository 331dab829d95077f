//! Let another crate find the potentials of a fit, for example by training networks.

use super::find::find;
use super::find_neural::network_options;
use super::found::{Found, found};
use super::start::{Beginning, begin};
use super::{FitOptions, FittedNeural, NeuralSize, Spec};
use crate::drift::{Drift, Neural};
use crate::posterior::{Paths, Potentials};
use crate::series::TimeGrid;
use crate::solve::{LearnOptions, Learned, Method, Parameter, parameters as all_parameters};
use crate::{Chain, Context, Error, Result, StateSpace};

/// A search for potentials in place of those of the library.
pub trait PotentialFinder {
    /// Whether it learns parameters itself, by [`PotentialFinder::learn`]; if not, sweeps learn them first.
    fn learns(&self) -> bool;

    /// Whether it learns the weights of a drift network too, as the first of the parameters.
    fn learns_network(&self) -> bool {
        false
    }

    /// Learn what is free in `parameters`, whose values are the start.
    fn learn(
        &mut self,
        model: &StateSpace,
        parameters: &[Parameter],
        data: (&TimeGrid, &[&[f64]]),
        options: &LearnOptions,
    ) -> Result<Learned>;

    /// The potentials at the parameters found.
    fn potentials(&mut self, chain: &Chain, options: &LearnOptions) -> Result<Potentials>;

    /// Posterior paths of its own at the parameters found, in place of the library's walk along the potentials.
    fn paths(&mut self, _: &Chain, _: &FitOptions) -> Result<Option<OwnPaths>> {
        Ok(None)
    }

    /// Whether the size of the noise may depend on the state; then it must have [`PotentialFinder::paths`].
    fn takes_sizes(&self) -> bool {
        false
    }
}

/// Paths of a [`PotentialFinder`], counted equally.
#[derive(Debug)]
pub struct OwnPaths {
    /// The paths.
    pub paths: Paths,
    /// Their ELBO and its standard error.
    pub elbo: (f64, f64),
    /// What to say about them.
    pub why: String,
}

/// Parameters for `finder`: learned by it, or by the library.
pub(super) fn find_for(
    finder: Option<&mut (dyn PotentialFinder + '_)>,
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &FitOptions,
    learn: &LearnOptions,
    context: &Context,
) -> Result<Found> {
    match finder {
        Some(finder) if finder.learns() => {
            if let Some(size) = spec.network {
                if finder.learns_network() {
                    return find_neural_by(finder, (spec, size), (grid, columns), options.priors, learn);
                }
                return Err(Error::Shape {
                    what: "joint training of parameters and potential",
                    got: "a drift network".into(),
                    expected: "a parametric drift, or method paper; else a drift network is learned by sweeps".into(),
                });
            }
            let Beginning { model, parameters } = begin(spec, grid, columns, options.priors)?;
            Ok(found(finder.learn(&model, &parameters, (grid, columns), learn)?))
        }
        None if [Method::Neural, Method::Paper].contains(&learn.method) => Err(Error::Shape {
            what: "method neural or paper",
            got: "no networks".into(),
            expected: "a call through levytilt_paper, which trains them".into(),
        }),
        _ => find(spec, grid, columns, options.priors, learn, context),
    }
}

/// A network and the noise beside it, learned by `finder` jointly with its potentials, from random weights.
fn find_neural_by(
    finder: &mut (dyn PotentialFinder + '_),
    (spec, size): (&Spec, NeuralSize),
    (grid, columns): (&TimeGrid, &[&[f64]]),
    priors: bool,
    options: &LearnOptions,
) -> Result<Found> {
    let Beginning { model, parameters } = begin(&Spec { network: None, ..spec.clone() }, grid, columns, priors)?;
    let sizes = network_options(size, grid, columns)?.spec;
    let network = Neural::new(sizes.clone(), options.sweep.seed)?;
    let weights = network.parameter_count();
    let model = StateSpace { drift: Box::new(network), ..model };
    let all: Vec<Parameter> = all_parameters(&model).into_iter().take(weights).chain(parameters).collect();
    let learned = finder.learn(&model, &all, (grid, columns), options)?;
    let values: Vec<f64> = learned.optimum.parameters[..weights].iter().map(|p| p.value).collect();
    let drift = Neural::from_parameters(sizes, &values)?;
    let mut found = found(learned);
    found.estimates = found.estimates.split_off(weights);
    Ok(Found { network: Some(FittedNeural { drift, regularisation: None }), ..found })
}
