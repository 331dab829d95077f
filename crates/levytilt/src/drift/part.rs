//! Say which drift a model to be fitted has: a family, with values that are held or without, to be learned.

use super::{Drift, DriftFamily};
use crate::{Error, Result};

/// A drift to fit: `Ou::learned()`, or a drift with values, which are held.
#[derive(Debug, Clone)]
pub struct DriftPart {
    kind: String,
    held: Vec<f64>,
}

impl DriftPart {
    /// A drift of this family with every parameter learned.
    pub fn learned(family: &DriftFamily) -> Self {
        Self { kind: family.name.into(), held: Vec::new() }
    }

    /// The family, and the names and values held where the dimensions have these `names`.
    ///
    /// # Errors
    /// A drift that is not in the list of families.
    pub(crate) fn resolve(&self, names: &[String]) -> Result<(&'static DriftFamily, Vec<(String, f64)>)> {
        let family = DriftFamily::named(&self.kind).ok_or_else(|| Error::Shape {
            what: "drift",
            got: format!("kind {}", self.kind),
            expected: "a kind that is listed in DRIFT_FAMILIES".into(),
        })?;
        let slots = family.slots(names.len());
        let held = slots.iter().map(|slot| slot.label(names)).zip(self.held.iter().copied());
        Ok((family, held.collect()))
    }
}

impl<D: Drift> From<D> for DriftPart {
    fn from(drift: D) -> Self {
        let held = drift.parameters().into_iter().map(|(_, value)| value).collect();
        Self { kind: drift.kind().into(), held }
    }
}
