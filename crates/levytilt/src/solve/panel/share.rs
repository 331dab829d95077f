//! Say what series share: the numbers of each shared parameter, where they begin, and their prior.

use super::super::parameters::{Parameter, Prior, Transform};
use super::Member;
use crate::{Error, Result};
use nalgebra::{DMatrix, DVector};

/// First spread of a pooled parameter, as a share of the standard deviation of its usual prior.
const FIRST_SPREAD: f64 = 0.1;

/// A parameter that series have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Its name.
    pub name: String,
    /// Whether it is only alike: Gaussian over series on its free scale, with a mean and a spread that are learned.
    pub pooled: bool,
}

/// What was learned of a shared parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Its name.
    pub name: String,
    /// The value that all series have, or that of a typical series if it is pooled.
    pub value: f64,
    /// Standard error of the value.
    pub std_error: f64,
    /// The law over series on the free scale, if it is pooled.
    pub law: Option<Prior>,
    /// Standard error of the logarithm of that law's standard deviation.
    pub log_spread_error: Option<f64>,
}

/// A shared parameter, and where its numbers are.
pub(super) struct SharedParameter {
    pub name: String,
    pub transform: Transform,
    pub prior: Option<Prior>,
    /// Standard deviation of the prior, or what stands in for it.
    pub wide: f64,
    /// Of its value or mean; ln τ follows if it is pooled.
    pub first: usize,
    pub pooled: bool,
}

/// The shared parameters; an error names one that cannot be shared.
pub(super) fn shared_parameters(members: &[Member], shares: &[Share]) -> Result<Vec<SharedParameter>> {
    let refuse =
        |name: &str, problem: String| Err(Error::Series { place: format!("shared parameter {name}"), problem });
    let (mut common, mut numbers): (Vec<SharedParameter>, usize) = (Vec::new(), 0);
    for Share { name, pooled } in shares {
        if common.iter().any(|shared| shared.name == *name) {
            return refuse(name, "is listed twice".into());
        }
        let known = members.iter().find_map(|m| m.parameters.iter().find(|p| p.name == *name));
        let Some(p) = known else {
            let names = |m: &Member| m.parameters.iter().map(|p| p.name.clone()).collect::<Vec<_>>().join(", ");
            let names = members.first().map_or(String::new(), names);
            return refuse(name, format!("no parameter of the model has this name; expected one of {names}"));
        };
        if p.fixed {
            return refuse(
                name,
                "has a fixed value, so there is nothing to share; leave out the value, or the name \
             in --share"
                    .into(),
            );
        }
        let mean_of = |p: &Parameter| p.prior.map_or(first_value(p), |prior| prior.mean);
        let prior = p.prior.map(|prior| Prior { mean: median(members, name, mean_of), ..prior });
        let wide = prior.map_or(3.0, |prior| prior.std);
        common.push(SharedParameter {
            name: name.clone(),
            transform: p.transform,
            prior,
            wide,
            first: numbers,
            pooled: *pooled,
        });
        numbers += 1 + usize::from(*pooled);
    }
    Ok(common)
}

/// A parameter's first value on the free scale.
fn first_value(p: &Parameter) -> f64 {
    p.transform.forward(p.value)
}

/// Median over series of what `number` says of a parameter.
fn median(members: &[Member], name: &str, number: impl Fn(&Parameter) -> f64) -> f64 {
    let one = |m: &Member| m.parameters.iter().find(|p| p.name == name).map(&number);
    let mut all: Vec<f64> = members.iter().filter_map(one).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Where the search begins.
pub(super) fn first(members: &[Member], common: &[SharedParameter]) -> DVector<f64> {
    let numbers = common.iter().flat_map(|shared| {
        let spread = shared.pooled.then(|| (FIRST_SPREAD * shared.wide).ln());
        std::iter::once(median(members, &shared.name, first_value)).chain(spread)
    });
    DVector::from_vec(numbers.collect())
}

/// The shared numbers as parameters for a watcher.
pub(super) fn watched(common: &[SharedParameter], first: &DVector<f64>) -> Vec<Parameter> {
    let one = |name: String, value, transform| Parameter { name, value, fixed: false, transform, prior: None };
    let of = |shared: &SharedParameter| {
        let value = one(shared.name.clone(), shared.transform.backward(first[shared.first]), shared.transform);
        let spread = shared
            .pooled
            .then(|| one(format!("{} spread", shared.name), first[shared.first + 1].exp(), Transform::Log));
        std::iter::once(value).chain(spread)
    };
    common.iter().flat_map(of).collect()
}

impl SharedParameter {
    /// The law over series at `free`, if it is pooled.
    pub fn law(&self, free: &DVector<f64>) -> Option<Prior> {
        self.pooled.then(|| Prior { mean: free[self.first], std: free[self.first + 1].exp() })
    }

    /// What was learned of it.
    pub fn shared(&self, free: &DVector<f64>, covariance: &DMatrix<f64>) -> Shared {
        let value = self.transform.backward(free[self.first]);
        let error = |k: usize| covariance[(k, k)].sqrt();
        Shared {
            name: self.name.clone(),
            value,
            std_error: error(self.first) * self.transform.slope(value),
            law: self.law(free),
            log_spread_error: self.pooled.then(|| error(self.first + 1)),
        }
    }

    /// Log prior of the shared numbers without its constant, added to `value` and `slope`.
    pub fn add_prior(&self, free: &DVector<f64>, value: &mut f64, slope: &mut DVector<f64>) {
        if let Some(prior) = self.prior {
            let z = (free[self.first] - prior.mean) / prior.std;
            *value -= 0.5 * z * z;
            slope[self.first] -= z / prior.std;
        }
        if let Some(law) = self.law(free) {
            *value += law.std.ln() - law.std / self.wide;
            slope[self.first + 1] += 1.0 - law.std / self.wide;
        }
    }
}
