//! Tell which formulas are built-in drifts, and write built-in drifts as formulas with further terms.

use super::super::{DRIFT_FAMILIES, DriftFamily};
use super::Formula;
use crate::{Error, Result};

impl Formula {
    /// The same, where parameters with the names of the family's are those of the family, unless they have bounds, a guess or
    /// a prior of their own.
    pub(crate) fn of_family(mut self, family: &DriftFamily) -> Self {
        for parameter in self.parameters.iter_mut().filter(|parameter| parameter.is_plain()) {
            parameter.entry = family.parameter(&parameter.name);
        }
        self
    }

    /// The built-in drift whose formula this is, names included.
    pub(crate) fn built_in(&self) -> Option<&'static DriftFamily> {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let [state] = self.states() else { return None };
        let own = bare(&self.text(0));
        let is = |family: &&DriftFamily| !family.coupled && family.formula.is_some_and(|text| bare(text) == own);
        DRIFT_FAMILIES.iter().find(is).filter(|_| state == "x")
    }
}

impl DriftFamily {
    /// The drift of one dimension as a formula with further terms, such as `" + a*sin(t)"`, in which `inputs` are names of
    /// inputs. Its own parameters keep their domains, guesses and priors.
    ///
    /// # Errors
    /// A family that no formula describes; terms that cannot be parsed; an input with the name of one of its parameters.
    pub fn with_terms(&self, terms: &str, inputs: &[&str]) -> Result<Formula> {
        if let Some(name) = inputs.iter().find(|name| self.parameter(name).is_some()) {
            return Err(Error::Series {
                place: format!("input {name}"),
                problem: format!(
                    "{name} is already the name of a parameter of drift {}; give it another one",
                    self.name
                ),
            });
        }
        let own = self.formula.ok_or_else(|| Error::Shape {
            what: "drift",
            got: format!("{} with further terms", self.name),
            expected: "a drift that a formula describes".into(),
        })?;
        Ok(Formula::system(&[("x", &format!("{own}{terms}"))], inputs)?.of_family(self))
    }
}
