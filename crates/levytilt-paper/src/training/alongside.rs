//! Learn the parameters of drift and noise jointly with the networks: Newton steps on the ELBO of their paths, each
//! followed by a little training.

use super::train::{TrainOptions, Trainer};
use super::trained::Trained;
use crate::potential::NeuralPotentialSpec;
use levytilt::internals::Chain;
use levytilt::internals::series::TimeGrid;
use levytilt::internals::solve::{Choice, LearnOptions, Learned, Method, Parameter, SweepOptions, follow, learn_by};
use levytilt::{Context, Result, StateSpace};
use std::cell::RefCell;

/// Most iterations at the initial parameters, which are only a guess.
const FIRST: usize = 100;
/// Iterations after every step of the parameters, at a learning rate reduced once.
const BETWEEN: usize = 30;

/// Learn what is free in `parameters`, whose values are the start, with paths of networks that are trained jointly,
/// starting from `networks` or from new ones of these sizes. Returns the final networks.
///
/// Sweeps find the same parameters, or better ones, in a fraction of the time ([`levytilt::internals::solve::learn`]). The published
/// method is [`crate::published`].
pub fn learn_alongside(
    model: &StateSpace,
    parameters: &[Parameter],
    data: (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
    (networks, spec): (Option<Trained>, &NeuralPotentialSpec),
    train: &TrainOptions,
    context: &Context,
) -> Result<(Learned, Trained)> {
    let state = RefCell::new(networks);
    let expect = |chain: &Chain, _, _, sweep: &SweepOptions| {
        let most = |count: usize| TrainOptions { iterations: train.iterations.min(count), ..train.clone() };
        // A copy: where training fails, the search continues with the previous networks.
        let before = state.borrow().clone();
        let trained = match before {
            Some(networks) => {
                let slower = TrainOptions { rate: train.rate / 3.0, ..most(BETWEEN) };
                more(Trainer::from_trained(chain, networks, slower)?)?
            }
            None => more(Trainer::new(chain, spec.clone(), most(FIRST))?)?,
        };
        let potentials = trained.potentials(chain)?;
        state.replace(Some(trained));
        let choice = Choice { method: Method::Neural, why: "as requested".into() };
        Ok(follow(chain, potentials, sweep, choice))
    };
    let learned = learn_by(&expect, model, parameters, data, options, context)?;
    let trained =
        state.into_inner().expect("without an error the first iterate has trained networks, and none is taken away");
    Ok((learned, trained))
}

/// All iterations of a trainer.
fn more(mut trainer: Trainer) -> Result<Trained> {
    while !trainer.done() {
        trainer.step()?;
    }
    Ok(trainer.into_trained())
}
