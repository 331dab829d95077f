//! List every parameter of every family once, with who has it: what flags, help, files and keywords derive from.

use crate::ErrorKind;
use crate::drift::DRIFT_FAMILIES;
use crate::fit::OTHERS;
use crate::model;
use crate::noise::{self, FAMILIES};
use crate::parameter::ParameterEntry;

/// Name of the diffusion beside the jumps.
pub const BROWNIAN: &str = noise::BROWNIAN.name;
/// Name of the standard deviation of the observation noise.
pub const OBSERVATION_STD: &str = model::OBSERVATION_STD.name;
/// Name of the state at the first time.
pub const X0: &str = model::X0.name;
/// Name of the standard deviation of that state.
pub const X0_STD: &str = model::X0_STD.name;

/// Which part of a model has a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The drift.
    Drift,
    /// The noise.
    Noise,
    /// The observations, or the start.
    Observation,
}

/// A name, and all families whose parameter has it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Name of the parameter.
    pub name: &'static str,
    /// Which part of a model has it.
    pub part: Part,
    /// The families that have it, each with its own entry; a parameter of no family has one entry with an empty name.
    pub owners: Vec<(&'static str, &'static ParameterEntry)>,
}

impl Listed {
    /// The first entry.
    pub fn entry(&self) -> &'static ParameterEntry {
        self.owners[0].1
    }

    /// What it is and whose, in one line: "Degrees of freedom, greater than 0: student". Families for which it means the
    /// same stand together.
    pub fn about(&self) -> String {
        let mut groups: Vec<(&str, String, Vec<&str>)> = Vec::new();
        for (family, entry) in &self.owners {
            let bounds = if entry.domain.low.is_finite() { entry.domain.to_string() } else { String::new() };
            match groups.iter_mut().find(|(about, known, _)| *about == entry.about && *known == bounds) {
                Some((_, _, families)) => families.push(family),
                None => groups.push((entry.about, bounds, vec![family])),
            }
        }
        let mut last = "";
        let mut said = |(about, bounds, families): &(&'static str, String, Vec<&str>)| {
            // What was said just before is not said again.
            let about = if *about == last { "" } else { about };
            last = if about.is_empty() { last } else { about };
            let text = [about, bounds].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ");
            match families.join(", ") {
                whose if whose.is_empty() => text,
                whose => format!("{text}: {whose}"),
            }
        };
        let line = groups.iter().map(&mut said).collect::<Vec<_>>().join("; ");
        let mut letters = line.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    }
}

/// All parameters: of drifts, of noises, and of no family; each name once, in the order of the families.
pub fn all() -> Vec<Listed> {
    let drifts = DRIFT_FAMILIES.iter().map(|f| (Part::Drift, f.name, f.parameters));
    let noises = FAMILIES.iter().map(|f| (Part::Noise, f.name, f.parameters));
    let others = const { &OTHERS }.iter().map(|entry| {
        let part = if entry.name == BROWNIAN { Part::Noise } else { Part::Observation };
        (part, "", std::slice::from_ref(entry))
    });
    let errors = ErrorKind::ALL.into_iter().map(|kind| (Part::Observation, kind.about_errors(), kind.parameters()));
    let mut all: Vec<Listed> = Vec::new();
    for (part, family, entries) in drifts.chain(noises).chain(others).chain(errors) {
        for entry in entries {
            match all.iter_mut().find(|listed| listed.name == entry.name) {
                Some(listed) => listed.owners.push((family, entry)),
                None => all.push(Listed { name: entry.name, part, owners: vec![(family, entry)] }),
            }
        }
    }
    all
}

/// The parameter with this name, if a family has it.
pub fn find(name: &str) -> Option<Listed> {
    all().into_iter().find(|listed| listed.name == name)
}

/// Of `known`, the names that `name` may have been meant for: at most two letters away, nearest first.
pub fn close_names<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut close: Vec<(usize, &str)> = known.into_iter().map(|known| (distance(name, known), known)).collect();
    close.retain(|(away, known)| *away <= 2.min(known.len() - 1));
    close.sort_by_key(|(away, _)| *away);
    close.into_iter().map(|(_, known)| known).collect()
}

/// Letters to insert, delete or replace to turn `a` into `b` (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name means one thing in one part of a model; otherwise a key of a file would be ambiguous.
    #[test]
    fn identity_names_belong_to_one_part() {
        for listed in all() {
            for family in DRIFT_FAMILIES {
                assert!(listed.part == Part::Drift || family.parameter(listed.name).is_none(), "{}", listed.name);
            }
            assert!(!listed.about().is_empty() && !listed.entry().about.contains(':'), "{}", listed.name);
            assert!(listed.owners.iter().all(|(_, entry)| entry.domain.contains(entry.example)), "{}", listed.name);
        }
    }

    #[test]
    fn golden_lists() {
        let names: Vec<&str> = all().iter().map(|listed| listed.name).filter(|name| *name != "calm").collect();
        let drift = ["theta", "mu", "theta1", "theta2", "slope", "offset"];
        let noise =
            ["alpha", "scale", "tau", "sigma_g", "tempering", "nu", "dof", "rate", "jump_std", "skew", "jump_mean"];
        let others = ["brownian", "observation_std", "x0", "x0_std"];
        let errors = ["error_dof", "outlier_probability", "outlier_size"];
        assert_eq!(names, [&drift[..], &noise, &others, &errors].concat());
        assert_eq!(
            find("dof").unwrap().about(),
            "Degrees of freedom; large is nearly Gaussian, greater than 0: student"
        );
        let alpha = find("alpha").unwrap().about();
        assert!(
            alpha.contains(
                "heavier tails, in (0, 2]: stable; in (0, 2): truncated-stable, tempered-stable, skewed-stable"
            ),
            "{alpha}"
        );
        assert_eq!(find("tempering").unwrap().owners.len(), 4);
        assert_eq!(close_names("alfa", names.iter().copied()), ["alpha"]);
        assert_eq!(close_names("thets", names.iter().copied()), ["theta", "theta1", "theta2"]);
        assert!(close_names("qqq", names.iter().copied()).is_empty());
        assert_eq!([distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")], [3, 2, 0]);
    }
}
