//! Read settings from keywords, as a caller in another language gives them: one flat list, every key named once.

use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    DataSettings, DriftName, DriftSettings, GridSettings, ModelSettings, PaperSettings, Settings, SimulateSettings,
    SizeFormula, SolveSettings, parameters,
};
use crate::failure::{bad, brief};

/// The sections that hold keywords: their names, their keys, and how a key and its value are tried.
const SECTIONS: [Section; 7] = [
    ("data", keys_of::<DataSettings>, tried::<DataSettings>),
    ("model", || keys_in(parameters::Section::Model), tried::<ModelSettings>),
    ("drift", || keys_in(parameters::Section::Drift), tried::<DriftSettings>),
    ("grid", keys_of::<GridSettings>, tried::<GridSettings>),
    ("simulate", keys_of::<SimulateSettings>, tried::<SimulateSettings>),
    ("solve", keys_of::<SolveSettings>, tried::<SolveSettings>),
    ("paper", PaperSettings::keys, tried::<PaperSettings>),
];

type Section = (&'static str, fn() -> Vec<String>, Try);
type Try = fn(&Map<String, Value>) -> Result<(), serde_json::Error>;

/// The keys of a section: all of its fields, which are null where nothing is set.
fn keys_of<T: Serialize + Default>() -> Vec<String> {
    match serde_json::to_value(T::default()) {
        Ok(Value::Object(section)) => section.keys().cloned().collect(),
        _ => vec![],
    }
}

/// The keys of a section of parameters.
fn keys_in(section: parameters::Section) -> Vec<String> {
    section.keys().map(String::from).collect()
}

fn tried<T: DeserializeOwned>(section: &Map<String, Value>) -> Result<(), serde_json::Error> {
    T::deserialize(Value::Object(section.clone())).map(drop)
}

/// The keywords of these sections, and of all of them if none is named.
pub fn keywords(sections: &[&str]) -> Vec<String> {
    let wanted = SECTIONS.iter().filter(|(name, ..)| sections.is_empty() || sections.contains(name));
    wanted.flat_map(|(_, keys, _)| keys()).collect()
}

/// Names of the parameters of the formulas of drift and size among the keywords, if there is one.
fn formula_names(given: &Map<String, Value>) -> Vec<String> {
    let drift = given.get("drift").and_then(Value::as_str).and_then(|text| DriftName::read(text).ok());
    let size = given.get("size").and_then(Value::as_str).and_then(|text| text.parse::<SizeFormula>().ok());
    let of_drift = drift.map_or(Vec::new(), |drift| drift.formula_names());
    [of_drift, size.map_or(Vec::new(), |size| size.names(&[]))].concat()
}

impl Settings {
    /// The settings that flat keywords describe; `parameters` holds values of single dimensions, `inputs` the inputs.
    ///
    /// # Errors
    /// An unknown keyword; a value of the wrong kind, with its keyword.
    pub fn from_keywords(given: Map<String, Value>) -> Result<Self> {
        let mut sections = Map::new();
        let named = formula_names(&given);
        for (key, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
            if let ("parameters", Value::Object(given), Some(Value::Object(known))) =
                (key.as_str(), &value, sections.get_mut("parameters"))
            {
                known.extend(given.clone());
                continue;
            }
            if ["parameters", "inputs"].contains(&key.as_str()) {
                sections.insert(key, value);
                continue;
            }
            if named.contains(&key) && parameters::Section::of(&key).is_none() {
                let place = sections.entry("parameters").or_insert_with(|| Value::Object(Map::new()));
                place.as_object_mut().into_iter().for_each(|place| drop(place.insert(key.clone(), value.clone())));
                continue;
            }
            let Some((section, _, attempt)) = SECTIONS.iter().find(|(_, keys, _)| keys().contains(&key)) else {
                return Err(bad(format!("{key} is not the name of a setting")));
            };
            let shown = brief(&value);
            let single = Map::from_iter([(key.clone(), value)]);
            attempt(&single).map_err(|error| bad(format!("{key} = {shown}: {error}")))?;
            let place = sections.entry(*section).or_insert_with(|| Value::Object(Map::new()));
            place.as_object_mut().into_iter().for_each(|place| place.extend(single.clone()));
        }
        serde_json::from_value(Value::Object(sections)).map_err(|error| bad(format!("parameters or inputs: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(given: Value) -> Result<Settings> {
        Settings::from_keywords(given.as_object().unwrap().clone())
    }

    #[test]
    fn identity_keywords_say_what_a_settings_file_says() {
        let given = json!({
            "drift": "double-well", "noise": "stable", "theta1": 2, "alpha": 1.7, "steps": 50, "seed": 3,
            "method": "sweep", "column": "price", "every": 2, "scale": null, "parameters": {"x0[a]": 0.5}
        });
        let file = "data.column = 'price'\nmodel = { drift = 'double-well', noise = 'stable', alpha = 1.7 }\n\
                    drift.theta1 = 2.0\ngrid.steps = 50\nsolve = { seed = 3, method = 'sweep' }\nsimulate.every = 2\n\
                    parameters = { 'x0[a]' = 0.5 }";
        assert_eq!(read(given).unwrap(), toml::from_str(file).unwrap());
    }

    #[test]
    fn identity_every_keyword_belongs_to_one_section() {
        let mut all = keywords(&[]);
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.contains(&"observation_std".to_string()) && all.contains(&"threads".to_string()));
    }

    #[test]
    fn wrong_values_are_named() {
        let said = |given| read(given).unwrap_err().to_string();
        assert!(said(json!({"alpha": "much"})).starts_with("alpha = \"much\": invalid type: string"));
        assert!(said(json!({"noise": "pink"})).contains("unknown noise `pink`, expected one of stable"));
        assert!(said(json!({"sclae": 1.0})).contains("sclae"));
        let long = said(json!({"alpha": vec![1.5; 1000]}));
        assert!(long.starts_with("alpha = [1.5,1.5") && long.len() < 400, "an array is not repeated: {long}");
        assert!(said(json!({"parameters": {"x0[a]": "b"}})).starts_with("parameters or inputs: "));
    }
}
