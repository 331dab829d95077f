//! Let filters go on with inputs whose values come with the new rows.

use anyhow::Result;
use levytilt::StateSpace;
use levytilt::drift::{Inputs, Neural};
use std::sync::Arc;

use super::filtering::column_models;
use crate::directory::state::State;
use crate::failure::{bad, quoted};
use crate::settings::{Settings, inputs};

/// The inputs of a run at its last rows, as far back as a filter still needs them.
pub struct Driven {
    settings: Settings,
    names: Vec<String>,
    network: Option<Neural>,
    times: Vec<f64>,
    /// Per input, in the order of their names.
    values: Vec<Vec<f64>>,
}

impl Driven {
    /// The inputs at the end of a run, if it has any.
    ///
    /// # Errors
    /// A run that does not have their values.
    pub fn new(state: &State, settings: &Settings, network: Option<Neural>) -> Result<Option<Self>> {
        if settings.inputs.is_empty() {
            return Ok(None);
        }
        let since = state.filter.iter().flat_map(|record| &record.columns).map(|column| column.since());
        let since = since.fold(state.time, f64::min);
        let (mut times, mut values) = (vec![state.time], Vec::new());
        let history = state.history.as_ref();
        let first = history.map_or(0, |history| history.times.partition_point(|time| *time < since));
        for name in settings.inputs.keys() {
            let rows = history.and_then(|history| Some((&history.times, history.inputs.get(name)?)));
            values.push(match (rows, state.inputs.get(name)) {
                (Some((all, values)), _) => {
                    times = all[first..].to_vec();
                    values[first..].to_vec()
                }
                (None, Some(last)) => vec![*last],
                (None, None) => {
                    return Err(bad(format!("state.json: has no last value of input {}; fit again", quoted(name))));
                }
            });
        }
        let names = state.dimension.iter().cloned().collect();
        Ok(Some(Self { settings: settings.clone(), names, network, times, values }))
    }

    /// Names and columns of the inputs.
    pub fn columns(&self) -> Vec<String> {
        self.settings.input_columns()
    }

    /// The models of the columns with inputs up to a row at `time`.
    ///
    /// # Errors
    /// A missing value.
    pub fn models(&self, time: f64, row: &[f64]) -> Result<Vec<StateSpace>> {
        if let Some((_, column)) = row.iter().zip(self.columns()).find(|(value, _)| !value.is_finite()) {
            return Err(bad(format!(
                "column {}: an input needs a value in every row; fill this one in, or leave the row out",
                quoted(&column)
            )));
        }
        let mut known = Inputs::new(self.times.iter().copied().chain([time]).collect())?;
        for ((name, input), (values, new)) in self.settings.inputs.iter().zip(self.values.iter().zip(row)) {
            let values = values.iter().copied().chain([*new]).collect();
            known = known.with_column(name, values, inputs::between(input))?;
        }
        let settings = Settings { known_inputs: Some(Arc::new(known)), ..self.settings.clone() };
        column_models(&settings, &self.names, self.network.clone())
    }

    /// Keep a row, and forget those before `since`.
    pub fn push(&mut self, time: f64, row: &[f64], since: f64) {
        self.times.push(time);
        self.values.iter_mut().zip(row).for_each(|(values, new)| values.push(*new));
        let old = self.times.partition_point(|time| *time < since);
        self.times.drain(..old);
        self.values.iter_mut().for_each(|values| drop(values.drain(..old)));
    }
}
