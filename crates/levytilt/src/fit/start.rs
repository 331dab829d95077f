//! Turn a kind of model and data into a model to start from, with priors for what is to be learned.

use super::Spec;
use super::guess::{Scales, guess};
use crate::drift::Place;
use crate::series::TimeGrid;
use crate::solve::{Parameter, Prior, Transform, parameters};
use crate::{Model, Result, Start};

/// Only the product of this parameter and `scale` matters: left out, it is 1.
const REDUNDANT: &str = "sigma_g";

/// A model to start from, and what may be learned of it.
#[derive(Debug)]
pub(super) struct Beginning {
    pub model: Model,
    pub parameters: Vec<Parameter>,
}

/// The model at the given values and guesses for the others; with `priors`, each guess has a wide prior around it.
pub(super) fn begin(spec: &Spec, grid: &TimeGrid, columns: &[&[f64]], priors: bool) -> Result<Beginning> {
    spec.check_names()?;
    let places = spec.places();
    let alone: Vec<Spec> = (0..spec.dim()).map(|i| spec.only(i)).collect();
    let open = |i: usize| places.iter().any(|place| place.dimension == i && spec.held(place).is_none());
    let rows: Vec<f64> = (0..grid.len()).filter(|&j| grid.observation(j).is_some()).map(|j| grid.times()[j]).collect();
    let scales = (0..spec.dim())
        .map(|i| match open(i) {
            true => Scales::new(&rows, columns[i], alone[i].given("observation_std")).map(Some),
            false => Ok(None),
        })
        .collect::<Result<Vec<_>>>()?;
    let value = |place: &Place| match (spec.held(place), &scales[place.dimension]) {
        (Some(value), _) => value,
        // Dimensions start as strangers.
        (None, _) if place.by.is_some_and(|by| by != place.dimension) => 0.0,
        (None, Some(scales)) => guess(place.name, &alone[place.dimension], scales),
        (None, None) => f64::NAN,
    };
    let error = |i| value(&Place { name: "observation_std", dimension: i, by: None });
    let starts = (0..spec.dim()).map(|i| first_state(&alone[i], columns[i], error(i))).collect();
    let model = spec.assemble(value, starts)?;
    let mut parameters = parameters(&model);
    for (parameter, place) in parameters.iter_mut().zip(&places) {
        parameter.name = spec.label(place);
        parameter.fixed = spec.held(place).is_some() || place.name == REDUNDANT;
        if let Some(own) = scales[place.dimension].as_ref().filter(|_| priors && !parameter.fixed) {
            let by = place.by.and_then(|by| scales[by].as_ref()).unwrap_or(own);
            parameter.prior = Some(prior(parameter, place.name, own, by));
        }
    }
    Ok(Beginning { model, parameters })
}

fn first_state(spec: &Spec, values: &[f64], observation_std: f64) -> Start {
    match (spec.x0, spec.x0_std) {
        (Some(x0), None) => Start::Fixed(x0),
        (Some(mean), Some(std)) => Start::Gaussian { mean, std },
        (None, std) => Start::Gaussian {
            mean: values.iter().copied().find(|y| !y.is_nan()).unwrap_or(0.0),
            std: std.unwrap_or(10.0 * observation_std),
        },
    }
}

/// A prior around the guess, on the scale on which the parameter is free: a factor e³ = 20 to either side for rates
/// and sizes, all of (0.3, 1.97) for the index, ten spreads of the data for a level. Data of a hundred observations
/// outweigh it a hundredfold where they say anything at all. `by` are the sizes of the dimension that acts.
fn prior(parameter: &Parameter, name: &str, own: &Scales, by: &Scales) -> Prior {
    let std = match parameter.transform {
        Transform::Log => 3.0,
        Transform::Logit(_) => 3.0,
        Transform::Identity => match name {
            "slope" => 100.0 / own.span * (own.spread / by.spread),
            "offset" => 100.0 * own.spread.max(own.median.abs()) / own.span,
            _ => 10.0 * own.spread,
        },
    };
    Prior { mean: parameter.transform.forward(parameter.value), std }
}
