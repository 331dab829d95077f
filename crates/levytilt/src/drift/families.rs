//! List the drifts by name, so that a program can build any of them, in any dimension, from names and numbers.

use super::{DriftFamily, double_well, linear, none, ou};

/// All drifts that names and numbers can say; a new one is a line here.
pub const DRIFT_FAMILIES: &[DriftFamily] = &[ou::FAMILY, double_well::FAMILY, linear::FAMILY, none::FAMILY];

impl DriftFamily {
    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        DRIFT_FAMILIES.iter().find(|family| family.name == name)
    }

    /// The family without any drift.
    pub fn none() -> &'static Self {
        const { &none::FAMILY }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Drift, Known};
    use super::*;

    #[test]
    fn identity_names_and_parameters_are_those_of_the_drift() {
        for (family, dim) in DRIFT_FAMILIES.iter().flat_map(|family| [1, 2, 3].map(|dim| (family, dim))) {
            let values: Vec<f64> = (0..family.slots(dim).len()).map(|i| 1.5 - 0.03 * i as f64).collect();
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
        assert!(matches!(more.slots()[0].entry, Known::Listed(entry) if entry.name == "theta"));
        assert!(matches!(more.slots()[2].entry, Known::Named(_)));
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
            let slots = DriftFamily::named(family).unwrap().slots(names.len());
            slots.iter().map(|slot| slot.label(&names)).collect()
        };
        assert_eq!(labels("ou", &["A"]), ["theta", "mu"]);
        assert_eq!(labels("ou", &["A", "B"]), ["theta[A]", "theta[B]", "mu[A]", "mu[B]"]);
        let linear = ["slope[A,A]", "slope[A,B]", "slope[B,A]", "slope[B,B]", "offset[A]", "offset[B]"];
        assert_eq!(labels("linear", &["A", "B"]), linear);
    }
}
