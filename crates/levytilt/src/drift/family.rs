//! Describe a family of drifts: its name, its parameters, and how to build a member in any dimension.

use super::{Drift, Known, at_least_one, expect_length};
use crate::Result;
use crate::parameter::ParameterEntry;

/// A family of drifts: its name, its parameters, and how to build a member.
#[derive(Debug, Clone, Copy)]
pub struct DriftFamily {
    /// Name as users write it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The parameters of one dimension, in the order of [`DriftFamily::build`].
    pub parameters: &'static [ParameterEntry],
    /// The drift of one dimension as a formula of `x` in its parameters, if it can be written so.
    pub formula: Option<&'static str>,
    /// Whether dimensions act on each other: the first parameter is then a matrix, with an entry per pair of dimensions.
    pub coupled: bool,
    pub(super) build: Build,
}

/// Build a drift of some dimension from its parameter values.
pub(super) type Build = fn(usize, &[f64]) -> Result<Box<dyn Drift>>;

/// The slot of a value among the parameters of a model of several dimensions.
#[derive(Debug, Clone)]
pub struct Slot {
    /// The parameter, as it is named in one dimension.
    pub entry: Known,
    /// The dimension that it moves.
    pub dimension: usize,
    /// The dimension that acts on it, where that can be another one.
    pub by: Option<usize>,
}

impl DriftFamily {
    /// The parameter with this name, if the family has one.
    pub fn parameter(&self, name: &str) -> Option<&'static ParameterEntry> {
        self.parameters.iter().find(|entry| entry.name == name)
    }

    /// The one-dimensional drift with these parameter values; an error names a value outside its domain or a wrong number
    /// of values.
    pub fn build(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        self.build_in(1, values)
    }

    /// The drift of `dim` ≥ 1 dimensions with these parameter values, in the order of [`DriftFamily::slots`].
    pub fn build_in(&self, dim: usize, values: &[f64]) -> Result<Box<dyn Drift>> {
        at_least_one("dim", dim)?;
        expect_length("drift parameter values", values.len(), self.slots(dim).len())?;
        (self.build)(dim, values)
    }

    /// The parameters in `dim` dimensions, in the order of [`Drift::parameters`]: all of the first name (a matrix row by
    /// row), then all of the next.
    pub fn slots(&self, dim: usize) -> Vec<Slot> {
        let all = |(k, entry): (usize, &'static ParameterEntry)| {
            let matrix = self.coupled && k == 0;
            let by = move |dimension| (0..dim).map(move |by| Slot { by: Some(by), ..Slot::new(entry, dimension) });
            let rows: Vec<Slot> = match matrix {
                true => (0..dim).flat_map(by).collect(),
                false => (0..dim).map(|dimension| Slot::new(entry, dimension)).collect(),
            };
            rows
        };
        self.parameters.iter().enumerate().flat_map(all).collect()
    }
}

impl Slot {
    /// A parameter of one dimension that no other acts on.
    pub fn new(entry: impl Into<Known>, dimension: usize) -> Self {
        Self { entry: entry.into(), dimension, by: None }
    }

    /// The name as users write it: plain in one dimension, else `theta[A]` and `slope[A,B]`, the slope of A by B.
    pub fn label(&self, dimensions: &[String]) -> String {
        match (dimensions, self.by) {
            ([] | [_], _) => self.entry.name().into(),
            (all, None) => format!("{}[{}]", self.entry.name(), all[self.dimension]),
            (all, Some(by)) => format!("{}[{},{}]", self.entry.name(), all[self.dimension], all[by]),
        }
    }
}

/// The first and the second half of the values.
pub(super) fn halves(dim: usize, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (values[..dim].to_vec(), values[dim..].to_vec())
}
