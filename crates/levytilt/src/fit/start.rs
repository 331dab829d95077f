//! Turn a kind of model and data into a model to start from, with priors for what is to be learned.

use super::Spec;
use super::guess::{Guessed, guess_formula};
use super::guess_size::guess_size;
use crate::drift::{DriftFamily, Formula, Known, Slot};
use crate::model::OBSERVATION_STD;
use crate::series::{Scales, TimeGrid};
use crate::solve::{Parameter, Prior, parameters};
use crate::{ErrorKind, Errors, Result, Start, StateSpace};
use std::sync::Arc;

/// A model to start from, and what may be learned of it.
#[derive(Debug)]
pub(super) struct Beginning {
    pub model: StateSpace,
    pub parameters: Vec<Parameter>,
}

/// What a fit begins with: all parameters at their given values and first guesses, with the priors of those that are learned.
///
/// # Errors
/// A model or values that cannot be fitted.
pub fn first_parameters(spec: &Spec, grid: &TimeGrid, columns: &[&[f64]]) -> Result<Vec<Parameter>> {
    Ok(begin(spec, grid, columns, true)?.parameters)
}

/// The model at the given values and guesses for the others; with `priors`, each guess has a wide prior around it.
pub(super) fn begin(spec: &Spec, grid: &TimeGrid, columns: &[&[f64]], priors: bool) -> Result<Beginning> {
    spec.check_names()?;
    let spec = &as_built_in(spec);
    let slots = spec.slots();
    let alone: Vec<Spec> = (0..spec.dim()).map(|i| spec.only(i)).collect();
    let open = |i: usize| slots.iter().any(|slot| slot.dimension == i && spec.held(slot).is_none());
    let rows = observed_times(grid);
    // Known errors are taken as they are until the data say otherwise.
    let units: Vec<Option<f64>> = spec.known_errors.iter().map(|known| Some(typical_of(known))).collect();
    let unit = |i: usize| units.get(i).copied().flatten();
    let typical = |i: usize, factor: Option<f64>| match unit(i) {
        Some(unit) => Some(factor.unwrap_or(1.0) * unit),
        None => factor,
    };
    let scales = (0..spec.dim())
        .map(|i| match open(i) {
            true => Scales::new(&rows, columns[i], typical(i, alone[i].given(OBSERVATION_STD.name))).map(Some),
            false => Ok(None),
        })
        .collect::<Result<Vec<_>>>()?;
    let guessed = (0..spec.dim())
        .map(|i| match &scales[i] {
            Some(scales) => guess_named(&alone[i], (&rows, columns[i]), scales),
            None => Ok(Vec::new()),
        })
        .collect::<Result<Vec<_>>>()?;
    let find_guess = |slot: &Slot, name: &str| guessed[slot.dimension].iter().find(|guessed| guessed.name == name);
    let guess = |slot: &Slot, scales: &Scales| match &slot.entry {
        Known::Listed(entry) => entry.guess(scales, &|name| alone[slot.dimension].given(name)),
        Known::Named(named) => find_guess(slot, &named.name).map_or(f64::NAN, |guessed| guessed.value),
    };
    let value = |slot: &Slot| match (spec.held(slot), &scales[slot.dimension]) {
        (Some(value), _) => value,
        // Dimensions start as strangers.
        (None, _) if slot.by.is_some_and(|by| by != slot.dimension) => 0.0,
        (None, Some(_)) if slot.entry.name() == OBSERVATION_STD.name && unit(slot.dimension).is_some() => 1.0,
        (None, Some(scales)) => guess(slot, scales),
        (None, None) => f64::NAN,
    };
    let error = |i| value(&Slot::new(const { &OBSERVATION_STD }, i)) * unit(i).unwrap_or(1.0);
    let starts = (0..spec.dim()).map(|i| first_state(&alone[i], columns[i], error(i))).collect();
    let model = spec.assemble(value, starts)?;
    let mut parameters = parameters(&model);
    for (parameter, slot) in parameters.iter_mut().zip(&slots) {
        parameter.name = spec.label(slot);
        parameter.fixed = spec.held(slot).is_some() || !slot.entry.learned();
        if let Some(own) = scales[slot.dimension].as_ref().filter(|_| priors && !parameter.fixed) {
            let by = slot.by.and_then(|by| scales[by].as_ref()).unwrap_or(own);
            parameter.prior = match &slot.entry {
                Known::Listed(entry) => Some(entry.default_prior(parameter.value, own, by)),
                Known::Named(named) => {
                    let mean = parameter.transform.forward(parameter.value);
                    let wide = find_guess(slot, &named.name).map(|guessed| Prior { mean, std: guessed.prior_std });
                    named.prior.or(wide)
                }
            };
        }
        let own = spec.priors.iter().find(|(name, _)| *name == parameter.name).filter(|_| !parameter.fixed);
        parameter.prior = own.map(|(_, prior)| *prior).or(parameter.prior);
    }
    Ok(Beginning { model, parameters })
}

/// The same model, where a formula that is a built-in drift, names included, has the domains, guesses and priors of that drift:
/// what is learned does not depend on how a model is written. Values given outside of these domains leave the formula as it is.
fn as_built_in(spec: &Spec) -> Spec {
    let known = spec.formula.as_ref().and_then(|formula| Some((formula, formula.built_in()?)));
    let allowed = |family: &DriftFamily| {
        let plain = |name: &str| name.split('[').next().unwrap_or_default().to_string();
        spec.given.iter().all(|(name, value)| family.parameter(&plain(name)).is_none_or(|p| p.check(*value).is_ok()))
    };
    match known.filter(|(_, family)| allowed(family)) {
        Some((formula, family)) => Spec { formula: Some(formula.clone().of_family(family)), ..spec.clone() },
        None => spec.clone(),
    }
}

/// First guesses of the parameters that formulas name, for the model of one dimension.
fn guess_named(alone: &Spec, data: (&[f64], &[f64]), scales: &Scales) -> Result<Vec<Guessed>> {
    let given = |name: &str| alone.given(name);
    let mut guessed = Vec::new();
    // One that is a built-in drift begins where that does.
    let listed =
        |formula: &&Formula| !formula.parameters().is_empty() && formula.parameters().iter().all(|p| p.entry.is_some());
    if let Some(formula) = alone.formula.as_ref().filter(|formula| !listed(formula)) {
        let own = |formula: Formula, (name, prior): &(String, Prior)| match formula
            .parameters()
            .iter()
            .any(|p| p.name == *name)
        {
            true => formula.with_prior(name, *prior),
            false => Ok(formula),
        };
        let formula = alone.priors.iter().try_fold(formula.clone(), own)?;
        guessed.extend(guess_formula(&formula, &given, data, scales)?);
    }
    if let Some(size) = &alone.size {
        guessed.extend(guess_size(size, &given, data, scales)?);
    }
    Ok(guessed)
}

/// Times with a row of observations.
pub(super) fn observed_times(grid: &TimeGrid) -> Vec<f64> {
    (0..grid.len()).filter(|&j| grid.observation(j).is_some()).map(|j| grid.times()[j]).collect()
}

fn first_state(spec: &Spec, values: &[f64], observation_std: f64) -> Start {
    let first = first_value(spec.errors, values);
    match (spec.x0, spec.x0_std) {
        (Some(x0), None) => Start::Fixed(x0),
        (Some(mean), Some(std)) => Start::Gaussian { mean, std },
        (None, std) => Start::Gaussian { mean: first.0, std: std.unwrap_or(10.0 * observation_std.max(first.1)) },
    }
}

/// First values that say where a series begins if each of them may be wrong.
const FIRST: usize = 5;

/// The first value; if it may be wrong, the median of the first few and their typical distance from it.
fn first_value(errors: ErrorKind, values: &[f64]) -> (f64, f64) {
    let seen = values.iter().copied().filter(|y| !y.is_nan());
    let mut first: Vec<f64> = seen.take(if errors == ErrorKind::Gaussian { 1 } else { FIRST }).collect();
    let middle = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let centre = middle(&mut first);
    let mut away: Vec<f64> = first.iter().map(|y| (y - centre).abs()).collect();
    (centre, middle(&mut away))
}

fn typical_of(known: &Arc<[f64]>) -> f64 {
    Errors { known: Some(known.clone()), ..Errors::default() }.typical()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Family;
    use crate::parameter::Transform;

    /// Other units of values and times move the default priors as they move the parameters.
    #[test]
    fn identity_priors_follow_the_units() {
        let first = |drift: &str, value: f64, time: f64| {
            let spec = Spec::new(DriftFamily::named(drift).unwrap(), Family::named("gaussian").unwrap());
            let times: Vec<f64> = (0..50).map(|k| time * f64::from(k)).collect();
            let values: Vec<f64> =
                (0..50).map(|k| value * ((0.7 * f64::from(k)).sin() + 0.3 * f64::from(k % 7))).collect();
            first_parameters(&spec, &TimeGrid::unsplit(&times).unwrap(), &[&values]).unwrap()
        };
        let (value, time) = (1e3, 0.01);
        for drift in ["ou", "double-well"] {
            for (old, new) in first(drift, 1.0, 1.0).into_iter().zip(first(drift, value, time)) {
                let factor: f64 = match old.name.as_str() {
                    "theta" | "theta1" => 1.0 / time,
                    "theta2" => 1.0 / (time * value * value),
                    "scale" => value / time.sqrt(),
                    _ => value,
                };
                let (old, new, transform) = (old.prior.unwrap(), new.prior.unwrap(), old.transform);
                let expected = match transform {
                    Transform::Identity => Prior { mean: factor * old.mean, std: factor * old.std },
                    _ => Prior { mean: old.mean + factor.ln(), ..old },
                };
                let away = (new.mean - expected.mean).abs() + (new.std - expected.std).abs();
                assert!(away < 1e-9 * expected.std, "{drift}: {new:?} for {expected:?}");
            }
        }
    }
}
