//! Choose a drift or a noise by a name that the library's registry lists.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use levytilt::ErrorKind;
use levytilt::drift::{DRIFT_FAMILIES, DriftFamily};
use levytilt::internals::parameter::ParameterEntry;
use levytilt::internals::registry::close_names;
use levytilt::noise::{FAMILIES, Family};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// Names that can be chosen from.
pub trait Listing: Copy + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// What is chosen.
    const WHAT: &'static str;
    /// All names, each with what it is.
    fn listed() -> Vec<(&'static str, String)>;
}

/// One of the names of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name<L>(&'static str, PhantomData<L>);

/// The drifts of the registry, and a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drifts;

/// The noises of the registry, and a choice among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noises;

/// The laws of observation errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorLaws;

/// A law of observation errors.
pub type ErrorName = Name<ErrorLaws>;
/// A noise.
pub type NoiseName = Name<Noises>;

fn with_names(about: &str, parameters: &[ParameterEntry]) -> String {
    let names: Vec<&str> = parameters.iter().map(|entry| entry.name).collect();
    if names.is_empty() { about.to_string() } else { format!("{about}: {}", names.join(", ")) }
}

impl Listing for Drifts {
    const WHAT: &'static str = "drift";

    fn listed() -> Vec<(&'static str, String)> {
        let family = |f: &DriftFamily| (f.name, with_names(f.about, f.parameters));
        let mut all: Vec<_> = DRIFT_FAMILIES.iter().map(family).collect();
        // `none` stays last.
        all.insert(all.len() - 1, (Name::<Self>::NEURAL.0, "A network, for `fit` only: width, depth".into()));
        all
    }
}

impl Listing for Noises {
    const WHAT: &'static str = "noise";

    fn listed() -> Vec<(&'static str, String)> {
        let mut all: Vec<_> = FAMILIES.iter().map(|f| (f.name, with_names(f.about, f.parameters))).collect();
        all.push((NoiseName::AUTO.0, "Fit each family and keep the one with the most evidence: `fit` only".into()));
        all
    }
}

impl Listing for ErrorLaws {
    const WHAT: &'static str = "law of errors";

    fn listed() -> Vec<(&'static str, String)> {
        ErrorKind::ALL.iter().map(|kind| (kind.name(), with_names(kind.about(), kind.parameters()))).collect()
    }
}

impl ErrorName {
    /// The law.
    pub fn kind(self) -> ErrorKind {
        ErrorKind::named(self.0).unwrap_or_default()
    }
}

impl Name<Drifts> {
    /// The default.
    pub const OU: Self = Self("ou", PhantomData);
    /// No drift.
    pub const NONE: Self = Self("none", PhantomData);
    /// A network, which is no family of the registry.
    pub const NEURAL: Self = Self("neural", PhantomData);

    /// The family, unless it is a network.
    pub fn family(self) -> Option<&'static DriftFamily> {
        DriftFamily::named(self.0)
    }
}

impl NoiseName {
    /// A noise whose steps do not add up.
    pub const STUDENT: Self = Self("student", PhantomData);
    /// The default.
    pub const STABLE: Self = Self("stable", PhantomData);
    /// The family with the most evidence.
    pub const AUTO: Self = Self("auto", PhantomData);

    /// The name of a family.
    pub fn of(family: &'static Family) -> Self {
        Self(family.name, PhantomData)
    }

    /// The family, unless it is open.
    pub fn family(self) -> Option<&'static Family> {
        Family::named(self.0)
    }
}

impl<L: Listing> Name<L> {
    /// The name, if it is listed.
    pub fn named(name: &str) -> Option<Self> {
        L::listed().into_iter().find(|(known, _)| *known == name).map(|(known, _)| Self(known, PhantomData))
    }

    /// The name that `text` is.
    ///
    /// # Errors
    /// A name that is not listed, with those that are close.
    pub fn read(text: &str) -> Result<Self, String> {
        Self::named(text).ok_or_else(|| Self::unknown(text))
    }

    /// The name as users write it.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// What is wrong with a name that is not listed.
    pub(super) fn unknown(name: &str) -> String {
        let known: Vec<&str> = L::listed().iter().map(|(name, _)| *name).collect();
        let close = close_names(name, known.iter().copied());
        match close.as_slice() {
            [] => format!("unknown {} `{name}`, expected one of {}", L::WHAT, known.join(", ")),
            close => format!("unknown {} `{name}`, did you mean {}?", L::WHAT, close.join(" or ")),
        }
    }

    /// What reads it from a flag.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        let values = L::listed().into_iter().map(|(name, about)| PossibleValue::new(name).help(about));
        PossibleValuesParser::new(values).try_map(|name| Self::read(&name))
    }
}

impl<L: Listing> fmt::Display for Name<L> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<L> Serialize for Name<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de, L: Listing> Deserialize<'de> for Name<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
