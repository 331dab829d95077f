//! Hold what is known of a parameter, be it listed by a family or named in a formula.

use crate::Result;
use crate::parameter::{Domain, ParameterEntry, Prior, Transform};
use std::sync::Arc;

/// What is known of a parameter of a formula before it is learned.
#[derive(Debug, Clone, PartialEq)]
pub struct FormulaParameter {
    /// Name in the formula.
    pub name: String,
    /// Least value, if there is one.
    pub low: Option<f64>,
    /// Largest value, if there is one.
    pub high: Option<f64>,
    /// Where to start learning.
    pub guess: Option<f64>,
    /// A prior on the scale of [`FormulaParameter::transform`].
    pub prior: Option<Prior>,
    /// The entry of the drift family whose parameter it is, if it is one: domain, guess and prior are then those of it.
    pub entry: Option<&'static ParameterEntry>,
}

impl FormulaParameter {
    /// The scale on which it is learned: its logarithm if it is bounded below by 0, ln(p/(high − p)) if it lies between 0
    /// and a bound, else itself.
    pub fn transform(&self) -> Transform {
        self.domain().transform()
    }

    /// Values allowed: those within the bounds.
    pub fn domain(&self) -> Domain {
        if let Some(entry) = self.entry {
            return entry.domain;
        }
        match (self.low, self.high) {
            (Some(0.0), None) => Domain::POSITIVE,
            (low, high) => Domain {
                low: low.unwrap_or(f64::NEG_INFINITY),
                high: high.unwrap_or(f64::INFINITY),
                expected: "must lie within the bounds given for it",
                ..Domain::REAL
            },
        }
    }

    /// Whether nothing is known of it but its name.
    pub(super) fn is_plain(&self) -> bool {
        self.low.is_none() && self.high.is_none() && self.guess.is_none() && self.prior.is_none()
    }

    /// Check a value against the bounds.
    pub(super) fn check(&self, value: f64) -> Result<()> {
        if let Some(entry) = self.entry {
            return entry.check(value).map(|_| ());
        }
        let above = self.low.is_none_or(|low| value >= low);
        let below = self.high.is_none_or(|high| value <= high);
        let expected = "must be a finite number within its bounds";
        crate::error::check(&self.name, value, above && below, expected).map(|_| ())
    }
}

/// What is known of a parameter: from the registry, or from the formula that names it.
#[derive(Debug, Clone)]
pub enum Known {
    /// A parameter of a family.
    Listed(&'static ParameterEntry),
    /// A name in a formula.
    Named(Arc<FormulaParameter>),
}

impl Known {
    /// Its name without a dimension.
    pub fn name(&self) -> &str {
        match self {
            Self::Listed(entry) => entry.name,
            Self::Named(parameter) => &parameter.name,
        }
    }

    /// Values allowed.
    pub fn domain(&self) -> Domain {
        match self {
            Self::Listed(entry) => entry.domain,
            Self::Named(parameter) => parameter.domain(),
        }
    }

    /// Whether it is learned when no value is given.
    pub fn learned(&self) -> bool {
        match self {
            Self::Listed(entry) => entry.learned,
            Self::Named(_) => true,
        }
    }
}

impl From<&'static ParameterEntry> for Known {
    fn from(entry: &'static ParameterEntry) -> Self {
        Self::Listed(entry)
    }
}
