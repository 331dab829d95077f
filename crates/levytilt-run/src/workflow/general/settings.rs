//! Read a model that a settings file writes out: `[states]`, `[noise.NAME]`, `[observe.COLUMN]`, `[start]`, `[parameters]`.

use anyhow::Result;
use levytilt::drift::{Formula, Inputs};
use levytilt::internals::general::{GeneralSpec, Loading, RowSpec, SourceSpec, StartSpec};
use levytilt::internals::registry::{OBSERVATION_STD, close_names};
use levytilt::noise::{FAMILIES, Family};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::failure::{bad, brief};
use crate::settings::inputs::{self, InputColumns};
use crate::settings::{
    Clock, DataSettings, GridSettings, Named, SimulateSettings, SolveSettings, Volatility, is_empty,
};
use crate::table::Table;
use crate::table::bytes::read_settings;
use crate::workflow::trading::Trading;

/// A settings file that writes its model out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeneralSettings {
    /// How the table is written.
    pub data: DataSettings,
    /// The time in which it moves.
    #[serde(skip_serializing_if = "is_empty")]
    pub model: PaceSettings,
    /// A drift formula per state.
    pub states: BTreeMap<String, String>,
    /// Noise sources.
    pub noise: BTreeMap<String, NoiseSettings>,
    /// Observed columns; left out, every column is a state of its own name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub observe: BTreeMap<String, ObserveSettings>,
    /// States at the first time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub start: BTreeMap<String, StartValue>,
    /// What is known of parameters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Named>,
    /// Columns that are inputs of the drift, by their names in formulas.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: InputColumns,
    /// Their values, once they are known.
    #[serde(skip)]
    pub known_inputs: Option<Arc<Inputs>>,
    /// Latent times.
    pub grid: GridSettings,
    /// What `simulate` needs besides.
    #[serde(skip_serializing_if = "is_empty")]
    pub simulate: SimulateSettings,
    /// How to compute.
    pub solve: SolveSettings,
}

/// `[model]`: the time in which the model moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaceSettings {
    /// Time scale of the noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// Volatility of the noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volatility: Option<Volatility>,
}

/// `[noise.NAME]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseSettings {
    /// Family of the jumps.
    pub family: String,
    /// What it moves.
    pub on: On,
    /// Parameters of the family that are held.
    #[serde(flatten)]
    pub values: BTreeMap<String, toml::Value>,
}

/// A state, or loadings by state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum On {
    /// This state, with loading 1.
    State(String),
    /// These states.
    Loadings(BTreeMap<String, LoadingValue>),
}

/// A loading: a number is fixed, a name is learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LoadingValue {
    /// Fixed.
    Number(f64),
    /// A parameter.
    Name(String),
}

/// `[observe.COLUMN]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObserveSettings {
    /// What it sees.
    pub of: Of,
    /// Law of the observation noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Standard deviation of the observation noise; learned if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
}

/// A state, or weights by state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Of {
    /// This state, with weight 1.
    State(String),
    /// A sum of states.
    Weights(BTreeMap<String, f64>),
}

/// A state at the first time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StartValue {
    /// Known.
    Known(f64),
    /// Gaussian.
    Gaussian {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
}

impl GeneralSettings {
    /// The settings of the file at `path` if it writes a model out, that is, has a section `[states]`.
    ///
    /// # Errors
    /// Such a file with a key or value that it cannot have.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let name = path.display();
        let text = read_settings(path).map_err(|e| bad(format!("{name}: cannot be read: {e}")))?;
        Self::parse(&text, &name.to_string())
    }

    /// The settings of a text called `name`, if it writes a model out.
    ///
    /// # Errors
    /// Such a text with a key or value that it cannot have.
    pub fn parse(text: &str, name: &str) -> Result<Option<Self>> {
        let wrong = |error: toml::de::Error| bad(format!("{name}: {}", brief(&error)));
        // A text that is no TOML at all is for the reader of ordinary settings to complain about.
        match text.parse::<toml::Table>() {
            Ok(table) if table.contains_key("states") => Ok(Some(toml::from_str(text).map_err(wrong)?)),
            _ => Ok(None),
        }
    }

    /// The settings of a caller in another language: sections by name.
    ///
    /// # Errors
    /// A key or value that they cannot have, with the section and the key.
    pub fn from_sections(sections: serde_json::Value) -> Result<Self> {
        let table = toml::Value::try_from(sections).map_err(|error| bad(error.to_string()))?;
        table.try_into().map_err(|error: toml::de::Error| bad(brief(&error).trim().replace('\n', " ")))
    }

    /// Trading time of `table`, if it is asked for.
    ///
    /// # Errors
    /// A drift that goes by the calendar; a record from which no trading time can be learned.
    pub fn trading(&self, table: &Table) -> Result<Option<Trading>> {
        let PaceSettings { clock, volatility } = self.model;
        let trading = Trading::by(clock, volatility, table)?;
        if trading.is_some() && !self.inputs.is_empty() {
            return Err(bad("[inputs] are in calendar time: leave clock and volatility out of [model], or [inputs]"));
        }
        let formulas = self.formulas()?;
        if trading.is_some() && !formulas.is_autonomous() {
            return Err(bad(
                "[states]: a drift that depends on t goes by the calendar and cannot be combined with clock or volatility in [model]",
            ));
        }
        Ok(trading)
    }

    /// Columns to read, those of inputs too; all of them if none is observed by name.
    pub fn columns(&self) -> Vec<String> {
        match self.observe.is_empty() {
            true => Vec::new(),
            false => self.observe.keys().cloned().chain(inputs::columns(&self.inputs)).collect(),
        }
    }

    /// As in a settings file.
    ///
    /// # Errors
    /// Settings that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String> {
        Ok(toml::to_string(self)?)
    }

    /// The columns of a table that was not seen yet: those observed, or one per state.
    pub fn usual_columns(&self) -> Vec<String> {
        match self.observe.is_empty() {
            true => self.states.keys().cloned().collect(),
            false => self.observe.keys().cloned().collect(),
        }
    }

    /// The model, for a table with these columns.
    ///
    /// # Errors
    /// A name that is no state, family or parameter; a formula that cannot be read.
    pub fn spec(&self, columns: &[String]) -> Result<GeneralSpec> {
        let mut drift = self.driven()?;
        let mut held = Vec::new();
        let of_drift: Vec<String> = drift.parameters().iter().map(|entry| entry.name.clone()).collect();
        for (name, value) in &self.parameters {
            held.extend(value.value().map(|value| (name.clone(), value)));
            if of_drift.contains(name) {
                drift = value.apply(name, drift)?;
            } else if !value.is_plain() {
                return Err(bad(format!(
                    "[parameters] {name}: guess, low, high and prior are for names in formulas; give a value, or leave it out"
                )));
            }
        }
        let mut sources = Vec::new();
        for (name, noise) in &self.noise {
            sources.push(self.source(name, noise, &mut held)?);
        }
        let rows = self.rows(columns, &mut held)?;
        if let Some(name) = self.start.keys().find(|name| !self.states.contains_key(*name)) {
            self.state("[start]", name)?;
        }
        let start = |name: &String| match self.start.get(name) {
            None => StartSpec::Open,
            Some(StartValue::Known(value)) => StartSpec::Known(*value),
            Some(StartValue::Gaussian { mean, std }) => StartSpec::Gaussian { mean: *mean, std: *std },
        };
        Ok(GeneralSpec { drift, sources, rows, starts: self.states.keys().map(start).collect(), held })
    }

    /// Refuse a parameter of the formulas that has the name of a column of `table` and is not in `[parameters]`.
    ///
    /// # Errors
    /// Such a parameter; a formula that cannot be read.
    pub fn refuse_columns(&self, table: &Table) -> Result<()> {
        let drift = self.formulas()?;
        let names = drift.parameters().iter().map(|parameter| parameter.name.as_str());
        let learned = names.filter(|name| !self.parameters.contains_key(*name));
        let input = |name: &str| format!("write [inputs] {name} = {{}}");
        inputs::refuse_names(table, learned, input, |column| match &self.observe.get(column)?.of {
            Of::State(state) => Some(state.clone()),
            Of::Weights(weights) => Some(weights.keys().cloned().collect::<Vec<_>>().join(" or ")),
        })
    }

    /// The drift.
    fn formulas(&self) -> Result<Formula> {
        let formulas: Vec<(&str, &str)> =
            self.states.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let names: Vec<&str> = self.inputs.keys().map(String::as_str).collect();
        Ok(Formula::system(&formulas, &names)?)
    }

    /// The drift, with the values of its inputs.
    fn driven(&self) -> Result<Formula> {
        let drift = self.formulas()?;
        if let Some(unused) = drift.unused_inputs().first() {
            return Err(bad(format!("[inputs] {unused}: no formula uses it; name it in one, or leave it out")));
        }
        match &self.known_inputs {
            Some(known) => Ok(drift.with_inputs(known)?),
            None if self.inputs.is_empty() => Ok(drift),
            None => Err(bad("[inputs]: with [states] only `levytilt fit` and `levytilt forecast` take them")),
        }
    }

    fn source(&self, name: &str, noise: &NoiseSettings, held: &mut Vec<(String, f64)>) -> Result<SourceSpec> {
        let place = format!("[noise.{name}]");
        let family = Family::named(&noise.family).ok_or_else(|| {
            let known: Vec<&str> =
                FAMILIES.iter().filter(|family| !family.is_skewed()).map(|family| family.name).collect();
            bad(format!("{place} family = \"{}\": expected one of {}", noise.family, known.join(", ")))
        })?;
        if family.is_skewed() {
            let family = family.name;
            return Err(bad(format!("{place} family = \"{family}\": with [states] it must be symmetric")));
        }
        for (key, value) in &noise.values {
            let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
            match (family.parameter(key), number) {
                (Some(entry), Some(number)) => {
                    entry.check_as(&format!("{key}[{name}]"), number)?;
                    held.push((format!("{key}[{name}]"), number));
                }
                (Some(_), None) => return Err(bad(format!("{place} {key}: expected a number"))),
                (None, _) => {
                    let known: Vec<&str> = family.parameters.iter().map(|entry| entry.name).collect();
                    let known = known.join(", ");
                    return Err(bad(format!("{place}: unknown key {key}; expected family, on, {known}")));
                }
            }
        }
        let on = match &noise.on {
            On::State(state) => vec![(self.state(&place, state)?, Loading::Fixed(1.0))],
            On::Loadings(loadings) => {
                let loading = |value: &LoadingValue| match value {
                    LoadingValue::Number(number) => Loading::Fixed(*number),
                    LoadingValue::Name(name) => Loading::Named(name.clone()),
                };
                let each = loadings.iter().map(|(state, value)| Ok((self.state(&place, state)?, loading(value))));
                each.collect::<Result<_>>()?
            }
        };
        Ok(SourceSpec { name: name.into(), family, on })
    }

    fn rows(&self, columns: &[String], held: &mut Vec<(String, f64)>) -> Result<Vec<RowSpec>> {
        let row = |name: &String| {
            let place = format!("[observe.{name}]");
            let Some(observe) = self.observe.get(name) else {
                let state = self.state(&format!("column {name} has no section [observe.{name}]"), name)?;
                return Ok(RowSpec { name: name.clone(), of: vec![(state, 1.0)] });
            };
            if let Some(error) = observe.error.as_deref().filter(|error| *error != "gaussian") {
                return Err(bad(format!("{place} error = \"{error}\": with [states] it must be gaussian")));
            }
            held.extend(observe.std.map(|std| (format!("{OBSERVATION_STD}[{name}]"), std)));
            let of = match &observe.of {
                Of::State(state) => vec![(self.state(&place, state)?, 1.0)],
                Of::Weights(weights) => {
                    let each = weights.iter().map(|(state, weight)| Ok((self.state(&place, state)?, *weight)));
                    each.collect::<Result<_>>()?
                }
            };
            Ok(RowSpec { name: name.clone(), of })
        };
        columns.iter().map(row).collect()
    }

    /// Number of a state.
    fn state(&self, place: &str, name: &str) -> Result<usize> {
        self.states.keys().position(|known| known == name).ok_or_else(|| {
            let close = close_names(name, self.states.keys().map(String::as_str));
            let close = close.first().map_or(String::new(), |close| format!("; did you mean {close}?"));
            let known: Vec<&str> = self.states.keys().map(String::as_str).collect();
            bad(format!("{place}: {name} is not a state; states are {}{close}", known.join(", ")))
        })
    }

    /// The same with every parameter held at its estimate and the start known as it was.
    pub fn filled(&self, estimates: &[levytilt::internals::fit::Estimate], columns: &[String]) -> Self {
        let mut all = self.clone();
        for (name, noise) in &mut all.noise {
            let own = |key: &str| format!("{key}[{name}]");
            let family = Family::named(&noise.family);
            for entry in family.map_or(&[][..], |family| family.parameters) {
                if let Some(found) = estimates.iter().find(|p| p.name == own(entry.name)) {
                    noise.values.insert(entry.name.into(), toml::Value::Float(found.value));
                }
            }
        }
        for name in columns {
            let found = estimates.iter().find(|p| p.name == format!("{OBSERVATION_STD}[{name}]"));
            let plain = ObserveSettings { of: Of::State(name.clone()), error: None, std: None };
            all.observe.entry(name.clone()).or_insert(plain).std = found.map(|p| p.value);
        }
        let is_elsewhere = |name: &str| {
            let of_noise = |(source, noise): (&String, &NoiseSettings)| {
                noise.values.keys().any(|key| *name == format!("{key}[{source}]"))
            };
            all.noise.iter().any(of_noise)
                || columns.iter().any(|column| *name == format!("{OBSERVATION_STD}[{column}]"))
        };
        let rest: Vec<_> = estimates.iter().filter(|p| !is_elsewhere(&p.name)).collect();
        for p in rest {
            let known = all.parameters.get(&p.name).copied().unwrap_or_default();
            all.parameters.insert(p.name.clone(), known.with_value(p.value));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[states]\nx = \"v\"\nv = \"-c*v\"\n[noise.kick]\nfamily = \"stable\"\non = \"v\"\nalpha = 1.5\n\
                        [observe.position]\nof = \"x\"\nstd = 0.1\n[parameters]\nc = { guess = 0.5, low = 0.0 }\n";

    fn columns() -> Vec<String> {
        vec!["position".into()]
    }

    #[test]
    fn identity_a_written_model_is_read() {
        let settings: GeneralSettings = toml::from_str(TEXT).unwrap();
        let spec = settings.spec(&columns()).unwrap();
        assert_eq!(spec.drift.states(), ["v", "x"]);
        assert_eq!(spec.held, [("alpha[kick]".to_string(), 1.5), ("observation_std[position]".to_string(), 0.1)]);
        assert_eq!(spec.rows[0].of, [(1, 1.0)]);
        let again: GeneralSettings = toml::from_str(&toml::to_string(&settings).unwrap()).unwrap();
        assert_eq!(again, settings);
    }

    #[test]
    fn identity_mistakes_are_named() {
        let wrong = |from: &str, to: &str| {
            let settings: GeneralSettings = toml::from_str(&TEXT.replace(from, to)).unwrap();
            settings.spec(&columns()).unwrap_err().to_string()
        };
        assert!(wrong("on = \"v\"", "on = \"w\"").contains("[noise.kick]: w is not a state"));
        assert!(wrong("\"stable\"", "\"stabel\"").contains("expected one of stable"));
        assert!(wrong("alpha", "alhpa").contains("unknown key alhpa"));
        assert!(wrong("of = \"x\"", "of = { z = 1.0 }").contains("[observe.position]: z is not a state"));
        assert!(wrong("std = 0.1", "error = \"student\"").contains("must be gaussian"));
        assert!(wrong("\"-c*v\"", "\"-c*\"").contains("column"));
    }
}
