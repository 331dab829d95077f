//! Draw from the posterior of the parameters of a fit: on exact evidence where dimensions do not act on each other, else on unbiased
//! estimates of it.

use super::smoothed::Particles;
use super::start::{Beginning, begin};
use super::{Fit, Spec};
use crate::exact::follow::{Follower, Memory};
use crate::series::TimeGrid;
use crate::solve::{Parameter, ParameterPosterior, rebuild};
use crate::{Result, StateSpace};

/// Cells of a draw over those at the maximum, from which a draw is refused: it would cost as much as so many others, and lies
/// where models are so extreme that the data say hardly anything for them.
const DEAREST: usize = 50;

/// Draw from the posterior of the parameters that `fit` learned: see [`ParameterPosterior`]. `spec`, `grid`, `columns` and
/// `priors` are those of the fit.
///
/// # Errors
/// Those of [`ParameterPosterior::new`]; a fit that does not know the covariance of its parameters; dimensions that act on each
/// other other than by an affine drift, symmetric noise and plain errors.
pub fn parameter_posterior(
    fit: &Fit,
    spec: &Spec,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    priors: bool,
    (count, seed): (usize, u64),
) -> Result<ParameterPosterior> {
    if spec.dim() == 1 || spec.drift.coupled {
        let Beginning { parameters, .. } = begin(spec, grid, columns, priors)?;
        let parameters = learned(fit, parameters, spec.parameter_names());
        if spec.dim() == 1 {
            return exact(&fit.model, &parameters, &fit.covariance, (grid, columns[0]), (count, seed));
        }
        let particles = Particles::new(&fit.model, (grid, columns), seed)?;
        let evidence = |model: &StateSpace, k: u64| particles.log_evidence(model, k);
        return ParameterPosterior::new(&fit.model, &parameters, &fit.covariance, &evidence, (count, seed));
    }
    let free: Vec<&str> = fit.parameters.iter().filter(|p| !p.fixed).map(|p| p.name.as_str()).collect();
    let mut parts = Vec::with_capacity(spec.dim());
    for (i, (name, column)) in spec.names.iter().zip(columns).enumerate() {
        let Beginning { model, parameters } = begin(&spec.only(i), grid, &[column], priors)?;
        let parameters = learned(fit, parameters, spec.names_of(i));
        let places: Vec<usize> = parameters
            .iter()
            .filter(|p| !p.fixed)
            .filter_map(|p| free.iter().position(|name| *name == p.name))
            .collect();
        if places.is_empty() {
            continue;
        }
        let entry = |row: usize, column: usize| fit.covariance.get(row * free.len() + column).copied();
        let pairs = places.iter().flat_map(|&row| places.iter().map(move |&column| (row, column)));
        let covariance: Vec<f64> = pairs.filter_map(|(row, column)| entry(row, column)).collect();
        let model = rebuild(&model, &parameters.iter().map(|p| p.value).collect::<Vec<_>>())?;
        let part = exact(&model, &parameters, &covariance, (grid, column), (count, seed ^ i as u64));
        parts.push(part.map_err(|error| error.in_dimension(name))?);
    }
    Ok(ParameterPosterior::together(parts, (count, seed)).in_order(&free))
}

/// The parameters with the names and values that they have in the fit.
fn learned(fit: &Fit, parameters: Vec<Parameter>, names: Vec<String>) -> Vec<Parameter> {
    let known = |(p, name): (Parameter, String)| {
        let value = fit.parameter(&name).map_or(p.value, |estimate| estimate.value);
        Parameter { name, value, ..p }
    };
    parameters.into_iter().zip(names).map(known).collect()
}

/// Draws for one dimension, on exact evidence.
fn exact(
    model: &StateSpace,
    parameters: &[Parameter],
    covariance: &[f64],
    (grid, column): (&TimeGrid, &[f64]),
    size: (usize, u64),
) -> Result<ParameterPosterior> {
    let follower = Follower::new(model, grid, column)?;
    let most = follower.cells(model)?.saturating_mul(DEAREST);
    let mut memory = Memory::default();
    // Only a start: where it fails, every draw finds its own windows.
    if follower.log_evidence(model, &mut memory, most).is_err() {
        memory = Memory::default();
    }
    let evidence = |model: &StateSpace, _: u64| follower.log_evidence(model, &mut memory.clone(), most);
    ParameterPosterior::new(model, parameters, covariance, &evidence, size)
}
