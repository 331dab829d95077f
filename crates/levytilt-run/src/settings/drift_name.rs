//! Choose a drift: by a name that the registry lists, or written out as a formula.

use clap::builder::{PossibleValue, TypedValueParser};
use levytilt::drift::{DriftFamily, Formula};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;

use super::names::{Drifts, Name};

/// A drift.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriftName {
    /// One of the registry, or a network.
    Listed(Name<Drifts>),
    /// The text of a formula for one state, called `x`, that can be parsed.
    Formula(Arc<str>),
}

impl DriftName {
    /// The default.
    pub const OU: Self = Self::Listed(Name::<Drifts>::OU);
    /// No drift.
    pub const NONE: Self = Self::Listed(Name::<Drifts>::NONE);
    /// A network, which is no family of the registry.
    pub const NEURAL: Self = Self::Listed(Name::<Drifts>::NEURAL);

    /// The drift that `text` names or writes out.
    ///
    /// # Errors
    /// A name that is not listed, with those that are close; a formula that cannot be parsed, with column and caret.
    pub fn read(text: &str) -> Result<Self, String> {
        match is_formula(text) {
            true => Self::formula(text).map_err(|error| error.to_string()),
            false => Name::named(text)
                .map(Self::Listed)
                .ok_or_else(|| format!("{}; or a formula such as theta*(mu - x)", Name::<Drifts>::unknown(text))),
        }
    }

    fn formula(text: &str) -> Result<Self, levytilt::Error> {
        Formula::parse(text).map(|_| Self::Formula(text.into()))
    }

    /// The family, unless it is a network or a formula.
    pub fn family(&self) -> Option<&'static DriftFamily> {
        match self {
            Self::Listed(name) => name.family(),
            Self::Formula(_) => None,
        }
    }

    /// The drift as users write it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Listed(name) => name.as_str(),
            Self::Formula(text) => text,
        }
    }

    /// Names of the parameters of a formula.
    pub fn formula_names(&self) -> Vec<String> {
        let formula = match self {
            Self::Listed(_) => None,
            Self::Formula(text) => Formula::parse(text).ok(),
        };
        formula.iter().flat_map(|formula| formula.parameters().iter().map(|parameter| parameter.name.clone())).collect()
    }

    /// What reads it from a flag.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        Parser
    }
}

/// Whether a formula is meant: something besides the letters of a name, a number, or the state `x` or time `t` by itself
/// between hyphens.
fn is_formula(text: &str) -> bool {
    let word = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    !word
        || text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
        || text.split('-').any(|part| matches!(part, "x" | "t"))
}

#[derive(Clone)]
struct Parser;

impl TypedValueParser for Parser {
    type Value = DriftName;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<DriftName, clap::Error> {
        match value.to_str().is_some_and(is_formula) {
            true => DriftName::formula.parse_ref(command, arg, value),
            false => Name::<Drifts>::parser().parse_ref(command, arg, value).map(DriftName::Listed),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formula = PossibleValue::new("FORMULA").help("The drift of state x, such as \"theta*(mu - x)\"");
        let listed: Vec<PossibleValue> = Name::<Drifts>::parser().possible_values()?.collect();
        Some(Box::new(listed.into_iter().chain([formula])))
    }
}

impl fmt::Display for DriftName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DriftName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for DriftName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_names_and_formulas() {
        assert_eq!(DriftName::read("ou").unwrap(), DriftName::OU);
        for formula in ["theta*(mu - x)", "-x", "mu-x", "0", "-2.5", "a + b", "sin(t)", "-t"] {
            assert_eq!(DriftName::read(formula).unwrap(), DriftName::Formula(formula.into()), "{formula}");
        }
        let said = |text: &str| DriftName::read(text).unwrap_err();
        assert!(said("double-wel").contains("did you mean double-well?"), "{}", said("double-wel"));
        assert!(said("pink").contains("expected one of ou, double-well"), "{}", said("pink"));
        assert!(said("").contains("unknown drift"), "{}", said(""));
        assert!(said("theta*(mu - x").ends_with("  theta*(mu - x\n        ^"), "{}", said("theta*(mu - x"));
        assert!(
            said("theta*(mu - x").contains("column 7: this parenthesis is never closed"),
            "{}",
            said("theta*(mu - x")
        );
    }
}
