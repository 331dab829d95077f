//! Find a drift network: first the noise without any drift, then both in turn.

use super::found::{Found, found as found_of};
use super::spec::NeuralSize;
use super::start::{Beginning, begin, observed_times};
use super::{FittedNeural, Spec};
use crate::drift::{Drift, NeuralSpec};
use crate::series::{Scales, TimeGrid};
use crate::solve::{LearnOptions, LearnedNeural, Method, NeuralOptions, Parameter, SweepOptions, learn_neural};
use crate::{Context, Result, StateSpace};

/// Paths that are plenty while learning: regression wants transitions, not paths.
const PATHS: usize = 64;
/// Times that drift, noise and paths are improved in turn.
const ROUNDS: usize = 3;

/// How to learn while a drift is regressed on paths.
pub(super) fn network_learning(options: &LearnOptions) -> LearnOptions {
    let sweep = SweepOptions { paths: options.sweep.paths.min(PATHS), ..options.sweep };
    // A network is learned along sweeps unless another way is asked for: they can start where the last ones ended.
    let method = if options.method == Method::Auto { Method::Sweep } else { options.method };
    LearnOptions { sweep, method, ..*options }
}

/// Find a network and the noise beside it, given what was `found` without any drift, by `still`, and with these options.
pub(super) fn find_neural(
    found: Found,
    (still, size): (&Spec, NeuralSize),
    (grid, columns): (&TimeGrid, &[&[f64]]),
    priors: bool,
    options: &LearnOptions,
    context: &Context,
) -> Result<Found> {
    let Beginning { parameters, .. } = begin(still, grid, columns, priors)?;
    let noise: Vec<Parameter> = (parameters.into_iter().zip(&found.estimates))
        .map(|(p, found)| Parameter { value: found.value, ..p })
        .collect();
    let network = network_options(size, grid, columns)?;
    let LearnedNeural { network, regularisation, learned } =
        learn_neural(&found.model, &noise, &found.potentials, (grid, columns), &network, options, context)?;
    let weights = network.parameter_count();
    let network = FittedNeural { drift: network, regularisation: Some(regularisation) };
    let Some(learned) = learned else {
        let model = StateSpace { drift: Box::new(network.drift.clone()), ..found.model };
        return Ok(Found { model, network: Some(network), ..found });
    };
    let mut both = found_of(learned);
    both.estimates.drain(..weights);
    both.iterations += found.iterations;
    both.network = Some(network);
    Ok(both)
}

/// A network whose inputs are centred and scaled by the data, and the drift that would be no surprise: back within a time
/// halfway, in factors, between one observation and a tenth of the span.
pub(super) fn network_options(size: NeuralSize, grid: &TimeGrid, columns: &[&[f64]]) -> Result<NeuralOptions> {
    let times = observed_times(grid);
    let scales = columns.iter().map(|column| Scales::new(&times, column, None)).collect::<Result<Vec<_>>>()?;
    // Of a Gaussian, nine tenths lie within 3.3 standard deviations.
    let scale: Vec<f64> = scales.iter().map(|s| s.spread / 3.3).collect();
    Ok(NeuralOptions {
        units: scales.iter().zip(&scale).map(|(s, scale)| scale * (10.0 / (s.span * s.lag)).sqrt()).collect(),
        spec: NeuralSpec {
            dim: columns.len(),
            width: size.width,
            depth: size.depth,
            time_input: false,
            centre: scales.iter().map(|s| s.median).collect(),
            scale,
        },
        rounds: ROUNDS,
    })
}
