//! Hold what is known of a parameter, be it listed by a family or named in a formula.

use super::FormulaParameter;
use crate::parameter::{Domain, ParameterEntry};
use std::sync::Arc;

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
