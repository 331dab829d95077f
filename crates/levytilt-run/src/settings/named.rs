//! Give a parameter by its name: a value that is held, or what is known of it before it is learned.

use anyhow::Result;
use levytilt::drift::Formula;
use levytilt::internals::parameter::Prior;
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::failure::bad;

/// A parameter in `[parameters]`: `k = 1.0`, or `k = { guess = 1.0, low = 0.0 }`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Named(Known);

/// All that can be said of a parameter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Known {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guess: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<Prior>,
}

impl From<f64> for Named {
    fn from(value: f64) -> Self {
        Self(Known { value: Some(value), ..Known::default() })
    }
}

impl Named {
    /// Learned, and above 0.
    pub fn positive() -> Self {
        Self(Known { low: Some(0.0), ..Known::default() })
    }

    /// Learned, starting from here.
    pub fn guess(guess: f64) -> Self {
        Self(Known { guess: Some(guess), ..Known::default() })
    }

    /// The value that is held, if there is one.
    pub fn value(&self) -> Option<f64> {
        self.0.value
    }

    /// The same with this value.
    pub fn with_value(self, value: f64) -> Self {
        Self(Known { value: Some(value), ..self.0 })
    }

    /// The same, learned with this prior.
    pub fn with_prior(self, prior: Prior) -> Self {
        Self(Known { value: None, prior: Some(prior), ..self.0 })
    }

    /// The prior, if there is one.
    pub fn prior(&self) -> Option<Prior> {
        self.0.prior
    }

    /// Whether there is nothing but a value and a prior.
    pub fn is_listed(&self) -> bool {
        *self == Self(Known { value: self.0.value, prior: self.0.prior, ..Known::default() })
    }

    /// Whether there is nothing but a value.
    pub fn is_plain(&self) -> bool {
        *self == Self(Known { value: self.0.value, ..Known::default() })
    }

    /// The formula with the bounds, the guess and the prior of its parameter `name`.
    ///
    /// # Errors
    /// Bounds the wrong way round, or a guess or a value outside of them.
    pub fn apply(&self, name: &str, formula: Formula) -> Result<Formula> {
        let Known { value, guess, low, high, prior } = self.0;
        let wrong = |error: levytilt::Error| bad(format!("[parameters] {name}: {error}"));
        let mut formula = formula.with_bounds(name, low, high).map_err(wrong)?;
        for guess in [guess, value].into_iter().flatten() {
            formula = formula.with_guess(name, guess).map_err(wrong)?;
        }
        match prior {
            Some(prior) => formula.with_prior(name, prior).map_err(wrong),
            None => Ok(formula),
        }
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.value.filter(|_| self.is_plain()) {
            Some(value) => serializer.serialize_f64(value),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, or a table with value, guess, low, high or prior")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Named, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Named, E> {
        Ok((value as f64).into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Named, E> {
        Ok((value as f64).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Named, A::Error> {
        Known::deserialize(MapAccessDeserializer::new(map)).map(Named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn identity_parameters_come_back_as_they_were_written() {
        let text = "a = 1.5\n\n[b]\nguess = 2.0\nlow = 0.0\n\n[b.prior]\nmean = 0.0\nstd = 2.0\n";
        let read: BTreeMap<String, Named> = toml::from_str(text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), text);
        assert_eq!((read["a"].value(), read["b"].value()), (Some(1.5), None));
        assert_eq!(toml::from_str::<BTreeMap<String, Named>>("a = 2").unwrap()["a"], 2.0.into());
        let said = |text: &str| toml::from_str::<BTreeMap<String, Named>>(text).unwrap_err().to_string();
        assert!(said("a = \"x\"").contains("expected a number, or a table with value"), "{}", said("a = \"x\""));
        assert!(said("a = { gess = 1.0 }").contains("unknown field `gess`"), "{}", said("a = { gess = 1.0 }"));
    }

    #[test]
    fn bounds_are_checked() {
        let apply = |text: &str| {
            let read: BTreeMap<String, Named> = toml::from_str(text).unwrap();
            read["k"].apply("k", Formula::parse("-k*x").unwrap())
        };
        assert_eq!(apply("k = { guess = 2.0, low = 0.0 }").unwrap().parameters()[0].guess, Some(2.0));
        for wrong in ["{ low = 2.0, high = 1.0 }", "{ guess = -1.0, low = 0.0 }", "{ value = 9.0, high = 3.0 }"] {
            let said = apply(&format!("k = {wrong}")).unwrap_err().to_string();
            assert!(said.starts_with("[parameters] k: "), "{said}");
        }
    }
}
