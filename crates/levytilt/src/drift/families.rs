//! List the drifts by name, so that a program can build any of them, in any dimension, from names and numbers.

use super::Known;
use super::{Drift, Formula, at_least_one, double_well, expect_length, linear, none, ou};
use crate::parameter::ParameterEntry;
use crate::{Error, Result};

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

/// The place of a number among the parameters of a model of several dimensions.
#[derive(Debug, Clone)]
pub struct Place {
    /// The parameter, as it is named in one dimension.
    pub entry: Known,
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

    /// The family without any drift.
    pub fn none() -> &'static Self {
        const { &none::FAMILY }
    }

    /// The parameter with this name, if the family has one.
    pub fn parameter(&self, name: &str) -> Option<&'static ParameterEntry> {
        self.parameters.iter().find(|entry| entry.name == name)
    }

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
        let all = |(k, entry): (usize, &'static ParameterEntry)| {
            let matrix = self.coupled && k == 0;
            let by = move |dimension| (0..dim).map(move |by| Place { by: Some(by), ..Place::new(entry, dimension) });
            let rows: Vec<Place> = match matrix {
                true => (0..dim).flat_map(by).collect(),
                false => (0..dim).map(|dimension| Place::new(entry, dimension)).collect(),
            };
            rows
        };
        self.parameters.iter().enumerate().flat_map(all).collect()
    }
}

impl Place {
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

/// All drifts that names and numbers can say; a new one is a line here.
pub const DRIFT_FAMILIES: &[DriftFamily] = &[ou::FAMILY, double_well::FAMILY, linear::FAMILY, none::FAMILY];

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

    /// The formula of a family moves states as the family does.
    #[test]
    fn identity_formulas_are_the_drifts() {
        for family in DRIFT_FAMILIES {
            let formula = family.with_terms("", &[]).unwrap();
            let names: Vec<&str> = formula.parameters().iter().map(|p| p.name.as_str()).collect();
            assert_eq!(names, family.parameters.iter().map(|entry| entry.name).collect::<Vec<_>>());
            let values: Vec<f64> = (0..names.len()).map(|l| 0.7 + 0.4 * l as f64).collect();
            let (own, written) = (family.build(&values).unwrap(), formula.drift(&values).unwrap());
            let transforms = |drift: &dyn Drift| drift.domains().iter().map(|d| d.transform()).collect::<Vec<_>>();
            assert_eq!(transforms(&*own), transforms(&written), "{}", family.name);
            for x in [-1.5, 0.2, 3.0] {
                let (mut a, mut b) = ([0.0], [0.0]);
                own.flow(0.0, 0.1, &[x], &mut a);
                written.flow(0.0, 0.1, &[x], &mut b);
                assert!((a[0] - b[0]).abs() < 1e-9, "{} {x}: {a:?} {b:?}", family.name);
            }
        }
        let more = DriftFamily::named("ou").unwrap().with_terms(" + a*sin(t)", &[]).unwrap();
        assert!(matches!(more.places()[0].entry, Known::Listed(entry) if entry.name == "theta"));
        assert!(matches!(more.places()[2].entry, Known::Named(_)));
        let driven = DriftFamily::named("ou").unwrap().with_terms(" + gain[wind]*wind", &["wind"]).unwrap();
        assert_eq!(driven.parameters()[2].name, "gain[wind]");
        assert!(
            DriftFamily::named("ou").unwrap().with_terms("", &["mu"]).unwrap_err().to_string().contains("input mu")
        );
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
