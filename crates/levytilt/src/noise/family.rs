//! Describe a family of noises: its name, its parameters, and how to build a member.

use super::{Noise, wrong_count};
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
    /// The parameter with this name, if the family has one.
    pub fn parameter(&self, name: &str) -> Option<&'static ParameterEntry> {
        self.parameters.iter().find(|entry| entry.name == name)
    }

    /// Whether its members may be skewed: their nodes have means, which only the exact grid takes.
    pub fn is_skewed(&self) -> bool {
        self.parameters.iter().any(|entry| entry.effect.skews())
    }

    /// The noise with these parameter values; an error names a value outside its domain or a wrong number of values.
    pub fn build(&self, values: &[f64]) -> Result<Box<dyn Noise>> {
        if values.len() != self.parameters.len() {
            return Err(wrong_count(values.len(), self.parameters.len()));
        }
        (self.build)(values)
    }
}

/// A noise as [`Family::build`] returns it.
pub(super) fn boxed<N: Noise + 'static>(noise: Result<N>) -> Result<Box<dyn Noise>> {
    noise.map(|noise| Box::new(noise) as Box<dyn Noise>)
}
