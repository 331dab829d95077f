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
use crate::workflow::general;
use crate::workflow::general::settings::GeneralSettings;

/// Posterior paths of a fit, unless the settings say otherwise: their ends hardly differ.
const FIT_PATHS: usize = 100;

/// What a model is made of.
#[derive(Debug, Clone)]
pub enum Made {
    /// Of settings, as `fit` takes them.
    Settings(Box<Settings>),
    /// Of states that a settings file writes out.
    States(Box<GeneralSettings>),
}

impl Made {
    /// As in a settings file.
    ///
    /// # Errors
    /// Settings that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String> {
        match self {
            Self::Settings(settings) => settings.to_toml(),
            Self::States(settings) => settings.to_toml(),
        }
    }
}

/// A model with settings of its own.
#[derive(Debug, Clone)]
pub struct Own {
    name: String,
    made: Made,
    columns: Vec<String>,
    /// Unit in which the model measures time, from the first time on; that of the record if nothing is given.
    unit: Option<f64>,
    /// Whether states are forecast, without the observation error.
    state: bool,
}

/// The settings of every model of `request` that `fit` takes: given with it, a settings file, or those of the paper.
///
/// # Errors
/// A file that cannot be read.
pub fn own_settings(request: &Request) -> Result<BTreeMap<String, Made>> {
    let made = |settings: Settings| Made::Settings(Box::new(settings));
    let given = request.own.iter().map(|(name, settings)| (name.clone(), made(settings.clone())));
    let mut all: BTreeMap<String, Made> = given.collect();
    for name in request.models.iter().filter(|name| is_paper(name)) {
        all.insert(name.clone(), made(paper::settings(name, request.training_steps)?));
    }
    for name in request.models.iter().filter(|name| name.ends_with(".toml")) {
        if all.contains_key(name) {
            continue;
        }
        let path = Path::new(name);
        let of_file = match GeneralSettings::read(path)? {
            Some(settings) => Made::States(Box::new(settings)),
            None => made(Settings::default().with_config(Some(path))?),
        };
        all.insert(name.clone(), of_file);
    }
    Ok(all)
}

impl Own {
    /// The model called `name`, for the columns of `table`.
    ///
    /// # Errors
    /// Settings that fit refuses.
    pub fn new(name: &str, made: Made, table: &Table) -> Result<Self> {
        let made = match made {
            Made::Settings(settings) => checked(*settings, table).map(|settings| Made::Settings(Box::new(settings))),
            Made::States(settings) => checked_states(*settings, table).map(|settings| Made::States(Box::new(settings))),
        };
        let made = made.map_err(|error| bad(format!("--models {name}: {error:#}")))?;
        Ok(Self { name: name.into(), made, columns: table.names.clone(), unit: None, state: false })
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
        // Seeds that a settings file can hold.
        let seed = seed >> 1;
        let look = Look { paths: Some(paths), seed: Some(seed), fixed_parameters: false, state: self.state };
        let (context, ahead) = (Context::silent(), in_unit(ahead));
        let view = match &self.made {
            Made::Settings(settings) => {
                let mut settings = settings.as_ref().clone();
                settings.solve.seed = Some(seed);
                Origin::of(&analyse(settings, &table, &context)?)?.look(&ahead, look)?
            }
            Made::States(settings) => {
                let mut settings = settings.as_ref().clone();
                settings.solve.seed = Some(seed);
                general::forecast::Origin::of(&general::fit::complete(settings, &table, &context)?)?
                    .look(&ahead, look)?
            }
        };
        Ok(Paths::new(view.ahead.states, ahead.len(), record.dim())?)
    }
}

/// Settings that `fit` takes, ready for windows of `table`.
fn checked(mut settings: Settings, table: &Table) -> Result<Settings> {
    if settings.data.error_column.is_some() {
        return Err(bad("error_column is for fit and exact; leave it out of backtest"));
    }
    settings.data = DataSettings::default();
    // Windows have numbers for times: periods are said in their unit.
    season::resolve(&mut settings.drift, &table.calendar)?;
    settings.refuse_columns(table)?;
    open_model(&settings, &table.names, "fit")?;
    settings.solve.paths.get_or_insert(FIT_PATHS);
    settings.solve.threads = None;
    Ok(settings)
}

/// A model written out, ready for windows of `table`.
fn checked_states(mut settings: GeneralSettings, table: &Table) -> Result<GeneralSettings> {
    if let Some(other) = settings.observe.keys().find(|column| !table.names.contains(column)) {
        return Err(bad(format!(
            "[observe.{other}] is not among the columns of the backtest; choose them with --columns"
        )));
    }
    settings.data = DataSettings::default();
    settings.refuse_columns(table)?;
    settings.spec(&table.names)?;
    settings.solve.paths.get_or_insert(FIT_PATHS);
    settings.solve.threads = None;
    Ok(settings)
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
