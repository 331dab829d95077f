//! Say which columns of a table are inputs of the drift, and hand their values to it.

use anyhow::Result;
use clap::{Args, ValueEnum};
use levytilt::drift::{Between, Inputs};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Settings;
use crate::failure::{bad, quoted};
use crate::table::Table;
use crate::table::columns::some_of;
use crate::table::time::Calendar;

/// The inputs of a model: `[inputs]`, by their names in formulas.
pub type InputColumns = BTreeMap<String, InputSettings>;

/// An input in `[inputs]`: `wind = { column = "wind speed", between = "linear" }`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputSettings {
    /// Column of the table; left out, the one that has the name of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What it is between two rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<Interpolation>,
}

/// What an input is between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The last value, carried forward
    #[default]
    Previous,
    /// Interpolated linearly
    Linear,
}

impl From<Interpolation> for Between {
    fn from(name: Interpolation) -> Self {
        match name {
            Interpolation::Previous => Self::Previous,
            Interpolation::Linear => Self::Linear,
        }
    }
}

/// Flags of inputs.
#[derive(Debug, Clone, Default, Args)]
pub struct InputArgs {
    /// Columns that are inputs of the drift, not observations, separated by commas
    #[arg(long, value_name = "NAMES", help_heading = "Drift", value_delimiter = ',')]
    pub inputs: Vec<String>,
    /// Values of inputs between rows [default: previous]
    #[arg(long, value_name = "HOW", help_heading = "Drift", requires = "inputs")]
    pub between: Option<Interpolation>,
}

impl InputArgs {
    /// What was given as flags.
    pub fn settings(&self) -> InputColumns {
        let one = |name: &String| (name.clone(), InputSettings { column: None, between: self.between });
        self.inputs.iter().map(one).collect()
    }
}

/// The column of an input.
pub fn column<'a>(name: &'a str, input: &'a InputSettings) -> &'a str {
    input.column.as_deref().unwrap_or(name)
}

/// What an input is between two rows.
pub fn between(input: &InputSettings) -> Between {
    input.between.unwrap_or_default().into()
}

/// The columns to read besides values, where value columns are named.
pub fn columns(inputs: &InputColumns) -> impl Iterator<Item = String> {
    inputs.iter().map(|(name, input)| column(name, input).to_string())
}

/// Terms of a formula that a drift without formula gains: for each input its gain times the input.
pub(super) fn terms(inputs: &InputColumns) -> String {
    inputs.keys().map(|name| format!(" + gain[{name}]*{name}")).collect()
}

/// The error of an input whose name no formula can have, with what to do.
pub(super) fn renamed(error: levytilt::Error) -> anyhow::Error {
    match &error {
        levytilt::Error::Series { place, .. } if place.starts_with("name \"") || place.starts_with("input ") => {
            bad(format!(
                "--inputs: {error}; in a settings file an input can have a name other than its column: [inputs] wind = \
             {{ column = \"wind speed\" }}"
            ))
        }
        _ => error.into(),
    }
}

/// The same table without its inputs, whose values `settings` has from now on.
///
/// # Errors
/// A column that is not there, has a missing value, or is the only one.
pub fn take(table: Table, settings: &mut Settings) -> Result<Table> {
    let (table, known) = split(table, &settings.inputs)?;
    if known.is_some() {
        settings.known_inputs = known;
    }
    Ok(table)
}

/// The same table without these inputs, and their values if there are any.
///
/// # Errors
/// As for [`take`].
pub fn split(mut table: Table, inputs: &InputColumns) -> Result<(Table, Option<Arc<Inputs>>)> {
    if inputs.is_empty() {
        return Ok((table, None));
    }
    let known = gather(&table, inputs, table.times.clone(), 0, None)?;
    for (name, input) in inputs {
        if let Some(place) = table.names.iter().position(|known| known == column(name, input)) {
            let taken = table.names.remove(place);
            table.others.push(taken);
            table.columns.remove(place);
        }
    }
    if table.names.is_empty() {
        return Err(bad(format!("{}: has no value column beside its inputs; leave one out of --inputs", table.source)));
    }
    Ok((table, Some(Arc::new(known))))
}

/// The values of inputs at `times`: those of the rows of `table` from `first` on, after those of `before`, if they are given.
fn gather(
    table: &Table,
    inputs: &InputColumns,
    times: Vec<f64>,
    first: usize,
    before: Option<&BTreeMap<String, f64>>,
) -> Result<Inputs> {
    let source = &table.source;
    let mut all = Inputs::new(times)?;
    for (name, input) in inputs {
        let column = column(name, input);
        let Some(place) = table.names.iter().position(|known| known == column) else {
            let has = some_of(table.names.iter().cloned());
            return Err(bad(format!("{source}: has no column \"{column}\" for input {name}; it has {has}")));
        };
        let rows = &table.columns[place][first..];
        if let Some(row) = rows.iter().position(|value| !value.is_finite()) {
            return Err(bad(format!(
                "{source}, line {}, column \"{column}\": an input needs a value in every row; fill this one in, or leave the \
                 row out",
                table.lines[first + row]
            )));
        }
        let last = before.map(|known| {
            let value = known.get(name).copied();
            value.ok_or_else(|| bad(format!("state.json: has no last value of input {}; fit again", quoted(name))))
        });
        let values = last.transpose()?.into_iter().chain(rows.iter().copied()).collect();
        all = all.with_column(name, values, between(input))?;
    }
    Ok(all)
}

/// The values of inputs after the time `from`, where they were `last`: those of the later rows of `table`, whose times are
/// those of `calendar`.
///
/// # Errors
/// As for [`take`]; no later row; rows that end before `until`.
pub fn ahead(
    table: &Table,
    inputs: &InputColumns,
    calendar: &Calendar,
    (from, until): (f64, f64),
    last: &BTreeMap<String, f64>,
) -> Result<Inputs> {
    let source = &table.source;
    let texts = table.time_texts();
    let read = |(text, line): (&String, &usize)| {
        let time = calendar.read("inputs-file", text);
        time.map_err(|error| bad(format!("{source}, line {line}: {error:#}")))
    };
    let times = texts.iter().zip(&table.lines).map(read).collect::<Result<Vec<f64>>>()?;
    let first = times.partition_point(|time| *time <= from);
    let end = times.last().copied().unwrap_or(f64::NEG_INFINITY);
    if first == times.len() || end < until - 1e-9 * (until - from) {
        return Err(bad(format!(
            "{source}: the inputs {} are needed up to {}, and the last row is at {}; add rows, or look less far ahead",
            inputs.keys().cloned().collect::<Vec<_>>().join(", "),
            calendar.write(until),
            texts.last().map_or("no time", String::as_str)
        )));
    }
    let times = std::iter::once(from).chain(times[first..].iter().copied()).collect();
    gather(table, inputs, times, first, Some(last))
}

/// The values of inputs from time 0 to `span`, as `simulate` needs them.
///
/// # Errors
/// As for [`take`]; timestamps; rows that do not reach from 0 to `span`.
pub fn from_start(table: &Table, inputs: &InputColumns, span: f64) -> Result<Inputs> {
    let source = &table.source;
    if !matches!(table.calendar, Calendar::Numbers) {
        return Err(bad(format!("{source}: has timestamps, and simulate counts time from 0; give times as numbers")));
    }
    let (first, last) = (table.times[0], table.times[table.times.len() - 1]);
    if first > 0.0 || last < span {
        return Err(bad(format!(
            "{source}: has inputs from time {first} to {last}; simulate needs them from 0 to {span}"
        )));
    }
    gather(table, inputs, table.times.clone(), 0, None)
}

/// Refuse a formula's parameter that has the name of a column of `table`: the column was meant, and would not be used.
/// `parameters` are those that nobody declared, `input` says how a column becomes an input, and `state` what a formula calls
/// the state that a value column sees.
///
/// # Errors
/// A parameter with such a name.
pub fn refuse_names<'a>(
    table: &Table,
    parameters: impl IntoIterator<Item = &'a str>,
    input: impl Fn(&str) -> String,
    state: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    for name in parameters {
        let is = |known: &String| known == name;
        let remedy = if table.names.iter().any(is)
            && let Some(state) = state(name)
        {
            format!("write {state} for the state that it sees")
        } else if table.names.iter().chain(&table.others).any(is) {
            format!("{} to use the column", input(name))
        } else if is(&table.time_name) {
            "write t for the time".into()
        } else {
            continue;
        };
        return Err(bad(format!(
            "{}: {} is a column, and a formula would learn it as a parameter without looking at the column; {remedy}, rename the \
             parameter, or declare it: [parameters] {name} = {{}}",
            table.source,
            quoted(name)
        )));
    }
    Ok(())
}

/// Refuse inputs on behalf of a command that cannot have their values.
pub fn refuse(inputs: &InputColumns, command: &str, remedy: &str) -> Result<()> {
    match inputs.is_empty() {
        true => Ok(()),
        false => {
            let names = inputs.keys().cloned().collect::<Vec<_>>().join(", ");
            Err(bad(format!("{command} does not take inputs, and the model has {names}; {remedy}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::input::from_numbers;

    fn table(wind: [f64; 3]) -> Table {
        let names = vec!["value".to_string(), "wind".into()];
        from_numbers("here", names, &[0.0, 1.0, 2.0], &[vec![1.0, f64::NAN, 2.0], wind.to_vec()]).unwrap()
    }

    fn settings() -> Settings {
        toml::from_str("[inputs]\nwind = { between = \"linear\" }\n").unwrap()
    }

    #[test]
    fn identity_inputs_are_written_as_they_were_read() {
        let text = "[inputs.gust]\n\n[inputs.wind]\ncolumn = \"wind speed\"\nbetween = \"previous\"\n";
        let read: Settings = toml::from_str(text).unwrap();
        assert_eq!(toml::from_str::<Settings>(&read.to_toml().unwrap()).unwrap(), read);
        assert_eq!(terms(&read.inputs), " + gain[gust]*gust + gain[wind]*wind");
        assert_eq!(columns(&read.inputs).collect::<Vec<_>>(), ["gust", "wind speed"]);
        let said = toml::from_str::<Settings>("[inputs]\nwind = { betwen = \"linear\" }").unwrap_err().to_string();
        assert!(said.contains("betwen"), "{said}");
    }

    #[test]
    fn golden_inputs_leave_the_table_and_go_on_after_it() {
        let mut settings = settings();
        let left = take(table([1.0, 2.0, 4.0]), &mut settings).unwrap();
        assert_eq!(left.names, ["value"]);
        let known = settings.known_inputs.as_ref().unwrap();
        assert_eq!(known.last().collect::<Vec<_>>(), [("wind", 4.0)]);
        let last = known.last().map(|(name, value)| (name.to_string(), value)).collect();
        let later = from_numbers("later", vec!["wind".into()], &[1.5, 2.5, 3.0], &[vec![9.0, 5.0, 6.0]]).unwrap();
        let found = |until| ahead(&later, &settings.inputs, &Calendar::Numbers, (2.0, until), &last);
        let expected = Inputs::new(vec![2.0, 2.5, 3.0]).unwrap();
        let expected = expected.with_column("wind", vec![4.0, 5.0, 6.0], Between::Linear).unwrap();
        assert_eq!(found(3.0).unwrap(), expected);
        let said = found(3.5).unwrap_err().to_string();
        assert!(said.contains("later: the inputs wind are needed up to 3.5, and the last row is at 3"), "{said}");
    }

    #[test]
    fn a_missing_value_is_named() {
        let said = take(table([1.0, f64::NAN, 2.0]), &mut settings()).unwrap_err().to_string();
        assert!(said.contains("here, line 2, column \"wind\": an input needs a value in every row"), "{said}");
        let mut other = settings();
        other.inputs.insert("rain".into(), InputSettings::default());
        let said = take(table([1.0; 3]), &mut other).unwrap_err().to_string();
        assert!(said.contains("has no column \"rain\" for input rain; it has value, wind"), "{said}");
        other.inputs.insert("value".into(), InputSettings::default());
        other.inputs.remove("rain");
        let said = take(table([1.0; 3]), &mut other).unwrap_err().to_string();
        assert!(said.contains("no value column beside its inputs") || said.contains("line 2"), "{said}");
    }
}
