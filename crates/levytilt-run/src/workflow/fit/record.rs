//! Keep what later commands need of a fit: the model with every estimate filled in, and where a forecast starts.

use anyhow::Result;
use levytilt::internals::fit::{Fit, FitOptions};
use levytilt::internals::registry::{OBSERVATION_STD, X0, X0_STD};
use levytilt::internals::solve::ParameterPosterior;

use crate::directory::state::{History, KnownErrors, LearnedParameters, State};
use crate::one_or_many::OneOrMany;
use crate::settings::{NoiseName, Settings};
use crate::table::Table;
use crate::table::time::Calendar;
use crate::workflow::fit::summary::{Summary, starts};

/// The settings with every estimate and the start filled in.
///
/// # Errors
/// A parameter that no settings file can hold.
pub(super) fn filled(summary: &Summary, fit: &Fit, settings: &Settings) -> Result<Settings> {
    let mut settings = settings.clone();
    // Alpha is known by now.
    settings.paper.alpha_grid = None;
    settings.model.noise = NoiseName::named(summary.noise);
    let (means, stds) = starts(fit);
    if let OneOrMany::Many(names) = &summary.dimension {
        // What holds for all is said for each.
        settings.model.values.retain(|name| ![X0, X0_STD].contains(&name));
        for (name, (mean, std)) in names.iter().zip(means.into_iter().zip(stds)) {
            settings.parameters.insert(format!("{X0}[{name}]"), mean.into());
            std.and_then(|std| settings.parameters.insert(format!("{X0_STD}[{name}]"), std.into()));
        }
        settings.model.learn_brownian = false;
        settings.parameters.extend(fit.parameters.iter().map(|p| (p.name.clone(), p.value.into())));
        return Ok(settings);
    }
    settings.model.values.set(X0, Some(means[0]));
    settings.model.values.set(X0_STD, stds[0]);
    fit.parameters.iter().try_for_each(|p| settings.hold(&p.name, p.value))?;
    // Values to come have no known errors yet: a typical one stands in for them.
    if settings.data.error_column.take().is_some() {
        settings.hold(OBSERVATION_STD, fit.model.dimensions[0].typical_error())?;
    }
    Ok(settings)
}

/// The known error to which the observation_std of a filled model belongs; 1 where no errors are known.
pub(super) fn typical_error(fit: &Fit) -> f64 {
    let dimension = &fit.model.dimensions[0];
    dimension.typical_error() / dimension.observation_std
}

/// What a forecast needs of a fit, but for what filters and trading time add.
pub(super) fn state((fit, drawn): (&Fit, Option<&ParameterPosterior>), settings: &Settings, table: &Table) -> State {
    let mut lengths: Vec<f64> = fit.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    lengths.sort_by(f64::total_cmp);
    let ends = [table.times[0], table.times[table.times.len() - 1]];
    let known = settings.known_inputs.as_ref();
    let history = History::new(table);
    State {
        dimension: OneOrMany::new(table.names.clone()),
        time: ends[1],
        step: lengths[lengths.len() / 2],
        stamps: match table.calendar {
            Calendar::Numbers => Vec::new(),
            Calendar::Days(_) => ends.iter().map(|&time| table.calendar.write(time)).collect(),
        },
        states: fit.end_states(),
        weights: fit.weights.clone(),
        seed: settings.solve.seed.unwrap_or(FitOptions::default().seed),
        learned: Some(LearnedParameters::new(fit, drawn)),
        filter: None,
        trading: None,
        history: Some(match known {
            Some(known) => history.with_inputs(table, known),
            None => history,
        }),
        inputs: known
            .into_iter()
            .flat_map(|known| known.last())
            .map(|(name, value)| (name.to_string(), value))
            .collect(),
        known_errors: settings
            .data
            .error_column
            .clone()
            .filter(|_| table.errors.is_some())
            .map(|column| KnownErrors { column, typical: typical_error(fit) }),
    }
}
