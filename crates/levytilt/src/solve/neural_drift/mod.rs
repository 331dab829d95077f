//! Learn a drift network: regression on the transitions of posterior paths, in turn with the noise and the paths.

mod adam;
mod choose;
mod ridge;
mod transitions;

pub use choose::Regularisation;

use super::learn::learn_from;
use super::learned::{LearnOptions, Learned};
use super::parameters::{Parameter, parameters};
use crate::drift::{Drift, Neural, NeuralSpec};
use crate::posterior::{Paths, Potentials, walk};
use crate::series::TimeGrid;
use crate::{Chain, Context, Dimension, Result, StateSpace, stream};
use adam::{Coordinates, train};
use choose::{BLOCKS, block, choose, gain, total};
use rand::Rng;
use rayon::prelude::*;
use ridge::{Before, Features, Normal};
use std::ops::Range;
use transitions::Transitions;

/// The network to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct NeuralOptions {
    /// Size, and centre and scale of the inputs: those of the data.
    pub spec: NeuralSpec,
    /// Plausible size of the drift, per dimension: the unit of the penalty.
    pub units: Vec<f64>,
    /// Times that drift, noise and paths are improved in turn.
    pub rounds: usize,
}

/// A model whose drift is a network.
#[derive(Debug)]
pub struct LearnedNeural {
    /// The network.
    pub network: Neural,
    /// The strength of its penalty, chosen on held-out transitions.
    pub regularisation: Regularisation,
    /// The model, its noise learned together with the network; `None` if no drift was found.
    pub learned: Option<Learned>,
}

/// Newton steps of the noise in the last round: it is nearly right, because over a step the drift is small compared
/// with it. Rounds before only bring the paths to the new drift.
const NEWTON_STEPS: usize = 1;

/// Learn a network in place of the drift of `model`, whose noise and `potentials` are good without drift.
///
/// `noise` are its parameters behind those of the drift. If the evidence for a drift is not beyond one standard error,
/// the network stays at zero.
pub fn learn_neural(
    model: &StateSpace,
    noise: &[Parameter],
    potentials: &Potentials,
    data: (&TimeGrid, &[&[f64]]),
    network: &NeuralOptions,
    options: &LearnOptions,
    context: &Context,
) -> Result<LearnedNeural> {
    let mut seeds = stream(options.sweep.seed, u64::MAX - 2);
    let initial = Neural::new(network.spec.clone(), seeds.next_u64())?.still()?;
    let coordinates = Coordinates { start: initial.values().to_vec(), std: initial.natural_stds(&network.units) };
    let mut current = initial.clone();
    let mut learned: Option<Learned> = None;
    let mut round = 0;
    loop {
        let (model, potentials) = learned.as_ref().map_or((model, potentials), |l| (&l.optimum.model, &l.potentials));
        let chain = Chain::new(model, data.0, data.1)?;
        let paths = walk(&chain, potentials, options.sweep.paths, options.sweep.seed);
        let last = round + 1 >= network.rounds;
        let step = Step { network: &current, coordinates: &coordinates, units: &network.units };
        let (next, regularisation) = step.improve(&chain, &paths, last, seeds.next_u64())?;
        drop(chain);
        if regularisation.strength.is_infinite() {
            return Ok(LearnedNeural { network: initial, regularisation, learned: None });
        }
        let (with_network, mut parameters) = replace_drift(model, &next)?;
        let values = learned.as_ref().map(|l| &l.optimum.parameters[l.optimum.parameters.len() - noise.len()..]);
        parameters.extend(
            noise
                .iter()
                .enumerate()
                .map(|(k, p)| Parameter { value: values.map_or(p.value, |values| values[k].value), ..p.clone() }),
        );
        let few = LearnOptions { iterations: if last { NEWTON_STEPS } else { 0 }, ..*options };
        learned = Some(learn_from(with_network, &parameters, data, &few, Some(potentials), context)?);
        current = next;
        round += 1;
        if round == network.rounds.max(1) {
            return Ok(LearnedNeural { network: current, regularisation, learned });
        }
    }
}

/// `model` with `network` as its drift, and the fixed parameters of the network.
fn replace_drift(model: &StateSpace, network: &Neural) -> Result<(StateSpace, Vec<Parameter>)> {
    let mut dimensions = Vec::with_capacity(model.dim());
    for dimension in &model.dimensions {
        let values: Vec<f64> = dimension.noise.parameters().iter().map(|(_, value)| *value).collect();
        let Dimension { observation_std, start, .. } = *dimension;
        let (noise, errors) = (dimension.noise.with_parameters(&values)?, dimension.errors.clone());
        dimensions.push(Dimension { noise, size: dimension.size.clone(), observation_std, errors, start });
    }
    let model = StateSpace::multivariate(Box::new(network.clone()), dimensions)?;
    let mut weights = parameters(&model);
    weights.truncate(network.parameter_count());
    weights.iter_mut().for_each(|weight| weight.fixed = true);
    Ok((model, weights))
}

/// One improvement of the network.
struct Step<'a> {
    network: &'a Neural,
    coordinates: &'a Coordinates,
    units: &'a [f64],
}

impl Step<'_> {
    /// The network for the transitions of `paths`, and the strength of its penalty; hidden layers are trained the `last`
    /// time, when the paths know the drift.
    fn improve(&self, chain: &Chain, paths: &Paths, last: bool, seed: u64) -> Result<(Neural, Regularisation)> {
        let data = Transitions::new(chain, paths)?;
        let choice = choose(self.network, &data, self.units);
        if choice.strength.is_infinite() {
            return Ok((self.network.still()?, choice));
        }
        let everything: Vec<usize> = (0..data.len()).collect();
        let solved = self.solve(&data, &everything, choice.strength)?;
        if !(last && self.training_helps(&data, choice.strength, seed)?) {
            return Ok((solved, choice));
        }
        Ok((train(&solved, &data, &everything, self.coordinates, choice.strength, seed)?, choice))
    }

    /// The network with the best output layer for some transitions, ω found anew from its own residuals.
    fn solve(&self, data: &Transitions, transitions: &[usize], strength: f64) -> Result<Neural> {
        const REWEIGHTINGS: usize = 3;
        let features = Features::new(self.network, data);
        let mut solved = self.network.still()?;
        let mut before: Option<Before> = None;
        let ranges = contiguous(transitions);
        for _ in 0..REWEIGHTINGS {
            let row = |i: usize| {
                let part = |range: &Range<usize>| Normal::new(data, &features, i, range.clone(), before.as_ref());
                let parts: Vec<Normal> = ranges.iter().map(part).collect();
                Normal::sum(parts.iter()).and_then(|sum| sum.solve(strength, self.units[i]))
            };
            let Some(rows) = (0..data.dim()).into_par_iter().map(row).collect::<Option<Vec<_>>>() else { break };
            let output: Vec<f64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
            solved = self.network.with_output(&output)?;
            before = Some(Before::new(&solved, &features, output, data));
        }
        Ok(solved)
    }

    /// Whether training the hidden layers too gains held-out log density beyond one standard error.
    fn training_helps(&self, data: &Transitions, strength: f64, seed: u64) -> Result<bool> {
        let block_gains = |b: usize| {
            let mut gains = vec![0.0; data.steps()];
            let held = block(data, b);
            let rest: Vec<usize> = (0..data.len()).filter(|n| !held.contains(n)).collect();
            let solved = self.solve(data, &rest, strength)?;
            let trained = train(&solved, data, &rest, self.coordinates, strength, seed.wrapping_add(b as u64 + 1))?;
            let (steps, states) = (data.steps_of(held.clone()), data.starts_of(held.clone()));
            let (mut plain, mut better) = (vec![0.0; states.len()], vec![0.0; states.len()]);
            solved.flows(&steps, states, &mut plain);
            trained.flows(&steps, states, &mut better);
            for (k, n) in held.enumerate() {
                let moved = |flows: &[f64]| gain(data, n, |i| flows[k * data.dim() + i] - data.from(n)[i]);
                gains[n / data.copies] += moved(&better) - moved(&plain);
            }
            Ok(gains)
        };
        let blocks = (0..BLOCKS).into_par_iter().map(block_gains).collect::<Result<Vec<_>>>()?;
        let gains: Vec<f64> = (0..data.steps()).map(|j| blocks.iter().map(|gains| gains[j]).sum()).collect();
        let (sum, error) = total(&gains);
        Ok(sum > error)
    }
}

/// Runs of neighbouring numbers in an increasing list.
fn contiguous(numbers: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(run) if run.end == n => run.end = n + 1,
            _ => runs.push(n..n + 1),
        }
    }
    runs
}
