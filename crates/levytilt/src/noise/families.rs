//! List the families by name, so that a program can build any of them from names and numbers.

use super::{
    CompoundPoisson, Gaussian, Nig, Noise, Stable, Student, TemperedStable, TruncatedStable, VarianceGamma, wrong_count,
};
use crate::Result;

/// A family of noises: its name, its parameters, and how to build a member.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Name as users write it.
    pub name: &'static str,
    /// Names of the parameters, in the order of [`Family::build`].
    pub parameters: &'static [&'static str],
    build: fn(&[f64]) -> Result<Box<dyn Noise>>,
}

impl Family {
    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
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
#[rustfmt::skip]
pub const FAMILIES: &[Family] = &[
    Family { name: "stable", parameters: &["alpha", "scale"], build: |p| boxed(Stable::new(p[0], p[1])) },
    Family { name: "truncated-stable", parameters: &["alpha", "scale", "tau", "sigma_g"], build: |p| boxed(TruncatedStable::new(p[0], p[1], p[2], p[3])) },
    Family { name: "tempered-stable", parameters: &["alpha", "scale", "tempering"], build: |p| boxed(TemperedStable::new(p[0], p[1], p[2])) },
    Family { name: "variance-gamma", parameters: &["scale", "nu"], build: |p| boxed(VarianceGamma::new(p[0], p[1])) },
    Family { name: "nig", parameters: &["scale", "tempering"], build: |p| boxed(Nig::new(p[0], p[1])) },
    Family { name: "student", parameters: &["dof", "scale"], build: |p| boxed(Student::new(p[0], p[1])) },
    Family { name: "compound-poisson", parameters: &["rate", "jump_std"], build: |p| boxed(CompoundPoisson::new(p[0], p[1])) },
    Family { name: "gaussian", parameters: &["scale"], build: |p| boxed(Gaussian::new(p[0])) },
];

fn boxed<N: Noise + 'static>(noise: Result<N>) -> Result<Box<dyn Noise>> {
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
            let expected: Vec<(&str, f64)> = family.parameters.iter().copied().zip(values.iter().copied()).collect();
            assert_eq!(noise.parameters(), expected);
            assert!(family.build(&values[1..]).is_err());
            assert_eq!(Family::named(family.name).unwrap().name, family.name);
            let names: Vec<&str> = noise.nodes(0.5).unwrap().derivatives().iter().map(|d| d.name).collect();
            assert_eq!(names, family.parameters);
        }
        assert!(Family::named("cauchy").is_none());
    }
}
