//! Exact inference: the evidence and the smoother of one observed column, on a grid, without sampling.

pub mod summary;

use anyhow::Result;
use levytilt::internals::exact::{Options, Smoothed, smooth};
use levytilt::internals::series::Observations;
use levytilt::{Error, Start, StateSpace};
use std::time::Instant;

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::failure::bad;
use crate::settings::build_model::{build, latent_times, resolve_start};
use crate::settings::season;
use crate::settings::{DriftName, NoiseName, Settings};
use crate::table::Table;
use crate::table::columns::some_of;
use crate::workflow::exact::summary::{Parameter, Summary, write_posterior};

/// What `exact` found, and for which settings.
pub struct Outcome {
    /// The figures.
    pub summary: Summary,
    /// The law of the state at every latent time.
    pub smoothed: Smoothed,
    /// The settings in effect.
    pub settings: Settings,
}

/// The evidence and the smoother of the one column of `table`.
pub fn analyse(mut settings: Settings, table: &Table) -> Result<Outcome> {
    let values = only_column(table, "exact")?;
    settings.model.drift.get_or_insert(DriftName::OU);
    season::resolve(&mut settings.drift, &table.calendar)?;
    settings.model.noise.get_or_insert(NoiseName::STABLE);
    let first = values.iter().position(|value| !value.is_nan()).unwrap_or(0);
    resolve_start(&mut settings, values[first], table.errors.as_ref().map(|errors| errors[first]));
    let mut built = build(&settings, "exact")?;
    built.model.dimensions[0].errors.known = table.errors.as_ref().map(|errors| errors.as_slice().into());
    let started = Instant::now();
    let smoothed = compute(&built.model, &settings, table).map_err(|error| locate(error, table))?;
    let (x0_mean, x0_std) = match built.model.dimensions[0].start {
        Start::Fixed(x0) => (x0, None),
        Start::Gaussian { mean, std } => (mean, Some(std)),
    };
    let warnings = smoothed.notes.iter().cloned().chain(table.calendar.warning());
    let parameters = built.parameters.into_iter().map(|(name, estimate)| (name, Parameter { estimate, fixed: true }));
    let summary = Summary {
        log_evidence: smoothed.log_evidence,
        steps: smoothed.times.len() - 1,
        observations: values.iter().filter(|value| !value.is_nan()).count(),
        dimension: table.names[0].clone(),
        drift: settings.drift(),
        noise: settings.noise(),
        parameters: parameters.collect(),
        x0_mean,
        x0_std,
        time_unit: table.calendar.unit(),
        domain: smoothed.domain,
        spacing: smoothed.spacing,
        cells: smoothed.cells,
        seconds: started.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
        warnings: warnings.collect(),
    };
    Ok(Outcome { summary, smoothed, settings })
}

/// The column to explain; several are refused, because the model has one dimension.
pub fn only_column<'a>(table: &'a Table, command: &str) -> Result<&'a [f64]> {
    match table.columns.as_slice() {
        [column] => Ok(column),
        _ => Err(bad(format!(
            "{}: has {} value columns ({}), and {command} models one: choose it with --column",
            table.source,
            table.names.len(),
            some_of(table.names.iter().cloned())
        ))),
    }
}

fn compute(model: &StateSpace, settings: &Settings, table: &Table) -> levytilt::Result<Smoothed> {
    let series = Observations::new(table.times.clone(), table.columns.clone(), table.names.clone())?;
    let grid = latent_times(settings, series.times())?;
    smooth(model, &grid, series.column(0), &Options::default())
}

/// Put file and line in front of an error of the library, which counts observations.
pub fn locate(error: Error, table: &Table) -> anyhow::Error {
    match &error {
        Error::Observation { row, dimension, problem } if *row < table.lines.len() => {
            let named = dimension.as_ref().filter(|name| table.names.contains(name));
            let column = named.unwrap_or(&table.names[0]);
            bad(format!("{}, line {}, column \"{column}\": {problem}", table.source, table.lines[*row]))
        }
        Error::Observation { .. } | Error::Series { .. } => anyhow::Error::from(error).context(table.source.clone()),
        _ => error.into(),
    }
}

/// Write the files of a run.
pub fn write(lock: Lock, outcome: &Outcome, table: &Table) -> Result<()> {
    let Outcome { summary, smoothed, settings } = outcome;
    lock.save(&[
        Entry::json("summary.json", summary),
        Entry::new("posterior.csv", |out| write_posterior(out, smoothed, &table.calendar, &table.names[0])),
        Entry::toml("settings.toml", settings)?,
    ])
}
