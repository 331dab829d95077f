//! Simulate: draw a data set with known truth and write both.

use anyhow::Result;
use levytilt::drift::Inputs;
use levytilt::internals::registry::{X0, X0_STD};
use levytilt::{Simulated, simulate};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::failure::bad;
use crate::finite;
use crate::number::figure;
use crate::settings::build_model::build;
use crate::settings::{DriftName, NoiseName, Settings};
use crate::settings::{inputs, season};
use crate::table::Table;
use crate::table::time::Calendar;

/// More steps than this would not fit into memory together with their files.
const MOST_STEPS: usize = 100_000_000;

/// The content of truth.json.
#[derive(Debug, Serialize)]
pub struct Truth {
    pub drift: DriftName,
    pub noise: NoiseName,
    pub parameters: BTreeMap<String, f64>,
    pub x0: f64,
    pub x0_std: Option<f64>,
    #[serde(flatten)]
    pub extent: Extent,
}

/// What truth.json says of any data set: how much was drawn, and with which random numbers.
#[derive(Debug, Serialize)]
pub struct Extent {
    /// Latent steps.
    pub steps: usize,
    /// Length of the record.
    pub span: f64,
    /// An observation at every so many times.
    pub every: usize,
    /// Rows of data.csv.
    pub observations: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Version of the program.
    pub version: &'static str,
}

impl Extent {
    /// Check the steps, the span, and how often an observation is taken.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn new(steps: usize, span: f64, every: usize, seed: u64) -> Result<Self> {
        check_steps(steps, span, every)?;
        Ok(Self { steps, span, every, observations: steps / every + 1, seed, version: env!("CARGO_PKG_VERSION") })
    }

    /// All times.
    pub fn times(&self) -> Vec<f64> {
        (0..=self.steps).map(|k| k as f64 * self.span / self.steps as f64).collect()
    }
}

/// A data set and its truth.
pub struct Drawn {
    /// All times.
    pub times: Vec<f64>,
    /// States and observations at all times.
    pub series: Simulated,
    /// The settings in effect.
    pub settings: Settings,
    /// The content of truth.json.
    pub truth: Truth,
}

/// Draw what the settings describe.
pub fn draw(settings: Settings) -> Result<Drawn> {
    draw_driven(settings, None)
}

/// The same with the inputs that `table` has, from time 0 to the end of the span.
pub fn draw_driven(mut settings: Settings, table: Option<Table>) -> Result<Drawn> {
    resolve_defaults(&mut settings);
    if let Some(table) = table {
        if settings.inputs.is_empty() {
            return Err(bad("--inputs-file belongs to --inputs: name its columns there too"));
        }
        let last = settings.simulate.span.unwrap_or_default();
        settings.known_inputs = Some(Arc::new(inputs::from_start(&table, &settings.inputs, last)?));
    }
    season::resolve(&mut settings.drift, &Calendar::Numbers)?;
    let truth = check(&settings)?;
    let built = build(&settings, "simulate")?;
    let times = truth.extent.times();
    let series = simulate(&built.model, &times, truth.extent.seed)?;
    let truth = Truth { parameters: built.parameters.into_iter().collect(), ..truth };
    Ok(Drawn { times, series, settings, truth })
}

impl Drawn {
    /// An observation at every `every`-th time.
    pub fn every(&self) -> usize {
        self.truth.extent.every
    }

    /// The content of truth.json.
    pub fn truth_json(&self) -> Result<String> {
        finite::json(&self.truth)
    }

    /// Write the files of a data set.
    pub fn save(&self, lock: Lock) -> Result<()> {
        let Self { times, series, settings, truth } = self;
        lock.save(&[
            Entry::new("data.csv", |out| {
                write_series(out, times, (&series.observations, settings.known_inputs.as_deref()), truth.extent.every)
            }),
            Entry::new("truth.csv", |out| write_series(out, times, (&series.path, None), 1)),
            Entry::json("truth.json", truth),
            Entry::toml("settings.toml", settings)?,
        ])
    }
}

/// Write the defaults into the settings, so that what is saved is what was done.
fn resolve_defaults(settings: &mut Settings) {
    settings.model.drift.get_or_insert(DriftName::OU);
    settings.model.noise.get_or_insert(NoiseName::STABLE);
    let x0 = settings.model.values.get(X0).unwrap_or(0.0);
    settings.model.values.set(X0, Some(x0));
    settings.grid.steps.get_or_insert(1000);
    settings.simulate.span.get_or_insert(10.0);
    settings.simulate.every.get_or_insert(1);
    settings.solve.seed.get_or_insert(1);
}

/// The part of the truth that the settings hold, checked.
fn check(settings: &Settings) -> Result<Truth> {
    let Settings { model, grid, simulate, solve, .. } = settings;
    let steps = grid.steps.unwrap_or_default();
    let span = simulate.span.unwrap_or_default();
    let every = simulate.every.unwrap_or_default();
    Ok(Truth {
        drift: settings.drift(),
        noise: settings.noise(),
        parameters: BTreeMap::new(),
        x0: model.values.get(X0).unwrap_or_default(),
        x0_std: model.values.get(X0_STD),
        extent: Extent::new(steps, span, every, solve.seed.unwrap_or_default())?,
    })
}

fn check_steps(steps: usize, span: f64, every: usize) -> Result<()> {
    if !(1..=MOST_STEPS).contains(&steps) {
        return Err(bad(format!("steps = {steps} is not allowed: must lie between 1 and {MOST_STEPS}")));
    }
    if !(1..=steps).contains(&every) {
        return Err(bad(format!("every = {every} is not allowed: must lie between 1 and steps = {steps}")));
    }
    // A step below the resolution of the last time would give the same time twice.
    if !(span.is_finite() && span > 0.0 && span / steps as f64 > span * f64::EPSILON && span / steps as f64 > 1e-300) {
        return Err(bad(format!("span = {span} is not allowed: must be a finite number greater than 0")));
    }
    Ok(())
}

/// Write every `every`-th value, beside the inputs there if there are any.
fn write_series(
    out: &mut dyn Write,
    times: &[f64],
    (values, inputs): (&[f64], Option<&Inputs>),
    every: usize,
) -> Result<()> {
    let names: String = inputs.iter().flat_map(|inputs| inputs.names()).map(|name| format!(",{name}")).collect();
    writeln!(out, "time,value{names}")?;
    for (time, value) in times.iter().zip(values).step_by(every) {
        write!(out, "{},{}", figure(*time)?, figure(*value)?)?;
        for input in inputs.map_or(Ok(Vec::new()), |inputs| inputs.at(*time))? {
            write!(out, ",{}", figure(input)?)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
