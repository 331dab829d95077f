//! Say which noise a model to be fitted has: a family, with values that are held or without, to be learned.

use super::{Family, Noise};
use crate::{Error, Result};

/// A noise to fit: `Stable::learned()`, or a noise with values, which are held in every dimension.
#[derive(Debug, Clone)]
pub struct NoisePart {
    family: String,
    held: Vec<(String, f64)>,
}

impl NoisePart {
    /// A noise of this family with every parameter learned.
    pub fn learned(family: &Family) -> Self {
        Self { family: family.name.into(), held: Vec::new() }
    }

    /// The family, and the names and values held.
    ///
    /// # Errors
    /// A noise that is not in the list of families.
    pub(crate) fn resolve(&self) -> Result<(&'static Family, &[(String, f64)])> {
        let family = Family::named(&self.family).ok_or_else(|| Error::Shape {
            what: "noise",
            got: format!("family {}", self.family),
            expected: "a family that is listed in FAMILIES".into(),
        })?;
        Ok((family, &self.held))
    }
}

impl<N: Noise> From<N> for NoisePart {
    fn from(noise: N) -> Self {
        let held = noise.parameters().into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        Self { family: noise.family().into(), held }
    }
}
