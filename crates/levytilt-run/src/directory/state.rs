//! Keep what a forecast needs of a fit: where it ended, with which states, and how its times are written.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

use levytilt::StateSpace;
use levytilt::drift::{Inputs, Neural};
use levytilt::internals::exact::filter::FilterState;
use levytilt::internals::fit::Fit;
use levytilt::internals::forecast::WeightedDraws;
use levytilt::internals::solve::{self, ParameterLaw, ParameterPosterior};

use super::trading_record::TradingRecord;
use crate::directory::lock;
use crate::directory::networks;
use crate::directory::tensors::Tensors;
use crate::failure::{bad, brief, quoted};
use crate::one_or_many::OneOrMany;
use crate::settings::{DriftName, Settings};
use crate::table::Table;
use crate::table::bytes::{open_result, read_json, read_settings};
use crate::table::time::{Calendar, Stamp, Written, parse};

/// Name of the file.
pub const STATE: &str = "state.json";
/// Name of the settings with every estimate filled in.
pub const MODEL: &str = "model.toml";

/// Name of the file with the weights of networks.
pub const NETWORK: &str = "model.safetensors";

/// The content of state.json.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// Names of the observed columns.
    pub dimension: OneOrMany<String>,
    /// Last latent time.
    pub time: f64,
    /// Typical latent step.
    pub step: f64,
    /// First and last timestamp; nothing if times are numbers.
    pub stamps: Vec<String>,
    /// Posterior states at the last time, dimension fastest.
    pub states: Vec<f64>,
    /// Their weights.
    pub weights: Vec<f64>,
    /// Seed of the fit.
    pub seed: u64,
    /// How sure the parameters are; nothing in a run of before this was kept.
    #[serde(default)]
    pub learned: Option<LearnedParameters>,
    /// Where the filters of the columns ended; nothing where the columns act on each other, or in a run of before this was
    /// kept.
    #[serde(default)]
    pub filter: Option<FilterRecord>,
    /// How trading time goes on; nothing where the model goes by the calendar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trading: Option<TradingRecord>,
    /// The end of the record; nothing in a run of before this was kept.
    #[serde(default)]
    pub history: Option<History>,
    /// Inputs at the last time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, f64>,
    /// Where known errors of single values are; nothing where all values have errors of one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_errors: Option<KnownErrors>,
}

/// Known errors of single values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownErrors {
    /// Their column.
    pub column: String,
    /// The error to which the model's observation_std belongs.
    pub typical: f64,
}

/// Where the filters of the columns ended: what `update` goes on from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FilterRecord {
    /// Latent steps are not longer than this.
    pub longest: f64,
    /// The law of the state at the end, one per column.
    pub columns: Vec<FilterState>,
}

/// The end of a record, as it was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Name of the column of times.
    pub time_name: String,
    /// Times, increasing.
    pub times: Vec<f64>,
    /// One list per dimension; null where nothing was seen.
    pub values: Vec<Vec<Option<f64>>>,
    /// Inputs by name, one value per time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Vec<f64>>,
    /// Known errors of the values, one per time; null where nothing was seen. Empty where they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Option<f64>>,
    /// Whether this is the whole record.
    #[serde(default)]
    pub whole: bool,
}

/// Most times of a record that are kept: more than a page shows.
const MOST_HISTORY: usize = 5000;

impl History {
    /// The end of `table`.
    pub fn new(table: &Table) -> Self {
        let first = table.times.len().saturating_sub(MOST_HISTORY);
        let end =
            |column: &Vec<f64>| column[first..].iter().map(|v| Some(*v).filter(|v| !v.is_nan())).collect::<Vec<_>>();
        Self {
            time_name: table.time_name.clone(),
            times: table.times[first..].to_vec(),
            values: table.columns.iter().map(end).collect(),
            inputs: BTreeMap::new(),
            errors: table.errors.as_ref().map_or(Vec::new(), end),
            whole: first == 0,
        }
    }

    /// The same with the inputs at the rows of `table`, which `known` begins with.
    pub fn with_inputs(mut self, table: &Table, known: &Inputs) -> Self {
        let rows = table.times.len() - self.times.len()..table.times.len();
        self.inputs = known.columns().map(|(name, values)| (name.into(), values[rows.clone()].to_vec())).collect();
        self
    }

    /// Add a row with its inputs, in the order of their names, and its known error, if there are any, and forget the oldest
    /// where there are too many.
    pub fn push(&mut self, time: f64, values: &[f64], inputs: &[f64], error: Option<f64>) {
        self.times.push(time);
        self.inputs.values_mut().zip(inputs).for_each(|(all, v)| all.push(*v));
        if let Some(error) = error {
            self.errors.push(Some(error).filter(|error| !error.is_nan()));
        }
        self.values.iter_mut().zip(values).for_each(|(all, v)| all.push(Some(*v).filter(|v| !v.is_nan())));
        // In batches, so that a long feed does not move all rows with every new one.
        if self.times.len() >= 2 * MOST_HISTORY {
            let old = self.times.len() - MOST_HISTORY;
            self.whole = false;
            self.times.drain(..old);
            self.values.iter_mut().chain([&mut self.errors]).for_each(|all| drop(all.drain(..old.min(all.len()))));
            self.inputs.values_mut().for_each(|all| drop(all.drain(..old)));
        }
    }

    /// Times and values of what was seen of a dimension.
    pub fn seen(&self, dimension: usize) -> (Vec<f64>, Vec<f64>) {
        let rows = self.times.iter().zip(&self.values[dimension]);
        rows.filter_map(|(time, value)| Some((*time, (*value)?))).unzip()
    }

    fn check(&self, dim: usize) -> Result<(), String> {
        let times = self.times.len();
        if self.values.len() != dim || self.values.iter().any(|values| values.len() != times) {
            return Err(format!("history: expected {dim} lists of {times} values, one value per time"));
        }
        if self.inputs.values().any(|values| values.len() != times) || ![0, times].contains(&self.errors.len()) {
            return Err(format!("history: expected {times} values of each input and {times} known errors, or none"));
        }
        match self.times.windows(2).all(|pair| pair[0] < pair[1]) {
            true => Ok(()),
            false => Err("history: expected increasing times".into()),
        }
    }
}

/// The parameters that were learned, with what is known of their errors.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LearnedParameters {
    /// Their names.
    pub names: Vec<String>,
    /// Their covariance, row after row, on the scales on which they are free: logarithms of what is positive, ln(α/(2 − α)).
    /// Empty if it is not known.
    pub covariance: Vec<f64>,
    /// From their values to the mean of their law, on the same scales; empty if it is not known, or in a run of before this
    /// was kept.
    #[serde(default)]
    pub shift: Vec<f64>,
    /// Draws from their posterior, one value per name; empty if none were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<Vec<f64>>,
    /// Weights of the draws.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draw_weights: Vec<f64>,
}

impl LearnedParameters {
    /// What is known after a fit.
    pub fn new(fit: &Fit, drawn: Option<&ParameterPosterior>) -> Self {
        let names = fit.parameters.iter().filter(|p| !p.fixed).map(|p| p.name.clone()).collect();
        let (draws, draw_weights) = drawn.map_or_else(Default::default, |d| (d.draws.clone(), d.weights.clone()));
        match fit.parameter_law() {
            Some(_) => {
                Self { names, covariance: fit.covariance.clone(), shift: fit.shift.clone(), draws, draw_weights }
            }
            None => Self { names, ..Self::default() },
        }
    }

    /// Whether forecasts can draw them.
    pub fn can_be_drawn(&self) -> bool {
        !self.covariance.is_empty()
    }

    /// Their places among the parameters of `model`, which are called `all`, but for the weights of a network that come
    /// first.
    pub fn places(&self, model: &StateSpace, all: &[String]) -> Result<Vec<usize>> {
        let before = solve::parameters(model).len().saturating_sub(all.len());
        let place = |name: &String| match all.iter().position(|known| known == name) {
            Some(place) => Ok(before + place),
            None => Err(bad(format!("{STATE}: learned {} is not a parameter of {MODEL}", quoted(name)))),
        };
        self.names.iter().map(place).collect()
    }

    /// Their draws, of the parameters at `places`, if there are any.
    pub fn draws_at<'a>(&'a self, places: &'a [usize]) -> Option<WeightedDraws<'a>> {
        let Self { draws, draw_weights: weights, .. } = self;
        (!draws.is_empty()).then_some(WeightedDraws { places, draws, weights })
    }

    /// Their Gaussian law around `model`, of the parameters at `places`.
    pub fn law<'a>(&self, model: &'a StateSpace, places: &[usize]) -> Result<ParameterLaw<'a>> {
        let law = ParameterLaw::new(model, places, &self.covariance, &self.shift);
        let count = places.len();
        law.ok_or_else(|| {
            let expected = format!("expected a positive definite matrix of {count} rows, and as many shifts or none");
            bad(format!("{STATE}: invalid covariance of the learned parameters; {expected}"))
        })
    }
}

impl State {
    /// Read the state and the model of the run in `dir`.
    pub fn read(dir: &Path) -> Result<(Self, Settings)> {
        let missing = |name: &str, e: std::io::Error| {
            let path = dir.join(name);
            bad(format!("{}: cannot be read ({e}); expected a directory of `levytilt fit --out`", path.display()))
        };
        let damaged =
            |name: &str, why: String| bad(format!("{}: {why}{}", dir.join(name).display(), lock::made_by(dir)));
        let state: Self =
            read_json(&dir.join(STATE)).map_err(|e| missing(STATE, e))?.map_err(|e| damaged(STATE, e.to_string()))?;
        state.check().map_err(|why| damaged(STATE, why))?;
        let text = open_result(&dir.join(MODEL)).and_then(|_| read_settings(&dir.join(MODEL)));
        let settings = toml::from_str(&text.map_err(|e| missing(MODEL, e))?).map_err(|e| damaged(MODEL, brief(&e)))?;
        Ok((state, settings))
    }

    /// What a forecast takes for granted.
    fn check(&self) -> Result<(), String> {
        let (dim, paths) = (self.dimension.iter().count(), self.weights.len());
        if dim == 0 || paths == 0 || self.states.len() != dim * paths {
            let states = self.states.len();
            return Err(format!("has {states} states for {dim} dimensions and {paths} weights"));
        }
        if !(self.step > 0.0 && self.step.is_finite() && self.time.is_finite()) {
            return Err(format!("step {} at time {}: expected a length above 0", self.step, self.time));
        }
        let total: f64 = self.weights.iter().sum();
        if !(self.weights.iter().all(|weight| *weight >= 0.0) && total > 0.0 && total.is_finite()) {
            return Err("weights: expected numbers, 0 or greater, and not all 0".into());
        }
        self.trading.as_ref().map_or(Ok(()), TradingRecord::check)?;
        if self.known_errors.as_ref().is_some_and(|known| !(known.typical > 0.0 && known.typical.is_finite())) {
            return Err("known_errors: expected a typical error above 0".into());
        }
        if let Some(filter) = &self.filter {
            if filter.columns.len() != dim || !(filter.longest > 0.0 && filter.longest.is_finite()) {
                return Err(format!("filter: expected a longest step above 0 and {dim} columns"));
            }
            filter.columns.iter().try_for_each(FilterState::check).map_err(|e| e.to_string())?;
        }
        match self.states.iter().find(|state| !state.is_finite()) {
            Some(odd) => Err(format!("states: {odd} is not a finite number")),
            None => self.history.as_ref().map_or(Ok(()), |history| history.check(dim)),
        }
    }

    /// Read the drift network of the run in `dir`, if `settings` say that there is one.
    pub fn read_network(dir: &Path, settings: &Settings) -> Result<Option<Neural>> {
        if settings.drift() != DriftName::NEURAL {
            return Ok(None);
        }
        let path = dir.join(NETWORK);
        let file = open_result(&path).map_err(|e| bad(format!("{}: cannot be read ({e})", path.display())))?;
        Tensors::read(std::io::BufReader::new(file))
            .and_then(|t| networks::drift(&t))
            .map(Some)
            .map_err(|e| bad(format!("{}: {e:#}", path.display())))
    }

    /// How times are written.
    pub fn calendar(&self) -> Result<Calendar> {
        let stamp = |text: &String| match parse(text) {
            Ok(Written::Stamp(stamp)) => Ok(stamp),
            _ => Err(bad(format!("{STATE}: {text} is not a timestamp"))),
        };
        let stamps = self.stamps.iter().map(stamp).collect::<Result<Vec<Stamp>>>()?;
        Ok(if stamps.is_empty() { Calendar::Numbers } else { Calendar::Days(stamps) })
    }
}
