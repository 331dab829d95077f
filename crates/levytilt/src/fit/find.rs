//! Find parameters and potentials: all dimensions together, or one by one where they do not act on each other.

use super::find_neural::{find_neural, network_learning};
use super::found::{Found, found, join};
use super::start::{Beginning, begin};
use super::{Estimate, Spec};
use crate::posterior::BLOCK;
use crate::series::TimeGrid;
use crate::solve::{Expected, LearnOptions, Parameter, expect, learn_with};
use crate::{Chain, Context, Result};
use rayon::prelude::*;

/// Learn what is free, or only sweep if nothing is.
pub(super) fn find(
    spec: &Spec,
    grid: &TimeGrid,
    columns: &[&[f64]],
    priors: bool,
    options: &LearnOptions,
    context: &Context,
) -> Result<Found> {
    spec.check_names()?;
    if let Some(size) = spec.network {
        let still = Spec { network: None, ..spec.clone() };
        let options = network_learning(options);
        let found = find(&still, grid, columns, priors, &options, context)?;
        return find_neural(found, (&still, size), (grid, columns), priors, &options, context);
    }
    if spec.dim() == 1 || spec.drift.coupled {
        return find_together(begin(spec, grid, columns, priors)?, (grid, columns), options, context);
    }
    let alone = |(i, column): (usize, &&[f64]), context: &Context| {
        let columns: &[&[f64]] = &[column];
        let found = begin(&spec.only(i), grid, columns, priors)
            .and_then(|beginning| find_together(beginning, (grid, columns), options, context));
        found.map_err(|error| error.in_dimension(&spec.names[i]))
    };
    // A block of paths keeps one thread busy; more share all of them, one dimension after the other, and can be watched:
    // steps of several searches at once would make no sense to a watcher.
    let found: Vec<Result<Found>> = match options.sweep.paths > BLOCK {
        true => columns.iter().enumerate().map(|column| alone(column, context)).collect(),
        false => columns.par_iter().enumerate().map(|column| alone(column, &Context::silent())).collect(),
    };
    join(spec, found.into_iter().collect::<Result<_>>()?)
}

fn find_together(
    beginning: Beginning,
    (grid, columns): (&TimeGrid, &[&[f64]]),
    options: &LearnOptions,
    context: &Context,
) -> Result<Found> {
    let Beginning { model, parameters } = beginning;
    if parameters.iter().all(|p| p.fixed) {
        let chain = Chain::new(&model, grid, columns)?;
        let expected = chain.unless_failed(expect(&chain, None, options.method, &options.sweep));
        let Expected { choice, potentials, warnings, .. } = expected?;
        drop(chain);
        let given = |p: Parameter| Estimate {
            name: p.name,
            value: p.value,
            std_error: None,
            fixed: true,
            held_by_prior: false,
            interval: None,
        };
        let estimates = parameters.into_iter().map(given).collect();
        let choices = vec![choice];
        return Ok(Found {
            model,
            estimates,
            covariance: Vec::new(),
            shift: Vec::new(),
            choices,
            potentials,
            iterations: 0,
            noted: warnings,
            network: None,
        });
    }
    Ok(found(learn_with(model, &parameters, (grid, columns), options, context)?))
}
