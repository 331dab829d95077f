//! List the drifts of one dimension by name, so that a program can build any of them from names and numbers.

use super::{DoubleWell, Drift, Linear, NoDrift, Ou, expect_length};
use crate::Result;

/// A family of drifts in one dimension: its name, its parameters, and how to build a member.
#[derive(Debug, Clone, Copy)]
pub struct DriftFamily {
    /// Name as users write it.
    pub name: &'static str,
    /// Names of the parameters, in the order of [`DriftFamily::build`].
    pub parameters: &'static [&'static str],
    build: fn(&[f64]) -> Result<Box<dyn Drift>>,
}

impl DriftFamily {
    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        DRIFT_FAMILIES.iter().find(|family| family.name == name)
    }

    /// The drift with these parameter values; an error names a value outside its domain or a wrong number of values.
    pub fn build(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        expect_length("drift parameter values", values.len(), self.parameters.len())?;
        (self.build)(values)
    }
}

/// All drifts that names and numbers can say; a new one is a line here.
#[rustfmt::skip]
pub const DRIFT_FAMILIES: &[DriftFamily] = &[
    DriftFamily { name: "ou", parameters: &["theta", "mu"], build: |p| Ok(Box::new(Ou::new(p[0], p[1])?)) },
    DriftFamily { name: "double-well", parameters: &["theta1", "theta2"], build: |p| Ok(Box::new(DoubleWell::new(p[0], p[1])?)) },
    DriftFamily { name: "linear", parameters: &["slope", "offset"], build: |p| Ok(Box::new(Linear::line(p[0], p[1])?)) },
    DriftFamily { name: "none", parameters: &[], build: |_| Ok(Box::new(NoDrift::new(1)?)) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_names_and_parameters_are_those_of_the_drift() {
        for family in DRIFT_FAMILIES {
            let values: Vec<f64> = (0..family.parameters.len()).map(|i| 1.5 - 0.25 * i as f64).collect();
            let drift = family.build(&values).unwrap();
            assert_eq!(drift.kind(), family.name);
            assert_eq!(drift.parameters().iter().map(|(_, value)| *value).collect::<Vec<_>>(), values);
            assert!(family.build(&[values, vec![1.0]].concat()).is_err());
            assert_eq!(DriftFamily::named(family.name).unwrap().name, family.name);
        }
        assert!(DriftFamily::named("brownian").is_none());
    }
}
