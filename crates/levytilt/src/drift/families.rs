//! List the drifts by name, so that a program can build any of them, in any dimension, from names and numbers.

use super::{DoubleWell, Drift, Linear, NoDrift, Ou, at_least_one, expect_length};
use crate::Result;
use nalgebra::{DMatrix, DVector};

/// A family of drifts: its name, its parameters, and how to build a member.
#[derive(Debug, Clone, Copy)]
pub struct DriftFamily {
    /// Name as users write it.
    pub name: &'static str,
    /// Names of the parameters of one dimension, in the order of [`DriftFamily::build`].
    pub parameters: &'static [&'static str],
    /// Whether dimensions act on each other: the first parameter is then a matrix, with an entry per pair of dimensions.
    pub coupled: bool,
    build: fn(usize, &[f64]) -> Result<Box<dyn Drift>>,
}

/// The place of a number among the parameters of a model of several dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Name of the parameter in one dimension.
    pub name: &'static str,
    /// The dimension that it moves.
    pub dimension: usize,
    /// The dimension that acts on it, where that can be another one.
    pub by: Option<usize>,
}

impl DriftFamily {
    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        DRIFT_FAMILIES.iter().find(|family| family.name == name)
    }

    /// The one-dimensional drift with these parameter values; an error names a value outside its domain or a wrong number
    /// of values.
    pub fn build(&self, values: &[f64]) -> Result<Box<dyn Drift>> {
        self.build_in(1, values)
    }

    /// The drift of `dim` ≥ 1 dimensions with these parameter values, in the order of [`DriftFamily::places`].
    pub fn build_in(&self, dim: usize, values: &[f64]) -> Result<Box<dyn Drift>> {
        at_least_one("dim", dim)?;
        expect_length("drift parameter values", values.len(), self.places(dim).len())?;
        (self.build)(dim, values)
    }

    /// The parameters in `dim` dimensions, in the order of [`Drift::parameters`]: all of the first name (a matrix row by
    /// row), then all of the next.
    pub fn places(&self, dim: usize) -> Vec<Place> {
        let all = |(k, &name): (usize, &&'static str)| {
            let matrix = self.coupled && k == 0;
            let by = move |dimension| (0..dim).map(move |by| Place { name, dimension, by: Some(by) });
            let rows: Vec<Place> = match matrix {
                true => (0..dim).flat_map(by).collect(),
                false => (0..dim).map(|dimension| Place { name, dimension, by: None }).collect(),
            };
            rows
        };
        self.parameters.iter().enumerate().flat_map(all).collect()
    }
}

impl Place {
    /// The name as users write it: plain in one dimension, else `theta[A]` and `slope[A,B]`, the slope of A by B.
    pub fn label(&self, dimensions: &[String]) -> String {
        match (dimensions, self.by) {
            ([] | [_], _) => self.name.into(),
            (all, None) => format!("{}[{}]", self.name, all[self.dimension]),
            (all, Some(by)) => format!("{}[{},{}]", self.name, all[self.dimension], all[by]),
        }
    }
}

/// The first and the second half of the values.
fn halves(dim: usize, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    (values[..dim].to_vec(), values[dim..].to_vec())
}

fn linear(dim: usize, values: &[f64]) -> Result<Box<dyn Drift>> {
    if let [slope, offset] = values {
        return Ok(Box::new(Linear::line(*slope, *offset)?));
    }
    let (matrix, offset) = values.split_at(dim * dim);
    Ok(Box::new(Linear::new(DMatrix::from_row_slice(dim, dim, matrix), DVector::from_column_slice(offset))?))
}

fn ou(dim: usize, values: &[f64]) -> Result<Box<dyn Drift>> {
    let (theta, mu) = halves(dim, values);
    Ok(Box::new(Ou::diagonal(theta, mu)?))
}

fn double_well(dim: usize, values: &[f64]) -> Result<Box<dyn Drift>> {
    let (theta1, theta2) = halves(dim, values);
    Ok(Box::new(DoubleWell::diagonal(theta1, theta2)?))
}

/// All drifts that names and numbers can say; a new one is a line here.
#[rustfmt::skip]
pub const DRIFT_FAMILIES: &[DriftFamily] = &[
    DriftFamily { name: "ou", parameters: &["theta", "mu"], coupled: false, build: ou },
    DriftFamily { name: "double-well", parameters: &["theta1", "theta2"], coupled: false, build: double_well },
    DriftFamily { name: "linear", parameters: &["slope", "offset"], coupled: true, build: linear },
    DriftFamily { name: "none", parameters: &[], coupled: false, build: |dim, _| Ok(Box::new(NoDrift::new(dim)?)) },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_names_and_parameters_are_those_of_the_drift() {
        for (family, dim) in DRIFT_FAMILIES.iter().flat_map(|family| [1, 2, 3].map(|dim| (family, dim))) {
            let values: Vec<f64> = (0..family.places(dim).len()).map(|i| 1.5 - 0.03 * i as f64).collect();
            let drift = family.build_in(dim, &values).unwrap();
            assert_eq!((drift.kind(), drift.dim()), (family.name, dim));
            assert_eq!(drift.parameters().iter().map(|(_, value)| *value).collect::<Vec<_>>(), values);
            assert!(family.build_in(dim, &[values, vec![1.0]].concat()).is_err());
            assert_eq!(DriftFamily::named(family.name).unwrap().name, family.name);
        }
        assert!(DriftFamily::named("brownian").is_none());
        assert!(DriftFamily::named("none").unwrap().build_in(0, &[]).is_err());
    }

    #[test]
    fn golden_labels() {
        let labels = |family: &str, names: &[&str]| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let places = DriftFamily::named(family).unwrap().places(names.len());
            places.iter().map(|place| place.label(&names)).collect()
        };
        assert_eq!(labels("ou", &["A"]), ["theta", "mu"]);
        assert_eq!(labels("ou", &["A", "B"]), ["theta[A]", "theta[B]", "mu[A]", "mu[B]"]);
        let linear = ["slope[A,A]", "slope[A,B]", "slope[B,A]", "slope[B,B]", "offset[A]", "offset[B]"];
        assert_eq!(labels("linear", &["A", "B"]), linear);
    }
}
