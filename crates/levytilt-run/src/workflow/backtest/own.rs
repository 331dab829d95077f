//! Forecast windows with a model that `fit` takes: fit it to the training part, and forecast observations from its end.

use anyhow::Result;
use levytilt::{Context, Error};
use levytilt_baselines::{Forecaster, Paths, Record};
use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::bad;
use crate::settings::build_model::open_model;
use crate::settings::{DataSettings, Settings, season};
use crate::table::Table;
use crate::table::input::from_numbers;
use crate::workflow::backtest::paper::{self, is_paper};
use crate::workflow::backtest::request::Request;
use crate::workflow::fit::analyse;
use crate::workflow::forecast::{Look, Origin};
use crate::workflow::general::settings::GeneralSettings;

/// Posterior paths of a fit, unless the settings say otherwise: their ends hardly differ.
const FIT_PATHS: usize = 100;

/// A model with settings of its own.
#[derive(Debug, Clone)]
pub struct Own {
    name: String,
    settings: Settings,
    columns: Vec<String>,
    /// Unit in which the model measures time, from the first time on; that of the record if nothing is given.
    unit: Option<f64>,
    /// Whether states are forecast, without the observation error.
    state: bool,
}

/// The settings of every model of `request` that `fit` takes: given with it, a settings file, or those of the paper.
///
/// # Errors
/// A file that cannot be read, or writes states out.
pub fn own_settings(request: &Request) -> Result<BTreeMap<String, Settings>> {
    let mut all = request.own.clone();
    for name in request.models.iter().filter(|name| is_paper(name)) {
        all.insert(name.clone(), paper::settings(name, request.training_steps)?);
    }
    for name in request.models.iter().filter(|name| name.ends_with(".toml")) {
        if all.contains_key(name) {
            continue;
        }
        let path = Path::new(name);
        if GeneralSettings::read(path)?.is_some() {
            return Err(bad(format!(
                "--models {name}: has [states]; backtest takes models by drift and noise, as fit does with flags"
            )));
        }
        all.insert(name.clone(), Settings::default().with_config(Some(path))?);
    }
    Ok(all)
}

impl Own {
    /// The model called `name`, for the columns of `table`.
    ///
    /// # Errors
    /// Settings that fit refuses.
    pub fn new(name: &str, mut settings: Settings, table: &Table) -> Result<Self> {
        if settings.data.error_column.is_some() {
            return Err(bad(format!("--models {name}: error_column is for fit and exact; leave it out of backtest")));
        }
        settings.data = DataSettings::default();
        let mut checked = || {
            // Windows have numbers for times: periods are said in their unit.
            season::resolve(&mut settings.drift, &table.calendar)?;
            settings.refuse_columns(table)?;
            open_model(&settings, &table.names, "fit")
        };
        checked().map_err(|error| bad(format!("--models {name}: {error:#}")))?;
        settings.solve.paths.get_or_insert(FIT_PATHS);
        settings.solve.threads = None;
        Ok(Self { name: name.into(), settings, columns: table.names.clone(), unit: None, state: false })
    }

    /// The same as the paper's models are used: time in lengths of the training part, and no observation error in forecasts.
    pub fn published_over(self, train: f64) -> Self {
        Self { unit: Some(train), state: true, ..self }
    }

    fn paths(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> Result<Paths> {
        let columns: Vec<Vec<f64>> = (0..record.dim()).map(|i| record.column(i).to_vec()).collect();
        let first = record.times()[0];
        let in_unit = |times: &[f64]| match self.unit {
            None => times.to_vec(),
            Some(unit) => times.iter().map(|time| (time - first) / unit).collect(),
        };
        let table = from_numbers("the training part", self.columns.clone(), &in_unit(record.times()), &columns)?;
        let mut settings = self.settings.clone();
        // Seeds that a settings file can hold.
        let seed = seed >> 1;
        settings.solve.seed = Some(seed);
        let outcome = analyse(settings, &table, &Context::silent())?;
        let look = Look { paths: Some(paths), seed: Some(seed), fixed_parameters: false, state: self.state };
        let view = Origin::of(&outcome)?.look(&in_unit(ahead), look)?;
        Ok(Paths::new(view.ahead.states, ahead.len(), record.dim())?)
    }
}

impl Forecaster for Own {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn forecast(&self, record: &Record, ahead: &[f64], paths: usize, seed: u64) -> levytilt::Result<Paths> {
        self.paths(record, ahead, paths, seed)
            .map_err(|error| Error::Numerical { what: "a model of the settings", why: format!("{error:#}") })
    }
}
