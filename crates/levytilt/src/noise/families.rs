//! List the families by name, so that a program can build any of them from names and numbers.

use super::Family;
use super::{
    compound_poisson, gaussian, nig, skewed_compound_poisson, skewed_nig, skewed_stable, skewed_tempered_stable,
    skewed_variance_gamma, stable, student, tempered_stable, truncated_stable, variance_gamma,
};
use crate::parameter::Effect;

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

impl Family {
    /// The family with this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

/// Whether a family has a parameter of this name, without its dimension, with this effect on the jumps.
pub(crate) fn has_effect(name: &str, effect: Effect) -> bool {
    FAMILIES.iter().filter_map(|family| family.parameter(name)).any(|entry| entry.effect == effect)
}

/// Whether a parameter of any family that is called `name` skews the noise.
pub(crate) fn skews(name: &str) -> bool {
    FAMILIES.iter().filter_map(|family| family.parameter(name)).any(|entry| entry.effect.skews())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Lengths, Noise};

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

    #[test]
    fn identity_lengths_of_steps_are_related_as_said() {
        let law =
            |noise: &dyn Noise, dt: f64, u: f64| [noise.log_characteristic(dt, u), noise.characteristic_phase(dt, u)];
        let same = |a: [f64; 2], b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * b.abs().max(1.0));
        let mut self_similar = 0;
        for family in FAMILIES {
            let values: Vec<f64> = (0..family.parameters.len()).map(|i| 1.5 - 0.25 * i as f64).collect();
            let noise = family.build(&values).unwrap();
            let noise = noise.as_ref();
            if noise.lengths() == Lengths::Unrelated {
                continue;
            }
            let parts = [0.2, 0.5].map(|dt| law(noise, dt, 0.7));
            assert!(same([0, 1].map(|k| parts[0][k] + parts[1][k]), law(noise, 0.7, 0.7)), "{}", family.name);
            if let Lengths::SelfSimilar { index, parameter, scale } = noise.lengths() {
                assert!(
                    same(law(noise, 0.2, 0.7), law(noise, 1.0, 0.7 * 0.2_f64.powf(1.0 / index))),
                    "{}",
                    family.name
                );
                assert_eq!(family.parameters[scale].effect, Effect::Scale);
                assert_eq!(parameter.map_or(2.0, |p| noise.parameters()[p].1), index);
                self_similar += 1;
            }
        }
        assert_eq!(self_similar, 3);
    }
}
