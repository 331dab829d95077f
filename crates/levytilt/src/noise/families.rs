//! List the families by name, so that a program can build any of them from names and numbers.

use super::{Noise, wrong_count};
use super::{
    compound_poisson, gaussian, nig, skewed_compound_poisson, skewed_nig, skewed_stable, skewed_tempered_stable,
    skewed_variance_gamma, stable, student, tempered_stable, truncated_stable, variance_gamma,
};
use crate::Result;
use crate::parameter::ParameterEntry;

/// A family of noises: its name, its parameters, and how to build a member.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Name as users write it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Its parameters, in the order of [`Family::build`].
    pub parameters: &'static [ParameterEntry],
    /// Whether it competes when the family is chosen by evidence.
    pub rival: bool,
    pub(super) build: fn(&[f64]) -> Result<Box<dyn Noise>>,
}

impl Family {
    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// The parameter with this name, if the family has one.
    pub fn parameter(&self, name: &str) -> Option<&'static ParameterEntry> {
        self.parameters.iter().find(|entry| entry.name == name)
    }

    /// Whether its members may be skewed: their nodes have means, which only the exact grid takes.
    pub fn is_skewed(&self) -> bool {
        ["skew", "jump_mean"].iter().any(|name| self.parameter(name).is_some())
    }

    /// The noise with these parameter values; an error names a value outside its domain or a wrong number of values.
    pub fn build(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        if values.len() != self.parameters.len() {
            return Err(wrong_count(values.len(), self.parameters.len()));
        }
        (self.build)(values)
    }
}

/// All families; a new one is a line here.
pub const FAMILIES: &[Family] = &[
    stable::FAMILY,
    truncated_stable::FAMILY,
    tempered_stable::FAMILY,
    variance_gamma::FAMILY,
    nig::FAMILY,
    student::FAMILY,
    compound_poisson::FAMILY,
    gaussian::FAMILY,
    skewed_stable::FAMILY,
    skewed_tempered_stable::FAMILY,
    skewed_variance_gamma::FAMILY,
    skewed_nig::FAMILY,
    skewed_compound_poisson::FAMILY,
    #[cfg(feature = "two-speed")]
    super::two_speed::FAMILY,
];

/// A noise as [`Family::build`] returns it.
pub(super) fn boxed<N: Noise + 'static>(noise: Result<N>) -> Result<Box<dyn Noise>> {
    noise.map(|noise| Box::new(noise) as Box<dyn Noise>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_names_and_parameters_are_those_of_the_noise() {
        for family in FAMILIES {
            let values: Vec<f64> = (0..family.parameters.len()).map(|i| 1.5 - 0.25 * i as f64).collect();
            let noise = family.build(&values).unwrap();
            assert_eq!(noise.family(), family.name);
            let expected: Vec<(&str, f64)> =
                family.parameters.iter().map(|entry| entry.name).zip(values.iter().copied()).collect();
            assert_eq!(noise.parameters(), expected);
            assert!(family.build(&values[1..]).is_err());
            assert_eq!(Family::named(family.name).unwrap().name, family.name);
            let names: Vec<&str> = noise.nodes(0.5).unwrap().derivatives().iter().map(|d| d.name).collect();
            assert_eq!(names, family.parameters.iter().map(|entry| entry.name).collect::<Vec<_>>());
            assert_eq!(noise.domains(), family.parameters.iter().map(|entry| entry.domain).collect::<Vec<_>>());
        }
        assert!(Family::named("cauchy").is_none());
    }
}
