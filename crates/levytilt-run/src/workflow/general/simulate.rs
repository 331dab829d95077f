//! Draw a record of a written-out model and write it beside its truth.

use anyhow::Result;
use levytilt::internals::general::{GeneralSimulated, simulate_general};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use super::settings::{GeneralSettings, PaceSettings};
use crate::directory::entry::Entry;
use crate::directory::lock::Lock;
use crate::failure::bad;
use crate::finite;
use crate::number::figure;
use crate::settings::Settings;
use crate::workflow::simulate::Extent;

/// What to draw, and where to write it.
#[derive(Debug, Clone)]
pub struct Request {
    /// What the settings file says.
    pub model: GeneralSettings,
    /// What was given as flags.
    pub flags: Settings,
    /// Directory for the results.
    pub out: PathBuf,
}

/// The content of truth.json.
#[derive(Debug, Serialize)]
pub struct Truth {
    /// States of truth.csv.
    pub states: Vec<String>,
    /// Columns of data.csv.
    pub columns: Vec<String>,
    /// Parameters by name.
    pub parameters: BTreeMap<String, f64>,
    /// How much was drawn.
    #[serde(flatten)]
    pub extent: Extent,
}

impl Truth {
    /// As in truth.json.
    pub fn json(&self) -> Result<String> {
        finite::json(self)
    }
}

/// A record with its truth.
#[derive(Debug)]
pub struct Drawn {
    /// The content of truth.json.
    pub truth: Truth,
    /// Latent times.
    pub times: Vec<f64>,
    /// Every state and every column, at all latent times.
    pub series: GeneralSimulated,
    /// The effective settings.
    pub settings: GeneralSettings,
}

/// Draw and write.
///
/// # Errors
/// A flag that does not fit a written-out model; a parameter without a value; a model that cannot be used.
pub fn run(request: Request) -> Result<Truth> {
    let Request { mut model, flags, out } = request;
    super::fit::refuse(&flags)?;
    let lock = Lock::new(&out)?;
    model.grid.steps = flags.grid.steps.or(model.grid.steps);
    model.simulate.span = flags.simulate.span.or(model.simulate.span);
    model.simulate.every = flags.simulate.every.or(model.simulate.every);
    model.solve.seed = flags.solve.seed.or(model.solve.seed);
    model.parameters.extend(flags.parameters);
    let Drawn { truth, times, series, settings } = draw(model)?;
    lock.save(&[
        Entry::new("data.csv", |out| write(out, &times, &truth.columns, &series.columns, truth.extent.every)),
        Entry::new("truth.csv", |out| write(out, &times, &truth.states, &series.states, 1)),
        Entry::json("truth.json", &truth),
        Entry::text("settings.toml", settings.to_toml()?),
    ])?;
    Ok(truth)
}

/// Draw a record of `model`.
///
/// # Errors
/// A parameter without a value; a model that cannot be used.
pub fn draw(mut model: GeneralSettings) -> Result<Drawn> {
    if model.model != PaceSettings::default() {
        return Err(bad("[model] clock and volatility are learned from a record; leave them out of simulate"));
    }
    let steps = model.grid.steps.unwrap_or(1000);
    let span = model.simulate.span.unwrap_or(10.0);
    let every = model.simulate.every.unwrap_or(1);
    let seed = model.solve.seed.unwrap_or(1);
    let extent = Extent::new(steps, span, every, seed)?;
    (model.grid.steps, model.simulate.span, model.simulate.every) = (Some(steps), Some(span), Some(every));
    model.solve.seed = Some(seed);
    let columns = model.usual_columns();
    let spec = model.spec(&columns)?;
    let built = spec.closed()?;
    let times = extent.times();
    let series = simulate_general(&built, &times, seed)?;
    let truth =
        Truth { states: built.states.clone(), columns, parameters: spec.held.iter().cloned().collect(), extent };
    Ok(Drawn { truth, times, series, settings: model })
}

fn write(out: &mut dyn Write, times: &[f64], names: &[String], columns: &[Vec<f64>], every: usize) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([&["time".to_string()][..], names].concat())?;
    for (j, time) in times.iter().enumerate().step_by(every) {
        let mut fields = vec![figure(*time)?];
        for column in columns {
            fields.push(figure(column[j])?);
        }
        csv.write_record(fields)?;
    }
    Ok(csv.flush()?)
}
