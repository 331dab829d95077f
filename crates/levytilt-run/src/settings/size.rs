//! Read the size of the noise: a formula of the state and of inputs that increments are multiplied by.

use levytilt::drift::Formula;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;
use std::sync::Arc;

/// The text of a formula of the state `x` that can be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeFormula(Arc<str>);

impl SizeFormula {
    /// The text as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The formula, in which these names are inputs.
    ///
    /// # Errors
    /// Names that no input can have; none for a text that was read.
    pub fn formula(&self, inputs: &[&str]) -> levytilt::Result<Formula> {
        Formula::system(&[("x", &self.0)], inputs)
    }

    /// Names of its parameters, where these names are inputs.
    pub fn names(&self, inputs: &[&str]) -> Vec<String> {
        let formula = self.formula(inputs).ok();
        formula.iter().flat_map(|formula| formula.parameters().iter().map(|parameter| parameter.name.clone())).collect()
    }
}

impl FromStr for SizeFormula {
    type Err = levytilt::Error;

    fn from_str(text: &str) -> Result<Self, levytilt::Error> {
        Formula::parse(text).map(|_| Self(text.into()))
    }
}

impl Serialize for SizeFormula {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SizeFormula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
